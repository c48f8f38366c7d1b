"""The dialogue log: turns, the transcript that a person can read and edit, and the window of turns in mind."""

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
_BEFORE: Final = "Before this, "
_UNHEARD: Final = "unheard by "


@dataclass(frozen=True, slots=True)
class Turn:
    """One line of the play: who speaks (or the narration), what, for which objective (from 0), and who misses it.

    Attributes:
        scene: date and place of the sub-act in which it was heard.
        fixed: of a planned line, the words in it that have to be spoken exactly so.
    """

    name: str
    text: str
    goal: int = 0
    unheard: tuple[str, ...] = ()
    scene: str = ""
    fixed: str = ""

    @classmethod
    def of(cls, name: str, text: str, goal: int = 0, unheard: Sequence[str] = (), fixed: str = "") -> Turn:
        """A turn whose text can stand in a transcript: no blank lines, no mark of another turn."""
        lines = [_unmarked(line) for line in plain(text).splitlines()]
        missed = tuple(n for n in unheard if n != name)
        return cls(name, "\n".join(line for line in lines if line), goal, missed, fixed=fixed)

    @property
    def narrated(self) -> bool:
        """Whether nobody speaks it."""
        return self.name == NARRATION

    @property
    def marked(self) -> str:
        """The turn as the director sees it: with those who do not hear it."""
        return f"{self} [{_UNHEARD}{', '.join(self.unheard)}]" if self.unheard else str(self)

    def __str__(self) -> str:
        return f"({self.text})" if self.narrated else f"{self.name}: {self.text}"


def transcript(turns: Iterable[Turn], goals: Sequence[str] = ()) -> str:
    """Turns as Markdown that a person can read and edit; `turns_of` reads it. Objectives stand as remarks."""
    paragraphs: list[str] = []
    at = -1
    for turn in turns:
        new = range(at + 1, min(turn.goal + 1, len(goals)))
        paragraphs += [f"{_OBJECTIVE} {number + 1}: {' '.join(goals[number].split())}" for number in new]
        at = max(at, turn.goal)
        missed = f" ({_UNHEARD}{', '.join(turn.unheard)})" if turn.unheard else ""
        paragraphs.append(f"{_NAME}{turn.name}{missed}{_NAMED} {turn.text}")
    return "\n\n".join(paragraphs)


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
    found = (_turn(name, "\n".join(lines), goal) for name, lines, goal in turns)
    return tuple(turn for turn in found if turn.text)


def _turn(label: str, text: str, goal: int) -> Turn:
    """A turn under its label: a name, and who does not hear it."""
    name, missed, names = label.removesuffix(")").partition(f" ({_UNHEARD}")
    if not missed:
        return Turn.of(label, text, goal)
    return Turn.of(name, text, goal, [one for part in names.split(",") if (one := part.strip())])


def _unmarked(line: str) -> str:
    """`line` without what a transcript would take for a mark at its beginning."""
    line = line.strip()
    while line.startswith((_NAME, _REMARK)):
        line = line.removeprefix(_NAME).removeprefix(_REMARK).lstrip()
    return line


@dataclass
class Window:
    """The active window: the turns in mind; older ones are there as the points of a summary.

    Attributes:
        most: with more entries than this the window is full.
        keep: the last turns, which stay as they are.
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
    def full(self) -> bool:
        """Whether there is more in it than it holds."""
        return len(self.turns) > self.most

    def old(self, *, keep_first: bool) -> tuple[Turn, ...]:
        """The turns to be summed up: all but the last and the opening.

        With `keep_first` (as released) it is the first entry alone that is left out, and what is left out is lost.
        """
        return tuple(self.turns[1 if keep_first else self.opening : -self.keep])

    def compact(self, points: Iterable[str], *, add: bool, background: str = "") -> None:
        """Put `points` in place of the old turns; with `add` behind the earlier points, else instead of them."""
        self.points = tuple(dict.fromkeys((*(self.points if add else ()), *points)))
        opening = [Turn(NARRATION, _BEFORE + "; ".join(self.points))]
        if background:
            opening.append(Turn(NARRATION, background))
        self.opening = len(opening)
        self.turns = [*opening, *self.turns[-self.keep :]]
