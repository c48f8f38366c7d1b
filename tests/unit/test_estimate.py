"""A number never stands alone, and where there is none it says why."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from fabula.base.errors import UsageError
from fabula.measure.ratings import Rating
from fabula.measure.report import COLUMNS, Report, Row, csv_of
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import Estimate, Unscored, estimate_cells


def test_an_estimate_tells_its_interval_and_n() -> None:
    assert str(Estimate(0.51234, 12, 0.4, 0.6, "mean")) == "0.5123 [0.4, 0.6] (n 12)"
    assert str(Estimate(3, 1)) == "3 (n 1)"
    assert Estimate(1, 2, 0, 2, "m").as_data() == {
        "value": 1, "n": 2, "low": 0, "high": 2, "level": 0.95, "method": "m",
    }  # fmt: skip


def test_nothing_is_minus_zero() -> None:
    cold = Estimate(-0.0, 3, -0.0, -5e-17, "mean")
    assert str(cold) == "0 [0, 0] (n 3)"
    assert "-0" not in json.dumps({name: cold.as_data()[name] for name in ("value", "low")})
    assert estimate_cells(cold) == ("0", "0 to 0", "3")
    assert ">0.00 [0.00, 0.20]<" in intervals_svg([("a", Estimate(-0.001, 3, -0.004, 0.2))], title="t")
    assert str(Estimate(-0.25, 3)) == "-0.25 (n 3)"


@pytest.mark.parametrize("numbers", [(float("nan"), 1.0, 2.0), (1.0, float("-inf"), 2.0), (1.0, 0.0, float("inf"))])
def test_an_estimate_is_finite(numbers: tuple[float, float, float]) -> None:
    value, low, high = numbers
    with pytest.raises(ValueError, match=r"An estimate is finite; got .* Say `Unscored` where there is no number"):
        Estimate(value, 3, low, high)


def test_what_is_not_scored_says_why() -> None:
    assert str(Unscored("one story only")) == "not scored: one story only"
    assert Unscored("why", 2).as_data() == {"value": None, "n": 2, "unscored": "why"}


def test_a_report_counts_its_verdicts_and_those_that_are_missing() -> None:
    ratings = (
        Rating(rater="m", kind="model", items=("a",), question="q", answer=1.0),
        Rating(rater="m", kind="model", items=("b",), question="q", answer=None, unscored="no verdict"),
    )
    rows = (Row("a", "words", Estimate(3, 1)), Row("all", "constant", Unscored("no"), baseline=True))
    report = Report("e", {"preset": "faithful"}, rows, ratings, ("a note",), {"matrix": [[0]]})
    data = json.loads(json.dumps(report.as_data(), allow_nan=False))
    assert (data["format"], data["evaluator"], data["ratings"], data["unscored"]) == (1, "e", 2, 1)
    assert data["rows"][0] == {"of": "a", "what": "words", "value": 3, "n": 1, "low": None, "high": None,
                               "level": 0.95, "method": ""}  # fmt: skip
    assert data["rows"][1]["baseline"] is True
    assert (data["notes"], data["details"], data["how"]) == (["a note"], {"matrix": [[0]]}, {"preset": "faithful"})


def test_a_row_is_found_by_what_it_is_of() -> None:
    report = Report("e", rows=(Row("a", "words", Estimate(3, 1)),))
    assert report.row("a", "words").scored == Estimate(3, 1)
    with pytest.raises(KeyError):
        report.row("a", "sentences")


def test_the_numbers_of_reports_are_lines_of_one_table() -> None:
    rows = (
        Row("a", "words", Estimate(3, 4, 2, 5, 'a "mean", of words')),
        Row("a - b", "difference/words", Estimate(1, 4, 0.5, 1.5, "corrected", p=0.01)),
        Row("all", "constant", Unscored("no"), baseline=True),
    )
    first, second, third = Report("e", rows=rows).lines()
    assert list(first) == list(second) == list(third) == list(COLUMNS)
    assert (first["value"], first["p"], first["baseline"]) == (3, None, False)
    assert (second["p"], rows[1].is_difference, rows[0].is_difference) == (0.01, True, False)
    assert (third["value"], third["unscored"], third["baseline"]) == (None, "no", True)
    read = list(csv.DictReader(io.StringIO(csv_of([Report("e", rows=rows), Report("f", rows=rows)]))))
    assert [line["evaluator"] for line in read] == ["e"] * 3 + ["f"] * 3
    assert read[0]["method"] == 'a "mean", of words'
    assert (read[1]["p"], read[2]["value"], read[2]["baseline"]) == ("0.01", "", "1")


def test_a_data_frame_has_a_line_a_number() -> None:
    pytest.importorskip("pandas", reason="data frames need pandas: `pip install pandas`")
    frame = Report("e", rows=(Row("a", "words", Estimate(3, 1)), Row("b", "words", Estimate(4, 1)))).to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert frame["value"].tolist() == [3, 4]


def test_without_pandas_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        Report("e").to_frame()
