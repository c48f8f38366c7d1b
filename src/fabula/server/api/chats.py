"""Conversations with the characters of a project: `/projects/{project}/chats`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse

from fabula.app.chat_views import ChatList, ChatTurn, ChatView, ChatWhy, PeopleShown, chats_in, records_of, why_of
from fabula.app.chatting import transcript_of
from fabula.base.errors import FabulaError
from fabula.server.api.depends import ConversationsDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.wire import LONGEST_CHAT, AnswerChoice, BranchPoint, ChatChange, ChatVersion, Move, NewChat
from fabula.server.faults import problem_for_author

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.craft.conversation.kept import Known
    from fabula.project.folder import Project
    from fabula.server.conversations import Conversations, LiveTurn

router = APIRouter(prefix="/projects/{project}", tags=["chats"])
PATIENCE: Final = 10.0  # seconds without a piece after which a stream shows that it lives

ChatName = Annotated[str, Path(description="The conversation's name.", max_length=LONGEST_CHAT)]
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["data"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events: `piece` {who, text}; then `done` with the turn, or `failed` with the "
        "error. The turn is made to its end, whether anybody listens or not.",
        "content": {"text/event-stream": {"itemSchema": _EVENT}},
    }
}


@router.get("/chats", summary="The conversations, and who can be talked to")
async def listed(workspace: WorkspaceDep) -> ChatList:
    """The conversation that was last talked in comes first."""
    return await asyncio.to_thread(chats_in, workspace.project())


@router.post("/chats", status_code=201, summary="Begin a conversation")
async def begin(conversations: ConversationsDep, wanted: NewChat) -> ChatView:
    """Nobody has said anything yet: let the character speak first with a move "begin", or say something."""
    return await conversations.view(await conversations.open(wanted.others, wanted.player, wanted.freedom, wanted.name))


@router.get("/people", summary="Who is in the story, and what having it read for its people would take")
async def known(conversations: ConversationsDep) -> PeopleShown:
    """Asks nobody. Where no plan, card or world says who is in the story, a model can read it (`POST`)."""
    return await people_shown(conversations)


@router.post("/people", summary="Have a model read who is in the story")
async def read(conversations: ConversationsDep) -> PeopleShown:
    """Asked once for each version of the story, and recorded: `GET` says before what it takes."""
    await conversations.read_people()
    return await people_shown(conversations)


async def people_shown(conversations: Conversations) -> PeopleShown:
    """Who is in the story, and what a reading would take."""
    listed = await asyncio.to_thread(chats_in, conversations.project)
    try:
        dry = await conversations.people_expected()
    except FabulaError as error:
        return PeopleShown(listed.characters, listed.named, listed.was_read, problem=str(error))
    return PeopleShown(listed.characters, listed.named, listed.was_read, len(dry.planned), dry.tokens, dry.cost)


@router.get("/chats/{chat}", summary="A conversation")
async def one(
    conversations: ConversationsDep,
    chat: ChatName,
    plan: Annotated[bool, Query(description="With the plan of the present cell, what is to come included.")] = False,  # noqa: FBT002 - a query
) -> ChatView:
    """All turns that stand, and how far the story is."""
    return await conversations.view(chat, plan=plan)


@router.patch("/chats/{chat}", summary="Set who is there, and how free you are")
async def scene(conversations: ConversationsDep, chat: ChatName, wanted: ChatChange) -> ChatView:
    """Who is not there learns of nothing."""
    await conversations.set(chat, wanted.present, wanted.freedom)
    return await conversations.view(chat)


@router.delete("/chats/{chat}", summary="Delete a conversation", status_code=204)
async def delete(conversations: ConversationsDep, chat: ChatName) -> None:
    """Its log and its transcript; the calls that were made for it are kept, and its branches too."""
    await conversations.delete(chat)


@router.post(
    "/chats/{chat}/turns", summary="The next turn, streamed", responses=_STREAM, response_class=StreamingResponse
)
async def move(conversations: ConversationsDep, chat: ChatName, wanted: Move) -> Response:
    """Whoever goes away can listen again with GET; the turn is made either way."""
    return _streamed(
        conversations, chat, conversations.move(chat, wanted.kind, wanted.text, wanted.version, wanted.model)
    )


@router.get(
    "/chats/{chat}/turns/live",
    summary="Listen to the turn that is being made, from its beginning",
    responses=_STREAM,
    response_class=StreamingResponse,
)
async def listen(conversations: ConversationsDep, chat: ChatName) -> Response:
    """The same events as those of the move; `idle` alone where none is being made."""
    turn = conversations.live(chat)
    if turn is None or turn.ended:
        return Response(_event("idle", {}), media_type="text/event-stream")
    return _streamed(conversations, chat, turn)


@router.post("/chats/{chat}/stop", summary="Stop the turn that is being made")
async def stop(conversations: ConversationsDep, chat: ChatName) -> ChatView:
    """The conversation stands as before it."""
    await conversations.stop(chat)
    return await conversations.view(chat)


@router.post("/chats/{chat}/choose", summary="Choose among the answers that were drawn")
async def choose(conversations: ConversationsDep, chat: ChatName, wanted: AnswerChoice) -> ChatView:
    """The others are kept."""
    await conversations.choose(chat, wanted.number, wanted.version)
    return await conversations.view(chat)


@router.post("/chats/{chat}/undo", summary="Take the last turn back")
async def undo(conversations: ConversationsDep, chat: ChatName, seen: ChatVersion) -> ChatView:
    """The log keeps it."""
    await conversations.undo(chat, seen.version)
    return await conversations.view(chat)


@router.post("/chats/{chat}/branch", status_code=201, summary="Go on from an earlier turn in another conversation")
async def branch(conversations: ConversationsDep, chat: ChatName, point: BranchPoint) -> ChatView:
    """This one stays as it is."""
    return await conversations.view(await conversations.branch(chat, point.after))


@router.post("/chats/{chat}/close", status_code=204, summary="Forget a conversation that is held in memory")
async def close(conversations: ConversationsDep, chat: ChatName) -> None:
    """Its log stays, and it can be gone on with at any time."""
    await conversations.leave(chat)


@router.get("/chats/{chat}/turns/{number}/why", summary="Why somebody said this")
async def why(conversations: ConversationsDep, chat: ChatName, number: Annotated[int, Path(ge=1)]) -> ChatWhy:
    """What whoever answered knew, which point of the plan it served, and the calls that were made."""
    return await why_of_turn(conversations, chat, number)


async def why_of_turn(conversations: Conversations, chat: str, number: int) -> ChatWhy:
    """Why somebody said what it did in a turn, and nobody is asked for it.

    Raises:
        UnknownNameError: there is no such conversation.
        UsageError: there is no such turn, or nobody answered in it.
    """
    known = await conversations.knew(chat, number)
    return await asyncio.to_thread(_why, conversations.project, chat, number, known)


def _why(project: Project, chat: str, number: int, known: Known | None) -> ChatWhy:
    with project.journal as journal:
        return why_of(journal, records_of(project, chat), chat, number, known)


@router.get(
    "/chats/{chat}/transcript",
    summary="The conversation as Markdown",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def transcript(workspace: WorkspaceDep, chat: ChatName) -> Response:
    """As `fabula chat` writes it beside the log."""
    text = await asyncio.to_thread(transcript_of, workspace.project(), chat)
    headers = {"content-disposition": f'attachment; filename="{chat}.md"'}
    return Response(text, media_type="text/markdown", headers=headers)


def _streamed(conversations: Conversations, chat: str, turn: LiveTurn) -> Response:
    return StreamingResponse(_events(conversations, chat, turn), media_type="text/event-stream")


async def _events(conversations: Conversations, chat: str, turn: LiveTurn) -> AsyncIterator[str]:
    async for piece in turn.follow(PATIENCE):
        yield _event("piece", {"who": turn.who, "text": piece}) if piece else ": in the making\n\n"
    if turn.turn is not None:
        view = await conversations.view(chat)
        yield _event("done", {"turn": _plain(ChatTurn.of(turn.turn)), "version": view.version})
    else:
        problem = problem_for_author(turn.problem or RuntimeError())
        yield _event("failed", {**problem.body, "said": turn.said, "text": turn.text})


def _plain(turn: ChatTurn) -> dict[str, Any]:
    return {name: getattr(turn, name) for name in turn.__dataclass_fields__}


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
