"""What later assertions do to earlier ones: a function of the assertions and their order, and of nothing else.

Facts of one subject, slot and plane are a *chain*. Going through it in the order of telling, a fact repeats what
stands, or closes what it contradicts. So closings need no bookkeeping of their own: whoever adds a fact in the middle
goes through the chain again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.story.world.facts import Closing, Fact, apart, at_once
from fabula.story.world.meaning import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_THE_ONE: Final = ""  # the place of the value of a slot that has one value at a time
ACCOUNTED: Final = frozenset({"explained", "retcon"})


def place(fact: Fact, *, many: bool) -> str:
    """Which standing fact of its chain a fact would take the place of; `many`: the slot holds several values."""
    if not fact.polarity:
        return f"-{fact.norm}"
    return f"+{fact.norm}" if many else _THE_ONE


def settle(standing: dict[str, Fact], arriving: Iterable[Fact], *, many: bool) -> dict[int, Fact]:
    """The facts that are new or have changed, by id, once `arriving` (in order, none closed) have come.

    `standing` holds the chain's open facts by `place`, and is brought up to date.
    """
    changed: dict[int, Fact] = {}
    for fact in arriving:
        spot = place(fact, many=many)
        held = standing.get(spot)
        if held is not None and held.norm == fact.norm:
            changed[fact.id] = replace(fact, restates=held.id)
            continue
        for closed in list(_contradicted(standing, fact, many=many)):
            old = standing.pop(closed)
            changed[old.id] = replace(old, closed=Closing(fact.id, fact.told, fact.change))
        standing[spot] = changed[fact.id] = fact
    return changed


def _contradicted(standing: dict[str, Fact], fact: Fact, *, many: bool) -> Iterator[str]:
    """Places of the standing facts that cannot stand beside `fact`."""
    norm = fact.norm
    if not fact.polarity and norm == NOTHING:
        yield from (spot for spot, other in standing.items() if other.polarity and other.norm != NOTHING)
    elif not fact.polarity:
        yield from (s for s in (f"+{norm}", _THE_ONE) if s in standing and standing[s].norm == norm)
    elif standing:
        spots = (*([] if many else [_THE_ONE]), *([] if norm == NOTHING else [f"-{norm}", f"-{NOTHING}"]))
        yield from (spot for spot in spots if spot in standing)


def bare(fact: Fact) -> Fact:
    """The fact as it was asserted: neither closed nor a repetition."""
    return fact if fact.closed is None and fact.restates is None else replace(fact, closed=None, restates=None)


def contradicts(a: Fact, b: Fact, *, many: bool) -> bool:
    """Whether two facts of one chain cannot both be true at one time."""
    if a.polarity and b.polarity:
        return not many and a.norm != b.norm
    if a.polarity == b.polarity:
        return False
    denial, claim = (b, a) if a.polarity else (a, b)
    return (denial.norm == NOTHING) != (claim.norm == denial.norm)


def collides(earlier: Fact, later: Fact, *, many: bool) -> bool:
    """Whether a reader would stumble: the two contradict each other and nothing accounts for it.

    What is permanent may differ only where the text explains it. What is durable may also differ by an announced
    change, or where story times are known to be apart. What is transient collides only where both are known to be true
    at once.
    """
    if not contradicts(earlier, later, many=many):
        return False
    reasons = {later.change, earlier.closed.reason if earlier.closed else later.change}
    kinds = {earlier.durability, later.durability}
    if reasons & ACCOUNTED:
        return False
    if "permanent" in kinds:
        return True
    if "update" in reasons:
        return False
    return at_once(earlier, later) if "transient" in kinds else not apart(earlier, later)
