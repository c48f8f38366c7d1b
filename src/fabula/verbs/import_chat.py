"""`import_chat`: continue a SillyTavern chat as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.conversations import ChatView, begun, parties_for
from fabula.app.people import people_in
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Log
from fabula.craft.conversation.cards import Cards
from fabula.data.chat_files import messages_in
from fabula.project.folder import MAX_STORY
from fabula.story.people import among
from fabula.verbs.base import verb
from fabula.verbs.conversation import conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.data.chat_files import ChatMessage


@verb("POST", "/chats/import", "chats")
async def import_chat(
    project: Workspace,
    chat: Annotated[
        str,
        Field(
            max_length=MAX_STORY,
            description="The text of a SillyTavern chat (a .jsonl file).",
            examples=['{"user_name": "Kai"}\n{"name": "Mara", "is_user": false, "mes": "Who calls?"}'],
        ),
    ],
) -> ChatView:
    """Begin a conversation with the messages of a SillyTavern chat and all answers in it. No model is called.

    Raises:
        UsageError: the text is not a chat, or a character in it is not in the project.
    """
    try:
        messages = messages_in(chat.encode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"This is not a SillyTavern chat ({error}). Send the text of a .jsonl file.") from error
    others = list(dict.fromkeys(one.name for one in messages if not one.by_user))
    player = next((one.name for one in messages if one.by_user), "You")
    if not others:
        raise UsageError("The chat contains no message from a character. Choose another file.")
    here = project.project()
    known = [name for names in people_in(here) for name in names]
    persona = "" if among(player, (*known, *Cards.in_(here.folder).people)) else player
    try:
        parties = parties_for(here, others, player, persona)
    except UnknownNameError as error:
        raise UsageError(
            f"The chat is with {error.name}, who is not in this project. Add the card of {error.name} first, then the "
            "chat."
        ) from error
    name = await begun(project, parties, None, "")
    log = Log.of(here.folder, name)
    log.begin_with(_exchanges(messages, dict(zip(others, log.parties.others, strict=True))))
    log.write_transcript()
    return await conversation(project, name)


def _exchanges(messages: Sequence[ChatMessage], names: dict[str, str]) -> list[tuple[str, str, Sequence[str], int]]:
    """What the player said, who answered, all answers, and which of them was shown; for each exchange."""
    found: list[tuple[str, str, Sequence[str], int]] = []
    said = ""
    for one in messages:
        if one.by_user:
            said = f"{said}\n\n{one.texts[one.shown]}".strip()
        else:
            found.append((said, names[one.name], one.texts, one.shown))
            said = ""
    return [*found, (said, "", (), 0)] if said else found
