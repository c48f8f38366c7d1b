"""What was measured: reports, two of them beside each other, single verdicts; and what was learned from an author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from fabula.app.learned import LearningStands, missing_packages, put_into_use
from fabula.app.reports import Sought, report_named, reports_in
from fabula.project.learned import place_for
from fabula.server.api.depends import RunsDep, ShelfDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.wire import (
    MOST_VERDICTS,
    ComparisonView,
    LearnedView,
    ReportLine,
    ReportList,
    ReportView,
    UseLearned,
    VerdictList,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.workspace import Workspace
    from fabula.project.learned import Place

router = APIRouter(prefix="/projects/{project}", tags=["measuring"])

_LONG = 1000
ReportName = Annotated[str, Path(max_length=_LONG, description="As the list of reports has it.")]
Asked = Annotated[str, Query(max_length=_LONG)]


@router.get("/reports", summary="What was measured")
def reports(workspace: WorkspaceDep) -> ReportList:
    """The newest first, those that newer ones took the place of among them."""
    return ReportList([ReportLine.of(found) for found in reports_in(workspace.folder)])


@router.get("/reports/{report:path}", summary="One report")
def report(workspace: WorkspaceDep, report: ReportName) -> ReportView:
    """Its numbers, each with its n, interval and method."""
    return ReportView.of(report_named(workspace.folder, report))


@router.get("/comparison", summary="Two reports beside each other")
def comparison(
    workspace: WorkspaceDep,
    shelf: ShelfDep,
    one: Asked,
    other: Asked,
    beside: Annotated[str, Query(max_length=200, description="The project of the other; empty: this one.")] = "",
) -> ComparisonView:
    """By how much each number of the second is above that of the first."""
    folder = shelf.folder(beside) if beside else workspace.folder
    return ComparisonView.of(report_named(workspace.folder, one), report_named(folder, other))


@router.get("/verdicts", summary="Single verdicts of a report")
def verdicts(
    workspace: WorkspaceDep,
    report: Asked,
    words: Annotated[str, Query(max_length=_LONG, description="All of them stand in the reason.")] = "",
    winner: Annotated[str, Query(max_length=_LONG, description="Who won, or the answer.")] = "",
    question: Annotated[str, Query(max_length=_LONG, description="What was asked.")] = "",
    stories: Annotated[str, Query(max_length=_LONG, description="Words in the names of stories or systems.")] = "",
    most: Annotated[int, Query(ge=1, le=MOST_VERDICTS)] = 200,
) -> VerdictList:
    """Those that are looked for, in the order of the file."""
    ratings = report_named(workspace.folder, report).verdicts
    sought = Sought(words, winner, question, stories)
    found = [rating for rating in ratings if sought.takes(rating)]
    return VerdictList(len(ratings), len(found), found[:most])


@router.get("/learning", summary="What was learned from the author")
def learning(workspace: WorkspaceDep, runs: RunsDep) -> LearnedView:
    """And whether new projects write with it; a run of the kind `learn` learns anew."""
    return _shown(_place(workspace, runs.environ))


@router.put("/learning", summary="Write with what was learned, or without it")
def use(workspace: WorkspaceDep, runs: RunsDep, body: UseLearned) -> LearnedView:
    """It is for new projects; one that is begun stays as it began."""
    place = _place(workspace, runs.environ)
    put_into_use(place, on=body.use)
    return _shown(place)


@router.delete("/learning", summary="Forget what was learned")
def forget(workspace: WorkspaceDep, runs: RunsDep) -> LearnedView:
    """Adapters, pairs and report are removed for good."""
    place = _place(workspace, runs.environ)
    if LearningStands.at(place).is_there:
        place.forget()
    return _shown(place)


def _place(workspace: Workspace, environ: Mapping[str, str]) -> Place:
    return place_for(workspace.settings().author.name, environ)


def _shown(place: Place) -> LearnedView:
    return LearnedView.of(LearningStands.at(place), missing_packages())
