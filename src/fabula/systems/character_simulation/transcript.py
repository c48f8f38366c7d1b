"""A scene's chat history as a Markdown file that a person can read and edit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from fabula.story import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME: Final = "**"
_NAMED: Final = ":**"
_REMARK: Final = ">"
_THINKS: Final = " (thinks)"
_NOTICED: Final = "noticed"
_NOT_PLAYED: Final = "> Not played: "


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the chat history: what one character did and said, and the director's command for it.

    Attributes:
        name: whose turn it is; empty for an event of the outline that was not played, which `text` then holds.
        text: what everybody who is there sees and hears.
        command: the director's.
        thought: what its character thinks; only that character and the writer know it.
        at: place and time, for those who remember it.
    """

    name: str
    text: str
    command: str = ""
    thought: str = ""
    at: str = field(default="", compare=False)

    @classmethod
    def of(cls, name: str, text: str, command: str = "", thought: str = "") -> Turn:
        """A turn whose texts can stand in a transcript: no blank lines, no mark of another turn."""
        return cls(name, _marked_off(text), " ".join(command.split()), _marked_off(thought))

    @classmethod
    def not_played(cls, event: str) -> Turn:
        """An event of the outline that happens without having been played."""
        return cls("", " ".join(event.split()))

    @classmethod
    def noticed(cls, what: str) -> Turn:
        """What somebody notices of an event that they neither see nor hear; it is no part of a transcript."""
        return cls("", " ".join(what.split()), command=_NOTICED)

    def __str__(self) -> str:
        if not self.name and self.command == _NOTICED:
            return f"Meanwhile, all that was to be noticed: {self.text}"
        if not self.name:
            return f"This happened too: {self.text}"
        named = self.text.startswith(self.name) and not self.text[len(self.name) :][:1].isalnum()
        return self.text if named else f"{self.name}: {self.text}" if self.text else ""

    def seen_by(self, name: str) -> str:
        """What `name` knows of it: what everybody sees and hears, and of its own turns what it thought."""
        return self.whole if name == self.name else str(self)

    @property
    def whole(self) -> str:
        """All of it, the thought too."""
        thought = f"{self.name} thinks: {self.thought}" if self.thought else ""
        return "\n".join(filter(None, (str(self), thought)))


def transcript(turns: Iterable[Turn]) -> str:
    """Turns as Markdown; `turns_of` reads it."""
    return "\n\n".join(part for turn in turns for part in _parts(turn))


def _parts(turn: Turn) -> Iterable[str]:
    if not turn.name:
        yield f"{_NOT_PLAYED}{turn.text}"
        return
    if turn.command:
        yield f"{_REMARK} The director to {turn.name}: {turn.command}"
    if turn.text or not turn.thought:
        yield f"{_NAME}{turn.name}{_NAMED} {turn.text}"
    if turn.thought:
        yield f"{_NAME}{turn.name}{_THINKS}{_NAMED} {turn.thought}"


def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns in a transcript. Lines that begin with `>` are remarks; text before the first name is nobody's.

    Of the remarks one counts: what was not played.
    """
    turns: list[tuple[str, list[str]]] = []
    for line in plain(text).split("\n"):
        name, named, said = line.strip().removeprefix(_NAME).partition(_NAMED)
        if line.lstrip().startswith(_NAME) and named and name.strip():
            turns.append((name.strip(), [said]))
        elif line.strip().startswith(_NOT_PLAYED):
            turns.append(("", [line.strip().removeprefix(_NOT_PLAYED)]))
        elif turns and not line.lstrip().startswith(_REMARK):
            turns[-1][1].append(line)
    return tuple(_with_thoughts((name, "\n".join(lines)) for name, lines in turns))


def _with_thoughts(entries: Iterable[tuple[str, str]]) -> Iterable[Turn]:
    """The turns, each with the thought that stands behind it; a thought alone is a turn that nobody notices."""
    found: list[Turn] = []
    for name, text in entries:
        who = name.removesuffix(_THINKS)
        if not name:
            found.append(Turn.not_played(text))
        elif who == name:
            found.append(Turn.of(name, text))
        elif found and found[-1].name == who and not found[-1].thought:
            found[-1] = replace(found[-1], thought=Turn.of(who, text).text)
        else:
            found.append(Turn.of(who, "", thought=text))
    return (turn for turn in found if turn.text or turn.thought)


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
