"""`chat`, `draft_line`: say a line to a character of the story and get an answer, or have the line written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from fabula.app.conversations import (
    ChatMade,
    check_free,
    conversation_for,
    kind_of,
    parties_for,
    settings_of,
    system_of,
)
from fabula.app.conversing import conversing
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.craft.conversation import MoveKind, conversations_in
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - doors read it
from fabula.verbs.base import verb
from fabula.verbs.conversation import LONGEST_NAME, ConversationName, Seen, SomeName

_LONGEST: Final = 20_000  # characters that are taken in, to be told what is too long


@dataclass(frozen=True, slots=True)
class Drafted:
    """What you could say next."""

    conversation: str
    line: str


@verb("POST", "/turns", "chats", at_once=True)
async def chat(
    project: Workspace,
    line: Annotated[
        str | None,
        Field(
            max_length=_LONGEST,
            description="Your line; if omitted, the story continues without you.",
            examples=["When does the ferry come?"],
        ),
    ] = None,
    *,
    others: Annotated[
        list[SomeName] | None, Field(description="Who answers; default: the character that answered last.")
    ] = None,
    player: Annotated[SomeName, Field(description="Who you play; default: the next known character.")] = "",
    conversation: Annotated[
        str,
        Field(
            max_length=LONGEST_NAME,
            description="The name of a new or existing conversation; default: the last conversation of these people.",
        ),
    ] = "",
    move: Annotated[
        MoveKind, Field(description='"begin": the character speaks first; "another": another answer instead.')
    ] = "say",
    version: Seen = None,
    freedom: Annotated[Freedom | None, Field(description="How far you may stray from the story.")] = None,
    model: Annotated[
        str, Field(max_length=500, description="The model that answers instead of the project's model.")
    ] = "",
) -> ChatMade:
    """Say a line to one or more characters of the story, and return the answer.

    Conversations are saved like those of `fabula chat`; `conversation` returns them. If the call for an answer fails,
    the conversation does not change.

    Raises:
        UnknownNameError: a character is not in the story.
        UsageError: the line is empty or too long, the story has ended, or there is no answer to replace.
    """
    opened = project.project()
    name, parties = conversation_for(opened, conversation, parties_for(opened, others or (), player))
    if name in conversations_in(opened.folder):
        check_free(project, name, version)
    settings = settings_of(project, system_of(opened, name), model)
    async with conversing(opened, settings, project.options) as open_:
        talk = await open_.conversation(name, parties, freedom)
        turn = await talk.move(kind_of(move, line), line or "")
        talk.log.write_transcript()
        return ChatMade.of(talk, turn)


@verb("POST", "/chats/{conversation}/draft", "chats", at_once=True)
async def draft_line(
    project: Workspace,
    conversation: ConversationName,
    take: Annotated[int, Field(ge=0, le=1000, description="0 for the first draft; 1, 2, ... for others.")] = 0,
) -> Drafted:
    """Have a model write what you could say next in a conversation. Nothing is said.

    Raises:
        UnknownNameError: the conversation does not exist.
        UsageError: the story has ended.
    """
    opened = project.project()
    settings = settings_of(project, check_free(project, conversation, None).system)
    async with conversing(opened, settings, project.options) as open_:
        return Drafted(conversation, await (await open_.conversation(conversation)).draft(take))
