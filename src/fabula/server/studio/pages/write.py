"""The Write page: start, stop and watch runs, approve or change texts that wait, and answer prompts by hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Form, Query, Request

from fabula.app.saving import BRIEF
from fabula.app.titles import HeadedText
from fabula.base.errors import FabulaError, UnknownNameError
from fabula.models.answer_files import KIND, LARGEST
from fabula.project.folder import MAX_FILE
from fabula.project.telling import imported_from
from fabula.server.api.depends import ProjectName, RunsDep, StateDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.runs import awaited, put_answer
from fabula.server.api.wire import Answer, Prompt
from fabula.server.studio.pages.plan import foreseen
from fabula.server.studio.rendering import page
from fabula.server.studio.typed import number, whole_number
from fabula.story import plain
from fabula.story.export import formats

if TYPE_CHECKING:
    from fastapi.responses import Response

    from fabula.app.bills import Estimate
    from fabula.app.titles import Titles
    from fabula.app.workspace import FolderBranch
    from fabula.server.runs.children import Runs
    from fabula.server.runs.record import RunRecord
    from fabula.story.export import Format
    from fabula.verbs.home import Project
    from fabula.verbs.text import ArtefactText

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/write"
PARTS: Final = "/projects/{project}/write-parts"
PRINT: Final = "/projects/{project}/print"
_ANSWERS: Final = ".fabula/answers"  # prompts and answers that a person carries to and from a chat window
_LONGEST: Final = 40_000  # characters of a text that are shown
_SHOWN: Final = 8  # runs that the page lists

Name = Annotated[str, Form(max_length=500)]
Text = Annotated[str, Form(max_length=MAX_FILE)]


@dataclass(frozen=True, slots=True)
class NewestRun:
    """The state of a project's newest run, and what it needs from a person.

    Attributes:
        run: the newest run; `None` if there is none.
        before: the earlier runs.
        queued: the number of runs that wait behind it.
        waits: the text that must be approved, if the run waits for approval.
        prompts: the prompts that must be answered by hand.
        problem: why the text that waits cannot be shown.
    """

    run: RunRecord | None
    before: list[RunRecord]
    queued: int = 0
    waits: ArtefactText | None = None
    prompts: tuple[Prompt, ...] = ()
    problem: str = ""


def standing(workspace: Project, runs: Runs, project: str) -> NewestRun:
    """The state of the newest run; a run in progress comes before runs that wait."""
    found = runs.of(project)
    at_work = next((run for run in found if run.state == "running"), None)
    run = at_work or next((run for run in reversed(found) if run.state == "queued"), found[0] if found else None)
    if run is None:
        return NewestRun(None, [])
    before = [one for one in found if one.id != run.id][:_SHOWN]
    queued = sum(one.state == "queued" for one in found if one.id != run.id)
    waits, prompts, problem = None, tuple[Prompt, ...](), ""
    try:
        if run.state == "waits" and run.waits_for:
            waits = workspace.text(run.waits_for)
        prompts = tuple(awaited(run))
    except UnknownNameError:
        pass  # a role waits for its player, not a text for approval
    except FabulaError as error:
        problem = str(error)
    return NewestRun(run, before, queued, waits, prompts, problem)


@router.get(PAGE, response_model=None)
def write(
    request: Request,
    project: ProjectName,
    workspace: WorkspaceDep,
    runs: RunsDep,
    text: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """The Write page; `text` is the artefact in the middle."""
    branches = workspace.shown(marks=False)
    return page(
        request,
        "write.html",
        tree=branches,
        overview=workspace.overview(),
        standing=standing(workspace, runs, project),
        **_text(workspace, text or _first(branches)),
    )


def _first(tree: list[FolderBranch]) -> str:
    """The text in the middle if none is named: the first part of the story, otherwise the brief."""
    return next((branch.artefacts[0].name for branch in tree if branch.name == "story"), BRIEF)


def _text(workspace: Project, name: str) -> dict[str, Any]:
    """A text for the page, cut off if it is very long."""
    text = workspace.text(name)
    cut = text.text.rfind("\n\n", 0, _LONGEST) if len(text.text) > _LONGEST else -1
    shown, whole = text.text[: cut if cut > 0 else _LONGEST], len(text.text) <= _LONGEST
    if (headed := HeadedText.of(shown)).title == text.title:  # which stands above the text
        shown = "\n\n".join(filter(None, (headed.above, headed.body)))
    return {"text": text, "shown": shown, "whole": whole, "exports": exports_of(workspace)}


def exports_of(workspace: Project) -> list[Format]:
    """The formats in which the story is available, first the one that it was imported from; none without a story."""
    if not workspace.overview().words:
        return []
    with workspace.texts().journal as journal:
        suffix = Path(imported_from(journal)).suffix.casefold()
    return sorted(formats().values(), key=lambda one: one.suffix != suffix)


@router.get(PRINT, response_model=None)
def printed(request: Request, workspace: WorkspaceDep) -> Response:
    """The whole story as a page for printing, or for a PDF."""
    return page(request, "print.html", text=workspace.export("markdown").content.decode())


@router.get(PARTS + "/tree", response_model=None)
def tree(request: Request, workspace: WorkspaceDep, name: str = "") -> Response:
    """The texts by folder, with their states."""
    found = workspace.shown(marks=False)
    return page(request, "write_tree.html", tree=found, name=name)


@router.get(PARTS + "/text", response_model=None)
def shown(request: Request, workspace: WorkspaceDep, name: Annotated[str, Query(max_length=500)] = "") -> Response:
    """A text; if none is named, the one that is then shown in the middle."""
    named = name or _first(workspace.shown(marks=False))
    return page(request, "write_text.html", **_text(workspace, named))


@router.get(PARTS + "/run", response_model=None)
def newest(request: Request, project: ProjectName, workspace: WorkspaceDep, runs: RunsDep) -> Response:
    """The state of the newest run."""
    return page(request, "write_run.html", standing=standing(workspace, runs, project))


@router.get(PARTS + "/expected", response_model=None)
def expected(request: Request, project: ProjectName, workspace: WorkspaceDep, runs: RunsDep) -> Response:
    """The estimate of a run; while a command in a terminal is running, nothing can be started here."""
    elsewhere = next((run for run in runs.of(project) if run.state == "running" and run.terminal), None)
    if elsewhere is not None:
        return page(request, "write_expected.html", elsewhere=elsewhere)
    about: dict[str, Any] = {"doing": "Write", "idle": False} | foreseen(workspace.expected)
    overview = workspace.overview()
    if (found := about["expected"]) is not None:
        about["doing"] = doing_of(workspace.titles(), found)
        to_do = found.calls or found.changed or found.restored or workspace.is_behind()
        about["idle"] = overview.words and not to_do
    return page(request, "write_expected.html", overview=overview, **about)


def doing_of(titles: Titles, expected: Estimate) -> str:
    """The label of the button that starts a run: the texts that it writes or rewrites."""
    if not expected.calls:
        return "Put the story together"
    named = titles.of_calls(call.path for call in expected.calls)
    if len(named) == 1:
        return f"{'Rewrite' if titles.is_written(named[0]) else 'Write'}: {named[0]}"
    again = sum(map(titles.is_written, named))
    if again and again == len(named):
        return f"Rewrite {again} texts"
    return f"Write {len(named)} texts ({again} of them again)" if again else "Write the story"


@router.post(PARTS + "/start", response_model=None)
async def start(
    request: Request,
    project: ProjectName,
    workspace: WorkspaceDep,
    state: StateDep,
    kind: Annotated[Literal["write", "update", "make_plan", "check"], Form()] = "write",
    model: Annotated[str, Form(max_length=500)] = "",
    approve: Annotated[Literal["", "plans", "all"], Form()] = "",
    usd: Annotated[str, Form(max_length=30)] = "",
    tokens: Annotated[str, Form(max_length=30)] = "",
    by_hand: Annotated[bool, Form()] = False,  # noqa: FBT002 - FastAPI's form of a box
) -> Response:
    """Start a run."""
    who = f"{KIND}:{workspace.folder / _ANSWERS}" if by_hand else model.strip()
    asked = {"model": who, "budget_tokens": whole_number(tokens), "budget_usd": number(usd, "dollars")}
    asked |= {"approve": approve} if kind in ("write", "update") else {}
    await state.start(project, kind, asked)
    return await _shown(request, project, workspace, state.runs)


@router.post(PARTS + "/stop", response_model=None)
async def stop(request: Request, project: ProjectName, workspace: WorkspaceDep, runs: RunsDep, run: Name) -> Response:
    """Stop a run."""
    runs.stop(project, run)
    return await _shown(request, project, workspace, runs)


@router.post(PARTS + "/again", response_model=None)
async def again(
    request: Request,
    project: ProjectName,
    workspace: WorkspaceDep,
    state: StateDep,
    run: Name,
    anew: Annotated[bool, Form()] = False,  # noqa: FBT002 - FastAPI's form of a box
) -> Response:
    """Continue a run; with `anew`, it rewrites existing texts."""
    await state.again(project, run, anew=anew)
    return await _shown(request, project, workspace, state.runs)


@router.post(PARTS + "/approve", response_model=None)
async def approve(
    request: Request,
    project: ProjectName,
    workspace: WorkspaceDep,
    state: StateDep,
    run: Name,
    name: Name,
    text: Text,
    base: Name,
    how: Annotated[Literal["approve", "retake"], Form()] = "approve",
    note: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Approve the text that waits, unchanged or changed, or have it rewritten; then continue."""

    def decide() -> None:
        if how == "retake":
            workspace.retake(name, note.strip() or None)
            return
        stands = workspace.text(name)
        if plain(text) == plain(stands.text):
            workspace.approve(name)
        else:
            workspace.edit(name, text, base)

    await asyncio.to_thread(decide)
    await state.again(project, run)
    return await _shown(request, project, workspace, state.runs)


@router.post(PARTS + "/answer", response_model=None)
async def answer(
    request: Request,
    project: ProjectName,
    workspace: WorkspaceDep,
    runs: RunsDep,
    run: Name,
    name: Name,
    text: Annotated[str, Form(max_length=LARGEST)],
) -> Response:
    """Give the answer to a prompt from a chat window."""
    await asyncio.to_thread(put_answer, runs, project, run, Answer(name=name, text=text))
    return await _shown(request, project, workspace, runs)


async def _shown(request: Request, project: str, workspace: Project, runs: Runs) -> Response:
    found = await asyncio.to_thread(standing, workspace, runs, project)
    return page(request, "write_run.html", standing=found)
