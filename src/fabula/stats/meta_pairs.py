"""A judge's choices between two stories compared with people's, pair by pair.

A pair has no first story: what depends on one (kappa, the rank correlation) counts each pair from both sides.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fabula.stats.agreement import agreement
from fabula.stats.correlation import correlation, levelled
from fabula.stats.estimate import Estimate, Figure, Unscored
from fabula.stats.intervals import mean_of, share_of
from fabula.stats.verdicts import JUDGE, preferences_of, preferred, sources_of, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.stats.estimate import Scored
    from fabula.stats.verdicts import Array, Pair, Trivial, Verdict


@dataclass(frozen=True)
class ComparedPairs:
    """The pairs of stories that both sides compared; preferences are for the first story of each.

    Attributes:
        shown_first: how often that story was shown to the judge first.
    """

    pairs: tuple[Pair, ...]
    human: Array
    judge: Array
    shown_first: Array
    prompts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    @classmethod
    def of(cls, judge: Sequence[Verdict], human: Sequence[Verdict]) -> ComparedPairs:
        """Those in two sets of verdicts."""
        mine, theirs = preferences_of(judge), preferences_of(human)
        pairs = tuple(pair for pair in theirs if pair in mine)
        homes = sources_of([*judge, *human])
        shown: dict[Pair, list[float]] = defaultdict(list)
        for verdict in judge:
            if verdict.pair is not None:
                shown[verdict.pair].append(verdict.first if verdict.items == verdict.pair else 1 - verdict.first)
        return cls(
            pairs,
            np.array([theirs[pair] for pair in pairs]),
            np.array([mine[pair] for pair in pairs]),
            np.array([np.mean(shown[pair]) for pair in pairs]),
            tuple(units_of(pairs, [homes[pair[0]][0] or homes[pair[1]][0] for pair in pairs])),
        )

    def findings(self, trivial: Mapping[str, Trivial]) -> list[Figure]:
        """The share of pairs on which both say the same, of the judge and the baselines; the judge's kappa and rho."""
        if not len(self):
            return []
        method = "share of pairs with people's preference, half where one side alone ties"
        found = []
        for name, values in self.everyone(trivial).items():
            scored: Scored = (
                Unscored(values, len(self))
                if isinstance(values, str)
                else share_of(self.credit(values), self.prompts, method=method)
            )
            found.append(Figure(name, "pairs: accuracy", scored))
        found.append(Figure(JUDGE, "pairs: kappa", self._kappa()))
        return [*found, Figure(JUDGE, "pairs: spearman", self._rho())]

    def everyone(self, trivial: Mapping[str, Trivial]) -> dict[str, Array | str]:
        """The judge's preferences and those of the baselines, or why one has none."""
        found: dict[str, Array | str] = {JUDGE: self.judge}
        for name, scores in trivial.items():
            if isinstance(scores, str):
                found[name] = scores
            elif missing := [item for pair in self.pairs for item in pair if item not in scores]:
                found[name] = f"the text of {missing[0]!r} is not there; give it with --stories"
            else:
                ahead = [np.sign(scores[first] - scores[second]) for first, second in self.pairs]
                found[name] = (np.array(ahead) + 1) / 2
        return found | {"first position": self.shown_first}

    def credit(self, values: Array) -> Array:
        """For each pair 1 where people prefer the same, 0 the opposite, 0.5 where one side alone sees no difference."""
        mine, theirs = _three(values), _three(self.human)
        return np.asarray(1 - np.abs(mine - theirs))

    def difference(self, one: Array, other: Array) -> Scored:
        """By how much the share of the first is higher."""
        method = "difference of shares on the same pairs"
        return mean_of(self.credit(one) - self.credit(other), self.prompts, method=method, limits=(-1.0, 1.0))

    def _kappa(self) -> Scored:
        """Cohen's kappa of the two sides' choices."""
        both = np.stack([_three(_both_sides(values)) for values in (self.human, self.judge)], axis=1)
        return self._of_pairs(agreement(both, "cohen", [*self.prompts, *self.prompts]), "of better, same, worse")

    def _rho(self) -> Scored:
        """Spearman's rho of the two sides' preferences by pair (Agents' Room, section 7: "by items")."""
        one, other = (levelled(_both_sides(values)) for values in (self.human, self.judge))
        return self._of_pairs(correlation(one, other, "spearman", [*self.prompts, *self.prompts]), "of preferences")

    def _of_pairs(self, found: Scored, what: str) -> Scored:
        if isinstance(found, Estimate):
            found = replace(found, method=f"{what}, each pair from both sides: {found.method}")
        return replace(found, n=len(self))


def _both_sides(values: Array) -> Array:
    """Preferences for the first story of each pair, then for the second."""
    return np.concatenate([values, 1 - values])


def _three(values: Array) -> Array:
    return np.array([preferred(value) for value in values])
