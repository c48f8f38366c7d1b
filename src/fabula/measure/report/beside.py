"""Comparison of two reports by the same evaluator: each number in both reports, and the difference between the two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.stats.estimate import Estimate, Unscored, between

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored

_STRENGTH: Final = "strength/"
_FIGURES: Final = re.compile(r"\d[\d,.]*")
_ABSENT: Final = Unscored("not in this report")


@dataclass(frozen=True, slots=True)
class Twice:
    """A number that is in two reports.

    Attributes:
        of: what was measured; both names, if they differ.
        what: the measure.
        one: the number in the first report.
        other: the number in the second report.
        apart: the second number minus the first, or the reason why they have no difference.
        baseline: whether the number belongs to a trivial baseline.
    """

    of: str
    what: str
    one: Scored
    other: Scored
    apart: Scored
    baseline: bool = False

    @property
    def said(self) -> str:
        """What the interval shows: "higher", "lower" or "not told apart"; empty if there is no interval."""
        if not isinstance(self.apart, Estimate) or self.apart.low is None or self.apart.high is None:
            return ""
        return "higher" if self.apart.low > 0 else "lower" if self.apart.high < 0 else "not told apart"


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """The comparison of two reports.

    Attributes:
        problem: the reason why the reports cannot be compared; empty if they can.
        settings: the names of the settings that differ, with their values in both reports.
        rows: the numbers, in the order of the first report.
        notes: what a reader must know to interpret the comparison.
    """

    problem: str = ""
    settings: tuple[tuple[str, str, str], ...] = ()
    rows: tuple[Twice, ...] = ()
    notes: tuple[str, ...] = ()


def compared(one: Report, other: Report) -> ReportComparison:
    """The comparison of two reports, number by number.

    If each report has only one story that the other lacks, these two are paired, even if their names differ.
    """
    if one.evaluator != other.evaluator:
        return ReportComparison(
            f"These reports cannot be compared: one is by {one.evaluator} and the other by {other.evaluator}, and "
            "their numbers mean different things."
        )
    names = _paired(one, other)
    left = {(row.of, row.what, row.baseline): row for row in _numbers(one)}
    right = {(names.get(row.of, row.of), row.what, row.baseline): row for row in _numbers(other)}
    back = {name: called for called, name in names.items()}
    ranks_others = _ranked(one) != {names.get(name, name) for name in _ranked(other)}
    rows = []
    for key in dict.fromkeys((*left, *right)):
        of, what, baseline = key
        both = left.get(key), right.get(key)
        shown = f"{of} / {back[of]}" if back.get(of, of) != of else of
        numbers = [row.scored if row is not None else _ABSENT for row in both]
        apart = _apart(both, others=ranks_others and what.startswith(_STRENGTH))
        rows.append(Twice(shown, what, numbers[0], numbers[1], apart, baseline))
    if not any(isinstance(row.apart, Estimate) for row in rows):
        return ReportComparison(
            "These reports cannot be compared because they have no number in common.", _settings(one, other), (*rows,)
        )
    return ReportComparison("", _settings(one, other), tuple(rows), tuple(_notes(rows)))


def _numbers(report: Report) -> Iterable[Row]:
    return (row for row in report.rows if not row.is_difference)


def _paired(one: Report, other: Report) -> dict[str, str]:
    """The name in the second report of what is called otherwise in the first, where there is but one of each."""
    mine, theirs = ({row.of for row in _numbers(report) if not row.baseline} for report in (one, other))
    left, right = mine - theirs, theirs - mine
    return {right.pop(): left.pop()} if len(left) == len(right) == 1 else {}


def _ranked(report: Report) -> set[str]:
    return {row.of for row in report.rows if row.what.startswith(_STRENGTH)}


def _apart(both: tuple[Row | None, Row | None], *, others: bool) -> Scored:
    one, other = both
    if one is None or other is None:
        return Unscored("only one of the reports has it")
    if others:
        return Unscored(
            "a strength is relative to the systems ranked with it, and these reports rank different systems"
        )
    if isinstance(one.scored, Estimate) and isinstance(other.scored, Estimate) and _way(one) != _way(other):
        return Unscored(f"made in different ways: {one.scored.method}; and {other.scored.method}")
    return between(one.scored, other.scored)


def _way(row: Row) -> str:
    """How a number was made, without counts in it."""
    method = row.scored.method if isinstance(row.scored, Estimate) else ""
    return _FIGURES.sub("", method.partition(";")[0]).strip()


def _settings(one: Report, other: Report) -> tuple[tuple[str, str, str], ...]:
    names = [name for name in dict.fromkeys((*one.how, *other.how)) if one.how.get(name) != other.how.get(name)]
    return tuple((name, *_both(name, one, other)) for name in names)


def _both(name: str, one: Report, other: Report) -> tuple[str, str]:
    return str(one.how.get(name, "not said")), str(other.how.get(name, "not said"))


def _notes(rows: Iterable[Twice]) -> Iterable[str]:
    with_interval = sum(bool(row.said) for row in rows)
    if not with_interval:
        yield "None of the differences has an interval, so they do not show that anything has changed."
        return
    yield (
        "The intervals assume that the two reports are independent. If both are based on the same stories, the "
        "intervals are wider than necessary."
    )
    if with_interval > 1:
        yield (
            f"The intervals are not corrected for comparing {with_interval} differences at once. If nothing has "
            "changed, about one difference in twenty appears higher or lower by chance."
        )
