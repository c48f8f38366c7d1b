"""Every published number that needs no model, computed again where the ground truth is on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.app.reproduce.hanna import _story_level
from fabula.app.reproduce.rows import FULL, counts, missing, number
from fabula.app.reproduce.tables import chosen, reproduce, tables
from fabula.craft.matching import match_findings
from fabula.data import atlas, dialogsum, hanna, storysumm, ttcw, writing_quality
from fabula.data.sets import SETS
from fabula.stats.correlation import COEFFICIENTS
from ground_truth import data_folder

if TYPE_CHECKING:
    from fabula.stats.correlation import Coefficient


@pytest.mark.parametrize("name", tables())
def test_every_number_is_as_published(name: str) -> None:
    table = tables()[name]
    (outcome,) = reproduce(data_folder(), [table])
    if outcome.absent:
        pytest.skip(f"{name} is not available here: {outcome.absent}.")
    assert outcome.matching > 0
    assert [row for row in outcome.rows if row.match is False] == []


@pytest.mark.parametrize("threshold", [0.2, 0.3, 0.4])
def test_the_matching_of_detections_does_not_hang_on_the_threshold(threshold: float) -> None:
    folder = data_folder("atlas")
    gold, found, printed = atlas.candidates(folder), atlas.detections(folder), atlas.table(folder, 10) or ()
    compared = 0
    for row in printed:
        known = [c.finding for c in gold if str(c.story) == row.story and c.gold]
        text = [d.finding for d in found if (str(d.story), d.method) == (row.story, row.method) and d.finding]
        if known and text:
            accuracy = match_findings(text, known, threshold).counts
            assert (accuracy.tp, accuracy.fp, accuracy.fn) == (row.tp, row.fp, row.fn)
            compared += 1
    assert compared


def test_vectorised_coefficients_are_those_of_the_statistics() -> None:
    rng = np.random.default_rng(2)
    people, metric = rng.integers(1, 4, (20, 8)).astype(float), rng.integers(1, 4, (20, 8)).astype(float)
    people[3] = 2.0  # constant: undefined, left out
    metric[5] = metric[5] * 1e-290  # too small to be squared
    names: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    for name in names:
        each = [COEFFICIENTS[name](a, b) for a, b in zip(people, metric, strict=True)]
        defined = [value for value in each if value is not None]
        mean = _story_level(people, metric, name)
        assert len(defined) == 19
        assert mean == pytest.approx(abs(sum(defined) / len(defined)), abs=1e-9)


def test_the_sets_are_read_whole() -> None:
    data = data_folder()
    assert len(ttcw.experts(data / "ttcw")) == 48 * 14 * 3
    assert {item.system for item in ttcw.stories(data / "ttcw")} == set(ttcw.RANKED)
    assert len(ttcw.tests(data / "ttcw")) == 14
    assert next(iter(hanna.judges(data / "hanna").tables.values())).shape == (11, 96)
    assert len(hanna.raters(data / "hanna").tables) == 18
    assert {summary.split for summary in storysumm.summaries(data / "storysumm")} == {"val", "test"}
    assert len(dialogsum.dialogues(data / "dialogsum")) >= 400
    assert all(len(triple.rankings) == 3 for triple in writing_quality.lamp(data / "writing_quality"))
    assert {pair.person for pair in writing_quality.style_mimic(data / "writing_quality")} == {1, 2}


def test_every_table_names_a_set_and_families_are_found_by_their_first_word() -> None:
    assert all(table.data in SETS for table in tables().values())
    assert [table.name for table in chosen("hanna")] == ["hanna-correlations", "hanna-text"]
    assert len(chosen("")) == len(tables())


@pytest.mark.parametrize(
    ("published", "digits", "value", "match"),
    [
        (0.62, 2, 0.625, True),  # half-way: a program rounds to even, a person up
        (0.63, 2, 0.625, True),
        (0.62, 2, 0.6251, False),
        (39.0, 0, 39.4, True),
        (0.123456789, FULL, 0.123456789 + 5e-9, False),
        (0.123456789, FULL, 0.123456789, True),
        (0.5, 2, None, False),
        (0.5, 2, float("nan"), False),
    ],
)
def test_equal_at_the_published_digits(published: float, digits: int, value: float | None, match: bool) -> None:  # noqa: FBT001 - a column of the table
    row = number("x", published, digits, value)
    assert row.match is match
    assert (row.recomputed == row.published) is match


def test_rows_of_counts_and_rows_without_data() -> None:
    assert counts("x", "1 / 0 / 2", "1 / 0 / 2").match
    assert counts("x", "1 / 0 / 2", "1 / 1 / 2").match is False
    assert missing("x", "0.5", "not there").as_data() == {
        "name": "x",
        "published": "0.5",
        "match": None,
        "recomputed": None,
        "why": "not there",
    }
