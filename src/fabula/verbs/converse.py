"""`converse` and conversation steps that do not call a model: set the scene, choose an answer, go back, or branch."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from fabula.app.conversations import (
    ChatList,
    ChatView,
    begun,
    changing,
    chats_in,
    free,
    free_name,
    looking,
    parties_for,
)
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Log, conversations_in, log_file
from fabula.craft.conversation.cards import write_persona
from fabula.craft.conversation.kept import checked_freedom, said_by_player
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - doors read it
from fabula.story import plain, readable
from fabula.verbs.base import verb
from fabula.verbs.conversation import ConversationName, Seen, SomeName
from fabula.verbs.conversation import conversation as shown

Persona: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=4000,
        description="Who you are, in a few sentences, which the characters can see; kept as your card.",
        examples=["A surveyor, soaked to the skin, who has missed the last ferry."],
    ),
]
_MOST: Final = 50  # characters in one scene
_LONGEST: Final = 20_000  # characters of a message


@verb("POST", "/chats", "chats")
async def converse(
    project: Workspace,
    others: Annotated[
        list[SomeName], Field(min_length=1, max_length=_MOST, description="Who answers.", examples=[["Odile"]])
    ],
    player: Annotated[
        SomeName, Field(description="Who you play; default: the next known character.", examples=["Tobias"])
    ] = "",
    *,
    persona: Persona = None,
    freedom: Annotated[Freedom | None, Field(description="How far you may stray from the story.")] = None,
    name: Annotated[
        SomeName, Field(description="The conversation's name; default: the names of the participants.")
    ] = "",
) -> ChatView:
    """Begin a conversation; `chat` adds the first turn.

    Raises:
        UnknownNameError: a character is not in the story.
        UsageError: the name is already used.
    """
    parties = parties_for(project.project(), others, player, persona or "")
    return await shown(project, await begun(project, parties, freedom, name))


@verb("PUT", "/chats/{conversation}/scene", "chats")
async def set_scene(
    project: Workspace,
    conversation: ConversationName,
    present: Annotated[
        list[SomeName] | None,
        Field(description="Which other participants are present; absent participants learn nothing."),
    ] = None,
    freedom: Annotated[
        Freedom | None, Field(description="How far you may stray from the story.", examples=["guided"])
    ] = None,
    persona: Persona = None,
) -> ChatView:
    """Set who is present from now on, how far you may stray and who you are; what you omit stays as it is.

    Raises:
        UnknownNameError: a character is not in this conversation.
        UsageError: no character would be left, or the freedom has no effect in this conversation.
    """
    if freedom is not None:
        log = Log.of(project.project().folder, conversation)
        async with looking(project, log.system) as open_:
            freedom = checked_freedom(freedom, await open_.talk(log.parties))
    with free(project, conversation) as log:
        if present is not None:
            log.set_present(present)
        if freedom is not None:
            log.set_freedom(freedom)
        if persona:
            write_persona(project.project().folder, log.parties.player, persona)
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/choose", "chats")
async def choose_answer(
    project: Workspace,
    conversation: ConversationName,
    number: Annotated[int, Field(description="The answer's number, from 1.", examples=[2])],
    *,
    version: Seen = None,
) -> ChatView:
    """Choose a different answer to the last turn; the others are kept.

    Raises:
        UsageError: the answer does not exist.
    """
    with free(project, conversation, version) as log:
        log.choose(number)
        project.turns.by_conversation.pop(conversation, None)
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/undo", "chats")
async def take_back(project: Workspace, conversation: ConversationName, *, version: Seen = None) -> ChatView:
    """Undo the last turn of a conversation; the log still contains it.

    Raises:
        UsageError: the conversation has no turn.
    """
    with free(project, conversation, version) as log:
        log.undo()
        project.turns.by_conversation.pop(conversation, None)
    return await shown(project, conversation)


@verb("PUT", "/chats/{conversation}/turns/{turn}", "chats")
async def edit_message(
    project: Workspace,
    conversation: ConversationName,
    turn: Annotated[int, Field(ge=1, description="The turn's number, from 1.", examples=[1])],
    said: Annotated[
        str | None, Field(max_length=_LONGEST, description="What you said instead.", examples=["When does it sail?"])
    ] = None,
    answer: Annotated[
        str | None, Field(max_length=_LONGEST, description="What the character answered instead.")
    ] = None,
    *,
    version: Seen = None,
) -> ChatView:
    """Change what was said in a turn, or restore its first words if you send no others; later turns stay as they are.

    Raises:
        UsageError: the turn does not exist, or the new words are empty or too long.
    """
    said = None if said is None else said_by_player(said)
    if answer is not None and not (answer := plain(readable(answer)).strip()):
        raise UsageError("The answer is empty. Write something, or take the turn back.")
    with free(project, conversation, version) as log:
        log.edit(turn, said, answer)
        log.write_transcript()
        project.turns.by_conversation.pop(conversation, None)
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/branch", "chats")
async def branch(
    project: Workspace,
    conversation: ConversationName,
    after: Annotated[
        int, Field(ge=0, description="The number of the last turn to keep, starting at 1; 0 keeps none.", examples=[2])
    ],
) -> ChatView:
    """Continue from an earlier turn in a new conversation; this one stays unchanged.

    Raises:
        UsageError: the conversation has fewer turns.
    """
    folder, base = project.project().folder, conversation
    log = Log.of(folder, conversation)
    if conversation[-1:].isdigit() and "-" in conversation:
        base = conversation.rstrip("0123456789").removesuffix("-")
    with project.turns.lock:
        name = free_name(base, conversations_in(folder))
        log.branched(after, log_file(folder, name))
    return await shown(project, name)


@verb("DELETE", "/chats/{conversation}", "chats")
async def delete_conversation(project: Workspace, conversation: ConversationName) -> ChatList:
    """Delete the log and transcript of a conversation; its branches and recorded calls are kept.

    Raises:
        UnknownNameError: the conversation does not exist.
    """
    with changing(project) as opened:
        project.turns.check(conversation)
        if conversation not in (known := conversations_in(opened.folder)):
            raise UnknownNameError("conversation", conversation, known)
        Log([], log_file(opened.folder, conversation)).delete()
        project.turns.by_conversation.pop(conversation, None)
    return chats_in(project.project())
