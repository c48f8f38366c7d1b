"""`reports`, `report`, `compare`, `verdicts`: what was measured, down to a single verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.reports import FoundReport, Sought, report_named, reports_in
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.measure.ratings import Rating  # noqa: TC001 - doors read it
from fabula.measure.report.beside import compared
from fabula.verbs.base import OtherProject, verb

_LONG = 1000
MOST_VERDICTS = 2000
ReportName: TypeAlias = Annotated[str, Field(max_length=_LONG, description="As the list of reports has it.")]
Sentence: TypeAlias = Annotated[str, Field(max_length=_LONG)]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A report in a list. `made` is in seconds since 1970; a newer one took the place of what is `earlier`."""

    name: str
    evaluator: str
    made: float
    earlier: bool

    @classmethod
    def of(cls, found: FoundReport) -> Self:
        """The line of a report."""
        return cls(found.name, found.evaluator, found.changed, found.is_earlier)


@dataclass(frozen=True, slots=True)
class ReportList:
    """The reports of a project, the newest first."""

    reports: list[ReportLine]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report: each number with its interval, or why there is none; `how` says what it was made with."""

    report: ReportLine
    how: dict[str, Any]
    rows: list[dict[str, Any]]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class VerdictList:
    """Verdicts of a report: how many there are, how many were looked for, and the first of those."""

    total: int
    found: int
    verdicts: list[Rating]


@dataclass(frozen=True, slots=True)
class TwiceLine:
    """A number of two reports: `apart` says by how much the second is above the first, or why nobody can say."""

    of: str
    what: str
    one: dict[str, Any]
    other: dict[str, Any]
    apart: dict[str, Any]
    said: str
    baseline: bool


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two reports beside each other: `problem` says why they cannot be compared, `settings` in what they differ."""

    one: ReportLine
    other: ReportLine
    problem: str
    settings: dict[str, list[str]]
    rows: list[TwiceLine]
    notes: list[str]


@verb("GET", "/reports", "measuring")
async def reports(project: Workspace) -> ReportList:
    """What was measured, the newest first, with what newer reports took the place of."""
    return ReportList([ReportLine.of(found) for found in reports_in(project.folder)])


@verb("GET", "/reports/{report:path}", "measuring")
async def report(project: Workspace, report: ReportName) -> ReportView:
    """One report: its numbers, each with its n, interval and method.

    Raises:
        UnknownNameError: there is none of that name.
    """
    found = report_named(project.folder, report)
    return ReportView(ReportLine.of(found), dict(found.report.how), found.report.lines(), list(found.report.notes))


@verb("GET", "/comparison", "measuring")
async def compare(
    project: Workspace,
    one: ReportName,
    other: ReportName,
    beside: OtherProject = "",
) -> ComparisonView:
    """By how much each number of another report is above that of one; `beside` names the project of the other.

    Raises:
        UnknownNameError: there is no such report.
    """
    first = report_named(project.folder, one)
    second = report_named(Path(beside) if beside else project.folder, other)
    found = compared(first.report, second.report)
    rows = [
        TwiceLine(row.of, row.what, row.one.as_data(), row.other.as_data(), row.apart.as_data(), row.said, row.baseline)
        for row in found.rows
    ]
    settings = {name: [here, there] for name, here, there in found.settings}
    return ComparisonView(ReportLine.of(first), ReportLine.of(second), found.problem, settings, rows, list(found.notes))


@verb("GET", "/verdicts", "measuring")
async def verdicts(
    project: Workspace,
    report: ReportName,
    words: Annotated[Sentence, Field(description="All of them stand in the reason.")] = "",
    *,
    winner: Annotated[Sentence, Field(description="Who won, or the answer.")] = "",
    question: Annotated[Sentence, Field(description="What was asked.")] = "",
    stories: Annotated[Sentence, Field(description="Words in the names of stories or systems.")] = "",
    most: Annotated[int, Field(ge=1, le=MOST_VERDICTS, description="So many are given.")] = 200,
) -> VerdictList:
    """Single verdicts of a report, as they are looked for, in the order of its file.

    Raises:
        UnknownNameError: there is no such report.
    """
    ratings = report_named(project.folder, report).verdicts
    sought = Sought(words, winner, question, stories)
    found = [rating for rating in ratings if sought.takes(rating)]
    return VerdictList(len(ratings), len(found), found[:most])
