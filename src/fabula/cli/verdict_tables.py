"""Side-by-side verdicts as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.cli.terminal import table
from fabula.evaluators.pairwise.page import questions_of, rows_on
from fabula.measure.report.page import difference_cells
from fabula.stats.differences import is_shown
from fabula.stats.estimate import Estimate, estimate_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored


_MOST: Final = 12  # differences in the terminal


def differences_table(rows: Iterable[Row]) -> str:
    """The differences between systems, those that are shown first; the rest is counted where it is long."""
    found = [row for row in rows if row.is_difference]
    if not found:
        return ""
    several = len({row.what for row in found}) > 1
    ranked = sorted(found, key=lambda row: not is_shown(row.scored))
    shown = ranked if len(ranked) <= _MOST else ranked[: max(sum(is_shown(row.scored) for row in found), _MOST)]
    cells = [difference_cells(row) for row in shown]
    head = ("difference", "of", "value", "95 %, all at once", "n", "p, corrected")
    lines = [row if several else (row[0], *row[2:]) for row in (head, *cells)]
    right = (2, 4, 5) if several else (1, 3, 4)
    more = f"\n... and {len(found) - len(shown)} more that are not shown to differ" if len(shown) < len(found) else ""
    return table(lines, right=right) + more


def ranking_tables(report: Report) -> str:
    """Strengths and wins for each question, differences, what is known of the judge, and the baselines."""
    parts = [_strengths(report, question) for question in questions_of(report)]
    parts += [differences_table(report.rows), _judge(report), _baselines(report)]
    return "\n\n".join(part for part in parts if part)


def _strengths(report: Report, question: str) -> str:
    head = ("system", "strength", "95 % interval", "wins", "95 % interval", "verdicts")
    strengths, wins = (rows_on(report, question, what=what) for what in ("strength", "wins"))
    rows = [
        (one.of, *_without_reason(one.scored)[:2], *_without_reason(other.scored))
        for one, other in zip(strengths, wins, strict=True)
    ]
    prompts = max((row.scored.n for row in strengths), default=0)
    return f"{question}, {prompts} prompt{'s' * (prompts != 1)}\n{table([head, *rows], right=(1, 3, 5))}"


def _without_reason(scored: Scored) -> tuple[str, str, str]:
    """A number's cells; why there is none stands below the tables."""
    value, interval, n = estimate_cells(scored)
    return value, interval if isinstance(scored, Estimate) else "", n


def _judge(report: Report) -> str:
    """One line for each question, one column for each measure of the judge."""
    asked = questions_of(report)
    found = {question: [row for row in rows_on(report, question) if row.of == "judge"] for question in asked}
    head = ("the judge", *(row.what.partition("/")[0] for row in found[asked[0]]))
    rows = [(question, *(_brief(row.scored) for row in found[question])) for question in asked]
    return table([head, *rows])


def _baselines(report: Report) -> str:
    """How often each baseline chooses as the judge does."""
    asked = questions_of(report)
    found = {question: rows_on(report, question, baseline=True) for question in asked}
    head = ("agree with it", *(row.of for row in found[asked[0]]))
    rows = [(question, *(_brief(row.scored) for row in found[question])) for question in asked]
    return table([head, *rows])


def _brief(scored: object) -> str:
    """A number and its interval in little room; a dash where there is none (the report says why)."""
    value, interval, n = estimate_cells(scored)  # type: ignore[arg-type]  # a row's number
    if value == "not scored":
        return "-"
    low, _, high = interval.partition(" to ")
    shown = f"{float(value):z.2f}"
    return f"{shown} [{float(low):z.2f}, {float(high):z.2f}]" if high else f"{shown}\xa0(n\xa0{n})"
