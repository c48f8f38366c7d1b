"""Two reports beside each other: differences, their intervals, and where there can be none."""

from __future__ import annotations

import pytest

from fabula.measure.report import Report, Row
from fabula.measure.report.beside import compared
from fabula.stats.estimate import Estimate, Scored, Unscored, between
from fabula.stats.shares import wilson

OTHERS = "These reports cannot be compared: one is by x and the other by y, and their numbers mean different things."
LEVELS = "no interval: those of the two numbers are of different levels"


def report(*rows: tuple[str, str, Scored], evaluator: str = "x", **how: str) -> Report:
    return Report(evaluator, how, tuple(Row(*row) for row in rows))


def number(value: float, low: float | None = None, high: float | None = None, method: str = "mean") -> Estimate:
    return Estimate(value, 10, low, high, method)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """Newcombe (1998), Table II, method 10: 56 of 70 and 48 of 80 differ by .2, from .0524 to .3339."""
    one, other = (Estimate(hits / n, n, *wilson(hits, n)) for hits, n in ((48, 80), (56, 70)))
    found = between(one, other)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=5e-5)
    assert found.high == pytest.approx(0.3339, abs=5e-5)
    assert found.n == 70


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (number(1), number(2, 1, 3), "no interval: one of the two numbers has none"),
        (number(1, 0, 2), Estimate(2, 9, 1, 3, "mean", 0.9), LEVELS),
    ],
)  # fmt: skip
def test_a_difference_without_an_interval_says_why(one: Estimate, other: Estimate, says: str) -> None:
    found = between(one, other)
    assert isinstance(found, Estimate)
    assert (found.value, found.low, found.method) == (1, None, says)


def test_what_has_no_number_has_no_difference() -> None:
    assert between(number(1, 0, 2), Unscored("too few")) == Unscored("one of them has no number")


def test_two_reports_are_compared_number_by_number() -> None:
    one = report(("story", "words", number(10, 9, 11)), ("story", "dialogue", number(0.5)), seed="1")
    other = report(("story", "words", number(20, 18, 22)), ("story", "length", number(3)), seed="2")
    found = compared(one, other)
    assert not found.problem
    assert found.settings == (("seed", "1", "2"),)
    words, dialogue, length = found.rows
    assert (words.said, str(words.apart)) == ("higher", "10 [7.764, 12.24] (n 10)")
    assert compared(other, one).rows[0].said == "lower"
    assert dialogue.apart == Unscored("only one of the reports has it")
    assert dialogue.other == Unscored("not in this report")
    assert (length.what, length.said) == ("length", "")
    assert len(found.notes) == 1


def test_two_lone_stories_are_paired_whatever_they_are_called() -> None:
    baseline = Row("constant", "words", number(1), baseline=True)
    one = Report("x", {}, (Row("ferry", "words", number(10, 9, 11)), baseline))
    other = Report("x", {}, (Row("lamp", "words", number(10, 9, 11)), baseline))
    lone, trivial = compared(one, other).rows
    assert (lone.of, lone.said) == ("ferry / lamp", "not told apart")
    assert (trivial.of, trivial.baseline) == ("constant", True)
    several = Report("x", {}, (*other.rows, Row("tide", "words", number(1))))
    assert "no number in common" not in compared(one, several).problem  # the baseline is
    assert "ferry" in {row.of for row in compared(one, several).rows}


def test_strengths_are_not_compared_where_others_are_ranked() -> None:
    def ranking(*names: str) -> Report:
        rows = [(name, f"{what}/plot", number(0.5, 0.4, 0.6)) for name in names for what in ("strength", "wins")]
        return report(*rows)

    row = compared(ranking("a", "b"), ranking("a", "b", "c")).rows[0]
    assert row.apart == Unscored(
        "a strength is relative to the systems ranked with it, and these reports rank different systems"
    )
    assert isinstance(compared(ranking("a", "b"), ranking("b", "a")).rows[0].apart, Estimate)
    assert isinstance(compared(ranking("a", "b"), ranking("a", "b", "c")).rows[1].apart, Estimate)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            report(("a", "w", number(1)), evaluator="y"),
            OTHERS,
        ),
        (report(("b", "v", number(1))), "These reports cannot be compared because they have no number in common."),
        (
            report(("a", "w", number(1, method="median"))),
            "These reports cannot be compared because they have no number in common.",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(other: Report, says: str) -> None:
    assert compared(report(("a", "w", number(1))), other).problem == says


def test_a_count_in_a_method_makes_no_other_method() -> None:
    one = report(("a", "w", number(1, method="mean over stories, by 12 groups; t interval")))
    other = report(("a", "w", number(1, method="mean over stories, by 9 groups; too few groups for an interval")))
    assert not compared(one, other).problem
    assert compared(one, other).notes == (
        "None of the differences has an interval, so they do not show that anything has changed.",
    )
