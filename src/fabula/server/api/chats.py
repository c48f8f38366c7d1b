"""Turns of conversations, streamed as they are written: the routes of `/projects/{project}/chats` without a verb."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from fabula.app.conversations import ChatView, People  # noqa: TC001 - FastAPI reads them
from fabula.server.api.depends import ConversationsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.faults import problem_for_author
from fabula.verbs.base import as_data, every
from fabula.verbs.chat import Drafted
from fabula.verbs.conversation import ConversationName  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.app.conversations import ChatMade
    from fabula.app.live_turns import LiveTurn

router = APIRouter(prefix="/projects/{project}", tags=["chats"])
PATIENCE: Final = 10.0  # seconds without a piece after which a stream sends a sign of life
_CHAT, _DRAFT, _READ = (
    every()[name] for name in ("chat", "draft_line", "read_people")
)  # answered here, with models that conversations keep open
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["data"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events: `piece` {who, text}, then `done` with the turn and the conversation's "
        "`version`, or `failed` with the error. The server completes the turn even if no client is listening.",
        "content": {"text/event-stream": {"itemSchema": _EVENT}},
    }
}


@router.post(
    _CHAT.path,
    summary=_CHAT.summary,
    description=f"{_CHAT.description}\n\nThe turn is streamed, or sent in one piece to a client that accepts only "
    "`application/json`. A client that disconnects can listen again with GET.",
    response_model=_CHAT.result,
    responses=_STREAM,
)
async def chat(conversations: ConversationsDep, wanted: _CHAT.body, request: Request) -> Response:  # type: ignore[name-defined] # made of the verb
    """The turn, streamed or in one piece."""
    turn = await conversations.chat(**{name: getattr(wanted, name) for name in type(wanted).model_fields})
    if request.headers.get("accept", "") == "application/json":
        return JSONResponse(as_data(await turn.made()))
    return _streamed(turn)


@router.post(_DRAFT.path, summary=_DRAFT.summary, description=_DRAFT.description)
async def draft_line(conversations: ConversationsDep, conversation: ConversationName, wanted: _DRAFT.body) -> Drafted:  # type: ignore[name-defined] # made of the verb
    """A line for the player, written by a model that conversations keep open."""
    return Drafted(conversation, await conversations.draft_line(conversation, wanted.take))


@router.post(_READ.path, summary=_READ.summary, description=_READ.description)
async def read_people(conversations: ConversationsDep, workspace: WorkspaceDep) -> People:
    """The characters of the story, as found by a model that conversations keep open."""
    await conversations.read_people()
    return await workspace.people_async()


@router.get(
    "/chats/{conversation}/turns/live",
    summary="Listen to the current turn from its beginning",
    responses=_STREAM,
    response_class=StreamingResponse,
)
async def listen(conversations: ConversationsDep, conversation: ConversationName) -> Response:
    """The events of the turn in progress; only `idle` if there is none."""
    turn = conversations.live(conversation)
    if turn is None or turn.ended:
        return Response(_event("idle", {}), media_type="text/event-stream")
    return _streamed(turn)


@router.post("/chats/{conversation}/stop", summary="Stop the turn in progress")
async def stop(conversations: ConversationsDep, workspace: WorkspaceDep, conversation: ConversationName) -> ChatView:
    """The conversation does not change."""
    if (turn := conversations.live(conversation)) is not None:
        await turn.stop()
    return await workspace.conversation_async(conversation)


def _streamed(turn: LiveTurn[ChatMade]) -> Response:
    return StreamingResponse(_events(turn), media_type="text/event-stream")


async def _events(turn: LiveTurn[ChatMade]) -> AsyncIterator[str]:
    async for piece in turn.follow(PATIENCE):
        yield _event("piece", {"who": turn.who, "text": piece}) if piece else ": in the making\n\n"
    if turn.result is not None:
        yield _event("done", as_data(turn.result))
    else:
        problem = problem_for_author(turn.problem or RuntimeError())
        yield _event("failed", {**problem.body, "said": turn.said, "text": turn.text})


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
