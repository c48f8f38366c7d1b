"""Claims of one slot held against each other: a new value beside the values that were told before."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fabula.continuity.candidate import Claim

MOST_VALUES: Final = 8  # a slot with more values than this is no slot that has one value at a time
_MOST_PAIRS: Final = 12


def by_key(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Claims by slot, in the order of telling."""
    found: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        found[claim.key].append(claim)
    return {key: sorted(group, key=lambda c: (c.line.number, c.start)) for key, group in found.items()}


def collisions(
    claims: Iterable[Claim], *, most_values: int = MOST_VALUES, same: Callable[[Claim, Claim], bool] | None = None
) -> Iterator[tuple[Claim, Claim]]:
    """Pairs of claims on one slot whose values differ.

    Each distinct value is compared with the first statement of every value told before it, and each statement with the
    one told last, once for every two values in that order (world_state 4.3, item 4). Claims of two known owners never
    meet, nor those for which `same` says no. A slot with more than `most_values` values gives nothing.
    """
    for group in by_key(claims).values():
        if len({claim.value for claim in group}) > most_values:
            continue
        yield from list(_pairs(group, same))[:_MOST_PAIRS]


def _pairs(group: list[Claim], same: Callable[[Claim, Claim], bool] | None) -> Iterator[tuple[Claim, Claim]]:
    firsts: dict[tuple[str, str], Claim] = {}
    seen: set[tuple[str, str]] = set()
    last: Claim | None = None
    for claim in group:
        known = (claim.value, claim.owner)
        if known not in firsts:
            others = [c for c in firsts.values() if _meet(c, claim, same)]
            yield from ((other, claim) for other in others)
            firsts[known] = claim
            seen |= {(other.value, claim.value) for other in others}
        if last is not None and (last.value, claim.value) not in seen and _meet(last, claim, same):
            seen.add((last.value, claim.value))
            yield last, claim
        last = claim


def _meet(one: Claim, other: Claim, same: Callable[[Claim, Claim], bool] | None) -> bool:
    if one.value == other.value or one.line is other.line:
        return False
    if one.owner and other.owner and one.owner != other.owner:
        return False
    return same is None or same(one, other)
