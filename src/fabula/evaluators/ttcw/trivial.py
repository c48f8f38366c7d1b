"""What a score has to beat: a judge that always says the same, and measures that read nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.report import Row
from fabula.stats.baselines import length, random_scores, type_token_ratio
from fabula.stats.correlation import correlation, correlation_within
from fabula.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.items import Item
    from fabula.stats.estimate import Scored


def baseline_rows(items: Sequence[Item], scores: Mapping[str, int], tests: int, resamples: int) -> list[Row]:
    """Trivial measures of each story, and how far the scores order the stories as these do; none for one story.

    Whether the judge beats them can be said only beside people's verdicts: `fabula meta`.
    """
    if len(items) < 2:  # noqa: PLR2004 - one story is in no order
        return []
    told = (
        f"tests passed of {tests} by any story, where every answer is yes, every label a tie, or always the same side"
    )
    rows = [Row("all", "constant", Estimate(tests, tests, method=told), baseline=True)]
    texts = [item.story.text for item in items]
    for name, method, values in (
        ("length", "words of the story", length(texts)),
        ("type-token ratio", "different words of the story, divided by all", type_token_ratio(texts)),
        ("random", "a number that chance gives to the text, seed 1", random_scores(texts)),
    ):
        rows += [
            Row(item.id, name, Estimate(value, 1, method=method), baseline=True)
            for item, value in zip(items, values, strict=True)
        ]
        known = [(scores[item.id], value, item) for item, value in zip(items, values, strict=True) if item.id in scores]
        rows.append(Row("all", f"spearman of score and {name}", _follows(known, resamples), baseline=True))
    return rows


def _follows(known: Sequence[tuple[int, float, Item]], resamples: int) -> Scored:
    """Spearman's rho of the score with a trivial measure: within prompts that have several stories, else over all."""
    scores, values = [float(score) for score, _, _ in known], [value for _, value, _ in known]
    prompts = [item.prompt for _, _, item in known]
    if all(prompts) and len(set(prompts)) < len(prompts):
        return correlation_within(scores, values, "spearman", prompts, resamples=resamples)
    return correlation(scores, values, "spearman", resamples=resamples)
