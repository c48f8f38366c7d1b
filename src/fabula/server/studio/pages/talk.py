"""The Talk page: conversations with the characters of a story."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, UploadFile
from fastapi.responses import Response

from fabula.app.conversations import ChatList, lines_in, parties_for
from fabula.app.conversing import dry_run_beginning
from fabula.app.people import STRANGER
from fabula.base.errors import FabulaError, UsageError
from fabula.craft.conversation.cards import Cards, picture_in, pictures_in
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - FastAPI reads it
from fabula.data.chat_files import BEGINS
from fabula.server.api.depends import ConversationsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.story import one_line, slug
from fabula.story.cards import MAX_FILE_BYTES
from fabula.verbs.conversation import ConversationName as ChatName  # noqa: TC001 - FastAPI reads it
from fabula.verbs.import_card import keep_card

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.verbs.home import Project

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/talk"
EXPECTED: Final = "/projects/{project}/talk-expected"
PEOPLE: Final = "/projects/{project}/talk-people"
CARDS: Final = "/projects/{project}/talk-cards"
PICTURES: Final = "/projects/{project}/talk-pictures/{name}"
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
Persona = Annotated[str, Form(max_length=4000)]


@router.get(PAGE, response_model=None)
def begin(
    request: Request, workspace: WorkspaceDep, chosen: Annotated[str, Query(alias="with", max_length=_NAME)] = ""
) -> Response:
    """All conversations, and the form to begin one."""
    listed = workspace.conversations()
    chosen = chosen if chosen in listed.characters else ""
    given = {"view": None, "free": _FREE, "chat": "", "stranger": STRANGER, "chosen": chosen}
    return page(request, "talk.html", listed=listed, pictures=_pictures(workspace, listed.characters), **given)


@router.post(CARDS, response_model=None)
def add_card(request: Request, workspace: WorkspaceDep, file: UploadFile) -> Response:
    """Add a character card, and reload the page with its character; or add a lorebook, or open a chat."""
    name, data = one_line(file.filename or "")[:_NAME], file.file.read(MAX_FILE_BYTES + 1)
    if data.startswith(BEGINS):
        opened = workspace.import_chat(data.decode(errors="replace"))
        return _go_to(f"/projects/{request.path_params['project']}/talk/{opened.name}")
    card = keep_card(workspace, data, name)
    if card.name not in workspace.conversations().characters:
        return page(request, "talk_card.html", card=card)
    return _go_to(f"/projects/{request.path_params['project']}/talk?{urlencode({'with': card.name})}")


@router.get(PICTURES, response_model=None)
def picture(workspace: WorkspaceDep, name: str) -> Response:
    """The picture of a character."""
    data = picture_in(workspace.project().folder, name)
    return Response(data, media_type="image/png", headers={"cache-control": "private, max-age=86400"})


def _pictures(workspace: Project, names: Sequence[str]) -> dict[str, str]:
    """The addresses of the pictures of some characters; empty for those without one."""
    found, home = pictures_in(workspace.project().folder), f"/projects/{workspace.name}/talk-pictures"
    return {name: f"{home}/{at}?v={found[at]}" if (at := slug(name)) in found else "" for name in names}


@router.get(EXPECTED, response_model=None)
async def begin_expected(
    request: Request,
    workspace: WorkspaceDep,
    others: Annotated[list[str] | None, Query()] = None,
    player: Annotated[str, Query(max_length=_NAME)] = "",
    own: Annotated[str, Query(max_length=_NAME)] = "",
    freedom: Freedom | None = None,
) -> Response:
    """The estimated calls and cost of the first turn, and the button that begins it."""
    named = _named(others)
    expected: dict[str, Any] = {"named": named, "problem": "", "calls": 0, "tokens": 0, "cost": 0.0, "wrong": ""}
    try:
        dry = await _beginning(workspace, named, player, own, freedom) if named else None
    except UsageError as error:
        expected["wrong"] = str(error)
    except FabulaError as error:
        expected["problem"] = str(error)
    else:
        expected |= {"calls": len(dry.planned), "tokens": dry.tokens, "cost": dry.cost} if dry else {}
    return page(request, "talk_begin.html", **expected)


async def _beginning(
    workspace: Project, named: Sequence[str], player: str, own: str, freedom: Freedom | None
) -> DryRun | None:
    project, own = workspace.project(), one_line(own)
    parties = await asyncio.to_thread(parties_for, project, named, own or player, own, dry=True)
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
async def new(
    request: Request,
    workspace: WorkspaceDep,
    others: Names = None,
    player: Name = "",
    own: Name = "",
    persona: Persona = "",
    freedom: Freedom | None = None,
) -> Response:
    """Begin a conversation; a character whose first words need no call speaks them, and else nobody does.

    Raises:
        UsageError: there is a description, but no name.
    """
    named, own, persona = _named(others), one_line(own), persona.strip()
    if persona and not own:
        raise UsageError("You described who you are, but gave no name. Enter your name, or remove the description.")
    if own and not (persona or Cards.in_(workspace.project().folder).of(own)):
        persona = own
    begun = await workspace.converse_async(named, own or player, persona=persona or None, freedom=freedom)
    greets = ""
    with suppress(FabulaError):
        dry = await _beginning(workspace, named, begun.player, "", freedom)
        greets = "" if dry is None or dry.planned else "#begin"
    return _go_to(f"/projects/{request.path_params['project']}/talk/{begun.name}{greets}")


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
    persona: Persona = "",
) -> Response:
    """Set who is present from now on, how far the player may stray, and who the player is."""
    view = workspace.conversation(chat)
    wanted = present if len(view.others) > 1 else None
    changed = wanted if wanted is None or sorted(wanted) != sorted(view.place.present) else None
    workspace.set_scene(chat, changed, freedom if freedom != view.place.freedom else None, persona.strip() or None)
    return page(request, "talk_part.html", free=_FREE, **_about(workspace, chat))


@router.post(PARTS + "/picture", response_model=None)
def set_picture(request: Request, workspace: WorkspaceDep, chat: ChatName, file: UploadFile, who: Name) -> Response:
    """Set the picture of somebody who talks."""
    keep_card(workspace, file.file.read(MAX_FILE_BYTES + 1), "", who)
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
    cards = Cards.in_(workspace.project().folder)
    card, greetings = cards.of(view.player), cards.greetings(view.others[0], view.player)
    about = {"persona": card.text("description") if card else "", "goes_on": goes_on, "chat": chat}
    about["greeting"] = next(iter(greetings), "")
    pictures = _pictures(workspace, [view.player, *view.others])
    return {"view": view, "shown": shown, "left_out": len(view.turns) - len(shown), "pictures": pictures, **about}


def _go_to(address: str) -> Response:
    """An answer that makes htmx open another page."""
    return Response(status_code=204, headers={"hx-redirect": address})
