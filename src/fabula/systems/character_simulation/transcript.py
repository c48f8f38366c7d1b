"""A scene's chat history H as a Markdown file that a person can read and edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.story import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME: Final = "**"
_NAMED: Final = ":**"
_REMARK: Final = ">"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the chat history: what one character did and said, and the director's command for it."""

    name: str
    text: str
    command: str = ""

    @classmethod
    def of(cls, name: str, text: str, command: str = "") -> Turn:
        """A turn whose texts can stand in a transcript: no blank lines, no mark of another turn."""
        return cls(name, _marked_off(text), " ".join(command.split()))

    def __str__(self) -> str:
        named = self.text.startswith(self.name) and not self.text[len(self.name) :][:1].isalnum()
        return self.text if named else f"{self.name}: {self.text}"


def transcript(turns: Iterable[Turn]) -> str:
    """Turns as Markdown; `turns_of` reads it."""
    return "\n\n".join(part for turn in turns for part in _parts(turn))


def _parts(turn: Turn) -> Iterable[str]:
    if turn.command:
        yield f"{_REMARK} The director to {turn.name}: {turn.command}"
    yield f"{_NAME}{turn.name}{_NAMED} {turn.text}"


def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns in a transcript. Lines that begin with `>` are remarks; text before the first name is nobody's."""
    turns: list[tuple[str, list[str]]] = []
    for line in plain(text).split("\n"):
        name, named, said = line.strip().removeprefix(_NAME).partition(_NAMED)
        if line.lstrip().startswith(_NAME) and named and name.strip():
            turns.append((name.strip(), [said]))
        elif turns and not line.lstrip().startswith(_REMARK):
            turns[-1][1].append(line)
    return tuple(turn for name, lines in turns if (turn := Turn.of(name, "\n".join(lines))).text)


def _marked_off(text: str) -> str:
    """`text` without blank lines and marks of another turn."""
    lines = [_unmarked(line) for line in plain(text).splitlines()]
    return "\n".join(line for line in lines if line)


def _unmarked(line: str) -> str:
    """`line` without what a transcript would take for a mark at its beginning; bold type without a colon stays."""
    line = line.strip()
    while line.startswith(_REMARK) or (line.startswith(_NAME) and _NAMED in line):
        line = line.removeprefix(_REMARK).removeprefix(_NAME).lstrip()
    return line
