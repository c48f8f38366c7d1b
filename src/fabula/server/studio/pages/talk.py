"""The Talk page: conversations with the characters of a story."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from fabula.app.conversations import ChatList, lines_in, parties_for
from fabula.app.conversing import dry_run_beginning
from fabula.app.people import STRANGER
from fabula.base.errors import FabulaError, UsageError
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - FastAPI reads it
from fabula.server.api.depends import ConversationsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.verbs.conversation import ConversationName as ChatName  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.verbs.home import Project

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/talk"
EXPECTED: Final = "/projects/{project}/talk-expected"
PEOPLE: Final = "/projects/{project}/talk-people"
PARTS: Final = "/projects/{project}/talk-parts/{chat}"
_SHOWN: Final = 200  # turns that are shown at first
_FREE: Final[dict[Freedom, str]] = {
    "rails": "stay close to the story",
    "guided": "wander and be led back",
    "loose": "go where you like",
}
_NAME: Final = 200

Names = Annotated[list[Annotated[str, Form(max_length=_NAME)]] | None, Form()]
Name = Annotated[str, Form(max_length=_NAME)]


@router.get(PAGE, response_model=None)
def begin(request: Request, workspace: WorkspaceDep) -> Response:
    """All conversations, and the form to begin one."""
    listed = workspace.conversations()
    return page(request, "talk.html", listed=listed, view=None, free=_FREE, chat="", stranger=STRANGER)


@router.get(EXPECTED, response_model=None)
async def begin_expected(
    request: Request,
    workspace: WorkspaceDep,
    others: Annotated[list[str] | None, Query()] = None,
    player: Annotated[str, Query(max_length=_NAME)] = "",
    freedom: Freedom | None = None,
) -> Response:
    """The estimated calls and cost of the first turn, and the button that begins it."""
    named = _named(others)
    expected: dict[str, Any] = {"named": named, "problem": "", "calls": 0, "tokens": 0, "cost": 0.0, "wrong": ""}
    try:
        dry = await _beginning(workspace, named, player, freedom) if named else None
    except UsageError as error:
        expected["wrong"] = str(error)
    except FabulaError as error:
        expected["problem"] = str(error)
    else:
        expected |= {"calls": len(dry.planned), "tokens": dry.tokens, "cost": dry.cost} if dry else {}
    return page(request, "talk_begin.html", **expected)


async def _beginning(workspace: Project, named: Sequence[str], player: str, freedom: Freedom | None) -> DryRun | None:
    project = workspace.project()
    parties = await asyncio.to_thread(parties_for, project, named, player, dry=True)
    if parties is None:
        return None
    return await dry_run_beginning(project, workspace.settings(project), workspace.options, parties, freedom)


@router.get(PEOPLE, response_model=None)
def people(request: Request, workspace: WorkspaceDep) -> Response:
    """The estimate for finding the characters of the story, and the button that starts it."""
    return page(request, "talk_people.html", found=workspace.people(), problem="")


@router.post(PEOPLE, response_model=None)
async def read(request: Request, conversations: ConversationsDep, workspace: WorkspaceDep) -> Response:
    """Have a model find the characters of the story, and reload the page with them."""
    try:
        await conversations.read_people()
    except FabulaError as error:
        return page(request, "talk_people.html", found=await workspace.people_async(), problem=str(error))
    return _go_to(f"/projects/{request.path_params['project']}/talk")


def _named(others: Sequence[str] | None) -> list[str]:
    """The chosen characters and the typed name, each once."""
    return list(dict.fromkeys(name.strip()[:_NAME] for name in others or () if name.strip()))


@router.post(PAGE, response_model=None)
def new(
    request: Request,
    workspace: WorkspaceDep,
    others: Names = None,
    player: Name = "",
    freedom: Freedom | None = None,
) -> Response:
    """Begin a conversation."""
    begun = workspace.converse(_named(others), player, freedom=freedom)
    return _go_to(f"/projects/{request.path_params['project']}/talk/{begun.name}#begin")


@router.get(PAGE + "/{chat}", response_model=None)
def talk(request: Request, workspace: WorkspaceDep, chat: ChatName) -> Response:
    """A conversation."""
    lines = lines_in(workspace.project())
    return page(request, "talk.html", listed=ChatList(lines), free=_FREE, **_about(workspace, chat))


@router.get(PARTS, response_model=None)
def part(request: Request, workspace: WorkspaceDep, chat: ChatName, every: bool = False) -> Response:  # noqa: FBT001, FBT002 - a query
    """The parts of the page that change with each turn."""
    return page(request, "talk_part.html", free=_FREE, **_about(workspace, chat, every=every))


@router.get(PARTS + "/plan", response_model=None)
def plan(request: Request, workspace: WorkspaceDep, chat: ChatName) -> Response:
    """The plan of the current cell, including future points."""
    return page(request, "talk_plan.html", view=workspace.conversation(chat, plan=True))


@router.get(PARTS + "/why/{number}", response_model=None)
def why(request: Request, workspace: WorkspaceDep, chat: ChatName, number: int) -> Response:
    """The reasons for an answer: what the character knew."""
    return page(request, "talk_why.html", why=workspace.why(chat, number))


@router.post(PARTS + "/scene", response_model=None)
def scene(
    request: Request,
    workspace: WorkspaceDep,
    chat: ChatName,
    present: Names = None,
    freedom: Freedom | None = None,
) -> Response:
    """Set who is present from now on, and how far the player may stray."""
    view = workspace.conversation(chat)
    wanted = present if len(view.others) > 1 else None
    changed = wanted if wanted is None or sorted(wanted) != sorted(view.place.present) else None
    workspace.set_scene(chat, changed, freedom if freedom != view.place.freedom else None)
    return page(request, "talk_part.html", free=_FREE, **_about(workspace, chat))


@router.post(PARTS + "/branch", response_model=None)
def branch(request: Request, workspace: WorkspaceDep, chat: ChatName, after: Annotated[int, Form(ge=0)]) -> Response:
    """Begin another conversation that continues from an earlier turn."""
    branched = workspace.branch(chat, after)
    return _go_to(f"/projects/{request.path_params['project']}/talk/{branched.name}")


@router.post(PARTS + "/delete", response_model=None)
def delete(request: Request, workspace: WorkspaceDep, chat: ChatName) -> Response:
    """Delete a conversation, and open the list of the others."""
    workspace.delete_conversation(chat)
    return _go_to(f"/projects/{request.path_params['project']}/talk")


@router.get(PARTS + "/transcript", response_model=None)
def transcript(workspace: WorkspaceDep, chat: ChatName) -> Response:
    """The conversation as a file."""
    text = (workspace.transcript(chat)).text
    headers = {"content-disposition": f'attachment; filename="{chat}.md"'}
    return Response(text, media_type="text/markdown", headers=headers)


def _about(workspace: Project, chat: str, *, every: bool = False) -> dict[str, Any]:
    """The values of a conversation for the templates."""
    view = workspace.conversation(chat)
    shown = view.turns if every else view.turns[-_SHOWN:]
    goes_on = view.moving is not None and not view.moving.problem
    return {"view": view, "shown": shown, "left_out": len(view.turns) - len(shown), "goes_on": goes_on, "chat": chat}


def _go_to(address: str) -> Response:
    """An answer that makes htmx open another page."""
    return Response(status_code=204, headers={"hx-redirect": address})
