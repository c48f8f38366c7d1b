"""One assertion about the story's world: `Fact`, when it was told, and what became of it.

Two times are kept apart. *Told* is the place in the telling, a scene and an offset in it; *story time* is when the
thing is true in the story. A fact says what one passage asserts; what the world then is, is a question to `WorldState`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.story import one_line, readable
from fabula.story.plan import story_time
from fabula.story.world.meaning import Value, slot_form, value_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabula.story.world.meaning import Scalar

Modality: TypeAlias = Literal["asserted", "reported", "believed", "planned", "hypothetical", "dream", "author"]
Durability: TypeAlias = Literal["permanent", "durable", "transient"]
Change: TypeAlias = Literal["update", "explained", "retcon", "unexplained"]
MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)
CHANGES: Final[tuple[Change, ...]] = get_args(Change)

MAX_NAME: Final = 200
MAX_TEXT: Final = 10_000
MAX_ITEMS: Final = 1_000
MAX_SCENE: Final = 1_000_000
MAX_OFFSET: Final = 2**53 - 1
_MAX_INT: Final = 2**63 - 1
_CACHED: Final = 65_536
_REAL: Final = frozenset({"asserted", "author"})
_INNER: Final = frozenset({"believed", "planned", "hypothetical", "dream"})


class Moment(NamedTuple):
    """A place in the telling: scene (0 is before the first one) and offset in it (a paragraph, or a character)."""

    scene: int
    offset: int = 0

    @classmethod
    def end(cls, scene: int) -> Moment:
        """The end of a scene, after everything that is told in it."""
        return cls(scene, MAX_OFFSET)


START: Final = Moment(0)


@dataclass(frozen=True, slots=True)
class Closing:
    """What ended a fact: the fact `by` that replaced it, where that was told, and how it accounts for the change."""

    by: int
    at: Moment
    reason: Change


@dataclass(frozen=True, slots=True)
class Fact:
    """One assertion; the fields from `id` on are the world's own.

    Attributes:
        subject: the name of whom or what it is about, as written.
        slot: the property or relation, such as "eye colour" or "owns".
        value: JSON scalar, or a tuple of them.
        told: where it is told.
        polarity: false for a denial ("her eyes are not grey"); a denial of `None` denies every value.
        modality: "asserted" by the text, "author" for what was set down beforehand; the others do not bind the world.
        source: who says, believes or plans it; empty for the narrator.
        durability: "permanent" (a birthday), "durable" (a job) or "transient" (where somebody stands).
        witnesses: who learns of it as it is told; `()` nobody, `None` everybody, or for what goes on in somebody's
            head only that person.
        about: names of further ones that it concerns; each is an edge of the graph.
        story_from, story_to: story times between which it is true, as plans write them; empty where not known.
        quote: the words that say so; `span` is their place in the scene's text, in characters.
        confidence: 0 to 1.
        change: how the text accounts for what this replaces.
        step: the step of a run that wrote it.
        origin: the file it was read from.
        id: number in the world, from 1 on.
        restates: the fact that this repeats; such a fact is evidence, and opens nothing.
        closed: what ended it.
        withdrawn: why it counts no more; empty while it counts.
    """

    subject: str
    slot: str
    value: Value = None
    told: Moment = START
    polarity: bool = True
    modality: Modality = "asserted"
    source: str = ""
    durability: Durability = "durable"
    witnesses: tuple[str, ...] | None = None
    about: tuple[str, ...] = ()
    story_from: str = ""
    story_to: str = ""
    quote: str = ""
    span: tuple[int, int] | None = None
    confidence: float = 1.0
    change: Change = "unexplained"
    step: int | None = None
    origin: str = ""
    id: int = 0
    restates: int | None = None
    closed: Closing | None = None
    withdrawn: str = ""

    @property
    def order(self) -> tuple[int, int, int]:
        """What facts are sorted by: where told, then when recorded."""
        return (*self.told, self.id)

    @property
    def real(self) -> bool:
        """Whether it speaks of the story's own world; else of what its source reports, believes, plans or dreams."""
        return self.modality in _REAL

    @property
    def public(self) -> bool:
        """Whether everybody learns of it as it is told."""
        return self.witnesses is None and self.modality not in _INNER

    @property
    def norm(self) -> str:
        """The value in the form in which values are compared (`fabula.story.world.meaning`)."""
        return value_form(self.value, self.slot)

    @property
    def property(self) -> str:
        """The slot in the form in which slots are compared; with `norm` it says what the fact means."""
        return slot_form(self.slot, self.value)

    def stands(self, at: Moment) -> bool:
        """Whether it is told and not ended at that moment; a repetition never stands, the fact it repeats does."""
        return (
            self.told <= at
            and self.restates is None
            and not self.withdrawn
            and (self.closed is None or self.closed.at > at)
        )


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that facts are about.

    Attributes:
        kind: "character", "location", "object" or another word; empty where not known.
        aliases: other names for it.
        scene: the first scene that names it.
    """

    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()
    scene: int = 0


@dataclass(frozen=True, slots=True)
class Alias:
    """That a name means an entity of another name, since when and why."""

    name: str
    entity: str
    scene: int = 0
    reason: str = ""


@remembered(_CACHED, 200)
def _line(text: str) -> str:
    return one_line(readable(text))


def from_json(value: object) -> Value:
    """A JSON value as a fact's value: lists become tuples.

    Raises:
        UsageError: it is nested, not finite, or too large.
    """
    if isinstance(value, (list, tuple)):
        if len(value) > MAX_ITEMS:
            raise UsageError(f"A list has {len(value):,} items, at most {MAX_ITEMS:,} can stand. Give fewer.")
        return tuple(_scalar(item) for item in value)
    return _scalar(value)


def _scalar(value: object) -> Scalar:
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise UsageError(f"A value has {len(value):,} characters, at most {MAX_TEXT:,} can stand. Shorten it.")
        return readable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _MAX_INT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    kind = repr(value) if isinstance(value, float) else type(value).__name__
    raise UsageError(f"A value is {kind}. Give a text, a number of at most 18 digits, true, false, null, or a list.")


def cleaned(fact: Fact, number: int = 0) -> Fact:
    """The fact as somebody asserts it, under a number, without anything that the world made of it.

    Names come out on one line, and no text holds what a file cannot.

    Raises:
        UsageError: the value is none that can stand.
    """
    return Fact(  # not `replace`, which takes as long as all the rest of recording a fact
        _line(fact.subject),
        _line(fact.slot),
        from_json(fact.value),
        Moment(*fact.told),
        fact.polarity,
        fact.modality,
        _line(fact.source),
        fact.durability,
        None if fact.witnesses is None else _names_of(fact.witnesses),
        _names_of(fact.about) if fact.about else (),
        _line(fact.story_from),
        _line(fact.story_to),
        readable(fact.quote),
        fact.span,
        fact.confidence,
        fact.change,
        fact.step,
        _line(fact.origin),
        number,
    )


def _names_of(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_line(name) for name in names))


def checked(facts: Iterable[Fact], first: int) -> list[Fact]:
    """Facts as `cleaned` leaves them, numbered from `first` on.

    Raises:
        UsageError: one cannot be recorded; names it, the field, and what to do.
    """
    found = []
    for place, fact in enumerate(facts):
        for field, problem in problems_of(fact):
            named = f"{one_line(fact.subject)[:40]}, {one_line(fact.slot)[:40]}"
            raise UsageError(f"Fact {place + 1} ({named}): {field} {problem}")
        found.append(cleaned(fact, first + place))
    return found


def problems_of(fact: Fact) -> Iterator[tuple[str, str]]:
    """What keeps a fact from being recorded: pairs of field and sentence."""
    for field, text in (("subject", fact.subject), ("slot", fact.slot), ("source", fact.source)):
        if len(text) > MAX_NAME:
            yield field, f"is longer than {MAX_NAME} characters. Shorten it."
        if not text.strip() and field != "source":
            yield field, "is empty. Name it."
    for field, names in (("witnesses", fact.witnesses), ("about", fact.about)):
        if names and not (len(names) <= MAX_ITEMS and all(name.strip() and len(name) <= MAX_NAME for name in names)):
            yield field, f"has an empty name, one of more than {MAX_NAME} characters, or too many. Correct it."
    try:
        from_json(fact.value)
    except UsageError as error:
        yield "value", f"cannot stand. {error}"
    yield from _wording_problems(fact)
    yield from _time_problems(fact)


def _wording_problems(fact: Fact) -> Iterator[tuple[str, str]]:
    if len(fact.quote) > MAX_TEXT:
        yield "quote", f"has {len(fact.quote):,} characters, at most {MAX_TEXT:,} can stand. Shorten it."
    if fact.span is not None and not 0 <= fact.span[0] <= fact.span[1] < MAX_OFFSET:
        yield "span", f"is {fact.span[0]} to {fact.span[1]}. Give two places in the text, the first one first."
    if not 0 <= fact.confidence <= 1:
        yield "confidence", f"is {fact.confidence}. Give a number from 0 to 1."
    for field, value, known in (
        ("modality", fact.modality, MODALITIES),
        ("durability", fact.durability, DURABILITIES),
        ("change", fact.change, CHANGES),
    ):
        if value not in known:
            yield field, f"is {value!r}. Give one of: {', '.join(known)}."


def _time_problems(fact: Fact) -> Iterator[tuple[str, str]]:
    if not (0 <= fact.told.scene <= MAX_SCENE and 0 <= fact.told.offset < MAX_OFFSET):
        yield "scene", f"is {fact.told.scene}, offset {fact.told.offset}. Give a scene from 0 to {MAX_SCENE:,}."
    if not (fact.story_from or fact.story_to):
        return
    for field, text in (("from", fact.story_from), ("to", fact.story_to)):
        if text and story_time(text) is None:
            yield field, f"is {text[:40]!r}, which is no story time. Give a number, or a date as 1921-05-03 14:30."
            return
    if fact.story_from and fact.story_to and before(fact.story_to, fact.story_from):
        yield "to", f"is {fact.story_to}, before {fact.story_from}. Give the earlier one first."


def before(first: str, second: str) -> bool:
    """Whether a story time is known to be before another; 1921 and 1921-05 are not known to differ."""
    a, b = story_time(first), story_time(second)
    if a is None or b is None:
        return False
    size = min(len(a), len(b))
    return a[:size] < b[:size]


def apart(a: Fact, b: Fact) -> bool:
    """Whether two facts are known to be true at different story times; without an end a fact goes on being true."""
    return _ends_before(a, b) or _ends_before(b, a)


def _ends_before(a: Fact, b: Fact) -> bool:
    return bool(a.story_to and b.story_from) and before(a.story_to, b.story_from)


def at_once(a: Fact, b: Fact) -> bool:
    """Whether two facts are known to be true at one story time; without an end a fact is true at its beginning."""
    if not (a.story_from and b.story_from):
        return False
    return not (before(a.story_to or a.story_from, b.story_from) or before(b.story_to or b.story_from, a.story_from))


def true_at(fact: Fact, time: str) -> bool:
    """Whether nothing is known against the fact being true at a story time."""
    return not time or not (
        (fact.story_from and before(time, fact.story_from)) or (fact.story_to and before(fact.story_to, time))
    )
