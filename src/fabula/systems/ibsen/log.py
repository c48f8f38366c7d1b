"""The dialogue log: turns, the transcript that a person can read and edit, and the window of turns in mind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.craft.transcript import REMARK, entries, entry, marked_off
from fabula.story import one_line, plain, slug
from fabula.systems.ibsen.script import NARRATION, SubAct

if TYPE_CHECKING:
    from fabula.engine.run import Run


_OBJECTIVE: Final = f"{REMARK} Objective"
_BEFORE: Final = "Before this, "
_TAKEN: Final = frozenset(("plan", "stage", "personas"))  # names of other artefacts


@dataclass(frozen=True, slots=True)
class PlayLine:
    """One line of the play: who speaks (or the narration), what, and for which objective (from 0)."""

    name: str
    text: str
    goal: int = 0

    @classmethod
    def of(cls, name: str, text: str, goal: int = 0) -> PlayLine:
        """A turn whose text can stand in a transcript."""
        return cls(name, marked_off(text), goal)

    def __str__(self) -> str:
        return f"({self.text})" if self.name == NARRATION else f"{self.name}: {self.text}"


def transcript(turns: Iterable[PlayLine], goals: Sequence[str] = ()) -> str:
    """Turns as Markdown that a person can read and edit; `turns_of` reads it. Objectives stand as remarks."""
    paragraphs: list[str] = []
    at = -1
    for turn in turns:
        new = range(at + 1, min(turn.goal + 1, len(goals)))
        paragraphs += [f"{_OBJECTIVE} {number + 1}: {one_line(goals[number])}" for number in new]
        at = max(at, turn.goal)
        paragraphs.append(entry(turn.name, turn.text))
    return "\n\n".join(paragraphs)


def turns_of(text: str) -> tuple[PlayLine, ...]:
    """The turns in a transcript. Remarks begin with `>`; text before the first name is narration."""
    turns, goal = list[PlayLine](), -1
    for one in entries(text):
        goal += sum(remark.startswith(_OBJECTIVE) for remark in one.remarks)
        turns.append(PlayLine.of(one.name or NARRATION, one.text, max(goal, 0)))
    return tuple(turn for turn in turns if turn.text)


def goals_of(text: str) -> tuple[str, ...]:
    """The objectives that a transcript names, in their order."""
    lines = [line.strip() for line in plain(text).split("\n")]
    return tuple(line.partition(":")[2].strip() for line in lines if line.startswith(_OBJECTIVE))


@dataclass
class ActiveWindow:
    """The active window: the turns in mind; older ones are there as the points of a summary.

    Attributes:
        most: with more entries than this the window is full.
        keep: the last turns, which stay as they are.
        turns: entries, the first of which may be a summary.
        points: of the summary.
        opening: entries in front that stand for what is older, and are no turns.
    """

    most: int = 16
    keep: int = 8
    turns: list[PlayLine] = field(default_factory=list)
    points: tuple[str, ...] = ()
    opening: int = 0

    @property
    def full(self) -> bool:
        """Whether there is more in it than it holds."""
        return len(self.turns) > self.most

    @property
    def old(self) -> tuple[PlayLine, ...]:
        """The turns to be summed up: all but the last and the first entry, which is lost (release)."""
        return tuple(self.turns[1 : -self.keep])

    def compact(self, points: Sequence[str], background: str = "") -> None:
        """Put `points` in place of the old turns and of earlier points, which are lost (release)."""
        self.points = tuple(dict.fromkeys(points))
        opening = [PlayLine(NARRATION, _BEFORE + "; ".join(self.points))]
        if background:
            opening.append(PlayLine(NARRATION, background))
        self.opening = len(opening)
        self.turns = [*opening, *self.turns[-self.keep :]]


@dataclass(frozen=True)
class Performed:
    """A sub-act that was played, with its turns and the texts of its objectives."""

    act: SubAct
    turns: tuple[PlayLine, ...]
    goals: tuple[str, ...]

    @classmethod
    def of(cls, act: SubAct, text: str) -> Performed:
        """A sub-act and the transcript of it."""
        return cls(act, turns_of(text), goals_of(text))

    async def log(self, run: Run) -> str:
        """The dialogue log; no calls."""
        del run
        return "\n\n".join(map(str, self.turns))

    @property
    def label(self) -> str:
        """The label of its scene in the story."""
        title = self.act.title.replace("-->", "")
        return f"Scene {title}" if slug(title) in _TAKEN else title
