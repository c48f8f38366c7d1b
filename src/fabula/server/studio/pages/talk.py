"""The Talk page: conversations with the characters of a story."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from fabula.app.chat_views import ChatList, chats_in, lines_in
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - FastAPI reads it
from fabula.server.api.chats import ChatName, why_of_turn
from fabula.server.api.depends import ConversationsDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page

if TYPE_CHECKING:
    from fabula.server.conversations import Conversations

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/talk"
PARTS: Final = "/projects/{project}/talk-parts/{chat}"
_SHOWN: Final = 200  # turns that are shown at first
_FREE: Final[dict[Freedom, str]] = {
    "rails": "stay close to the story",
    "guided": "wander, and be led back",
    "loose": "go where you like",
}
_NAME: Final = 200

Names = Annotated[list[Annotated[str, Form(max_length=_NAME)]] | None, Form()]
Name = Annotated[str, Form(max_length=_NAME)]


@router.get(PAGE, response_model=None)
async def begin(request: Request, conversations: ConversationsDep) -> Response:
    """All conversations, and how to begin one."""
    listed = await asyncio.to_thread(chats_in, conversations.project)
    return page(request, "talk.html", listed=listed, view=None, free=_FREE, chat="")


@router.post(PAGE, response_model=None)
async def new(
    request: Request,
    conversations: ConversationsDep,
    others: Names = None,
    player: Name = "",
    freedom: Freedom | None = None,
) -> Response:
    """A conversation that begins."""
    name = await conversations.open(others or (), player, freedom)
    return _go_to(f"/projects/{request.path_params['project']}/talk/{name}#begin")


@router.get(PAGE + "/{chat}", response_model=None)
async def talk(request: Request, conversations: ConversationsDep, chat: ChatName) -> Response:
    """A conversation."""
    lines = await asyncio.to_thread(lines_in, conversations.project)
    return page(request, "talk.html", listed=ChatList(lines, [], []), free=_FREE, **await _about(conversations, chat))


@router.get(PARTS, response_model=None)
async def part(request: Request, conversations: ConversationsDep, chat: ChatName, every: bool = False) -> Response:  # noqa: FBT001, FBT002 - a query
    """What changes of the page with each turn."""
    return page(request, "talk_part.html", free=_FREE, **await _about(conversations, chat, every=every))


@router.get(PARTS + "/plan", response_model=None)
async def plan(request: Request, conversations: ConversationsDep, chat: ChatName) -> Response:
    """The plan of the present cell, what is to come included."""
    return page(request, "talk_plan.html", view=await conversations.view(chat, plan=True))


@router.get(PARTS + "/why/{number}", response_model=None)
async def why(request: Request, conversations: ConversationsDep, chat: ChatName, number: int) -> Response:
    """Why somebody said this."""
    return page(request, "talk_why.html", why=await why_of_turn(conversations, chat, number))


@router.post(PARTS + "/scene", response_model=None)
async def scene(
    request: Request,
    conversations: ConversationsDep,
    chat: ChatName,
    present: Names = None,
    freedom: Freedom | None = None,
) -> Response:
    """Who is there from now on, and how far one may lead away."""
    view = await conversations.view(chat)
    wanted = present if len(view.others) > 1 else None
    changed = wanted if wanted is None or sorted(wanted) != sorted(view.place.present) else None
    await conversations.set(chat, changed, freedom if freedom != view.place.freedom else None)
    return page(request, "talk_part.html", free=_FREE, **await _about(conversations, chat))


@router.post(PARTS + "/branch", response_model=None)
async def branch(
    request: Request, conversations: ConversationsDep, chat: ChatName, after: Annotated[int, Form(ge=0)]
) -> Response:
    """Another conversation that goes on from an earlier turn."""
    name = await conversations.branch(chat, after)
    return _go_to(f"/projects/{request.path_params['project']}/talk/{name}")


@router.post(PARTS + "/delete", response_model=None)
async def delete(request: Request, conversations: ConversationsDep, chat: ChatName) -> Response:
    """A conversation is there no more; then all that are left."""
    await conversations.delete(chat)
    return _go_to(f"/projects/{request.path_params['project']}/talk")


async def _about(conversations: Conversations, chat: str, *, every: bool = False) -> dict[str, Any]:
    """What the templates need of a conversation."""
    view = await conversations.view(chat)
    live = conversations.live(chat)
    shown = view.turns if every else view.turns[-_SHOWN:]
    goes_on = live is not None and not live.ended
    return {"view": view, "shown": shown, "left_out": len(view.turns) - len(shown), "goes_on": goes_on, "chat": chat}


def _go_to(address: str) -> Response:
    """An answer upon which htmx opens another page."""
    return Response(status_code=204, headers={"hx-redirect": address})
