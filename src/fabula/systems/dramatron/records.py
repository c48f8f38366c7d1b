"""What the levels hold, and how it is written: the plain-text formats that a person may edit and a model continues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.engine.dry_run import STALE
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

END: Final = "**END**"
CHARACTER: Final = "**Character:** "
DESCRIPTION: Final = "**Description:** "


@dataclass(frozen=True, slots=True)
class Figure:
    """A character: a name and one line about them."""

    name: str
    description: str

    def told(self, *, named: bool) -> str:
        """The description; where `named`, after the name if it does not hold it."""
        if not named or self.name.casefold() in self.description.casefold():
            return self.description
        return f"{self.name}: {self.description}"


@dataclass(frozen=True, slots=True)
class Beat:
    """A scene as the plot has it: where, which part of the arc, what happens; from a plan also who is there."""

    place: str
    element: str
    text: str
    present: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Script:
    """All that stands before the dialogue is written; `places` maps a name to its description."""

    title: str
    logline: str
    figures: tuple[Figure, ...]
    beats: tuple[Beat, ...]
    places: dict[str, str]


@dataclass(frozen=True, slots=True)
class Block:
    """What a dialogue is asked with, in the order of the prompt."""

    place: str
    description: str
    characters: tuple[str, ...]
    element: str
    summary: str
    previous: tuple[str, ...]
    beat: str


def figures_text(figures: Sequence[Figure]) -> str:
    """One line a character."""
    return "\n".join(f"{CHARACTER}{one_line(f.name)} {DESCRIPTION}{one_line(f.description)}" for f in figures)


def beats_text(beats: Sequence[Beat]) -> str:
    """Three lines a scene, a blank line between scenes."""
    return "\n\n".join(
        f"Place: {one_line(b.place)}\nPlot element: {one_line(b.element)}\nBeat: {one_line(b.text)}" for b in beats
    )


def without_end(text: str) -> str:
    """`text` without any END mark, also one that a continuation has left in the middle."""
    return "\n".join(line.rstrip() for line in text.replace(END, "").split("\n")).strip("\n")


def split_stale(text: str) -> tuple[str, str]:
    """`text` without the mark that a dry run puts at the end of what would be asked again, and that mark.

    Records are read out of the text, and which of them will change is not known: all get the mark.
    """
    return (text.removesuffix(STALE), STALE) if text.endswith(STALE) else (text, "")
