"""How far scores agree with trivial measures that read nothing, for comparison with every claim about quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fabula.measure.report import Row
from fabula.stats.baselines import orderings
from fabula.stats.correlation import correlation, correlation_within, levelled

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored


def order_rows(items: Sequence[Item], scores: Mapping[str, float], called: str) -> list[Row]:
    """Spearman's rho of the scores, by item, with each trivial measure; no row for one story, which has no order.

    A constant score orders nothing and has no row.
    Whether a judge beats these measures can be said only beside people's verdicts: `fabula lab meta`.

    Args:
        items: all stories; those without a score are left out.
        scores: by the item's id.
        called: what the scores are, for the rows' names.
    """
    if len(items) < 2:  # noqa: PLR2004 - a pair
        return []
    known = [item for item in items if item.id in scores]
    texts, prompts = [item.story.text for item in known], [item.prompt for item in known]
    mine = [scores[item.id] for item in known]
    return [
        Row("all", f"spearman of {called} and {name}", follows(mine, values, prompts), baseline=True)
        for name, values in orderings(texts).items()
    ]


def follows(scores: Sequence[float], values: Sequence[float], prompts: Sequence[str]) -> Scored:
    """Spearman's rho of scores with a measure, within prompts that have several stories, or else over all.

    Scores that differ by rounding alone are ties.
    """
    scores = levelled(np.array(scores)).tolist() if len(scores) else scores
    if all(prompts) and len(set(prompts)) < len(prompts):
        return correlation_within(scores, values, "spearman", prompts)
    return correlation(scores, values, "spearman")
