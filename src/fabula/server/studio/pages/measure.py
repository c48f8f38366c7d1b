"""What was measured: a project's reports, and experiments down to a single verdict with its reason."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Form, Query, Request, UploadFile
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it
from markupsafe import Markup
from pydantic import ValidationError

from fabula.app.reports import pairs_of, report_named, reports_in
from fabula.app.verdict_files import beside_people
from fabula.base.errors import FabulaError, UsageError
from fabula.evaluators import evaluators
from fabula.measure.ratings import parse_ratings
from fabula.measure.report.page import difference_cells, estimate_cells
from fabula.measure.report.pictures import intervals_svg
from fabula.server.api.depends import RunsDep, ShelfDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.runs.record import Order, arguments
from fabula.server.studio.rendering import page
from fabula.stats.estimate import Estimate
from fabula.story import Story, readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.reports import ExperimentFolder, FoundReport
    from fabula.app.workspace import Workspace
    from fabula.measure.report import Report, Row
    from fabula.server.shelf import Shelf

router = APIRouter(include_in_schema=False)
CallPath: TypeAlias = Annotated[str, Query(max_length=1000)]
_LARGEST: Final = 20_000_000  # bytes of a file of ratings
_MOST_SHOWN: Final = 200  # verdicts on one page
_LONGEST: Final = 60.0  # seconds in which a command says what it would ask
_MOST_PICTURES: Final = 8
_LEAST_ROWS: Final = 2  # of a picture
_CHECK: Final = "atlas"  # the evaluator whose verdicts are on suspicions
_PLANTED: Final = "A planted suspicion"


@router.get("/projects/{project}/measure")
async def measure(request: Request, project: str, workspace: WorkspaceDep, shelf: ShelfDep) -> Response:
    """The reports of a project, the newest of them open."""
    found = await asyncio.to_thread(reports_in, workspace.folder)
    return await _measured(request, workspace, found, found[0] if found else None, _without(shelf, project))


@router.get("/projects/{project}/measure/{name:path}")
async def one_report(request: Request, project: str, name: str, workspace: WorkspaceDep, shelf: ShelfDep) -> Response:
    """One report of a project."""
    found = await asyncio.to_thread(reports_in, workspace.folder)
    chosen = next((one for one in found if one.name == name), None) or report_named(workspace.folder, name)
    return await _measured(request, workspace, found, chosen, _without(shelf, project))


@router.get("/projects/{project}/verdict-of/{name:path}")
async def asked_for(
    request: Request, project: str, name: str, workspace: WorkspaceDep, call: CallPath = ""
) -> Response:
    """What was asked for a verdict, and what came back."""
    found = await asyncio.to_thread(report_named, workspace.folder, name)
    calls = await asyncio.to_thread(found.calls_behind, call)
    return page(request, "verdict_calls.html", calls=calls, back=f"/projects/{project}/measure/{name}")


async def order_of(
    kind: Annotated[str, Form(max_length=20)] = "check",
    evaluator: Annotated[str, Form(max_length=200)] = "",
    against: Annotated[str, Form(max_length=200)] = "",
    model: Annotated[str, Form(max_length=500)] = "",
    tokens: Annotated[str, Form(max_length=20)] = "",
) -> Order:
    """What the form asks for.

    Raises:
        UsageError: that is nothing that can be measured.
    """
    most = int(tokens) if tokens.strip().isdecimal() else tokens.strip() or None
    asked: dict[str, Any] = {"kind": kind, "model": model.strip(), "budget": {"tokens": most}}
    asked |= {"evaluator": evaluator} if kind == "evaluate" else {}
    asked |= {"against": against} if kind == "judge" else {}
    try:
        return Order.model_validate(asked, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"])
        raise UsageError(f"This cannot be measured as asked; {where}: {first['msg']}.") from None


OrderDep: TypeAlias = Annotated[Order, Depends(order_of)]


@router.post("/projects/{project}/measure-estimate")  # noqa: FAST003 - `workspace` is of it
async def estimate(
    request: Request, workspace: WorkspaceDep, shelf: ShelfDep, runs: RunsDep, order: OrderDep
) -> Response:
    """What it would ask and cost, as the command itself says it."""
    other = shelf.folder(order.against) if order.against else None
    expected = await _expected([*runs.command, *arguments(order, workspace.folder, other), "--dry-run"], runs.environ)
    shown = {"calls": len(expected["calls"]), "tokens": expected["tokens"], "replayed": expected["replayed"]}
    return page(request, "measure_estimate.html", cost=expected.get("cost"), **shown)


@router.post("/projects/{project}/measure")
async def start(request: Request, project: str, runs: RunsDep, order: OrderDep) -> Response:
    """Have the story checked, measured or judged."""
    return page(request, "measure_begun.html", run=runs.start(project, order))


@router.post("/projects/{project}/beside-people/{name:path}")  # noqa: FAST003 - `workspace` is of it
async def judge_beside_people(request: Request, name: str, workspace: WorkspaceDep, ratings: UploadFile) -> Response:
    """How far a report's verdicts agree with people's ratings of the same stories."""
    found = await asyncio.to_thread(report_named, workspace.folder, name)
    return await _beside_people(request, found, ratings)


@router.post("/experiments/{name}/beside-people/{report:path}")
async def experiment_beside_people(
    request: Request, name: str, report: str, shelf: ShelfDep, ratings: UploadFile
) -> Response:
    """How far a judge of an experiment agrees with people."""
    found = await asyncio.to_thread(lambda: shelf.experiment(name).report(report))
    return await _beside_people(request, found, ratings)


@router.get("/experiments/{name}")
async def experiment(request: Request, name: str, shelf: ShelfDep) -> Response:
    """An experiment: who wrote what, from which brief, and what was measured."""
    found = await asyncio.to_thread(shelf.experiment, name)
    reports = await asyncio.to_thread(lambda: found.reports)
    return page(request, "experiment.html", name=name, experiment=found, reports=reports, costs=_costs(found))


@router.get("/experiments/{name}/reports/{report:path}")
async def experiment_report(request: Request, name: str, report: str, shelf: ShelfDep) -> Response:
    """What one evaluator found in an experiment."""
    found = await asyncio.to_thread(shelf.experiment, name)
    chosen = await asyncio.to_thread(found.report, report)
    about = await asyncio.to_thread(_about, chosen, every="all" in request.query_params)
    runs = {str(run.get("run", "")) for run in found.runs}
    return page(request, "experiment_report.html", name=name, experiment=found, chosen=chosen, runs=runs, **about)


@router.get("/experiments/{name}/verdict-of/{report:path}")
async def asked_in_experiment(
    request: Request, name: str, report: str, shelf: ShelfDep, call: CallPath = ""
) -> Response:
    """What was asked for a verdict in an experiment, and what came back."""
    found = await asyncio.to_thread(shelf.experiment, name)
    calls = await asyncio.to_thread(lambda: found.report(report).calls_behind(call))
    return page(request, "verdict_calls.html", calls=calls, back=f"/experiments/{name}/reports/{report}")


@router.get("/experiments/{name}/runs/{run:path}")
async def experiment_run(request: Request, name: str, run: str, shelf: ShelfDep) -> Response:
    """A story of an experiment, and the verdicts on it."""
    found = await asyncio.to_thread(shelf.experiment, name)
    about, text = found.run(run), await asyncio.to_thread(found.story, run)
    story = Story.parse(text) if text else None
    verdicts = await asyncio.to_thread(found.verdicts_on, run)
    runs = {str(one.get("run", "")) for one in found.runs}
    shown = {"about": about, "story": story, "verdicts": verdicts, "run": run, "runs": runs}
    return page(request, "experiment_run.html", name=name, experiment=found, **shown)


async def _expected(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What a command says that it would ask.

    Raises:
        UsageError: it cannot do as asked, or does not come to an end.
    """
    process = await asyncio.create_subprocess_exec(*command, env=dict(environ), stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(_LONGEST):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise UsageError(
            f"What it would take could not be found out within {_LONGEST:g} s. Begin it with a bound."
        ) from None
    said = json.loads(out) if out.strip() else {}
    if "calls" not in said:
        error = said.get("error") or {}
        raise UsageError(str(error.get("message") or "What it would take could not be found out."))
    found: dict[str, Any] = said
    return found


async def _beside_people(request: Request, found: FoundReport, ratings: UploadFile) -> Response:
    """The comparison, from a file that was sent.

    Raises:
        UsageError: it is no file of ratings, holds none, or has no story in common with the report.
    """

    def compared() -> dict[str, Any]:
        content = ratings.file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"This file has more than {_LARGEST:,} bytes. Leave ratings of other stories out.")
        name = (ratings.filename or "ratings")[:100]
        people = parse_ratings(readable(content.decode("utf-8", "replace")), name)
        if not people:
            raise UsageError(f"{name} holds no rating. Give the ratings.jsonl of a study of the same stories.")
        report = beside_people(found.verdicts, people)
        return {"report": report, "sentences": report.details["sentences"], **_shown(report)}

    return page(request, "beside_people.html", **await asyncio.to_thread(compared))


async def _measured(
    request: Request, workspace: Workspace, found: list[FoundReport], chosen: FoundReport | None, others: list[str]
) -> Response:
    every = "all" in request.query_params
    about = await asyncio.to_thread(_about, chosen, every=every) if chosen is not None else {}
    about["claims"] = await asyncio.to_thread(_claims, workspace, chosen) if chosen is not None else {}
    known = [(name, one.paper.get("summary", "")) for name, one in evaluators().items()]
    return page(request, "measure.html", reports=found, chosen=chosen, others=others, evaluators=known, **about)


def _without(shelf: Shelf, project: str) -> list[str]:
    """The projects that one can be compared with."""
    return [name for name in shelf.names if name != project]


def _claims(workspace: Workspace, report: FoundReport) -> dict[str, str]:
    """What a check for contradictions asked, in words, by the question as it stands in the verdict."""
    asked = {one.question for one in report.verdicts if one.evaluator == _CHECK}
    if not asked:
        return {}
    try:
        heads = {one.key: one.head for one in workspace.findings().findings}
    except FabulaError:
        heads = {}  # the findings cannot be read: the World page says so
    return {one: _PLANTED if one.startswith("control ") else heads.get(one, "A suspicion") for one in asked}


def _about(found: FoundReport, *, every: bool) -> dict[str, Any]:
    """A report as templates show it."""
    pairs = pairs_of(found.verdicts)
    return {
        "pairs": pairs if every else pairs[:_MOST_SHOWN],
        "left_out": 0 if every else max(len(pairs) - _MOST_SHOWN, 0),
        **_shown(found.report),
    }


def _shown(report: Report) -> dict[str, Any]:
    numbers = [row for row in report.rows if not row.is_difference]
    return {
        "numbers": [(row, *estimate_cells(row.scored), _method(row)) for row in numbers],
        "differences": [difference_cells(row) for row in report.rows if row.is_difference],
        "pictures": _pictures(report),
    }


def _method(row: Row) -> str:
    return row.scored.method if isinstance(row.scored, Estimate) else ""


def _pictures(report: Report) -> list[Markup]:
    """A picture for each measure that several have, with intervals; the table beside it has the same numbers."""
    by_measure: dict[str, list[Row]] = {}
    for row in report.rows:
        if not row.is_difference:
            by_measure.setdefault(row.what, []).append(row)
    shown = [(what, rows) for what, rows in by_measure.items() if len(rows) >= _LEAST_ROWS and any(map(_bounded, rows))]
    pictures = (
        intervals_svg([(row.of, row.scored) for row in rows], title=what, styled=False)
        for what, rows in shown[:_MOST_PICTURES]
    )
    return [Markup(picture) for picture in pictures]  # noqa: S704 - names in it are escaped where it is drawn


def _bounded(row: Row) -> bool:
    return isinstance(row.scored, Estimate) and row.scored.low is not None


def _costs(found: ExperimentFolder) -> list[tuple[str, dict[str, Any]]]:
    return [(str(one.get("contender", "")), one) for one in found.data.get("contenders", []) if isinstance(one, dict)]
