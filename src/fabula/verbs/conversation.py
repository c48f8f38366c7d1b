"""`conversations`, `people`, `conversation`, `transcript`, `why`: conversations, and the reasons for an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.bills import Estimate
from fabula.app.conversations import (
    ChatList,
    ChatMoving,
    ChatView,
    ChatWhy,
    People,
    Transcript,
    chats_in,
    knew,
    view_of,
    why_of,
)
from fabula.app.conversing import dry_run_names, read_names
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import FabulaError
from fabula.craft.conversation import Log
from fabula.craft.narratives import people_read
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


@verb("GET", "/chats", "chats")
async def conversations(project: Workspace) -> ChatList:
    """List the conversations, most recent first, and the characters that you can talk to."""
    return chats_in(project.project())


@verb("GET", "/people", "chats")
async def people(project: Workspace) -> People:
    """List the characters of the story, and show the cost of having a model find them. Calls no model.

    If the plan, cards and world do not name the characters, a model can find them: `read_people`.
    """
    here = project.project()
    found = chats_in(here)
    known = People(characters=found.characters, named=found.named, was_read=found.was_read)
    try:
        dry = await dry_run_names(here, project.settings(here), project.options, people_read)
    except FabulaError as error:
        return replace(known, problem=str(error))
    return replace(known, reading=Estimate.of(dry))


@verb("POST", "/people", "chats", at_once=True)
async def read_people(project: Workspace) -> People:
    """Have a model find the characters of the story.

    This happens once for each version of the story, and the result is recorded. `people` shows the cost in advance.
    """
    here = project.project()
    await read_names(here, project.settings(here), project.options, people_read)
    return await people(project)


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
