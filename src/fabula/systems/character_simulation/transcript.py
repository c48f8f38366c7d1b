"""A scene's chat history H as a Markdown file that a person can read and edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fabula.craft.transcript import REMARK, entries, entry, marked_off


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of the chat history: what one character did and said, and the director's command for it."""

    name: str
    text: str
    command: str = ""

    @classmethod
    def of(cls, name: str, text: str, command: str = "") -> ChatMessage:
        """A turn whose texts can stand in a transcript."""
        return cls(name, marked_off(text), " ".join(command.split()))

    def __str__(self) -> str:
        named = self.text.startswith(self.name) and not self.text[len(self.name) :][:1].isalnum()
        return self.text if named else f"{self.name}: {self.text}"


def transcript(turns: Iterable[ChatMessage]) -> str:
    """Turns as Markdown; `turns_of` reads it."""
    return "\n\n".join(part for turn in turns for part in _parts(turn))


def _parts(turn: ChatMessage) -> Iterable[str]:
    if turn.command:
        yield f"{REMARK} The director to {turn.name}: {turn.command}"
    yield entry(turn.name, turn.text)


def turns_of(text: str) -> tuple[ChatMessage, ...]:
    """The turns in a transcript; remarks and text before the first name are nobody's."""
    turns = (ChatMessage.of(one.name, one.text) for one in entries(text) if one.name)
    return tuple(turn for turn in turns if turn.text)
