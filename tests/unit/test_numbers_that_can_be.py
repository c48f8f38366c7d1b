"""Numbers in reports that cannot be: beyond the ends of a scale, formulas in a table, a note for each story."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from fabula.craft.measuring import difference_rows, mean_rows, unscored_note
from fabula.evaluators.atlas.gold import rows as gold_rows
from fabula.measure.items import Item
from fabula.measure.report import Report, Row, csv_of
from fabula.stats.classification import Confusion
from fabula.stats.estimate import Estimate, Unscored
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence


def stories(systems: int, prompts: int) -> list[Item]:
    return [Item(f"s{s}/p{p}", Story.parse("One."), f"s{s}", f"p{p}") for s in range(systems) for p in range(prompts)]


def numbers(values: Sequence[float]) -> list[Estimate]:
    return [Estimate(value, 1) for value in values]


def test_the_interval_of_a_mean_ends_where_the_scale_does() -> None:
    (row,) = mean_rows(stories(1, 4), {"linearity": numbers([1, 1, 5, 3])}, (1.0, 5.0))
    assert isinstance(row.scored, Estimate)
    assert (row.scored.low, row.scored.high) == (1.0, 5.0)


def test_the_interval_of_a_difference_is_no_longer_than_the_scale() -> None:
    rows, _ = difference_rows(stories(3, 3), {"score": numbers([14, 3, 9, 2, 9, 8, 0, 14, 5])}, 14.0)
    ends = [end for row in rows if isinstance(row.scored, Estimate) for end in (row.scored.low, row.scored.high)]
    assert len(ends) == 6
    assert all(end is not None and -14 <= end <= 14 for end in ends)


def test_several_measures_are_corrected_together() -> None:
    values = numbers([1, 2, 3, 2, 2, 5])
    (alone,), _ = difference_rows(stories(2, 3), {"one": values})
    (one, _), _ = difference_rows(stories(2, 3), {"one": values, "other": values})
    assert isinstance(alone.scored, Estimate)
    assert isinstance(one.scored, Estimate)
    assert one.scored.p == pytest.approx(min(1, 2 * (alone.scored.p or 0)))
    assert "for all 2 differences on 2 questions at once" in one.scored.method


def test_a_reason_of_its_own_for_each_story_makes_one_note() -> None:
    lost = [Unscored(f"The reply at s/p{n} could not be read") for n in range(40)]
    (note,) = unscored_note({"linearity": lost})
    assert note.startswith("linearity: 40 of 40 not scored (40 reasons; most often: The reply at s/p0")
    (row,) = mean_rows(stories(1, 40), {"linearity": lost})
    assert isinstance(row.scored, Unscored)
    assert len(row.scored.reason) < 200


@pytest.mark.parametrize("name", ["=1+1", "+beta", "-gamma", "@SUM(A1)", "\tx"])
def test_no_cell_of_a_table_is_a_formula(name: str) -> None:
    report = Report("pairwise", rows=(Row(name, f"{name} - x", Estimate(-0.5, 3, -1.0, 0.0, f"{name}")),))
    (line,) = csv.DictReader(io.StringIO(csv_of([report])))
    assert (line["of"], line["what"], line["method"]) == (f"'{name}", f"'{name} - x", f"'{name}")
    assert (line["value"], line["low"]) == ("-0.5", "-1.0")
    assert report.lines()[0]["of"] == name


def test_findings_of_several_stories_are_taken_together_by_story() -> None:
    """One story of ten errors that were all missed is no ten misses of errors drawn one by one."""
    each = [Confusion(10, 0, 0), Confusion(10, 0, 0), Confusion(0, 0, 10), Confusion(10, 0, 0)]
    found = {row.what: row.scored for row in gold_rows("all", {"strict": each})}
    recall = found["recall/strict"]
    assert isinstance(recall, Estimate)
    assert (recall.value, recall.n) == (0.75, 4)
    assert recall.low is not None
    assert recall.low < 0.4
    alone = {row.what: row.scored for row in gold_rows("one", {"strict": each[:1]})}["recall/strict"]
    assert isinstance(alone, Estimate)
    assert "Wilson interval" in alone.method
