"""`meta` finds the published correlations of HANNA: automatic measures as judges, by story and by system.

The published ones are absolute values, without the human system; by story they leave out prompts where a coefficient
is undefined. So does `meta` where people see no difference; where a judge sees none it counts 0, so measures that are
constant on some prompt are compared by system only.

Two systems have the same mean Complexity (718 points on 96 stories, GPT and TD-VAE). The published ranks break that
tie by the rounding of a float; `meta` counts it as a tie, so there the expected value is that of the tied means.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.stats.correlation import COEFFICIENTS
from fabula.stats.estimate import Estimate
from fabula.stats.meta import Stories
from fabula.stats.verdicts import Verdict
from ground_truth import data_folder

if TYPE_CHECKING:
    from pathlib import Path

CRITERIA = ("Relevance", "Complexity")


def load(folder: Path, name: str) -> Any:  # noqa: ANN401 - JSON data
    return json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))


def verdicts(systems: list[str], table: list[list[float]], rater: str) -> list[Verdict]:
    return [
        Verdict(rater, (f"{system}/{prompt}",), value, (system,), str(prompt))
        for system, row in zip(systems, table, strict=True)
        if system != "Human"
        for prompt, value in enumerate(row)
    ]


def tied_means(stories: Stories, side: str) -> list[float]:
    """The systems' means, rounded so far that those of one value are the same."""
    values = getattr(stories, side)
    names = np.array(stories.systems)
    return [round(float(values[names == name].mean()), 9) for name in dict.fromkeys(stories.systems)]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_published_correlations_are_found(criterion: str) -> None:
    folder = data_folder("hanna")
    ratings, measures = load(folder, "human_ratings"), load(folder, "metric_scores")
    expected = load(folder, "expected_correlations")
    human = verdicts(ratings["systems"], ratings["criteria_mean"][criterion], "people")
    compared = 0
    for name, table in list(measures["scores"].items())[::4]:
        stories = Stories.of(verdicts(measures["systems"], table, name), human)
        found = {f.what: f.scored for f in stories.findings({})}
        varies = all(np.ptp(stories.judge[member]) > 0 for member in stories.groups())
        for level, key in (("stories", "story"), ("systems", "system")):
            for what in ("pearson", "spearman", "kendall") if varies or level == "systems" else ():
                scored = found[f"{level}: {what}"]
                assert isinstance(scored, Estimate)
                published = expected[name][f"{criterion}_{key}_{what}"]
                if (criterion, level) == ("Complexity", "systems") and what != "pearson":
                    published = abs(
                        COEFFICIENTS[what](*(tied_means(stories, side) for side in ("human", "judge"))) or 0
                    )
                assert abs(scored.value) == pytest.approx(published, abs=1e-9)
                compared += 1
    assert compared > 40
