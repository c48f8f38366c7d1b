"""Without any model: what strict rules hold for alone, and variants of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.continuity import check
from fabula.evaluators.atlas.findings import Found, Proposal, key_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from fabula.continuity import Candidate, NumberedScene


def collisions(scenes: Sequence[NumberedScene], counts: Counter[str]) -> tuple[list[Found], dict[str, Any]]:
    """Tight collisions and name variants as findings; nobody is asked."""
    checked = check(scenes, tight=True)
    counts["candidates_of_rules"] += len(checked.candidates)
    return [_found(one) for one in checked.candidates], {"raised": dict(checked.raised)}


def _found(one: Candidate) -> Found:
    proposal = Proposal.of(one)
    reason = f"{one.values[0]} against {one.values[1]}"
    return Found(
        key_of(one.before.quote, one.after.quote), proposal.x, proposal.y, proposal.fact, proposal.event, one.subject,
        f"{one.detector} of {one.subject}", proposal.category, proposal.source, one.before, one.after, reason,
    )  # fmt: skip
