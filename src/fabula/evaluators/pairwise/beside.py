"""Trivial baselines beside a judge: how often a rule that reads no story chooses as the judge does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.measure.report import Row
from fabula.stats.baselines import constant, length, random_scores, type_token_ratio
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.evaluators.pairwise.tally import Judged
    from fabula.stats.estimate import Scored

_TIE = 0.5


def baseline_rows(
    question: str, pairs: Sequence[Judged], texts: Mapping[str, str], resamples: int, seed: int
) -> list[Row]:
    """For each baseline, in how many of the judge's decided pairs it chooses the same story; a tie counts half."""
    known = sorted(texts)
    said = [texts[item] for item in known]
    scores = {
        "length": length(said),
        "type-token ratio": type_token_ratio(said),
        "constant": constant(said),
        "random": random_scores(said, seed),
    }
    return [
        Row(
            name,
            f"agreement/{question}",
            _agreement(pairs, dict(zip(known, values, strict=True)), resamples, seed),
            baseline=True,
        )
        for name, values in scores.items()
    ]


def _agreement(pairs: Sequence[Judged], scores: Mapping[str, float], resamples: int, seed: int) -> Scored:
    decided = [pair for pair in pairs if pair.score != _TIE]
    if not decided:
        return Unscored("the judge prefers no story")
    known = [pair for pair in decided if pair.items[0] in scores and pair.items[1] in scores]
    if not known:
        return Unscored("the stories' texts are not known", len(decided))
    return bootstrap_mean(
        [_credit(pair, scores) for pair in known],
        [pair.prompt for pair in known],
        resamples=resamples,
        seed=seed,
        method="share of decided pairs in which it chooses as the judge does",
    )


def _credit(pair: Judged, scores: Mapping[str, float]) -> float:
    one, other = (scores[item] for item in pair.items)
    return _TIE if one == other else float((one > other) == (pair.score > _TIE))
