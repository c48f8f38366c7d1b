"""A judge's scores of stories beside people's: within prompts, and by system."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.stats.agreement import cohen_kappa
from fabula.stats.bootstrap import Resampling, bootstrap, bootstrap_mean, draw_counts, estimated
from fabula.stats.correlation import COEFFICIENTS, Coefficient, by_row, levelled, pairwise_accuracy
from fabula.stats.estimate import Unscored
from fabula.stats.verdicts import JUDGE, PAIR, Figure, grouped, homes_of, scores_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored
    from fabula.stats.verdicts import Array, Trivial, Verdict

    Statistic: TypeAlias = Callable[[Array, Array], float | None]

_LEVEL: Final = 0.95
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
        known = homes_of([*judge, *human])
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
        """What is drawn as a whole: prompts, or stories where prompts have one story each or are not known."""
        return grouped(self.prompts) if self.within else list(np.arange(len(self))[:, None])

    def notes(self) -> list[str]:
        """What is not compared, and why."""
        if not self.within:
            note = "No two prompts with several stories: all stories are compared with each other, and drawn singly."
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

    def findings(self, trivial: Mapping[str, Trivial], resampling: Resampling) -> list[Figure]:
        """By story and by system, of the judge and of the baselines."""
        found = []
        for name, values in self.everyone(trivial).items():
            for what, scored in self._of(values, resampling):
                found.append(Figure(name, what, scored))
        if self.scored and len(self):
            found.append(Figure(JUDGE, "stories: kappa", self._kappa(resampling)))
        return found

    def _of(self, values: Array | str, resampling: Resampling) -> Iterator[tuple[str, Scored]]:
        for what, statistic in _STATISTICS.items():
            missing = isinstance(values, str)
            yield (
                f"stories: {what}",
                Unscored(str(values), len(self))
                if missing
                else self._by_story(np.asarray(values), what, statistic, resampling),
            )
        for what in _OF_SYSTEMS:
            missing = isinstance(values, str)
            yield (
                f"systems: {what}",
                Unscored(str(values), len(self)) if missing else self._by_system(np.asarray(values), what, resampling),
            )

    # by story -------------------------------------------------------------------------------------------------------

    def _by_story(self, values: Array, what: str, statistic: Statistic, resampling: Resampling) -> Scored:
        options = {"resamples": resampling.resamples, "seed": resampling.seed}
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        if not self.within:
            return bootstrap(
                range(len(self)),
                lambda rows: statistic(self.human[list(rows)], values[list(rows)]),
                method=f"{what} over all stories, drawn by story",
                **options,
            )
        each = [statistic(self.human[member], values[member]) for member in self.groups()]
        method = f"mean over prompts of {what}"
        if missing := each.count(None):
            method += f", which counts as 0 on {missing} of {len(each)} where the judge sees no difference"
        return bootstrap_mean([found or 0.0 for found in each], None, method=f"{method}; drawn by prompt", **options)

    def _by_group(self, values: Array, statistic: Statistic) -> Array:
        """The statistic of each group; 0 where it is undefined since the judge sees no difference."""
        return np.array([statistic(self.human[member], values[member]) or 0.0 for member in self.groups()])

    def difference(self, one: Array, other: Array, resampling: Resampling) -> Scored:
        """By how much the symmetric pairwise accuracy of the first is higher."""
        options = {"resamples": resampling.resamples, "seed": resampling.seed}
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        if self.within:
            each = self._by_group(one, pairwise_accuracy) - self._by_group(other, pairwise_accuracy)
            return bootstrap_mean(each, None, method="mean over prompts of the difference in accuracy", **options)

        def apart(rows: Sequence[int]) -> float | None:
            chosen = list(rows)
            first, second = (pairwise_accuracy(self.human[chosen], values[chosen]) for values in (one, other))
            return None if first is None or second is None else first - second

        return bootstrap(range(len(self)), apart, method="difference in accuracy, drawn by story", **options)

    def _kappa(self, resampling: Resampling) -> Scored:
        """Cohen's kappa of whole scores: unweighted for two labels, else with quadratic weights."""
        human, judge = np.round(self.human), np.round(self.judge)
        labels = len(set(human.tolist()) | set(judge.tolist()))
        if labels > _FEW_LABELS:
            return Unscored(f"kappa is for a few labels, not for {labels} different scores", len(self))
        weights = "quadratic" if labels > PAIR else None

        def kappa(chosen: Sequence[NDArray[np.int64]]) -> float | None:
            rows = np.concatenate(chosen)
            return cohen_kappa(human[rows].tolist(), judge[rows].tolist(), weights)  # type: ignore[arg-type] # a literal

        method = f"Cohen's kappa{' with quadratic weights' if weights else ''} of mean scores, rounded; drawn by prompt"
        found = bootstrap(self.units(), kappa, resamples=resampling.resamples, seed=resampling.seed, method=method)
        return replace(found, n=len(self))

    # by system ------------------------------------------------------------------------------------------------------

    def _by_system(self, values: Array, what: Coefficient, resampling: Resampling) -> Scored:
        systems = sorted(set(self.systems))
        if "" in systems:
            return Unscored("the ratings do not name the system of every story", len(self))
        if len(systems) < PAIR:
            return Unscored("fewer than two systems", len(systems))
        sums = self._sums(systems, values)
        value = by_row(what, *sums.means(np.ones((1, len(sums.counts)))))[0]
        if not math.isfinite(value):
            return Unscored("one of the two sides sees no difference between the systems", len(systems))
        drawn = [np.empty(0)]
        if len(sums.counts) > 1:
            chosen = draw_counts(len(sums.counts), resampling.resamples, resampling.seed)
            drawn += [by_row(what, *sums.means(counts)) for counts in chosen]
        units = f"{len(sums.counts)} {'prompts' if self.within else 'stories'}"
        method = f"{what} of the means of {len(systems)} systems, drawn by {units}"
        return estimated(float(value), len(systems), np.concatenate(drawn), level=_LEVEL, method=method)

    def _sums(self, systems: Sequence[str], values: Array) -> _Sums:
        place = {name: column for column, name in enumerate(systems)}
        columns = np.array([place[name] for name in self.systems])
        human, judge, counts = (np.zeros((len(self.units()), len(systems))) for _ in range(3))
        for row, member in enumerate(self.units()):
            np.add.at(human[row], columns[member], self.human[member])
            np.add.at(judge[row], columns[member], values[member])
            np.add.at(counts[row], columns[member], 1)
        return _Sums(human, judge, counts)


@dataclass(frozen=True)
class _Sums:
    """Sums of scores by unit and system (units x systems), from which any draw of units gives the systems' means.

    Means that differ by rounding alone are ties.
    """

    human: Array
    judge: Array
    counts: Array

    def means(self, chosen: Array) -> tuple[Array, Array]:
        """The systems' means of draws (draws x units); NaN where a draw has no story of a system."""
        total = chosen @ self.counts
        with np.errstate(invalid="ignore"):
            return levelled((chosen @ self.human) / total), levelled((chosen @ self.judge) / total)
