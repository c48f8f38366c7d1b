"""The choice of the next pairs: those of systems whose share of wins is not known well enough yet."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from fabula.evaluators.pairwise.verdicts import choices_in, pair_choices
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.evaluators.pairwise.config import Config
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating

    Pair = tuple[Item, Item]

LEAST: Final = 8
"""Prompts on which every two systems are compared before their interval is looked at."""
_BATCH: Final = 4  # pairs of stories that are judged of two systems before it is looked at again


class PairsToJudge:
    """Pairs of stories by their two systems, given out a few at a time.

    Pairs come from one prompt after another, and then from the next stories on the first prompt, because intervals are
    by prompt.

    Args:
        pairs: all pairs that may be judged.
        config: settings with the wanted width.
    """

    def __init__(self, pairs: Sequence[Pair], config: Config) -> None:
        self._config, self._width = config, config.ours.width if config.ours else 0.0
        turns: dict[tuple[str, str, str], int] = defaultdict(int)
        left: dict[tuple[str, str], list[tuple[int, Pair]]] = defaultdict(list)
        for pair in pairs:
            names = pair[0].contender, pair[1].contender
            turns[pair[0].prompt, *names] += 1
            left[names].append((turns[pair[0].prompt, *names], pair))
        self._left = {names: [p for _, p in sorted(own, key=lambda entry: entry[0])] for names, own in left.items()}
        self._given: dict[tuple[str, str], int] = dict.fromkeys(self._left, 0)

    def next(self, found: Iterable[Sequence[Rating]], *, whole: bool = False) -> list[Pair]:
        """The next pairs, chosen from the results so far; none if every interval is narrow enough or no pair is left.

        With `whole`, all remaining pairs, whatever the results.
        """
        widths = {} if whole else self._widths([rating for each in found for rating in each])
        batch = []
        for names, pairs in self._left.items():
            given = self._given[names]
            if given >= LEAST and widths.get(names, 1.0) <= self._width:
                continue
            upto = len(pairs) if whole else max(given + _BATCH, LEAST)
            batch += pairs[given:upto]
            self._given[names] = min(upto, len(pairs))
        return batch

    def _widths(self, ratings: Sequence[Rating]) -> dict[tuple[str, str], float]:
        """For every two systems, the width of the widest interval of the share of wins on any question."""
        scores: dict[tuple[str, tuple[str, str]], tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
        verdicts = choices_in(ratings)
        for question in {verdict.question for verdict in verdicts}:
            for pair in pair_choices([v for v in verdicts if v.question == question], self._config.margin):
                names = pair.names if pair.names in self._left else pair.names[::-1]
                score = pair.score if pair.names == names else 1 - pair.score
                scores[question, names][0].append(score)
                scores[question, names][1].append(pair.prompt)
        widest: dict[tuple[str, str], float] = {}
        for (_, names), (values, prompts) in scores.items():
            share = share_of(values, prompts)
            known = isinstance(share, Estimate) and share.low is not None and share.high is not None
            width = share.high - share.low if known else 1.0  # type: ignore[union-attr,operator]  # known
            widest[names] = max(widest.get(names, 0.0), width)
        return widest
