"""Requests of chat programs that are not turns: for titles, tags, summaries or replies in the player's name.

Such requests never advance the story. If a program waits for something small and named (a title, tags), it gets that,
made without a model. Everything else is refused with a sentence that programs show to their users.

The requests are recognised by their form, as in the programs' public sources:

- Open WebUI sends one user message, a form: it begins `### Task:`, wants JSON with a named field (`title`, `tags`,
  `follow_ups`, `queries`, `text`), and holds the conversation between `<chat_history>` marks.
- LibreChat, LobeChat and others ask in a few words for a concise title of the conversation or chat.
- SillyTavern puts its quiet prompts (summary, impersonation, "continue") after the character's last message, as a
  system message. After the player's message, a system message is an instruction for this turn or names who answers in
  a group. That is a turn like any other, unless it asks for a summary or for the player's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from fabula.server.chat.wire import ChatMessage


_READ: Final = 4000  # characters at each end of a message that show what it wants
_FORM: Final = re.compile(r"\s{0,20}#{1,4} Task:", re.IGNORECASE)
_FIELD: Final = re.compile(r'\{\s{0,9}"(title|tags|follow_ups|queries|text|prompt|emoji)"\s{0,9}:')
_TITLE: Final = re.compile(
    r"\b(?:concise|short|brief|[35]-5[- ]word|5-word)\b[^\n]{0,80}\btitle\b[^\n]{0,80}\b(?:chat|conversation|dialogue)"
    r"|\btitle (?:for|of|summari[sz]ing) (?:the|this|our) (?:chat|conversation|dialogue)",
    re.IGNORECASE,
)
_SUMMARY: Final = re.compile(
    r"\bsummari[sz]e\b[^\n]{0,80}\b(?:chat|conversation|story|events|roleplay|history|messages|so far)\b"
    r"|\bsummary of (?:the|this|our) (?:chat|conversation|story|roleplay|events)\b",
    re.IGNORECASE,
)
_OWN_PART: Final = re.compile(r"\bfrom the point of view of\b|\bimpersonat", re.IGNORECASE)
_COMMAND: Final = re.compile(r"/[A-Za-z][\w-]{0,40}(?:\s|$)")
_WORDS: Final = 6  # words of a title
_LONG: Final = 300  # characters; a longer message that mentions a title is an order to a program


class NoTurnError(UsageError):
    """A request that is not a turn and cannot be answered as one."""


@dataclass(frozen=True, slots=True)
class Chore:
    """A chat program's own request: what it wants, and for which conversation."""

    wants: str
    about: str

    def answer(self, characters: Sequence[str]) -> str:
        """The answer to the program."""
        title = " ".join(self.about.split()[:_WORDS]).rstrip(".,;:") or "A conversation"
        title = f"{' and '.join(characters)}: {title}"[:80]
        forms: dict[str, object] = {"title": title, "tags": ["Fiction"], "text": "", "prompt": "", "emoji": ""}
        if self.wants == "plain title":
            return title
        return json.dumps({self.wants: forms.get(self.wants, [])}, ensure_ascii=False)


def chore_in(messages: Sequence[ChatMessage]) -> Chore | None:
    """The client's own request instead of a turn; `None` if it wants a turn.

    Raises:
        NoTurnError: the client wants something that it cannot get.
    """
    heard = [message for message in messages if message.role in {"user", "assistant"}]
    last = next((message for message in reversed(messages) if message.role != "tool"), None)
    if last is None or not (heard or last.text.strip()):
        return None
    asked = _ends(last.text)
    instructed = last.role in {"system", "developer"}
    if _FORM.match(asked) and (field := _FIELD.search(asked)):
        return Chore(field[1], _talk_of(last.text, heard))
    if (instructed or len(heard) <= 1 or len(asked) > _LONG) and _TITLE.search(asked):
        return Chore("plain title", _talk_of("", heard[:1] if instructed else []))
    if (instructed or len(heard) <= 1) and _SUMMARY.search(asked) and heard:
        raise NoTurnError(
            "This request asks for a summary. Characters of a story do not write summaries, because they "
            "already remember the whole story. Turn off summaries in your program."
        )
    if instructed and _OWN_PART.search(asked) and heard:
        raise NoTurnError("This request asks for your own lines. You play your part yourself, so say something.")
    if heard and heard[-1].role == "assistant":
        raise NoTurnError(
            "The last message is from the character, and the story is waiting for you. Say something. If a part "
            "of the story has ended, send a single full stop to continue without saying anything."
        )
    return None


def check_no_command(said: str) -> None:
    """Check that a message is not a command of a chat program.

    Raises:
        NoTurnError: the message is a command; the story does not change.
    """
    if command := _COMMAND.match(said.lstrip()[:50]):
        raise NoTurnError(
            f"{command[0].strip()} is a command, and this server has no commands. If the character should hear "
            "it, send it without the slash."
        )


def _ends(text: str) -> str:
    """The beginning and the end of a text, which show what it wants."""
    return text if len(text) <= 2 * _READ else f"{text[:_READ]}\n{text[-_READ:]}"


def _talk_of(form: str, heard: Sequence[ChatMessage]) -> str:
    """The player's first words, from the conversation in a form or from messages."""
    start = form.find("<chat_history>")
    if start >= 0:
        talk = form[start + len("<chat_history>") :][:_READ]
        lines = [line.strip() for line in talk.partition("</chat_history>")[0].splitlines() if line.strip()]
        return re.sub(r"^(?:USER|ASSISTANT): ?", "", lines[0], flags=re.IGNORECASE) if lines else ""
    return next((message.text[:_READ] for message in heard if message.role == "user"), "")
