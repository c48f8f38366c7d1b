"""`converse`, and what is done in a conversation without asking anybody: its scene, a choice, a step back, a branch."""

from __future__ import annotations

from typing import Annotated, Final

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
from fabula.base.errors import UnknownNameError
from fabula.craft.conversation import Log, conversations_in, log_file
from fabula.craft.conversation.kept import checked_freedom
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - doors read it
from fabula.verbs.base import verb
from fabula.verbs.conversation import ConversationName, Seen, SomeName
from fabula.verbs.conversation import conversation as shown

_MOST: Final = 50  # characters in one scene


@verb("POST", "/chats", "chats")
async def converse(
    project: Workspace,
    others: Annotated[
        list[SomeName], Field(min_length=1, max_length=_MOST, description="Who answers.", examples=[["Odile"]])
    ],
    player: Annotated[
        SomeName, Field(description="Who you are; by default the next whom the story knows.", examples=["Tobias"])
    ] = "",
    *,
    freedom: Annotated[Freedom | None, Field(description="How far you may lead away from the story.")] = None,
    name: Annotated[SomeName, Field(description="Of the conversation; by default made of who talks.")] = "",
) -> ChatView:
    """Begin a conversation, in which nobody has said anything yet; `chat` goes on with it.

    Raises:
        UnknownNameError: somebody is not in the story.
        UsageError: the name is taken.
    """
    parties = parties_for(project.project(), others, player)
    return await shown(project, await begun(project, parties, freedom, name))


@verb("PUT", "/chats/{conversation}/scene", "chats")
async def set_scene(
    project: Workspace,
    conversation: ConversationName,
    present: Annotated[
        list[SomeName] | None, Field(description="Who of the others is there; who is not learns of nothing.")
    ] = None,
    freedom: Annotated[
        Freedom | None, Field(description="How far you may lead away from the story.", examples=["guided"])
    ] = None,
) -> ChatView:
    """Set who is there from now on, and how far you may lead away; what is left out stays.

    Raises:
        UnknownNameError: somebody is not of this conversation.
        UsageError: nobody would be left, or nothing here obeys the freedom.
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
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/choose", "chats")
async def choose_answer(
    project: Workspace,
    conversation: ConversationName,
    number: Annotated[int, Field(description="Of the answer, from 1.", examples=[2])],
    *,
    version: Seen = None,
) -> ChatView:
    """Have another of the answers stand that were drawn for the last turn; the others are kept.

    Raises:
        UsageError: there is no such answer.
    """
    with free(project, conversation, version) as log:
        log.choose(number)
        project.turns.by_conversation.pop(conversation, None)
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/undo", "chats")
async def take_back(project: Workspace, conversation: ConversationName, *, version: Seen = None) -> ChatView:
    """Take the last turn of a conversation back; the log keeps it.

    Raises:
        UsageError: there is none.
    """
    with free(project, conversation, version) as log:
        log.undo()
        project.turns.by_conversation.pop(conversation, None)
    return await shown(project, conversation)


@verb("POST", "/chats/{conversation}/branch", "chats")
async def branch(
    project: Workspace,
    conversation: ConversationName,
    after: Annotated[int, Field(ge=0, description="The last turn that is kept, from 1; 0 keeps none.", examples=[2])],
) -> ChatView:
    """Go on from an earlier turn in another conversation; this one stays as it is.

    Raises:
        UsageError: so many turns do not stand.
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
    """Delete a conversation's log and transcript; its branches and the calls that were made for it are kept.

    Raises:
        UnknownNameError: there is no such conversation.
    """
    with changing(project) as opened:
        project.turns.check(conversation)
        if conversation not in (known := conversations_in(opened.folder)):
            raise UnknownNameError("conversation", conversation, known)
        Log([], log_file(opened.folder, conversation)).delete()
        project.turns.by_conversation.pop(conversation, None)
    return chats_in(project.project())
