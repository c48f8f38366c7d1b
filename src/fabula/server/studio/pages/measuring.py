"""Measuring from the page: what it would take, its run, and what is learned from an author's choices."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it
from pydantic import ValidationError

from fabula.app.learned import LearningStands, missing_packages, put_into_use
from fabula.app.reports import reports_in
from fabula.base.errors import UsageError
from fabula.evaluators import evaluators
from fabula.project.learned import place_for
from fabula.server.api.depends import ProjectName, RunsDep, ShelfDep, StateDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.runs.record import Order
from fabula.server.studio.rendering import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.app.workspace import Workspace
    from fabula.project.learned import Place
    from fabula.server.runs.children import Runs
    from fabula.server.runs.record import Kind, Run
    from fabula.server.state import StudioState
    from fabula.verbs.home import Home

router = APIRouter(prefix="/projects/{project}", include_in_schema=False)
RunName: TypeAlias = Annotated[str, Form(max_length=100)]
Short: TypeAlias = Annotated[str, Form(max_length=200)]
_LONGEST: Final = 60.0  # seconds in which a command says what it would ask
_MEASURES: Final[tuple[Kind, ...]] = ("check", "evaluate", "judge", "rank")
_LEARNS: Final[tuple[Kind, ...]] = ("learn",)
_REPORT_OF: Final = {"check": "atlas", "judge": "pairwise", "rank": "pairwise"}


async def order_of(
    kind: Annotated[str, Form(max_length=20)] = "check",
    evaluator: Short = "",
    against: Short = "",
    beside: Annotated[list[str] | None, Form()] = None,
    model: Annotated[str, Form(max_length=500)] = "",
    tokens: Annotated[str, Form(max_length=20)] = "",
    usd: Annotated[str, Form(max_length=20)] = "",
) -> Order:
    """What the form asks for.

    Raises:
        UsageError: that is nothing that can be measured.
    """
    asked: dict[str, Any] = {
        "kind": kind,
        "model": model.strip(),
        "budget": {"tokens": _count(tokens), "usd": _sum(usd)},
    }
    asked |= {"evaluator": evaluator} if kind == "evaluate" else {}
    asked |= {"against": against} if kind == "judge" else {}
    asked |= {"beside": beside or []} if kind == "rank" else {}
    return _order(asked, "measured")


async def learning_order(
    beside: Annotated[list[str] | None, Form()] = None,
    base: Annotated[str, Form(max_length=500)] = "",
    how: Annotated[str, Form(max_length=20)] = "",
    anyway: Annotated[str, Form(max_length=5)] = "",
) -> Order:
    """What the form of learning asks for.

    Raises:
        UsageError: nothing can be learned so.
    """
    quick = {"quick": True, "thorough": False}.get(how)
    said = {"beside": beside or [], "base": base.strip(), "quick": quick, "use_anyway": bool(anyway)}
    return _order({"kind": "learn", **said}, "learned")


OrderDep: TypeAlias = Annotated[Order, Depends(order_of)]
LearningDep: TypeAlias = Annotated[Order, Depends(learning_order)]


def _order(asked: dict[str, Any], done: str) -> Order:
    try:
        return Order.model_validate(asked, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"])
        raise UsageError(f"This cannot be {done} as asked; {where}: {first['msg']}.") from None


def _count(typed: str) -> int | str | None:
    return int(typed) if typed.strip().isdecimal() else typed.strip() or None


def _sum(typed: str) -> str | None:
    return typed.strip() or None


# measuring ----------------------------------------------------------------------------------------------------------


@router.post("/measure-estimate")
async def estimate(request: Request, workspace: WorkspaceDep, runs: RunsDep, order: OrderDep) -> Response:
    """What it would ask and cost, as the command itself says it.

    Raises:
        UsageError: it says something else.
    """
    said = await _dry(runs, order, workspace.folder)
    if "calls" not in said:
        raise UsageError("What it would take could not be found out.")
    asked = {"calls": len(said["calls"]), "tokens": said["tokens"], "replayed": said["replayed"]}
    who = list(dict.fromkeys(str(call.get("by", "")).partition("@")[0] for call in said["calls"]))
    return page(request, "measure_estimate.html", cost=said.get("cost"), who=who, **asked)


@router.post("/measure")
async def start(request: Request, project: str, state: StateDep, order: OrderDep) -> Response:
    """Have the story checked, measured, judged or ranked."""
    return await _begin(request, project, state, order)


@router.get("/measure-run")
async def measuring(
    request: Request, project: str, runs: RunsDep, run: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """How a measurement stands: the one that is named, else the last one."""
    return page(request, "measure_run.html", **await asyncio.to_thread(standing_of, runs, project, _MEASURES, run))


@router.post("/measure-run/stop")
async def stop(request: Request, project: str, runs: RunsDep, run: RunName) -> Response:
    """Stop a measurement, or learning; what is finished is kept."""
    runs.stop(project, run)
    return await _standing(request, project, runs, run)


@router.post("/measure-run/again")
async def again(request: Request, project: str, state: StateDep, run: RunName) -> Response:
    """Go on with what was stopped or failed."""
    return await _standing(request, project, state.runs, (await state.again(project, run)).id, begun=True)


async def _begin(request: Request, project: str, state: StudioState, order: Order) -> Response:
    return await _standing(request, project, state.runs, (await state.start(project, order)).id, begun=True)


async def _standing(request: Request, project: str, runs: Runs, run: str, *, begun: bool = False) -> Response:
    about = await asyncio.to_thread(standing_of, runs, project, (), run)
    return page(request, "measure_run.html", **about | {"begun": begun})


def form_of(project: ProjectName, shelf: ShelfDep, runs: RunsDep) -> dict[str, Any]:
    """What the form on the Measure page offers, and how the last measurement stands."""
    known = [
        (name, str(one.paper.get("summary", "")), str(one.paper.get("asks", "")), one.reads_narrative)
        for name, one in evaluators().items()
    ]
    others = _others(shelf, project)
    return {"others": others, "evaluators": known, **standing_of(runs, project, _MEASURES, "")}


FormDep: TypeAlias = Annotated[dict[str, Any], Depends(form_of)]


def standing_of(runs: Runs, project: str, kinds: Sequence[Kind], run: str) -> dict[str, Any]:
    """How a run stands, as `measure_run.html` shows it: the one that is named, else the last one of some kinds."""
    known = runs.of(project)
    mine = [one for one in known if one.order.kind in kinds]
    chosen = runs.get(project, run) if run else next((one for one in mine if one.is_open), mine[0] if mine else None)
    about: dict[str, Any] = {"run": chosen, "begun": False, "queue": 0, "result": "", "messages": ""}
    if chosen is None:
        return about
    about["queue"] = sum(one.state == "queued" and one.id != chosen.id for one in known)
    about["messages"] = runs.messages(project, chosen.id) if chosen.order.kind == "learn" else ""
    if chosen.state == "finished":
        about["result"] = _result(runs.shelf.folder(project), project, chosen)
    return about


def _result(folder: Path, project: str, run: Run) -> str:
    """The page of what a run has found."""
    if run.order.kind == "learn":
        return f"/projects/{project}/measure/learning"
    name = _REPORT_OF.get(run.order.kind) or run.order.evaluator.replace("_", "-")
    known = {one.name for one in reports_in(folder)}
    report = f"evaluation/{name}"
    return f"/projects/{project}/measure/{report}" if report in known else f"/projects/{project}/measure"


def _others(shelf: Home, project: str) -> list[tuple[str, str]]:
    """The projects that one can be compared with, by name and title."""
    return [(name, shelf.title(name)) for name in shelf.names if name != project]


async def _dry(runs: Runs, order: Order, folder: Path) -> dict[str, Any]:
    """What a command says that it would do.

    Raises:
        UsageError: it cannot do as asked, or does not come to an end.
    """
    words = await asyncio.to_thread(runs.command_line, order, folder)
    return await _said([*runs.command, *words, "--dry-run"], runs.environ)


async def _said(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
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
    if not isinstance(said, dict) or not said or "error" in said:
        error = (said if isinstance(said, dict) else {}).get("error") or {}
        raise UsageError(str(error.get("message") or "What it would take could not be found out."))
    return said


# learning -----------------------------------------------------------------------------------------------------------


@router.get("/measure/learning")
async def learning(
    request: Request, project: str, workspace: WorkspaceDep, shelf: ShelfDep, state: StateDep
) -> Response:
    """What was learned from the author of the project, and what would be."""

    def looked() -> dict[str, Any]:
        about = standing_of(state.runs, project, _LEARNS, "")
        return about | {"others": _others(shelf, project), **_learned(workspace, state.runs.environ)}

    about = await asyncio.to_thread(looked)
    return page(request, "learning.html", missing=missing_packages(), **about)


@router.post("/measure/learning/estimate")
async def learning_estimate(request: Request, workspace: WorkspaceDep, runs: RunsDep, order: LearningDep) -> Response:
    """What would be learned from, in which time and memory, and what it could show."""
    said = await _dry(runs, order, workspace.folder)
    return page(request, "learning_estimate.html", said=said, missing=missing_packages())


@router.post("/measure/learning/begin")
async def begin_learning(request: Request, project: str, state: StateDep, order: LearningDep) -> Response:
    """Learn, as a run."""
    return await _begin(request, project, state, order)


@router.get("/measure-run/learning")
async def learning_run(
    request: Request, project: str, runs: RunsDep, run: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """How learning stands."""
    return page(request, "measure_run.html", **await asyncio.to_thread(standing_of, runs, project, _LEARNS, run))


@router.post("/measure/learning/use")
async def use(
    request: Request, workspace: WorkspaceDep, runs: RunsDep, on: Annotated[Literal["yes", ""], Form()] = ""
) -> Response:
    """Have new projects write with what was learned, or without it."""

    def done() -> dict[str, Any]:
        put_into_use(_place(workspace, runs.environ), on=bool(on))
        return _learned(workspace, runs.environ)

    return page(request, "learning_stands.html", said="", **await asyncio.to_thread(done))


@router.post("/measure/learning/forget")
async def forget(request: Request, workspace: WorkspaceDep, runs: RunsDep) -> Response:
    """Remove all that was learned from the author."""

    def done() -> dict[str, Any]:
        _place(workspace, runs.environ).forget()
        return _learned(workspace, runs.environ)

    said = "All of it is removed. Projects that were written with it keep their texts and their record."
    return page(request, "learning_stands.html", said=said, **await asyncio.to_thread(done))


def _place(workspace: Workspace, environ: Mapping[str, str]) -> Place:
    return place_for(workspace.settings().author.name, environ)


def _learned(workspace: Workspace, environ: Mapping[str, str]) -> dict[str, Any]:
    return {"stands": LearningStands.at(_place(workspace, environ))}
