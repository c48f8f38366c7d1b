"""Queries about the world: differences, a character's knowledge, conflicts, and neighbours."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, overload

from fabula.story.plan import story_time
from fabula.story.world.chains import ACCOUNTED, bare, place, settle
from fabula.story.world.facts import Fact, Moment
from fabula.story.world.meaning import NOTHING

if TYPE_CHECKING:
    from fabula.story.world.index import Index, Key


@dataclass(frozen=True, slots=True)
class Diff:
    """The differences between two moments: new facts, ended facts, and pairs of an old and a new value."""

    opened: tuple[Fact, ...]
    closed: tuple[Fact, ...]
    changed: tuple[tuple[Fact, Fact], ...]


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact that a character believes to be true.

    Attributes:
        since: the moment at which the character learned of the fact.
        outdated: whether the fact is no longer true without the character's knowledge.
    """

    fact: Fact
    since: Moment
    outdated: bool


@dataclass(frozen=True, slots=True)
class FactConflict:
    """An assertion that contradicts an earlier one without explanation.

    Attributes:
        earlier: the first assertion that `later` contradicts.
        also: the moments at which the earlier value is told again before `later`.
        canon: whether `earlier` was set in advance and is not in the text.
    """

    earlier: Fact
    later: Fact
    also: Sequence[Moment] = ()

    @property
    def canon(self) -> bool:
        """Whether the text contradicts a fact that was set in advance."""
        return self.earlier.modality == "author"


def snapshot(index: Index, at: Moment) -> tuple[Fact, ...]:
    """The facts in force at a moment, in the order of telling."""
    return tuple(  # `Fact.stands` written out: half of the facts of a world are asked
        fact
        for fact in index.told(None, at)
        if fact.restates is None and not fact.withdrawn and (fact.closed is None or fact.closed.at > at)
    )


def of_one(index: Index, subject: str, at: Moment) -> tuple[Fact, ...]:
    """The facts about a subject that are in force at a moment, in the order of telling."""
    found = [f for key in index.keys(index.owner(subject)) for f in index.chain(key) if f.stands(at)]
    return tuple(sorted(found, key=lambda fact: fact.order))


def diff(index: Index, first: Moment, second: Moment) -> Diff:
    """The differences between two moments, without values that changed and then changed back."""
    opened = {_spot(index, fact): fact for fact in index.told(first, second) if fact.stands(second)}
    closed, changed = [], []
    for fact in index.closed(first, second):
        if fact.told > first:
            continue
        new = opened.pop(_spot(index, fact), None)
        if new is None:
            closed.append(fact)
        elif new.norm != fact.norm:
            changed.append((fact, new))
    return Diff(tuple(opened.values()), tuple(closed), tuple(changed))


def _spot(index: Index, fact: Fact) -> tuple[Key, str]:
    key = index.key(fact)
    return key, place(fact, many=index.holds_many(key[1]))


def known_to(
    index: Index, who: str, at: Moment, learned: Mapping[int, Sequence[tuple[str, Moment]]]
) -> tuple[KnownFact, ...]:
    """What a character believes at a moment, in the order of telling: for each chain, the last fact that they learned.

    A character who did not witness a change still believes the earlier fact.
    """
    person = index.owner(who)
    since: dict[int, Moment] = {}
    chains: dict[Key, list[Fact]] = {}
    for fact in index.told(None, at):
        when = None if fact.withdrawn else learned_at(index, fact, person, learned.get(fact.id, ()))
        if when is not None and when <= at:
            since[fact.id] = when
            chains.setdefault(index.key(fact), []).append(fact)
    held: list[Fact] = []
    for key, facts in chains.items():
        if len(facts) == 1:
            held += facts
            continue
        standing: dict[str, Fact] = {}
        settle(standing, (bare(fact) for fact in facts), many=index.holds_many(key[1]))
        held += (index.facts[fact.id] for fact in standing.values())
    held.sort(key=lambda fact: fact.order)
    return tuple(KnownFact(fact, since[fact.id], _is_outdated(index, fact, at)) for fact in held)


def learned_at(index: Index, fact: Fact, who: str, later: Sequence[tuple[str, Moment]]) -> Moment | None:
    """When a character learns of a fact, or `None` for never; `later` lists who learns of it after it was told."""
    person = index.owner(who)
    there = fact.public or any(index.owner(name) == person for name in (*(fact.witnesses or ()), fact.source))
    if there:
        return fact.told
    return min((when for name, when in later if index.owner(name) == person), default=None)


def _is_outdated(index: Index, fact: Fact, at: Moment) -> bool:
    """Whether what a fact says stands no more; a repetition stands as long as what it repeats."""
    held = fact if fact.restates is None else index.facts[fact.restates]
    return held.closed is not None and held.closed.at <= at


def conflicts(index: Index, facts: Iterable[Fact]) -> tuple[FactConflict, ...]:
    """The conflicts of `facts` with earlier ones: at most one per fact, with the first fact that it contradicts.

    A fact that repeats another has no conflict, because the conflict was already reported for the first one. The
    running time is O(n log n) in the length of the facts' chains.
    """
    asked = [fact for fact in facts if fact.real and not fact.withdrawn and fact.restates is None]
    chains = dict.fromkeys(index.key(fact) for fact in asked)
    found: dict[int, tuple[Fact, Tellings]] = {}
    for key in chains:
        if len(index.chains[key]) > 1:
            found |= earliest_collisions(index.chain(key), many=index.holds_many(key[1]))
    return tuple(FactConflict(found[later.id][0], later, found[later.id][1]) for later in asked if later.id in found)


def neighbours(index: Index, name: str, hops: int, at: Moment) -> dict[str, int]:
    """The entities linked to an entity by facts in force, by caseless name, with their distance (0 for itself)."""
    found = {index.owner(name): 0}
    border = list(found)
    for distance in range(1, hops + 1):
        border = [other for owner in border for other in _linked(index, owner, at) if other not in found]
        found |= dict.fromkeys(border, distance)
        border = list(dict.fromkeys(border))
    return found


def _linked(index: Index, owner: str, at: Moment) -> list[str]:
    """The entities one step away."""
    mine = (fact for key in index.keys(owner) for fact in index.chain(key) if fact.about and fact.stands(at))
    found = [index.owner(name) for fact in mine for name in fact.about]
    for fact in index.concerning(owner):
        if fact.stands(at):
            found += [index.owner(fact.subject), *(index.owner(name) for name in fact.about)]
    return found


# collisions -----------------------------------------------------------------------------------------------------------
# A collision is where a reader would notice an unexplained contradiction with an earlier assertion of the chain. A
# permanent fact may change only if the text explains it. A durable fact may also change if the text announces the
# change or if the story times are known to differ. Transient facts collide only if both are known to be true at the
# same time. `tests/support/collisions.py` says the same slowly; here it takes O(n log n).
#
# A chain may have 100,000 values, so an assertion is not compared with every earlier one. Earlier assertions are
# grouped by the properties that decide whether they collide (claim or denial, durability, the way they ended). Each
# group provides its earliest assertion that has another value and is true at a common time.


_Time: TypeAlias = tuple[Decimal, ...]
_Span: TypeAlias = tuple[_Time, _Time]
_Kind: TypeAlias = Literal["any", "permanent", "lasting", "lasting at", "passing at"]
_Name: TypeAlias = tuple[_Kind, bool, str | None]  # of a file: claims or denials, of one value or (None) of all
_NEVER, _ALWAYS = Decimal("-Infinity"), Decimal("Infinity")


class Tellings(Sequence[Moment]):
    """The moments at which a value is told within a part of its chain; they are stored once for the whole chain."""

    __slots__ = ("_first", "_last", "_moments")

    def __init__(self, moments: Sequence[Moment], first: int, last: int) -> None:
        self._moments, self._first, self._last = moments, first, last

    def __len__(self) -> int:
        return self._last - self._first

    @overload
    def __getitem__(self, place: int) -> Moment: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Moment]: ...
    def __getitem__(self, place: int | slice) -> Moment | Sequence[Moment]:
        return self._moments[range(self._first, self._last)[place]] if isinstance(place, int) else tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def earliest_collisions(chain: Sequence[Fact], *, many: bool) -> dict[int, tuple[Fact, Tellings]]:
    """The first fact that each fact in `chain` collides with, and where it is told again before the later one.

    `chain` must be in order. The keys are the ids of the later facts; facts without a collision are left out.
    """
    files = _empty_files(chain)
    told: dict[tuple[bool, str], list[Moment]] = {}
    places: dict[int, int] = {}
    found: dict[int, tuple[Fact, Tellings]] = {}
    for fact in chain:
        if fact.restates is None:
            first = min(_collisions(files, fact, many=many), key=lambda one: one.order, default=None)
            if first is not None:
                again = told[first.polarity, first.norm]
                found[fact.id] = first, Tellings(again, places[first.id] + 1, len(again))
            for name, span in _filed(fact):
                if (file := files.get(name)) is not None:
                    file.add(fact, span)
        moments = told.setdefault((fact.polarity, fact.norm), [])
        places[fact.id] = len(moments)
        moments.append(fact.told)
    return found


def _collisions(files: Mapping[_Name, _File], later: Fact, *, many: bool) -> Iterator[Fact]:
    """The earliest assertion of each file that `later` collides with."""
    for polarity, value, but in _contradicted(later, many=many):
        for kind, span in _asked(later):
            file = files.get((kind, polarity, value))
            first = None if file is None else file.first(span, but)
            if first is not None:
                yield first


def _contradicted(later: Fact, *, many: bool) -> Iterator[tuple[bool, str | None, str | None]]:
    """Which assertions contradict a fact: claims or denials, of a value (or all), but for those of another value."""
    norm = later.norm
    if not later.polarity:
        yield (True, None, NOTHING) if norm == NOTHING else (True, norm, None)
        return
    if not many:
        yield True, None, norm
    if norm != NOTHING:
        yield False, norm, None
        yield False, NOTHING, None


def _asked(later: Fact) -> Iterator[tuple[_Kind, _Span | None]]:
    """The kinds of files that a fact is held against, and when it is true."""
    if later.change in ACCOUNTED:
        return
    if later.durability == "permanent":
        yield "any", None
        return
    yield "permanent", None
    if later.change == "update":
        return
    if later.durability == "durable":
        yield "lasting", _while(later)
    if later.story_from:
        yield "passing at", _at(later)
        if later.durability == "transient":
            yield "lasting at", _at(later)


def _filed(fact: Fact) -> Iterator[tuple[_Name, _Span | None]]:
    """The files that later facts look for a fact in, and when it is true there."""
    reason = None if fact.closed is None else fact.closed.reason
    if reason in ACCOUNTED:
        return
    kinds: list[tuple[_Kind, _Span | None]] = [("any", None)]
    if fact.durability == "permanent":
        kinds.append(("permanent", None))
    elif reason != "update":
        if fact.durability == "durable":
            kinds.append(("lasting", _while(fact)))
        if fact.story_from:
            kinds.append(("lasting at" if fact.durability == "durable" else "passing at", _at(fact)))
    for kind, span in kinds:
        yield (kind, fact.polarity, fact.norm), span
        if fact.polarity:
            yield (kind, True, None), span


def _while(fact: Fact) -> _Span:
    """When something that lasts may be true; without a beginning or end it may always have been, or go on being."""
    return _begin(fact.story_from) or (_NEVER,), _end(fact.story_to) or (_ALWAYS,)


def _at(fact: Fact) -> _Span:
    """When something is known to be true; without an end, at its beginning."""
    return _begin(fact.story_from) or (_NEVER,), _end(fact.story_to or fact.story_from) or (_ALWAYS,)


def _begin(text: str) -> _Time | None:
    """The first instant of a story time: 1921 begins before 1921-05, and ends after it."""
    parts = story_time(text) if text else None
    return None if parts is None else (*parts, _NEVER)


def _end(text: str) -> _Time | None:
    parts = story_time(text) if text else None
    return None if parts is None else (*parts, _ALWAYS)


# files ----------------------------------------------------------------------------------------------------------------


def _empty_files(chain: Sequence[Fact]) -> dict[_Name, _File]:
    """The files that a chain needs; those of single values only where something is denied."""
    denied = any(not fact.polarity for fact in chain)
    spans: dict[_Name, list[_Span]] = {}
    for fact in chain:
        for name, span in _filed(fact) if fact.restates is None else ():
            if denied or name[2] is None:
                spans.setdefault(name, []).extend([] if span is None else [span])
    return {name: _File(found) for name, found in spans.items()}


class _Firsts:
    """Places that each remember the first fact that came, and the first of another value."""

    def __init__(self, places: int) -> None:
        self._first: list[Fact | None] = [None] * places
        self._other: list[Fact | None] = [None] * places

    def add(self, place: int, fact: Fact) -> None:
        first = self._first[place]
        if first is None:
            self._first[place] = fact
        elif self._other[place] is None and first.norm != fact.norm:
            self._other[place] = fact

    def get(self, place: int, but: str | None) -> Fact | None:
        """The first fact at a place whose value differs from `but`."""
        first = self._first[place]
        return first if first is None or but is None or first.norm != but else self._other[place]


class _File:
    """Facts, of which the first that is true at a common time is found in log n.

    Two spans meet where one begins within the other, or holds the other's beginning. So there are two segment trees:
    over the places where spans begin, and over the places that they cover.
    """

    def __init__(self, spans: Iterable[_Span]) -> None:
        self._instants: Final = sorted({instant for span in spans for instant in span})
        self._size: Final = 2 * len(self._instants)  # an instant, and what is between it and the next one
        self._begun, self._covering = _Firsts(2 * self._size), _Firsts(2 * self._size)
        self._all = _Firsts(1)

    def add(self, fact: Fact, span: _Span | None) -> None:
        """Add a fact, which is the latest so far."""
        if span is None:
            self._all.add(0, fact)
            return
        begin, end = (2 * bisect_left(self._instants, instant) for instant in span)
        for leaf in _upwards(begin + self._size):
            self._begun.add(leaf, fact)
        for leaf in _between(begin + self._size, end + 1 + self._size):
            self._covering.add(leaf, fact)

    def first(self, span: _Span | None, but: str | None) -> Fact | None:
        """The earliest fact with a value other than `but` that is true within a span (with `None`, at any time)."""
        if span is None:
            return self._all.get(0, but)
        low, high = 2 * bisect_left(self._instants, span[0]), 2 * bisect_right(self._instants, span[1])
        found = [self._begun.get(place, but) for place in _between(low + self._size, high + self._size)]
        at = bisect_right(self._instants, span[0])
        holding = 2 * at - 2 if at and self._instants[at - 1] == span[0] else 2 * at - 1
        if 0 <= holding < self._size:
            found += [self._covering.get(place, but) for place in _upwards(holding + self._size)]
        return min((fact for fact in found if fact is not None), key=lambda one: one.order, default=None)


def _upwards(place: int) -> Iterator[int]:
    """A leaf of a segment tree and all above it."""
    while place:
        yield place
        place //= 2


def _between(low: int, high: int) -> Iterator[int]:
    """The places of a segment tree that make up its leaves from `low` on, before `high`."""
    while low < high:
        if low % 2:
            yield low
            low += 1
        if high % 2:
            high -= 1
            yield high
        low, high = low // 2, high // 2
