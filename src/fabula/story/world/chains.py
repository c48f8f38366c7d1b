"""The effect of later assertions on earlier ones, which depends only on the assertions themselves and their order.

Facts with the same subject, slot and plane form a *chain*. In the order of telling, each fact repeats a fact that is in
force, or closes the facts that it contradicts, or does neither. Closings do not need separate bookkeeping: if a fact is
inserted in the middle, the chain is processed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from fabula.story.world.facts import Closing, Fact
from fabula.story.world.meaning import NOTHING

_THE_ONE: Final = ""  # the place of the value of a slot that has one value at a time
ACCOUNTED: Final = frozenset({"explained", "retcon"})


def place(fact: Fact, *, many: bool) -> str:
    """The key of the fact in force that a fact would replace; with `many`, the slot can have several values."""
    if not fact.polarity:
        return f"-{fact.norm}"
    return f"+{fact.norm}" if many else _THE_ONE


def settle(standing: dict[str, Fact], arriving: Iterable[Fact], *, many: bool) -> dict[int, Fact]:
    """The new and changed facts by id, after `arriving` (in order, none of them closed) has been added.

    `standing` contains the open facts of the chain by `place`, and is updated.
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
    """The fact as it was asserted, neither closed nor marked as a repetition."""
    return fact if fact.closed is None and fact.restates is None else replace(fact, closed=None, restates=None)
