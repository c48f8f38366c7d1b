"""`chat`: what is said to a character of the story, and the answer."""

from __future__ import annotations

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
from fabula.verbs.conversation import LONGEST_NAME, Seen, SomeName

_LONGEST: Final = 20_000  # characters that are taken in, to be told what is too long


@verb("POST", "/turns", "chats", at_once=True)
async def chat(
    project: Workspace,
    line: Annotated[
        str | None,
        Field(
            max_length=_LONGEST,
            description="What is said; without it, the story goes on by itself.",
            examples=["When does the ferry come?"],
        ),
    ] = None,
    *,
    others: Annotated[list[SomeName] | None, Field(description="Who answers; by default who did last.")] = None,
    player: Annotated[SomeName, Field(description="Who you are; by default the next whom the story knows.")] = "",
    conversation: Annotated[
        str,
        Field(
            max_length=LONGEST_NAME,
            description="The conversation's name, which may be a new one; by default the last one of these.",
        ),
    ] = "",
    move: Annotated[
        MoveKind, Field(description='"begin": the character speaks first; "another": another answer instead.')
    ] = "say",
    version: Seen = None,
    freedom: Annotated[Freedom | None, Field(description="How far you may lead away from the story.")] = None,
    model: Annotated[str, Field(max_length=500, description="Answers in place of the project's own.")] = "",
) -> ChatMade:
    """Say a line to a character of the story, or to several, and have the answer.

    Conversations are kept as those of `fabula chat`; `conversation` has what was said. An answer that fails leaves it
    as it was.

    Raises:
        UnknownNameError: somebody is not in the story.
        UsageError: the line is empty or too long, the story is over, or there is no answer to draw again.
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
