"""Whether a tuned model ranks held-out pairs as their author did: better than its base, and than trivial rules.

A model ranks a pair rightly where it finds the chosen text likelier than the rejected one, by the mean log-probability
of their tokens (the sum would find nearly every shorter text likelier). Three rules stand next to it: the longer text,
the shorter one, the later one. All are asked about the same pairs, and whatever belongs together is one unit.

"Better" is said only where the tuned model is above its base and above each rule, by intervals that leave out 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import FEWEST, share_among
from fabula.training.pairs import RULES, could_tell, joined
from fabula.training.report import difference_of

if TYPE_CHECKING:
    from fabula.training.examples import PreferencePair


MANY_PROJECTS: Final = 8
"""Projects from which on a whole project is kept together, and not each scene by itself."""
TUNED, BASE, LONGER, SHORTER, LATER = "tuned", "base", "longer", "shorter", "later"
COMPARED: Final = (LONGER, SHORTER, LATER)
_HALF: Final = 0.5
_MOSTLY: Final = 0.75


@dataclass(frozen=True, slots=True)
class Margins:
    """By how much each model finds the chosen text of a held-out pair likelier than the rejected one.

    Attributes:
        pair: the pair.
        unit: what it is kept together with.
        base: mean log-probability of a token of the chosen text less that of the rejected, under the base.
        tuned: the same under a tuned model that has not seen the pair.
    """

    pair: PreferencePair
    unit: str
    base: float
    tuned: float


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """What the held-out pairs say.

    Attributes:
        right: the share of pairs that each ranks as the author did: tuned, base, longer, shorter, later.
        above: by how much the tuned model's share is above each other's, on the same pairs.
        units: how many units the pairs are of.
        n: how many pairs.
    """

    right: Mapping[str, Scored]
    above: Mapping[str, Scored]
    units: int
    n: int

    @property
    def better(self) -> bool:
        """Whether the tuned model is shown to be above its base and above every rule."""
        return all(is_above(scored) for scored in self.above.values())

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not better, a sentence for each comparison that is not shown."""
        below = [name for name, scored in self.above.items() if not is_above(scored)]
        return tuple(_reason(name, self.right[name], self.above[name], self.n) for name in below)

    def sentences(self, rightly: str) -> list[str]:
        """What was found, and why it is not better where it is not.

        Args:
            rightly: what a right ranking is, such as "as you did".
        """
        if not self.better:
            first, *others = self.reasons
            return [f"Not better. {first}", *others]
        tuned, base = (percent(self.right[name]) for name in (TUNED, BASE))
        better = (
            f"Better. The tuned model ranks {tuned} of the held-out pairs {rightly}, and the model as it was {base}; "
            "that it is above it, and above each rule that reads nothing, is more than chance would give."
        )
        return [better]

    def as_data(self) -> dict[str, Any]:
        """The comparison for JSON."""
        return {
            "better": self.better,
            "n": self.n,
            "units": self.units,
            "right": {name: scored.as_data() for name, scored in self.right.items()},
            "tuned_above": {name: scored.as_data() for name, scored in self.above.items()},
            "reasons": list(self.reasons),
        }


def is_above(scored: Scored) -> bool:
    """Whether a difference is shown to be above 0."""
    return isinstance(scored, Estimate) and scored.low is not None and scored.low > 0


def percent(scored: Scored, sign: str = "") -> str:
    """A share as people read it."""
    return f"{scored.value:{sign}.0%}" if isinstance(scored, Estimate) else "none"


def compared(rows: Sequence[Margins], tried: int = 1) -> HeldOutResult:
    """How the tuned model, its base and the rules rank the same held-out pairs.

    Args:
        rows: the pairs.
        tried: checkpoints of which these pairs chose the best; 1 where they took no part in that.
    """
    units = [row.unit for row in rows]
    hits = {TUNED: [_hit(row.tuned) for row in rows], BASE: [_hit(row.base) for row in rows]}
    hits |= {rule: [_by_rule(rule, row.pair) for row in rows] for rule in COMPARED}
    right = {name: share_among(own, units, method="share of pairs ranked rightly") for name, own in hits.items()}
    return HeldOutResult(
        right,
        {name: _difference(hits[TUNED], own, units, tried) for name, own in hits.items() if name != TUNED},
        len(set(units)),
        len(rows),
    )


def least_shown(sizes: Sequence[int]) -> int | None:
    """How many of the base's errors the tuned model has to mend, losing none, before that shows as a difference.

    Args:
        sizes: how many held-out pairs there are in each unit.

    Returns:
        The least number; `None` where not even all of them would show.
    """
    places = [(nth, unit) for unit, size in enumerate(sizes) for nth in range(size)]
    order = sorted(range(len(places)), key=lambda index: places[index])  # one of each unit, then the next of each
    units = [str(unit) for _, unit in places]
    mended = [0.0] * len(places)
    for count, index in enumerate(order, 1):
        mended[index] = 1.0
        if is_above(_difference(mended, [0.0] * len(places), units)):
            return count
    return None


def units_of(pairs: Iterable[PreferencePair]) -> list[str]:
    """What each pair is kept together with: its project where there are many of them, else its scene or artefact.

    Where a project was copied, its scenes stay with those that they are copies of.
    """
    pairs = list(pairs)
    projects = [str(pair.source.get("project", "")) for pair in pairs]
    many = all(projects) and len(set(projects)) >= MANY_PROJECTS
    units = projects if many else [f"{project}/{pair.group}" for project, pair in zip(projects, pairs, strict=True)]
    return joined(pairs, units)


def parts(units: Sequence[str], count: int) -> list[list[int]]:
    """The indices of the pairs in `count` parts of much the same size; whatever is of one unit is in one part.

    Always the same for the same units, in whatever order they come; fewer parts where there are fewer units.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for index, unit in enumerate(units):
        members[unit].append(index)
    drawn = sorted(members, key=lambda unit: (-len(members[unit]), sha256(unit.encode()).digest()))
    found: list[list[int]] = [[] for _ in range(min(count, len(members)))]
    for unit in drawn:
        smallest = min(found, key=len)
        smallest += members[unit]
    return [sorted(part) for part in found]


def _difference(one: Sequence[float], other: Sequence[float], units: Sequence[str], tried: int = 1) -> Scored:
    """The mean difference of what two rank rightly, on the same pairs, with an interval by unit."""
    apart = [a - b for a, b in zip(one, other, strict=True)]
    return difference_of(apart, units, "difference in pairs ranked rightly", tried, limits=(-1.0, 1.0))


def _hit(margin: float) -> float:
    """1 where a margin is for the chosen text, 0 where it is against it, a half where it is neither."""
    return _HALF if margin == 0 or math.isnan(margin) else float(margin > 0)


def _by_rule(rule: str, pair: PreferencePair) -> float:
    """Whether a trivial rule ranks a pair rightly; a half where no other order was possible, or none is known."""
    return RULES[rule](pair) if could_tell(rule, pair) else _HALF


def said(name: str) -> str:
    """What the tuned model is compared with, in words."""
    return "the model as it was" if name == BASE else f"the rule “{name}”"


def _reason(name: str, right: Scored, scored: Scored, pairs: int) -> str:
    """Why it is not shown that the tuned model is above another; `right` is the other's share."""
    if isinstance(scored, Unscored) or scored.low is None or scored.high is None:
        units = "pairs come from too few places for an interval"
        return f"Against {said(name)} nothing can be shown: the held-out {units} (it takes {FEWEST})."
    points = f"{scored.value:+.0%} ({scored.low:+.0%} to {scored.high:+.0%})"
    if name == LATER and isinstance(right, Estimate) and right.value > _MOSTLY:
        return (
            f"It is not shown to be above {said(name)}: {points}. Mostly the later text was preferred, and no model "
            "sees in a text when it came."
        )
    if scored.value <= 0:
        return f"It is not above {said(name)}: {points}. More pairs alone would not change that."
    needed = math.ceil(pairs * ((scored.value - scored.low) / scored.value) ** 2)
    return (
        f"That it is above {said(name)} is not shown: {points}. If the difference stayed as large, about "
        f"{max(needed, pairs + 1):,} pairs would show it; there are {pairs:,}."
    )
