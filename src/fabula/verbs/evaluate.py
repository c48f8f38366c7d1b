"""Measure a project's story, alone or with others: `evaluate`, `judge`, `rank`; and read what was measured.

`reports`, `report` and `verdicts` give all measurements, from reports to single verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.bills import Billed
from fabula.app.checking import OUT, settings_to_judge
from fabula.app.evaluating import EvaluationTask, write_page
from fabula.app.item_files import Selection
from fabula.app.judging import Judged, two_stories
from fabula.app.reports import FoundReport, report_named, reports_in
from fabula.app.sources import items_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.evaluators import find
from fabula.measure.ratings import Rating  # noqa: TC001 - doors read it
from fabula.verbs.base import ModelName, MostDollars, MostTokens, OtherProject, OtherProjects, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.bills import Bill
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report

_LONG = 1000
MOST_VERDICTS = 2000
ReportName: TypeAlias = Annotated[
    str, Field(max_length=_LONG, description="The name of the report in the list of reports.")
]


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
    """Verdicts of a report: how many there are, and the first of them."""

    total: int
    verdicts: list[Rating]


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


@verb("GET", "/verdicts", "measuring")
async def verdicts(
    project: Workspace,
    report: ReportName,
    *,
    most: Annotated[int, Field(ge=1, le=MOST_VERDICTS, description="Maximum number of verdicts to return.")] = 200,
) -> VerdictList:
    """Return the verdicts of a report, in the order of the file.

    Raises:
        UnknownNameError: a report does not exist.
    """
    ratings = report_named(project.folder, report).verdicts
    return VerdictList(len(ratings), list(ratings[:most]))


_ALL = Selection(None)


@dataclass(frozen=True, slots=True)
class Evaluated(Billed):
    """A report on the story in the format of the verb `report`, with the files that show it and its cost."""

    report: ReportView
    files: list[str]


@dataclass(frozen=True, slots=True)
class JudgedStories(Evaluated):
    """A report on two stories, with the better story for each question: its name, "same", or null if undecided."""

    better: dict[str, str | None]


@verb("POST", "/evaluate", "runs", long=True)
async def evaluate(
    project: Workspace,
    evaluator: Annotated[str, Field(min_length=1, max_length=200, description="Which one.", examples=["surface"])],
    beside: OtherProjects = (),
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Evaluated:
    """Run an evaluator on the story and on the stories of other projects.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    found, items = find(evaluator), items_of([project.folder, *map(Path, beside)], _ALL)
    made, bill = await _made(project, found, items, model, (budget_tokens, budget_usd))
    page = write_page(project.folder / OUT, found, made)
    return Evaluated(**bill.as_data(), report=await _shown(project, made), files=[str(page)])


@verb("POST", "/judge", "runs", long=True)
async def judge(
    project: Workspace,
    against: Annotated[OtherProject, Field(min_length=1)],
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> JudgedStories:
    """Have a judge compare the story with another project's story, side by side and in both orders.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    items = two_stories(project.folder, Path(against), _ALL)
    made, bill = await _made(project, find("pairwise"), items, model, (budget_tokens, budget_usd))
    better = Judged(*items, made, bill).verdicts
    return JudgedStories(**bill.as_data(), report=await _shown(project, made), files=[], better=better)


@verb("POST", "/rank", "runs", long=True)
async def rank(
    project: Workspace,
    beside: Annotated[OtherProjects, Field(min_length=1)],
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Evaluated:
    """Rank the story among the stories of other projects by side-by-side verdicts, with intervals.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    from fabula.app.ranking import Ranked, as_stories  # noqa: PLC0415 - heavy at start-up
    from fabula.evaluators.pairwise.algorithm import pairs_of  # noqa: PLC0415 - as above

    items = as_stories(items_of([project.folder, *map(Path, beside)], _ALL))
    pairs_of(items)  # what is wrong with the stories is said before anything is made
    made, bill = await _made(project, find("pairwise"), items, model, (budget_tokens, budget_usd))
    files = Ranked.in_(project.folder / OUT, made.evaluator, made, bill).files
    return Evaluated(**bill.as_data(), report=await _shown(project, made), files=list(map(str, files)))


async def _made(
    project: Workspace,
    evaluator: Evaluator,
    items: Sequence[Item],
    model: str,
    caps: tuple[int | None, float | None],
) -> tuple[Report, Bill]:
    """The result of an evaluator, kept in the project, and what it cost."""
    at_work = await asking(project, model=model, caps=caps)
    at_work = replace(at_work, settings=settings_to_judge(at_work.project, at_work.settings))
    config = evaluator.config(at_work.settings.preset, {})
    task = EvaluationTask(evaluator, items, config, at_work.project.folder / OUT)
    return await at_work.evaluated(task), at_work.bill


async def _shown(project: Workspace, made: Report) -> ReportView:
    return await report(project, f"{OUT}/{made.evaluator}")
