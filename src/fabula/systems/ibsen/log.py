"""What was said: turns, the transcript that a person can read and edit, and the window of it that is in mind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.story import plain
from fabula.systems.ibsen.script import NARRATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAME: Final = "**"
_NAMED: Final = ":**"
_REMARK: Final = ">"
_OBJECTIVE: Final = "> Objective"
BEFORE: Final = "Before this, "


@dataclass(frozen=True, slots=True)
class Turn:
    """One line of the play: who speaks (or the narration), what, and for which objective (counted from 0)."""

    role: str
    text: str
    goal: int = 0

    @classmethod
    def of(cls, role: str, text: str, goal: int = 0) -> Turn:
        """A turn whose text can stand in a transcript: no blank lines, no mark of another turn."""
        lines = [_unmarked(line) for line in plain(text).splitlines()]
        return cls(role, "\n".join(line for line in lines if line), goal)

    @property
    def narrated(self) -> bool:
        """Whether nobody speaks it."""
        return self.role == NARRATION

    def __str__(self) -> str:
        return f"({self.text})" if self.narrated else f"{self.role}: {self.text}"


def transcript(turns: Iterable[Turn], goals: Sequence[str]) -> str:
    """Turns as Markdown that a person can read and edit; `turns_of` reads it. Objectives stand as remarks."""
    told: list[str] = []
    at = -1
    for turn in turns:
        new = range(at + 1, turn.goal + 1)
        told += [f"{_OBJECTIVE} {number + 1}: {' '.join(goals[number].split())}" for number in new]
        at = max(at, turn.goal)
        told.append(f"{_NAME}{turn.role}{_NAMED} {turn.text}")
    return "\n\n".join(told)


def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns in a transcript. Remarks begin with `>`; text before the first name is narration."""
    turns: list[tuple[str, list[str], int]] = []
    goal = -1
    for line in plain(text).split("\n"):
        name, named, said = line.strip().removeprefix(_NAME).partition(_NAMED)
        if line.lstrip().startswith(_NAME) and named and name.strip():
            turns.append((name.strip(), [said], max(goal, 0)))
        elif line.lstrip().startswith(_OBJECTIVE):
            goal += 1
        elif not line.lstrip().startswith(_REMARK):
            if turns:
                turns[-1][1].append(line)
            elif line.strip():
                turns.append((NARRATION, [line], 0))
    found = (Turn.of(name, "\n".join(lines), goal) for name, lines, goal in turns)
    return tuple(turn for turn in found if turn.text)


def _unmarked(line: str) -> str:
    """`line` without what a transcript would take for a mark at its beginning."""
    line = line.strip()
    while line.startswith((_NAME, _REMARK)):
        line = line.removeprefix(_NAME).removeprefix(_REMARK).lstrip()
    return line


@dataclass
class Window:
    """The turns that are in mind; older ones are there as points of a summary (section 2.7 of our specification).

    Attributes:
        most: with more entries than this the window is due.
        keep: the last turns that stay as they are.
        turns: entries, the first of which may be a summary.
        points: of all summaries so far that are still there.
        opening: entries in front that stand for what is older, and are no turns.
    """

    most: int = 16
    keep: int = 8
    turns: list[Turn] = field(default_factory=list)
    points: tuple[str, ...] = ()
    opening: int = 0

    def copy(self) -> Window:
        """The same window for somebody else."""
        return Window(self.most, self.keep, list(self.turns), self.points, self.opening)

    @property
    def due(self) -> bool:
        """Whether there is more in it than it holds."""
        return len(self.turns) > self.most

    def old(self, *, keep_first: bool) -> tuple[Turn, ...]:
        """The turns to be summarised: all but the last and the opening.

        With `keep_first` (as released) it is the first entry alone that is left out, and what is left out is lost.
        """
        return tuple(self.turns[1 if keep_first else self.opening : -self.keep])

    def fold(self, points: Iterable[str], *, add: bool, background: str = "") -> None:
        """Put `points` in place of the old turns; with `add` behind the earlier points, else instead of them."""
        self.points = tuple(dict.fromkeys((*(self.points if add else ()), *points)))
        opening = [Turn(NARRATION, BEFORE + "; ".join(self.points))]
        if background:
            opening.append(Turn(NARRATION, background))
        self.opening = len(opening)
        self.turns = [*opening, *self.turns[-self.keep :]]
