"""A judge's scores of stories compared with people's: within prompts, and by system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.stats.agreement import cohen_kappa, of_disagreement
from fabula.stats.correlation import (
    COEFFICIENTS,
    LOWEST,
    Coefficient,
    by_row,
    levelled,
    pairwise_accuracy,
    without_each,
)
from fabula.stats.estimate import Figure, Unscored
from fabula.stats.intervals import coefficient_of, leaving_out, mean_of, share_of
from fabula.stats.verdicts import JUDGE, PAIR, grouped, scores_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored
    from fabula.stats.verdicts import Array, Trivial, Verdict

    Statistic: TypeAlias = Callable[[Array, Array], float | None]

_OF_SYSTEMS: Final[tuple[Coefficient, ...]] = ("spearman", "kendall", "pearson", "accuracy")
_STATISTICS: Final[Mapping[str, Statistic]] = {
    "spearman": COEFFICIENTS["spearman"],
    "kendall": COEFFICIENTS["kendall"],
    "pearson": COEFFICIENTS["pearson"],
    "accuracy": pairwise_accuracy,
    "accuracy (legacy_fig3)": lambda h, m: pairwise_accuracy(h, m, "legacy_fig3"),
    "accuracy (legacy_table1)": lambda h, m: pairwise_accuracy(h, m, "legacy_table1"),
}
_FEW_LABELS: Final = 12


@dataclass(frozen=True)
class Stories:
    """The stories that both sides judged, with a score from each, in the order in which people's verdicts name them.

    Attributes:
        scored: verdicts are scores, not choices between two.
    """

    items: tuple[str, ...]
    human: Array
    judge: Array
    prompts: tuple[str, ...]
    systems: tuple[str, ...]
    scored: bool

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def of(cls, judge: Sequence[Verdict], human: Sequence[Verdict]) -> Stories:
        """Those in two sets of verdicts."""
        mine, theirs = scores_of(judge), scores_of(human)
        known = sources_of([*judge, *human])
        items = tuple(item for item in theirs if item in mine)
        return cls(
            items,
            levelled(np.array([theirs[item] for item in items])),
            levelled(np.array([mine[item] for item in items])),
            tuple(known[item][0] for item in items),
            tuple(known[item][1] for item in items),
            all(verdict.pair is None for verdict in (*judge, *human)),
        )

    @property
    def within(self) -> bool:
        """Whether prompts have several stories; else all stories are compared with each other."""
        return 1 < len(set(self.prompts)) < len(self.prompts)

    def groups(self) -> list[NDArray[np.int64]]:
        """Stories that are compared with each other: of one prompt, and people see a difference between them."""
        found = grouped(self.prompts) if self.within else [np.arange(len(self))]
        return [member for member in found if len(member) > 1 and np.ptp(self.human[member]) > 0]

    def units(self) -> list[NDArray[np.int64]]:
        """What belongs together: prompts, or stories where prompts have one story each or are not known."""
        return grouped(self.prompts) if self.within else list(np.arange(len(self))[:, None])

    def notes(self) -> list[str]:
        """What is not compared, and why."""
        if not self.within:
            note = "No two prompts with several stories: all stories are compared with each other."
            return [note] if len(self) else []
        left = len(set(self.prompts)) - len(self.groups())
        return [f"Prompts left out by story: {left} (one story, or people see no difference)."] if left else []

    def everyone(self, trivial: Mapping[str, Trivial]) -> dict[str, Array | str]:
        """The judge's scores and those of the baselines, or why one has none."""
        found: dict[str, Array | str] = {JUDGE: self.judge}
        for name, scores in trivial.items():
            if isinstance(scores, str):
                found[name] = scores
            elif missing := [item for item in self.items if item not in scores]:
                found[name] = f"the text of {missing[0]!r} is not there; give it with --stories"
            else:
                found[name] = np.array([scores[item] for item in self.items])
        return found

    def findings(self, trivial: Mapping[str, Trivial]) -> list[Figure]:
        """By story and by system, of the judge and of the baselines."""
        found = []
        for name, values in self.everyone(trivial).items():
            for what, scored in self._of(values):
                found.append(Figure(name, what, scored))
        if self.scored and len(self):
            found.append(Figure(JUDGE, "stories: kappa", self._kappa()))
        return found

    def _of(self, values: Array | str) -> Iterator[tuple[str, Scored]]:
        for what, statistic in _STATISTICS.items():
            missing = isinstance(values, str)
            yield (
                f"stories: {what}",
                Unscored(str(values), len(self)) if missing else self._by_story(np.asarray(values), what, statistic),
            )
        for what in _OF_SYSTEMS:
            missing = isinstance(values, str)
            yield (
                f"systems: {what}",
                Unscored(str(values), len(self)) if missing else self._by_system(np.asarray(values), what),
            )

    # by story -------------------------------------------------------------------------------------------------------

    def _by_story(self, values: Array, what: str, statistic: Statistic) -> Scored:
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        share = what.startswith("accuracy")
        if not self.within:
            value = statistic(self.human, values)
            if value is None:
                return Unscored("undefined on these stories", len(self))
            without = [statistic(self.human[rows], values[rows]) for rows in leaving_out(self.units())]
            lowest = 0.0 if share else -1.0
            return coefficient_of(value, len(self), without, method=f"{what} over all stories", lowest=lowest)
        each = [statistic(self.human[member], values[member]) for member in self.groups()]
        method = f"mean over prompts of {what}"
        if missing := each.count(None):
            method += f", which counts as 0 on {missing} of {len(each)} where the judge sees no difference"
        known = [found or 0.0 for found in each]
        return share_of(known, method=method) if share else mean_of(known, method=method, limits=(-1.0, 1.0))

    def _by_group(self, values: Array, statistic: Statistic) -> Array:
        """The statistic of each group; 0 where it is undefined since the judge sees no difference."""
        return np.array([statistic(self.human[member], values[member]) or 0.0 for member in self.groups()])

    def difference(self, one: Array, other: Array) -> Scored:
        """By how much the symmetric pairwise accuracy of the first is higher."""
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        if self.within:
            each = self._by_group(one, pairwise_accuracy) - self._by_group(other, pairwise_accuracy)
            return mean_of(each, method="mean over prompts of the difference in accuracy", limits=(-1.0, 1.0))

        def apart(rows: NDArray[np.int64]) -> float | None:
            first, second = (pairwise_accuracy(self.human[rows], values[rows]) for values in (one, other))
            return None if first is None or second is None else first - second

        value = apart(np.arange(len(self)))
        if value is None:
            return Unscored("undefined on these stories", len(self))
        without = [apart(rows) for rows in leaving_out(self.units())]
        return coefficient_of(value, len(self), without, method="difference in accuracy over all stories")

    def _kappa(self) -> Scored:
        """Cohen's kappa of whole scores: unweighted for two labels, else with quadratic weights."""
        human, judge = np.round(self.human), np.round(self.judge)
        labels = len(set(human.tolist()) | set(judge.tolist()))
        if labels > _FEW_LABELS:
            return Unscored(f"kappa is for a few labels, not for {labels} different scores", len(self))
        weights = "quadratic" if labels > PAIR else None

        value = cohen_kappa(human.tolist(), judge.tolist(), weights)  # type: ignore[arg-type] # a literal
        if value is None:
            return Unscored("both sides gave one and the same score to all stories", len(self))
        method = f"Cohen's kappa{' with quadratic weights' if weights else ''} of mean scores, rounded"
        # Weights go by the place of a score among those given.
        known, places = np.unique(np.stack([human, judge]), return_inverse=True)
        of_each = places.reshape(2, -1) / (len(known) - 1)
        groups = self.prompts if self.within else None
        apart, chance = np.diff(of_each, axis=0)[0] ** 2, 2 * float(of_each.var())
        return of_disagreement(value, len(self), apart, chance, groups, method=method)

    # by system ------------------------------------------------------------------------------------------------------

    def _by_system(self, values: Array, what: Coefficient) -> Scored:
        systems = sorted(set(self.systems))
        if "" in systems:
            return Unscored("the ratings do not name the system of every story", len(self))
        if len(systems) < PAIR:
            return Unscored("fewer than two systems", len(systems))
        human, judge = (levelled(self._means(systems, side)) for side in (self.human, values))
        value = by_row(what, human[None], judge[None])[0]
        if not math.isfinite(value):
            return Unscored("one of the two sides sees no difference between the systems", len(systems))
        # By prompts the systems would be fixed, and chance moves their means in every draw: such intervals lie too low.
        # Those who ask whether the judge ranks systems right ask it of other systems too.
        units = [np.array([n]) for n in range(len(systems))]
        without = without_each(human, judge, what, units)
        method = f"{what} of the means of {len(systems)} systems"
        return coefficient_of(float(value), len(systems), without, method=method, lowest=LOWEST[what])

    def _means(self, systems: Sequence[str], values: Array) -> Array:
        """The mean of each system's stories."""
        place = {name: column for column, name in enumerate(systems)}
        columns = np.array([place[name] for name in self.systems])
        return np.asarray(np.bincount(columns, values) / np.bincount(columns), dtype=np.float64)
