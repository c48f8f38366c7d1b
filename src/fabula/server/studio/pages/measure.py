"""Measurements: a project's reports, and experiments down to individual verdicts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Path, Query, Request, UploadFile
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it
from markupsafe import Markup

from fabula.app.reports import pairs_of, report_named, reports_in, too_large_in
from fabula.base.errors import FabulaError, UsageError
from fabula.measure.ratings import parse_ratings
from fabula.measure.report.page import difference_cells
from fabula.measure.report.pictures import intervals_svg
from fabula.server.api.depends import ShelfDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.pages.measuring import FormDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page
from fabula.stats.estimate import Estimate, estimate_cells
from fabula.story import Story, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.reports import ExperimentFolder, FoundReport
    from fabula.app.workspace import Workspace
    from fabula.measure.report import Report, Row
    from fabula.verbs.home import Home

router = APIRouter(include_in_schema=False)
CallPath: TypeAlias = Annotated[str, Query(max_length=1000)]
_LARGEST: Final = 20_000_000  # bytes of a file of ratings
_MOST_SHOWN: Final = 200  # comparisons on one page
_MOST_AT_ONCE: Final = 2000  # comparisons, if all are requested
_MOST_PICTURES: Final = 8
_LEAST_ROWS: Final = 2  # rows of a picture
_CHECK: Final = "atlas"  # the evaluator whose verdicts are on suspicions
_PLANTED: Final = "A planted suspicion"


@dataclass(frozen=True, slots=True)
class Placed:
    """A report, and the place of its pages.

    Attributes:
        found: the report.
        home: the page of its project or experiment: "/projects/NAME" or "/experiments/NAME".
        experiment: the experiment that it belongs to, if any.
    """

    found: FoundReport
    home: str
    experiment: ExperimentFolder | None = None

    @property
    def page(self) -> str:
        """The address of the report."""
        return f"{self.home}/{'measure' if self.home.startswith('/projects/') else 'reports'}/{self.found.name}"

    @property
    def made(self) -> str:
        """When the report was made, in local time."""
        return when(self.found)


def when(found: FoundReport) -> str:
    """When a report was made, in local time."""
    return time.strftime("%d %B %Y, %H:%M:%S", time.localtime(found.changed)).lstrip("0")


def placed_of(request: Request, shelf: ShelfDep) -> Placed:
    """The report of a project or an experiment that an address names.

    Raises:
        UnknownNameError: there is no such report.
    """
    of = request.path_params
    if "experiment" not in of:
        return Placed(report_named(shelf.folder(of["project"]), of["report"]), f"/projects/{of['project']}")
    experiment = shelf.find_experiment(of["experiment"])
    return Placed(experiment.report(of["report"]), f"/experiments/{experiment.folder.name}", experiment)


PlacedDep: TypeAlias = Annotated[Placed, Depends(placed_of)]


@router.get("/projects/{project}/measure")  # noqa: FAST003 - `workspace` is of it
def measure(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """The reports of a project, with the newest one open."""
    found = reports_in(workspace.folder)
    newest = next((one for one in found if not one.is_earlier), None)
    return _measured(request, workspace, (found, newest), form)


async def report_name(folder: Annotated[str, Path(max_length=200)], name: Annotated[str, Path(max_length=1000)]) -> str:
    """The name of a report, from an address."""
    return f"{folder}/{name}"


@router.get("/projects/{project}/measure/{folder}/{name:path}")
def one_report(
    request: Request,
    workspace: WorkspaceDep,
    form: FormDep,
    name: Annotated[str, Depends(report_name)],
) -> Response:
    """One report of a project."""
    found = reports_in(workspace.folder)
    chosen = next((one for one in found if one.name == name), None) or report_named(workspace.folder, name)
    return _measured(request, workspace, (found, chosen), form)


@router.get("/projects/{project}/verdict-of/{report:path}")  # noqa: FAST003 - `chosen` is of it
@router.get("/experiments/{experiment}/verdict-of/{report:path}")
def asked_for(request: Request, chosen: PlacedDep, call: CallPath = "") -> Response:
    """The prompt and the reply of a verdict."""
    return page(request, "verdict_calls.html", calls=chosen.found.calls_behind(call), back=chosen.page)


@router.post("/projects/{project}/beside-people/{report:path}")  # noqa: FAST003 - `chosen` is of it
@router.post("/experiments/{experiment}/beside-people/{report:path}")
def judge_beside_people(request: Request, chosen: PlacedDep, ratings: UploadFile) -> Response:
    """The agreement of a report's verdicts with people's ratings of the same stories.

    Raises:
        UsageError: the file is not a file of ratings, is empty, or has no story in common with the report.
    """
    from fabula.app.verdict_files import beside_people  # noqa: PLC0415 - with it comes numpy, and no page needs that

    content = ratings.file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UsageError(f"This file has more than {_LARGEST:,} bytes. Remove the ratings of other stories.")
    name = (ratings.filename or "ratings")[:100]
    people = parse_ratings(readable(content.decode("utf-8", "replace")), name)
    if not people:
        raise UsageError(f"{name} contains no ratings. Use the ratings.jsonl file from a study of the same stories.")
    report = beside_people(chosen.found.verdicts, people)
    sentences = report.details["sentences"]
    return page(request, "beside_people.html", report=report, sentences=sentences, **_shown(report))


@router.get("/experiments/{experiment}")
def experiment(request: Request, experiment: str, shelf: ShelfDep) -> Response:
    """An experiment: its stories by contender and brief, and its reports."""
    found = shelf.find_experiment(experiment)
    shown = {"experiment": found, "reports": found.reports, "costs": _costs(found)}
    return page(request, "experiment.html", name=experiment, **shown)


@router.get("/experiments/{experiment}/reports/{report:path}")  # noqa: FAST003 - `chosen` is of it
def experiment_report(request: Request, experiment: str, shelf: ShelfDep, chosen: PlacedDep) -> Response:
    """The report of an evaluator in an experiment."""
    about = _shown(chosen.found.report) | _verdicts(request, shelf, chosen)
    found = shelf.find_experiment(experiment)
    return page(request, "experiment_report.html", name=experiment, experiment=found, **about)


@router.get("/experiments/{experiment}/runs/{run:path}")
def experiment_run(request: Request, experiment: str, run: str, shelf: ShelfDep) -> Response:
    """A story of an experiment, and the verdicts on it."""
    found = shelf.find_experiment(experiment)
    about, text = found.run(run), found.story(run)
    story = Story.parse(text) if text else None
    shown = {"about": about, "story": story, "verdicts": found.verdicts_on(run), "run": run, "runs": found.run_names}
    return page(request, "experiment_run.html", name=experiment, experiment=found, **shown)


def _measured(
    request: Request,
    workspace: Workspace,
    reports: tuple[list[FoundReport], FoundReport | None],
    form: dict[str, Any],
) -> Response:
    """The page of a project: its reports, with one of them open, and the form for measuring."""
    found, chosen = reports
    shelf, about = request.app.state.studio.shelf, dict[str, Any](chosen=None)
    if chosen is not None:
        placed = Placed(chosen, f"/projects/{request.path_params['project']}")
        about = _shown(chosen.report) | _verdicts(request, shelf, placed)
    listed = {
        "too_large": too_large_in(workspace.folder),
        "current": [one for one in found if not one.is_earlier],
        "earlier": [(one, when(one)) for one in found if one.is_earlier],
    }
    return page(request, "measure.html", **listed, experiments=list(shelf.experiment_folders), **form, **about)


# individual verdicts -------------------------------------------------------------------------------------------------


def _verdicts(request: Request, shelf: Home, chosen: Placed) -> dict[str, Any]:
    """A report's verdicts, for templates."""
    every, project = "all" in request.query_params, request.path_params.get("project")
    try:
        ratings, unread = chosen.found.verdicts, ""
    except UsageError as error:
        ratings, unread = (), str(error)
    pairs = pairs_of(ratings)
    shown = pairs[: _MOST_AT_ONCE if every else _MOST_SHOWN]
    return {
        "chosen": chosen,
        "pairs": shown,
        "total": len(pairs),
        "left_out": len(pairs) - len(shown),
        "every": every,
        "verdicts": len(ratings),
        "unread": unread,
        "claims": _claims(shelf[project], chosen.found) if project else {},
        "runs": chosen.experiment.run_names if chosen.experiment else set(),
    }


def _claims(workspace: Workspace, report: FoundReport) -> dict[str, str]:
    """The claims of a check for contradictions, in words, by the questions of the verdicts."""
    try:
        asked = {one.question for one in report.verdicts if one.evaluator == _CHECK}
    except UsageError:
        return {}  # the page shows that
    if not asked:
        return {}
    try:
        heads = {one.key: one.head for one in workspace.last_check().findings}
    except FabulaError:
        heads = {}  # the findings cannot be read: the World page shows that
    return {one: _PLANTED if one.startswith("control ") else heads.get(one, "A suspicion") for one in asked}


def _shown(report: Report) -> dict[str, Any]:
    numbers = [row for row in report.rows if not row.is_difference]
    differences = [row for row in report.rows if row.is_difference]
    shown = numbers[:_MOST_AT_ONCE]
    return {
        "numbers": [(row, *estimate_cells(row.scored), _method(row)) for row in shown],
        "numbers_left_out": len(numbers) - len(shown) + max(len(differences) - _MOST_AT_ONCE, 0),
        "differences": [difference_cells(row) for row in differences[:_MOST_AT_ONCE]],
        "pictures": _pictures(shown),
    }


def _method(row: Row) -> str:
    return row.scored.method if isinstance(row.scored, Estimate) else ""


def _pictures(shown_rows: Sequence[Row]) -> list[Markup]:
    """A picture of the intervals of each measure with several rows; the table next to it has the same numbers."""
    by_measure: dict[str, list[Row]] = {}
    for row in shown_rows:
        by_measure.setdefault(row.what, []).append(row)
    shown = [(what, rows) for what, rows in by_measure.items() if len(rows) >= _LEAST_ROWS and any(map(_bounded, rows))]
    shown.sort(key=lambda one: all(row.baseline for row in one[1]))  # trivial baselines come last
    pictures = (
        intervals_svg([(row.of, row.scored) for row in rows], title=what, styled=False)
        for what, rows in shown[:_MOST_PICTURES]
    )
    return [Markup(picture) for picture in pictures]  # noqa: S704 - names in it are escaped where it is drawn


def _bounded(row: Row) -> bool:
    return isinstance(row.scored, Estimate) and row.scored.low is not None


def _costs(found: ExperimentFolder) -> list[tuple[str, dict[str, Any]]]:
    return [(one["contender"], one) for one in found.data["contenders"]]
