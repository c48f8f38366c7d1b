"""Differences between every two systems: paired by prompt, with intervals and p-values corrected for their number.

The intervals hold all at once with 95 % (Bonferroni: each at 1 - 0.05 / m for m differences), and a p-value is m times
that of one: a difference is shown exactly where its interval does not hold 0. That is safe however the differences
depend on each other. Several questions to one judge on the same stories count together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.lazily import Module
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import LEVEL, Spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from fabula.stats.estimate import Scored
else:
    np = Module("numpy")

MOST: Final = 20  # systems of which every two are compared
_SAID: Final = 5  # differences in a sentence
# Two systems, the value of their difference, on how many prompts, and what its interval comes from.
Found: TypeAlias = tuple[str, str, float, int, Spread | Unscored]


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one system is above another; `scored.p` is the corrected p-value."""

    one: str
    other: str
    scored: Scored

    @property
    def of(self) -> str:
        """What the difference is called in a report."""
        return f"{self.one} - {self.other}"

    @property
    def said(self) -> str:
        """Which of the two is above the other."""
        above = not isinstance(self.scored, Estimate) or self.scored.value > 0
        return f"{self.one} above {self.other}" if above else f"{self.other} above {self.one}"

    @property
    def tested(self) -> bool:
        """Whether there is a p-value."""
        return isinstance(self.scored, Estimate) and self.scored.p is not None

    @property
    def shown(self) -> bool:
        """Whether the difference is shown not to be 0, at 5 % for all of them together."""
        return is_shown(self.scored)


def is_shown(scored: Scored) -> bool:
    """Whether a corrected difference is shown not to be 0."""
    return isinstance(scored, Estimate) and scored.p is not None and scored.p < 1 - LEVEL


def differences(
    systems: Mapping[str, Mapping[str, Sequence[float]]], what: str, most: float = math.inf, questions: int = 1
) -> tuple[Difference, ...]:
    """The mean difference of every two systems over the prompts that both have; none where they are too many.

    Args:
        systems: of each the values on each prompt, of which the mean is taken.
        what: is compared, for the method.
        most: how large a difference can be.
        questions: or measures, on which systems are compared at once.
    """
    if len(systems) > MOST:
        return ()
    means = {name: {prompt: fmean(all_) for prompt, all_ in own.items() if all_} for name, own in systems.items()}
    found: list[Found] = []
    for one, other in combinations(means, 2):
        shared = [prompt for prompt in means[one] if prompt in means[other]]
        apart = np.array([means[one][prompt] - means[other][prompt] for prompt in shared])
        value = float(apart.mean()) if shared else 0.0
        found.append((one, other, value, len(shared), spread_of(apart, list(np.arange(len(apart))[:, None]))))
    return corrected(found, f"mean difference of {what} over the prompts that both have", most, questions)


def corrected(
    found: Sequence[Found], method: str, most: float = math.inf, questions: int = 1
) -> tuple[Difference, ...]:
    """The differences with intervals and p-values that hold all at once; no interval goes further than `most`.

    They are corrected for as many differences on each of so many `questions`.
    """
    count = questions * sum(isinstance(one[-1], Spread) for one in found)
    level = 1 - (1 - LEVEL) / max(count, 1)
    on = f" on {questions} questions" if questions > 1 else ""
    many = f"for all {count} differences{on} at once (Bonferroni)" if count > 1 else ""
    named = "; ".join(part for part in (method, f"t interval {many}".strip()) if part)
    rows = []
    for one, other, value, n, spread in found:
        if not n:
            scored: Scored = Unscored("no prompt has both")
        elif isinstance(spread, Unscored):
            scored = Estimate(value, n, method=f"{method}; {spread.reason}")
        else:
            below, above = spread.reach(level)
            low, high = max(value - below, -most), min(value + above, most)
            scored = Estimate(value, n, low, high, named, LEVEL, min(1.0, count * spread.chance()))
        rows.append(Difference(one, other, scored))
    return tuple(rows)


def as_said(rows: Sequence[Difference], what: str) -> str:
    """Which systems are shown to differ, in a sentence; empty where nothing is compared."""
    tested = [row for row in rows if row.tested]
    if not tested:
        return ""
    shown = [row for row in tested if row.shown]
    if not shown:
        return (
            f"No difference in {what} between two systems is shown ({len(tested)} compared, corrected by Bonferroni)."
        )
    above = [row.said for row in shown[:_SAID]]
    more = f" and {len(shown) - _SAID} more" if len(shown) > _SAID else ""
    return f"Shown to differ in {what} ({len(tested)} compared, corrected by Bonferroni): {', '.join(above)}{more}."
