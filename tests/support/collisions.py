"""What a collision of two facts is, written out slowly; `fabula.story.world.queries` finds the same faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.story.world.chains import ACCOUNTED
from fabula.story.world.facts import before
from fabula.story.world.meaning import NOTHING

if TYPE_CHECKING:
    from fabula.story.world import Fact


def contradicts(a: Fact, b: Fact, *, many: bool) -> bool:
    """Whether two facts of a chain cannot both be true at the same time."""
    if a.polarity and b.polarity:
        return not many and a.norm != b.norm
    if a.polarity == b.polarity:
        return False
    denial, claim = (b, a) if a.polarity else (a, b)
    return (denial.norm == NOTHING) != (claim.norm == denial.norm)


def collides(earlier: Fact, later: Fact, *, many: bool) -> bool:
    """Whether a reader would notice an unexplained contradiction."""
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


def apart(a: Fact, b: Fact) -> bool:
    """Whether two facts are known to be true at different story times; a fact without an end remains true."""
    return _ends_before(a, b) or _ends_before(b, a)


def _ends_before(a: Fact, b: Fact) -> bool:
    return bool(a.story_to and b.story_from) and before(a.story_to, b.story_from)


def at_once(a: Fact, b: Fact) -> bool:
    """Whether two facts are known to be true at the same story time; without an end, a fact counts at its beginning."""
    if not (a.story_from and b.story_from):
        return False
    return not (before(a.story_to or a.story_from, b.story_from) or before(b.story_to or b.story_from, a.story_from))
