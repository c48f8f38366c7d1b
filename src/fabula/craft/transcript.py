"""What was played, as Markdown that a person can read and edit: `**Name:** words`, and remarks that begin with `>`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fabula.story import plain

REMARK: Final = ">"
_NAME: Final = "**"
_NAMED: Final = ":**"


@dataclass(slots=True)
class TranscriptTurn:
    """A turn as it is in a transcript; `name` is empty for text before the first one.

    Attributes:
        remarks: those between the turn before and this one.
    """

    name: str
    lines: list[str]
    remarks: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is said, on as many lines as it has there."""
        return "\n".join(self.lines)


def entry(name: str, text: str) -> str:
    """A turn in the form that `entries` reads."""
    return f"{_NAME}{name}{_NAMED} {text}"


def entries(text: str) -> list[TranscriptTurn]:
    """The turns in a transcript; a line without a name continues with the turn before it."""
    found, remarks = list[TranscriptTurn](), list[str]()
    for line in plain(text).split("\n"):
        name, named, said = line.strip().removeprefix(_NAME).partition(_NAMED)
        if line.lstrip().startswith(_NAME) and named and name.strip():
            found.append(TranscriptTurn(name.strip(), [said], remarks))
            remarks = []
        elif line.lstrip().startswith(REMARK):
            remarks.append(line.strip())
        elif found:
            found[-1].lines.append(line)
        elif line.strip():
            found.append(TranscriptTurn("", [line]))
    return found


def marked_off(text: str) -> str:
    """`text` as a turn's: without blank lines and marks of another turn; bold type without a colon stays."""
    lines = (_unmarked(line.strip()) for line in plain(text).splitlines())
    return "\n".join(line for line in lines if line)


def _unmarked(line: str) -> str:
    while line.startswith(REMARK) or (line.startswith(_NAME) and _NAMED in line):
        line = line.removeprefix(REMARK).removeprefix(_NAME).lstrip()
    return line
