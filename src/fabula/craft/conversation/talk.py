"""The words of a conversation, and `Talk`: what a system must be able to do to be talked to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, get_args

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.craft.conversation.hearing import Hearing
    from fabula.engine.run import Run

Memories: TypeAlias = Mapping[str, str]
Freedom: TypeAlias = Literal["rails", "guided", "loose"]
FREEDOMS: Final[tuple[Freedom, ...]] = get_args(Freedom)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who talks: the player's character, and those that answer."""

    player: str
    others: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the player first."""
        return (self.player, *self.others)

    def alike(self, other: Parties) -> bool:
        """Whether they are the same people; the others may be named in another order."""
        return self.player == other.player and sorted(self.others) == sorted(other.others)


@dataclass(frozen=True, slots=True)
class Step:
    """A sub-plan: what happens, in a headline, and the details."""

    title: str
    detail: str = ""

    @property
    def text(self) -> str:
        """Both, on one line."""
        return f"{self.title} {self.detail}".strip()


def plan_text(steps: Iterable[Step]) -> str:
    """A plan as SNAP's prompts show it: `#1. headline`, then a line with the details."""
    told = (f"#{n}. {step.title}" + (f"\n- {step.detail}" if step.detail else "") for n, step in enumerate(steps, 1))
    return "\n".join(told)


@dataclass(frozen=True, slots=True)
class Line:
    """What one of the parties did and said, and who was there (the names of `Parties`)."""

    who: str
    action: str
    message: str
    witnesses: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`(action) message`."""
        return " ".join(part for part in (f"({self.action})" if self.action else "", self.message) if part)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: what the player said ("" where the character speaks by itself), and the answer.

    Attributes:
        number: in the session, from 1.
        cell: number of the cell, from 1.
        step: number of the sub-plan that it serves; 0 where there is no plan.
        line: the answer; `None` where the character only ended the cell.
        ends_cell: the next turn begins the next cell.
        ends_story: there is no next turn.
    """

    number: int
    cell: int
    step: int
    said: str
    line: Line | None
    ends_cell: bool = False
    ends_story: bool = False


@dataclass(frozen=True, slots=True)
class Chapter:
    """A cell made ready to be talked through.

    Attributes:
        number: from 1.
        text: the segment of the narrative.
        steps: its plan; empty where a system makes none.
        present: which of the parties are in it.
        personas: who the parties are, by name, as texts.
    """

    number: int
    text: str
    steps: tuple[Step, ...] = ()
    present: tuple[str, ...] = ()
    personas: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a sub-plan lasts.

    Attributes:
        least: turns that it has at least.
        most: turns after which it counts as stalled and the next one begins; 0 sets no bound.
        watches: the plan is followed but not enforced: a character's EOD ends a cell at any sub-plan.
    """

    least: int = 1
    most: int = 4
    watches: bool = False

    def at(self, freedom: Freedom) -> Pace:
        """The pace for a freedom: half as long on rails, twice as long where it is loose."""
        if freedom == "guided" or not self.most:
            return self
        most = max(self.most // 2, 1) if freedom == "rails" else self.most * 2
        return Pace(min(self.least, most), most, self.watches)


@dataclass(frozen=True, slots=True)
class Place:
    """Where calls are made: `story` for what all sessions share, `own` for this conversation."""

    story: Run
    own: Run


@dataclass(frozen=True, slots=True)
class Moment:
    """All that a character may know when its turn comes.

    Attributes:
        who: answers.
        lines: what `who` witnessed in this cell, oldest first; the player's last words are the last of them.
        memory: what `who` remembers of the cells before.
        step: number of the sub-plan to serve, 0 without a plan.
        moved: the story has just moved on to it.
        freedom: how far the player may lead away from the plan.
        take: how often this turn was drawn before.
        turn: number of the turn in this cell, from 1.
        hearing: is told the words as they come.
    """

    parties: Parties
    chapter: Chapter
    who: str
    lines: tuple[Line, ...]
    memory: str
    step: int
    moved: bool = False
    freedom: Freedom = "guided"
    take: int = 0
    turn: int = 1
    hearing: Hearing | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a character does and says, and whether it takes the cell for ended. The line may be missing."""

    action: str
    message: str
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """How far a session is."""

    cell: int
    cells: int
    step: int
    steps: int
    headline: str
    turns: int
    over: bool = False

    @property
    def share(self) -> float:
        """How much of the narrative is done, 0 to 1; sub-plans count alike within their cell."""
        if self.over:
            return 1.0
        within = (self.step - 1) / self.steps if self.steps else 0.0
        return max(self.cell - 1 + within, 0.0) / self.cells if self.cells else 0.0


class Talk(Protocol):
    """A narrative that can be talked through, as a system does it; shared by all sessions on it."""

    @property
    def cells(self) -> Sequence[str]:
        """The narrative in cells."""

    @property
    def parties(self) -> Parties:
        """Who talks."""

    @property
    def pace(self) -> Pace:
        """How long a sub-plan lasts."""

    async def chapter(
        self, place: Place, number: int, memories: Memories, steps: tuple[Step, ...] | None = None
    ) -> Chapter:
        """The cell of this number, ready; `steps` is its plan if it was made before."""

    async def answer(self, place: Place, moment: Moment) -> Answer:
        """What `moment.who` does and says now."""

    async def play(self, place: Place, moment: Moment) -> str:
        """What the player's character says, played by a model (the automatic mode)."""

    async def remember(self, place: Place, chapter: Chapter, lines: Sequence[Line], memories: Memories) -> Memories:
        """What each character remembers after a cell, from what it witnessed."""


def freedom_of(text: str) -> Freedom:
    """A freedom by its name.

    Raises:
        UsageError: there is no such one.
    """
    for freedom in FREEDOMS:
        if freedom == text.strip().lower():
            return freedom
    raise UsageError(f"There is no freedom {text!r}. Give one of {', '.join(FREEDOMS)}.")
