"""Measuring from the page: its estimate and its run, and learning from an author's choices."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it

from fabula.app.reports import reports_in
from fabula.base.errors import UsageError
from fabula.evaluators import evaluators
from fabula.server.api.depends import ProjectName, RunsDep, ShelfDep, StateDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.server.studio.typed import number, whole_number
from fabula.verbs.base import long_verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.server.runs.children import Runs
    from fabula.server.runs.record import RunRecord
    from fabula.server.state import StudioState
    from fabula.verbs.home import Home

router = APIRouter(prefix="/projects/{project}", include_in_schema=False)
RunName: TypeAlias = Annotated[str, Form(max_length=100)]
Short: TypeAlias = Annotated[str, Form(max_length=200)]
_LONGEST: Final = 60.0  # seconds within which a command must give its estimate
_MEASURES: Final = ("check", "evaluate", "judge", "rank")
_LEARNS: Final = ("learn",)
_REPORT_OF: Final = {"judge": "pairwise", "rank": "pairwise"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A long-running verb, and its arguments."""

    verb: str
    arguments: dict[str, Any]


async def wanted(
    kind: Annotated[Literal["check", "evaluate", "judge", "rank"], Form()] = "check",
    evaluator: Short = "",
    against: Short = "",
    beside: Annotated[list[str] | None, Form()] = None,
    model: Annotated[str, Form(max_length=500)] = "",
    tokens: Annotated[str, Form(max_length=20)] = "",
    usd: Annotated[str, Form(max_length=20)] = "",
) -> Wanted:
    """The measurement that the form asks for.

    Raises:
        UsageError: the form asks for nothing that can be measured.
    """
    own: dict[str, dict[str, Any]] = {
        "evaluate": {"evaluator": evaluator},
        "judge": {"against": against},
        "rank": {"beside": beside or []},
    }
    caps = {"budget_tokens": whole_number(tokens), "budget_usd": number(usd, "dollars")}
    return Wanted(kind, {"model": model.strip(), **caps, **own.get(kind, {})})


async def learning_wanted(
    beside: Annotated[list[str] | None, Form()] = None,
    base: Annotated[str, Form(max_length=500)] = "",
    how: Annotated[str, Form(max_length=20)] = "",
    anyway: Annotated[str, Form(max_length=5)] = "",
) -> Wanted:
    """The run that the form for learning asks for."""
    quick = {"quick": True, "thorough": False}.get(how)
    said = {"beside": beside or [], "base": base.strip(), "quick": quick, "use_anyway": bool(anyway)}
    return Wanted("learn", said)


WantedDep: TypeAlias = Annotated[Wanted, Depends(wanted)]
LearningDep: TypeAlias = Annotated[Wanted, Depends(learning_wanted)]


# measuring ----------------------------------------------------------------------------------------------------------


@router.post("/measure-estimate")
def estimate(request: Request, workspace: WorkspaceDep, shelf: ShelfDep, asked: WantedDep) -> Response:
    """The estimated calls and cost of a measurement."""
    verb = long_verb(asked.verb)
    arguments = verb.from_outside(verb.checked(asked.arguments), shelf.folder)
    found = workspace.estimated(verb, arguments)
    who = list(dict.fromkeys(call.performer.partition("@")[0] for call in found.calls))
    return page(request, "measure_estimate.html", found=found, who=who)


@router.post("/measure")
async def start(request: Request, project: str, state: StateDep, asked: WantedDep) -> Response:
    """Have the story checked, measured, judged or ranked."""
    return await _begin(request, project, state, asked)


@router.get("/measure-run")
def measuring(
    request: Request, project: str, runs: RunsDep, run: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """The state of a measurement: the named one, otherwise the last one."""
    return page(request, "measure_run.html", **standing_of(runs, project, _MEASURES, run))


@router.post("/measure-run/stop")
async def stop(request: Request, project: str, runs: RunsDep, run: RunName) -> Response:
    """Stop a measurement or learning; finished work is kept."""
    runs.stop(project, run)
    return await _standing(request, project, runs, run)


@router.post("/measure-run/again")
async def again(request: Request, project: str, state: StateDep, run: RunName) -> Response:
    """Continue a run that was stopped or failed."""
    return await _standing(request, project, state.runs, (await state.again(project, run)).id, begun=True)


async def _begin(request: Request, project: str, state: StudioState, asked: Wanted) -> Response:
    run = await state.start(project, asked.verb, asked.arguments)
    return await _standing(request, project, state.runs, run.id, begun=True)


async def _standing(request: Request, project: str, runs: Runs, run: str, *, begun: bool = False) -> Response:
    about = await asyncio.to_thread(standing_of, runs, project, (), run)
    return page(request, "measure_run.html", **about | {"begun": begun})


def form_of(project: ProjectName, shelf: ShelfDep, runs: RunsDep) -> dict[str, Any]:
    """The choices of the form on the Measure page, and the state of the last measurement."""
    known = [
        (name, str(one.paper.get("summary", "")), str(one.paper.get("asks", "")), one.reads_narrative)
        for name, one in evaluators().items()
    ]
    others = _others(shelf, project)
    return {"others": others, "evaluators": known, **standing_of(runs, project, _MEASURES, "")}


FormDep: TypeAlias = Annotated[dict[str, Any], Depends(form_of)]


def standing_of(runs: Runs, project: str, verbs: Sequence[str], run: str) -> dict[str, Any]:
    """The state of a run for `measure_run.html`: the named run, otherwise the last run of some verbs."""
    known = runs.of(project)
    mine = [one for one in known if one.verb in verbs]
    chosen = runs.get(project, run) if run else next((one for one in mine if one.is_open), mine[0] if mine else None)
    about: dict[str, Any] = {"run": chosen, "begun": False, "queue": 0, "result": "", "messages": ""}
    if chosen is None:
        return about
    about["queue"] = sum(one.state == "queued" and one.id != chosen.id for one in known)
    about["messages"] = runs.messages(project, chosen.id) if chosen.verb == "learn" else ""
    if chosen.state == "finished":
        about["result"] = _result(runs.shelf.folder(project), project, chosen)
    return about


def _result(folder: Path, project: str, run: RunRecord) -> str:
    """The page with the result of a run."""
    if run.verb == "learn":
        return f"/projects/{project}/measure/learning"
    if run.verb == "check":
        return f"/projects/{project}/world/findings"
    name = _REPORT_OF.get(run.verb) or str(run.arguments.get("evaluator", "")).replace("_", "-")
    known = {one.name for one in reports_in(folder)}
    report = f"evaluation/{name}"
    return f"/projects/{project}/measure/{report}" if report in known else f"/projects/{project}/measure"


def _others(shelf: Home, project: str) -> list[tuple[str, str]]:
    """The projects with which a project can be compared, by name and title."""
    return [(name, shelf.title(name)) for name in shelf.names if name != project]


async def _said(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(*command, env=dict(environ), stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(_LONGEST):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise UsageError(
            f"fabula could not estimate the cost within {_LONGEST:g} s. Start with a token or dollar limit."
        ) from None
    said = json.loads(out) if out.strip() else {}
    if not isinstance(said, dict) or not said or "error" in said:
        error = (said if isinstance(said, dict) else {}).get("error") or {}
        raise UsageError(str(error.get("message") or "The cost could not be estimated."))
    return said


# learning -----------------------------------------------------------------------------------------------------------


@router.get("/measure/learning")
def learning(request: Request, project: str, workspace: WorkspaceDep, shelf: ShelfDep, state: StateDep) -> Response:
    """What was learned from the author of the project, and the form for learning again."""

    def looked() -> dict[str, Any]:
        about = standing_of(state.runs, project, _LEARNS, "")
        return about | {"others": _others(shelf, project), "stands": workspace.learned()}

    return page(request, "learning.html", **looked())


@router.post("/measure/learning/estimate")
async def learning_estimate(request: Request, workspace: WorkspaceDep, runs: RunsDep, asked: LearningDep) -> Response:
    """The pairs, time and memory for learning, and what it could show, as in `fabula learn`."""
    given = asked.arguments
    quick = {True: ["--quick"], False: ["--thorough"]}.get(given["quick"], [])
    base = [f"--base={given['base']}"] if given["base"] else []
    folders = [str(runs.shelf.folder(name)) for name in dict.fromkeys(given["beside"])]
    words = ["learn", str(workspace.folder), *folders, *quick, *base, "--dry-run", "--json"]
    said = await _said([*runs.command, *words], runs.environ)
    stands = await asyncio.to_thread(workspace.learned)
    return page(request, "learning_estimate.html", said=said, stands=stands)


@router.post("/measure/learning/begin")
async def begin_learning(request: Request, project: str, state: StateDep, asked: LearningDep) -> Response:
    """Begin learning as a run."""
    return await _begin(request, project, state, asked)


@router.get("/measure-run/learning")
def learning_run(
    request: Request, project: str, runs: RunsDep, run: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """The state of learning."""
    return page(request, "measure_run.html", **standing_of(runs, project, _LEARNS, run))


@router.post("/measure/learning/use")
def use(request: Request, workspace: WorkspaceDep, on: Annotated[Literal["yes", ""], Form()] = "") -> Response:
    """Set whether new projects write with what was learned."""
    stands = workspace.use_learned(use=bool(on))
    return page(request, "learning_stands.html", said="", stands=stands)


@router.post("/measure/learning/forget")
def forget(request: Request, workspace: WorkspaceDep) -> Response:
    """Remove everything that was learned from the author."""
    stands = workspace.forget_learned()
    said = "Everything was removed. Projects that were written with it keep their texts and journals."
    return page(request, "learning_stands.html", said=said, stands=stands)
