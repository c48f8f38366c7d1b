"""`reports`, `report`, `compare`, `verdicts`: all measurements, from reports to single verdicts."""

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
ReportName: TypeAlias = Annotated[
    str, Field(max_length=_LONG, description="The name of the report in the list of reports.")
]
Sentence: TypeAlias = Annotated[str, Field(max_length=_LONG)]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A report in a list.

    `made` is the time in seconds since 1970; an `earlier` report has been replaced by a newer one.
    """

    name: str
    evaluator: str
    made: float
    earlier: bool

    @classmethod
    def of(cls, found: FoundReport) -> Self:
        """Return the entry of a report."""
        return cls(found.name, found.evaluator, found.changed, found.is_earlier)


@dataclass(frozen=True, slots=True)
class ReportList:
    """The reports of a project, newest first."""

    reports: list[ReportLine]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report: each number with its interval, or the reason why it is missing; `how` lists the settings used."""

    report: ReportLine
    how: dict[str, Any]
    rows: list[dict[str, Any]]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class VerdictList:
    """Verdicts of a report: the total number, the number that match the search, and the first of the matches."""

    total: int
    found: int
    verdicts: list[Rating]


@dataclass(frozen=True, slots=True)
class TwiceLine:
    """A number in two reports: `apart` is the second value minus the first, or why that is unknown."""

    of: str
    what: str
    one: dict[str, Any]
    other: dict[str, Any]
    apart: dict[str, Any]
    said: str
    baseline: bool


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A comparison of two reports: `problem` explains why it is impossible, and `settings` lists differences."""

    one: ReportLine
    other: ReportLine
    problem: str
    settings: dict[str, list[str]]
    rows: list[TwiceLine]
    notes: list[str]


@verb("GET", "/reports", "measuring")
async def reports(project: Workspace) -> ReportList:
    """List the project's reports, newest first, including those that newer reports have replaced."""
    return ReportList([ReportLine.of(found) for found in reports_in(project.folder)])


@verb("GET", "/reports/{report:path}", "measuring")
async def report(project: Workspace, report: ReportName) -> ReportView:
    """Return a report, in which each number has its n, interval and method.

    Raises:
        UnknownNameError: there is no report with that name.
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
    """Compare the numbers of this report with those of another one; `beside` is the other report's project.

    Raises:
        UnknownNameError: a report does not exist.
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
    words: Annotated[Sentence, Field(description="Words that the reason must contain.")] = "",
    *,
    winner: Annotated[Sentence, Field(description="The winner, or the answer.")] = "",
    question: Annotated[Sentence, Field(description="The question.")] = "",
    stories: Annotated[Sentence, Field(description="Words that the names of stories or systems must contain.")] = "",
    most: Annotated[int, Field(ge=1, le=MOST_VERDICTS, description="Maximum number of verdicts to return.")] = 200,
) -> VerdictList:
    """Return the verdicts of a report that match the search, in the order of the file.

    Raises:
        UnknownNameError: a report does not exist.
    """
    ratings = report_named(project.folder, report).verdicts
    sought = Sought(words, winner, question, stories)
    found = [rating for rating in ratings if sought.takes(rating)]
    return VerdictList(len(ratings), len(found), found[:most])
