"""Choices to be counted from side-by-side ratings by any rater, corrected for the order of showing.

This is the one definition of a verdict: `fabula evaluate pairwise` and `fabula lab meta` both count what
`pair_choices` makes of the ratings.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabula.base.errors import UsageError
from fabula.engine.replies import SIDES
from fabula.evaluators.pairwise.config import MARGIN
from fabula.measure.ratings import SAME, Rating
from fabula.stats.comparisons import TIE, Comparison

_BOTH: Final = 2
_LEAST: Final = 1e-9  # so that the logarithm of a probability that was not seen is finite


@dataclass(frozen=True, slots=True)
class PairwiseChoice:
    """One side-by-side verdict.

    Attributes:
        items: ids of the two stories, in the order shown.
        names: what is ranked: their systems, or the stories themselves.
        score: of the story shown first: 1 better, 0 worse, 0.5 the same.
        chances: probabilities of A, B and Same, if the judge's engine gave them.
        person: whether a person gave it. People read a pair once, in random order.
    """

    rater: str
    prompt: str
    question: str
    items: tuple[str, str]
    names: tuple[str, str]
    score: float
    chances: tuple[float, float, float] | None = None
    person: bool = False


def choices_in(ratings: Sequence[Rating]) -> tuple[PairwiseChoice, ...]:
    """The side-by-side verdicts among ratings; those without an answer and ratings of single stories are left out.

    Raises:
        UsageError: a verdict names neither of its two stories.
    """
    return tuple(choice_of(rating) for rating in ratings if is_side_by_side(rating) and rating.answer is not None)


def is_side_by_side(rating: Rating) -> bool:
    """Whether a rating compares two stories of different systems, or two stories whose systems are not known."""
    two = len(rating.items) == 2  # noqa: PLR2004 - side by side
    return two and len(set(_names(rating))) == len(rating.items)


def _names(rating: Rating) -> tuple[str, ...]:
    return tuple(system or item for system, item in zip(rating.systems or rating.items, rating.items, strict=True))


def choice_of(rating: Rating) -> PairwiseChoice:
    """The choice in a rating of two stories.

    Raises:
        UsageError: its answer names neither of them.
    """
    first, second = rating.items
    scores = {first: 1.0, second: 0.0, SAME: TIE}
    if not isinstance(rating.answer, str) or rating.answer not in scores:
        raise UsageError(
            f"A verdict of {rating.rater} on {first} and {second} ({rating.question}) is {rating.answer!r}. "
            f"Its answer must be the id of one of the two, or {SAME!r}."
        )
    one, other = _names(rating)
    return PairwiseChoice(
        rating.rater,
        rating.prompt,
        rating.question,
        (first, second),
        (one, other),
        scores[rating.answer],
        _chances(rating.shown),
        rating.kind == "person",
    )


def _chances(shown: str) -> tuple[float, float, float] | None:
    """The probabilities in the text of a weighed verdict: "A 0.61, Same 0.27, B 0.12"; `None` if it has none."""
    found: dict[str, float] = {}
    for part in shown.split(", "):
        side, _, number = part.partition(" ")
        try:
            found[side] = float(number)
        except ValueError:
            return None
    if set(found) != set(SIDES) or not all(0 <= share <= 1 for share in found.values()):
        return None
    return found["A"], found["B"], found["Same"]


@dataclass(frozen=True, slots=True)
class PairChoice:
    """All verdicts of one rater on one question about two stories.

    Attributes:
        items: the two ids in their order.
        names: of their systems, in the same order.
        score: the first one's score, corrected for the order of showing: 1 better, 0 worse, 0.5 the same.
        weighed: whether the score comes from probabilities.
        settled: whether the pair was judged in both orders, or by a person; otherwise its verdicts may only reflect the
            position.
        verdicts: the verdicts behind it.
    """

    rater: str
    prompt: str
    items: tuple[str, str]
    names: tuple[str, str]
    score: float
    weighed: bool
    settled: bool
    verdicts: tuple[PairwiseChoice, ...]

    @property
    def counted(self) -> tuple[tuple[PairwiseChoice, float], ...]:
        """The verdicts that count as wins, with the score of the story shown first. Written verdicts count as given.

        Weighed verdicts count once for both orders. With only one order they do not count.
        """
        if not self.weighed:
            return tuple((verdict, verdict.score) for verdict in self.verdicts)
        return ((replace(self.verdicts[0], items=self.items, names=self.names), self.score),) if self.settled else ()


def pair_choices(verdicts: Sequence[PairwiseChoice], margin: float = MARGIN) -> tuple[PairChoice, ...]:
    """One verdict for each rater and pair on one question, combined from both orders.

    For written verdicts, this is the story that was preferred more often, or "same". For weighed verdicts, it is the
    answer whose log-probability, averaged over the two orders, is highest, which corrects a judge that favours a
    position. As a probability, it must lead by the margin, or else the verdict is "same": 95 % for A in one order and
    94 % in the other mean nothing. If probabilities are missing in one of the orders, both verdicts count as written.
    """
    groups: dict[tuple[str, str, tuple[str, str]], list[PairwiseChoice]] = defaultdict(list)
    for verdict in verdicts:
        one, other = sorted(verdict.items)
        groups[verdict.prompt, verdict.rater, (one, other)].append(verdict)
    return tuple(
        _pair_choice(items, group, margin)
        for (_, _, items), group in sorted(groups.items(), key=lambda entry: entry[0])
    )


def _pair_choice(items: tuple[str, str], group: Sequence[PairwiseChoice], margin: float) -> PairChoice:
    head = group[0]
    straight = head.items == items
    names = head.names if straight else head.names[::-1]
    weighed = [v for v in group if v.chances is not None]
    orders = {v.items for v in group}
    if weighed and {v.items for v in weighed} == orders:
        score = _weighed_score(items, weighed, margin)
    else:
        weighed = []
        mean = math.fsum(v.score if v.items == items else 1 - v.score for v in group) / len(group)
        score = TIE if mean == TIE else float(mean > TIE)
    settled = len(orders) == _BOTH or head.person
    return PairChoice(head.rater, head.prompt, items, names, score, bool(weighed), settled, tuple(group))


def _weighed_score(items: tuple[str, str], group: Sequence[PairwiseChoice], margin: float) -> float:
    """The score of the answer with the highest averaged log-probability. Both orders have the same weight."""
    orders: dict[bool, list[tuple[float, float, float]]] = defaultdict(list)
    for verdict in group:
        one, other, same = verdict.chances or (0.0, 0.0, 0.0)
        straight = verdict.items == items
        logs = [math.log(max(share, _LEAST)) for share in ((one, other) if straight else (other, one))]
        orders[straight].append((logs[0], logs[1], math.log(max(same, _LEAST))))
    means = [[math.fsum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in orders.values()]
    one, other, same = (math.exp(math.fsum(column) / len(means)) for column in zip(*means, strict=True))
    if same >= max(one, other) or abs(one - other) <= margin * (one + other + same):
        return TIE
    return float(one > other)


def shown_comparisons(verdicts: Sequence[PairwiseChoice], words: Mapping[str, int]) -> list[Comparison]:
    """Each verdict as it was given, for measures of the judge.

    The rater's name includes the two stories, so that orders are matched only within a pair.
    """
    return [
        Comparison(
            v.prompt,
            *v.names,
            v.score,
            shown_first=True,
            longer=_longer(v.items, words),
            rater=_rater_of_pair(v),
        )
        for v in verdicts
    ]


def _rater_of_pair(verdict: PairwiseChoice) -> str:
    return "\n".join((verdict.rater, *sorted(verdict.items)))


def counted_comparisons(pairs: Sequence[PairChoice], words: Mapping[str, int], *, ties: bool) -> list[Comparison]:
    """The verdicts that count as wins, as comparisons of systems: written verdicts, or one for each weighed pair."""
    return [
        Comparison(
            pair.prompt,
            *verdict.names,
            score,
            shown_first=None if pair.weighed else True,
            longer=_longer(verdict.items, words),
            rater=pair.rater if pair.weighed else _rater_of_pair(verdict),
        )
        for pair in pairs
        for verdict, score in pair.counted
        if ties or score != TIE
    ]


def _longer(items: tuple[str, str], words: Mapping[str, int]) -> float | None:
    first, second = (words.get(item) for item in items)
    return None if first is None or second is None else float(first - second)
