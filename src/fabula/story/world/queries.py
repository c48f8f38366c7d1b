"""Queries about the world: differences, a character's knowledge, conflicts, and neighbours."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - pydantic reads it
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.story.world.chains import bare, place, settle
from fabula.story.world.collisions import Tellings, earliest_collisions
from fabula.story.world.facts import Fact, Moment  # noqa: TC001 - pydantic reads them

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
