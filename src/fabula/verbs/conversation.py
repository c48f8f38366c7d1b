"""`conversation`, `transcript`, `why`: a conversation and the reasons for an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.conversations import ChatMoving, ChatView, ChatWhy, Transcript, knew, view_of, why_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.craft.conversation import Log
from fabula.verbs.base import verb

LONGEST_NAME = 200
SomeName: TypeAlias = Annotated[str, Field(max_length=LONGEST_NAME)]
ConversationName: TypeAlias = Annotated[
    str, Field(max_length=LONGEST_NAME, description="The conversation's name.", examples=["tobias-odile"])
]
Seen: TypeAlias = Annotated[
    int | None,
    Field(
        description="The conversation's `version` that you last saw: if the conversation has changed since, "
        "nothing happens, and the response is 409 `stale`."
    ),
]


@verb("GET", "/chats/{conversation}", "chats")
async def conversation(
    project: Workspace,
    conversation: ConversationName,
    *,
    plan: Annotated[bool, Field(description="Include the plan of the current part, with future events.")] = False,
) -> ChatView:
    """Return a conversation: all its current turns, and the current point of the story."""
    found = view_of(project.project(), conversation, plan=plan)
    turn = project.turns.by_conversation.get(conversation)
    if turn is None or turn.result is not None:
        return found
    problem = "" if turn.problem is None else str(turn.problem) or type(turn.problem).__name__
    return replace(found, moving=ChatMoving(turn.kind, turn.said, turn.who, turn.text, problem))


@verb("GET", "/chats/{conversation}/transcript", "chats")
async def transcript(project: Workspace, conversation: ConversationName) -> Transcript:
    """A conversation as Markdown."""
    return Transcript(conversation, Log.of(project.project().folder, conversation).markdown)


@verb("GET", "/chats/{conversation}/turns/{turn}/why", "chats")
async def why(
    project: Workspace,
    conversation: ConversationName,
    turn: Annotated[int, Field(ge=1, description="The turn's number, from 1.")],
) -> ChatWhy:
    """Explain an answer: what the character knew, which point of the plan the answer served, and which calls were made.

    Raises:
        UsageError: the turn does not exist, or no character answered in it.
    """
    here = project.project()
    log = Log.of(here.folder, conversation)
    known = await knew(project, log, conversation, turn)
    with here.journal as journal:
        return why_of(journal, log, conversation, known)
