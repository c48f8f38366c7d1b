"""What a score has to beat: a judge that always says the same, and measures that read nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.craft.trivial import follows
from fabula.measure.report import Row
from fabula.stats.baselines import length, random_scores, type_token_ratio
from fabula.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.measure.items import Item


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
        known = [(item, value) for item, value in zip(items, values, strict=True) if item.id in scores]
        mine, theirs = [float(scores[item.id]) for item, _ in known], [value for _, value in known]
        rho = follows(mine, theirs, [item.prompt for item, _ in known], resamples)
        rows.append(Row("all", f"spearman of score and {name}", rho, baseline=True))
    return rows
