"""A story with planted errors: the clean text, each error as an edit of it, the decoys, and a check of all these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from fabula.evaluators.atlas.planted import put_in
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KINDS: Final = {
    "appearance": "hair, eyes, build, scars, clothes",
    "name": "a name or how it is written",
    "age": "how old somebody is, or was then",
    "date_or_duration": "a date, a weekday, how long something took or lies back",
    "season_or_time_of_day": "a season, an hour, day or night",
    "place_of_person": "where somebody is or comes from",
    "place_of_thing": "where a thing is or is kept",
    "possession": "who has or owns a thing",
    "kinship_or_marriage": "who is whose relative, married, or alone",
    "profession_or_rank": "a job, an office, a title",
    "injury_or_handedness": "a wound, an illness, which hand, which side",
    "death": "who has died, when, of what",
    "knowledge_before_learning": "somebody knows what they cannot know yet, or has forgotten what they were told",
    "world_rule": "a rule of the story's own world or of a house in it, broken without notice",
    "count_or_amount": "a number, a sum, a price, a score",
    "ability_or_habit": "what somebody can, never does or always does",
    "event_order": "what happened before what",
    "attribution": "who said or did something",
    "weather_or_light": "rain, snow, sun, moon, darkness, what grows then",
    "object_property": "what a thing is made of, its colour, its state",
}
NEEDS: Final = {
    "lookup": "the two passages say it outright",
    "inference": "a sum or a step of thought is needed",
    "world_knowledge": "the reader has to know how the world is",
}

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Error:
    """An error as an edit: `find`, once in the clean text, becomes `replace`, which clashes with `contradicts`.

    `fact` states the contradicted passage as a clause, and `event` the new words.
    """

    id: str
    kind: str
    find: str
    replace: str
    contradicts: str
    explanation: str
    needs: str
    fact: str = ""
    event: str = ""


@dataclass(frozen=True, slots=True)
class Decoy:
    """Two passages that look like an error but are not."""

    quote_a: str
    quote_b: str
    why_no_error: str


@dataclass(frozen=True, slots=True)
class CleanText:
    """A clean text, and the changes to make in it.

    Attributes:
        id, title, form, person, tense, genre: properties of the story; `form` is "prose" or "fountain".
        text: the text without the errors, also called the twin.
    """

    id: str
    title: str
    form: str
    person: str
    tense: str
    genre: str
    text: str
    errors: tuple[Error, ...]
    decoys: tuple[Decoy, ...]

    @property
    def broken(self) -> str:
        """The text with all errors."""
        return self._built()[0]

    @property
    def places(self) -> tuple[Span, ...]:
        """Where each error is in `broken`."""
        return self._built()[1]

    def _built(self) -> tuple[str, tuple[Span, ...]]:
        return put_in(self.text, [(one.find, one.replace) for one in self.errors])

    def data(self) -> dict[str, Any]:
        """The data of the file, which `fabula check --gold` reads."""
        return asdict(self)


def words_between(text: str, one: Span, other: Span) -> int:
    """The number of words between the two passages, whichever comes first."""
    first, second = sorted((one, other))
    return count_words(text[first[1] : second[0]]) if first[1] < second[0] else 0


def problems(planted: CleanText) -> list[str]:
    """What is wrong with a planted story, as sentences; nothing if it is valid."""
    return [*_of_errors(planted), *_of_decoys(planted)]


def _of_errors(planted: CleanText) -> Iterator[str]:
    single = [one for one in planted.errors if planted.text.count(one.find) == 1]
    for one in planted.errors:
        if one not in single:
            yield f"{one.id}: {one.find!r} occurs {planted.text.count(one.find)} times in the clean text, not once."
        if one.find == one.replace:
            yield f"{one.id}: nothing is changed."
        if one.kind not in KINDS or one.needs not in NEEDS:
            yield f"{one.id}: {one.kind!r} or {one.needs!r} is unknown."
    starts = sorted((planted.text.index(one.find), planted.text.index(one.find) + len(one.find)) for one in single)
    if any(a[1] > b[0] for a, b in pairwise(starts)):
        yield "Two errors overlap."
    elif len(single) == len(planted.errors):
        broken = planted.broken
        yield from (f"{one.id}: {one.contradicts!r} is not in the text." for one in single
                    if one.contradicts not in broken)  # fmt: skip


def _of_decoys(planted: CleanText) -> Iterator[str]:
    broken = planted.broken
    for one in planted.decoys:
        for quote in (one.quote_a, one.quote_b):
            if quote not in broken:
                yield f"The decoy's quotation {quote!r} is not in the text."


def overlaps(one: Span, others: Sequence[Span]) -> bool:
    """Whether a span overlaps one of the others."""
    return any(one[0] < end and start < one[1] for start, end in others)
