"""Side-by-side verdicts, and what they say about the judge: ties, position bias, order consistency, length bias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabula.stats.correlation import correlation
from fabula.stats.estimate import Scored, Unscored
from fabula.stats.intervals import share_of

TIE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """One verdict on two stories of one prompt.

    Attributes:
        prompt: id of the brief that both answer; all verdicts on it are one unit of an interval.
        first: the system that wrote one of them.
        second: the system that wrote the other one.
        score: 1 where the story of `first` is better, 0 where that of `second` is, 0.5 where they are the same; in
            between where it is a mean over samples or a probability.
        shown_first: whether the story of `first` was shown first; `None` where not known.
        longer: by how many words the story of `first` is the longer one; `None` where not known.
        rater: who judged: only verdicts of one rater make a pair of orders.
    """

    prompt: str
    first: str
    second: str
    score: float
    shown_first: bool | None = True
    longer: float | None = None
    rater: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise ValueError(f"A score is from 0 to 1, not {self.score}.")
        if self.first == self.second:
            raise ValueError(f"Two systems are compared; both are {self.first!r}.")

    def score_of(self, system: str) -> float:
        """What the verdict gives to one of the two systems: 1 won, 0.5 tied, 0 lost."""
        return self.score if system == self.first else 1 - self.score


def tie_share(comparisons: Sequence[Comparison]) -> Scored:
    """The share of verdicts that say the two are the same, 0 to 1; n is the number of prompts."""
    return _share(comparisons, [float(c.score == TIE) for c in comparisons], "share of ties")


def first_position_rate(comparisons: Sequence[Comparison]) -> Scored:
    """How often the story that is shown first wins, 0 to 1, ties half a win; n is the number of prompts.

    A judge without position bias has 0.5 where every pair is shown in both orders.
    """
    known = [c for c in comparisons if c.shown_first is not None]
    if not known:
        return Unscored("no verdict says which story was shown first", len(comparisons))
    values = [c.score if c.shown_first else 1 - c.score for c in known]
    return _share(known, values, "win rate of the story shown first, ties half")


def order_consistency(comparisons: Sequence[Comparison]) -> Scored:
    """The share of pairs of stories on which a rater's verdicts in the two orders agree, 0 to 1; n is the prompts.

    Agents' Room, section 7 (90.2 %). Two verdicts agree if both prefer the same story or both say the same. Several
    verdicts in one order are each compared with each in the other; what was seen in one order only is left out.
    """
    orders: dict[tuple[str, str, str, str], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for c in comparisons:
        if c.shown_first is not None:
            one, other = sorted((c.first, c.second))
            one_first = (c.first == one) == c.shown_first
            orders[c.prompt, c.rater, one, other][not one_first].append(c.score_of(one))
    prompts, agree = [], []
    for (prompt, *_), shown in orders.items():
        same = [_sign(a) == _sign(b) for a in shown[0] for b in shown[1]]
        if same:
            prompts.append(prompt)
            agree.append(sum(same) / len(same))
    if not agree:
        return Unscored("no pair of stories was shown in both orders", len(comparisons))
    method = "share of pairs whose two orders agree"
    return share_of(agree, prompts, method=method)


def longer_wins(comparisons: Sequence[Comparison]) -> Scored:
    """How often the longer story wins, 0 to 1, ties half a win; n is the prompts with stories of unequal length."""
    known = [c for c in comparisons if c.longer]
    if not known:
        return Unscored("no verdict is on stories that are known to differ in length", len(comparisons))
    values = [c.score if c.longer and c.longer > 0 else 1 - c.score for c in known]
    return _share(known, values, "win rate of the longer story, ties half")


def length_against_wins(comparisons: Sequence[Comparison]) -> Scored:
    """Spearman's rho of the difference in length with the score, each pair seen from either side; n is the prompts."""
    known = [(c, c.longer) for c in comparisons if c.longer is not None]
    if not known:
        return Unscored("no lengths are known", len(comparisons))
    # From either side, since which of the two is called the first is chance.
    lengths = [sign * longer for _, longer in known for sign in (1, -1)]
    scores = [score for c, _ in known for score in (c.score, 1 - c.score)]
    prompts = [c.prompt for c, _ in known for _ in range(2)]
    found = correlation(lengths, scores, "spearman", prompts)
    return replace(found, n=len(set(prompts)))


def _share(comparisons: Sequence[Comparison], values: Sequence[float], method: str) -> Scored:
    return share_of(values, [c.prompt for c in comparisons], method=method)


def _sign(score: float) -> int:
    return (score > TIE) - (score < TIE)
