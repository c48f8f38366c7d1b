"""An assertion about the story's world: `Fact`, with the place where it is told and its later state.

There are two times. *Told* is the place in the telling, which consists of a scene and an offset in the scene; *story
time* is the time at which the fact is true in the story. A fact is the assertion of a single passage. To find out what
is true in the world, ask `WorldState`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.story import one_line, readable
from fabula.story.plan import story_time
from fabula.story.world.meaning import Scalar, Value, slot_form, value_form

Modality: TypeAlias = Literal["asserted", "reported", "believed", "planned", "hypothetical", "dream", "author"]
Durability: TypeAlias = Literal["permanent", "durable", "transient"]
Change: TypeAlias = Literal["update", "explained", "retcon", "unexplained"]
MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)
CHANGES: Final[tuple[Change, ...]] = get_args(Change)

MAX_NAME: Final = 200
MAX_TEXT: Final = 10_000
MAX_ITEMS: Final = 1_000
FORMAT: Final = "fabula-world-1"
MAX_SCENE: Final = 1_000_000
MAX_OFFSET: Final = 2**53 - 1
_MAX_INT: Final = 2**63 - 1
_CACHED: Final = 65_536
_REAL: Final = frozenset({"asserted", "author"})
_INNER: Final = frozenset({"believed", "planned", "hypothetical", "dream"})


class Moment(NamedTuple):
    """A place in the telling: a scene (0 is before the first one) and an offset in it (a paragraph or character)."""

    scene: int
    offset: int = 0

    @classmethod
    def end(cls, scene: int) -> Moment:
        """The end of a scene, after all facts told in the scene."""
        return cls(scene, MAX_OFFSET)


START: Final = Moment(0)


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a fact: the fact `by` that replaced it, where that fact is told, and how the change is explained."""

    by: int
    at: Moment
    reason: Change


@dataclass(frozen=True, slots=True)
class Fact:
    """An assertion; the world sets the fields from `id` on.

    Attributes:
        subject: the name of the person or thing that the fact is about, as written.
        slot: the property or relation, such as "eye colour" or "owns".
        value: a JSON scalar, or a tuple of scalars.
        told: the place where the fact is told.
        polarity: false for a denial ("her eyes are not grey"); a denial of `None` denies every value.
        modality: "asserted" by the text, or "author" for facts set in advance; facts with other modalities do not apply
            to the world itself.
        source: the person who says, believes or plans it; empty for the narrator.
        durability: "permanent" (a birthday), "durable" (a job) or "transient" (where somebody stands).
        witnesses: the characters who learn of the fact when it is told; `()` means nobody, and `None` means everybody
            or, for a thought, only the person who has it.
        about: the names of other entities that the fact concerns; each of them becomes an edge in the graph.
        story_from, story_to: the story times between which the fact is true, in the form used in plans; empty if
            unknown.
        quote: the words that assert the fact; `span` is their position in the scene's text, in characters.
        confidence: the confidence from 0 to 1.
        change: how the text explains the change from the replaced fact.
        step: the step of the run that wrote the fact.
        origin: the file that the fact was read from.
        id: the number of the fact in the world, counted from 1.
        restates: the id of the fact that this one repeats; a repetition is only evidence.
        closed: the end of the fact, if another fact replaced it.
        withdrawn: the reason why the fact no longer counts; empty while it counts.
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
        """The sort key of facts: first the place of telling, then the order in which they were recorded."""
        return (*self.told, self.id)

    @property
    def real(self) -> bool:
        """Whether the fact is about the story's world, not about what a source reports, believes, plans or dreams."""
        return self.modality in _REAL

    @property
    def public(self) -> bool:
        """Whether everybody learns of the fact when it is told."""
        return self.witnesses is None and self.modality not in _INNER

    @property
    def norm(self) -> str:
        """The normalised form of the value (see `fabula.story.world.meaning`)."""
        return value_form(self.value, self.slot)

    @property
    def property(self) -> str:
        """The normalised form of the slot; together with `norm`, it determines the meaning of the fact."""
        return slot_form(self.slot, self.value)

    def stands(self, at: Moment) -> bool:
        """Whether the fact has been told and has not ended at that moment; `False` for repetitions of another fact."""
        return (
            self.told <= at
            and self.restates is None
            and not self.withdrawn
            and (self.closed is None or self.closed.at > at)
        )


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing that facts are about.

    Attributes:
        kind: "character", "location", "object" or another word; empty if unknown.
        aliases: other names of the entity.
        scene: the first scene that mentions the entity.
    """

    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()
    scene: int = 0


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity, with the first scene that uses it and the reason."""

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
        UsageError: the value is nested, not finite, or too large.
    """
    if isinstance(value, (list, tuple)):
        if len(value) > MAX_ITEMS:
            raise UsageError(f"A list has {len(value):,} items, but the maximum is {MAX_ITEMS:,}. Use fewer items.")
        return tuple(_scalar(item) for item in value)
    return _scalar(value)


def _scalar(value: object) -> Scalar:
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise UsageError(f"A value has {len(value):,} characters, but the maximum is {MAX_TEXT:,}. Shorten it.")
        return readable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _MAX_INT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    kind = repr(value) if isinstance(value, float) else type(value).__name__
    raise UsageError(f"A value is {kind}. Use a text, a number with at most 18 digits, true, false, null or a list.")


def cleaned(fact: Fact, number: int = 0) -> Fact:
    """The fact as it was asserted, with a new number and without its state in the world.

    Names are put on one line, and characters that cannot be stored in a file are removed.

    Raises:
        UsageError: the value is not allowed.
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
    """The facts after `cleaned`, numbered from `first`.

    Raises:
        UsageError: a fact cannot be recorded; the message names the fact and the field, and suggests a remedy.
    """
    found = []
    for place, fact in enumerate(facts):
        for field, problem in problems_of(fact):
            named = f"{one_line(fact.subject)[:40]}, {one_line(fact.slot)[:40]}"
            raise UsageError(f"Fact {place + 1} ({named}): {field} {problem}")
        found.append(cleaned(fact, first + place))
    return found


def problems_of(fact: Fact) -> Iterator[tuple[str, str]]:
    """The reasons why a fact cannot be recorded, as pairs of a field and a sentence."""
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
            yield field, f"is {text[:40]!r}, which is not a story time. Give a number, or a date as 1921-05-03 14:30."
            return
    if fact.story_from and fact.story_to and before(fact.story_to, fact.story_from):
        yield "to", f"is {fact.story_to}, before {fact.story_from}. Give the earlier one first."


def before(first: str, second: str) -> bool:
    """Whether a story time is known to be before another; for example, 1921 and 1921-05 are not known to differ."""
    a, b = story_time(first), story_time(second)
    if a is None or b is None:
        return False
    size = min(len(a), len(b))
    return a[:size] < b[:size]
