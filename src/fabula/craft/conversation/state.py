"""`State`: where a conversation stands. A value; each record of the log gives the next one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fabula.craft.conversation.progress import after
from fabula.craft.conversation.talk import Answer, Freedom, Line, Step, Turn, Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.craft.conversation.talk import Chapter, Memories, Pace, Parties


@dataclass(frozen=True, slots=True)
class State:
    """A conversation between two moves.

    Attributes:
        cell: number of the cell it is in; 0 before the first.
        steps: that cell's plan.
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns it has had.
        moved: the last turn moved on to it.
        present: those of the parties who are there.
        asked: those whom the player wants there, said since the last turn; holds also if a cell begins.
        memories: what each remembers of earlier cells.
        lines: what was said in this cell.
        turns: of the whole conversation.
        freedom: how far the player may lead away.
    """

    cell: int = 0
    steps: tuple[Step, ...] = ()
    step: int = 0
    stayed: int = 0
    moved: bool = False
    present: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    memories: Memories = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    turns: tuple[Turn, ...] = ()
    freedom: Freedom = "guided"

    @property
    def last(self) -> Turn | None:
        """The turn that stands."""
        return self.turns[-1] if self.turns else None

    @property
    def waits(self) -> bool:
        """Whether the next turn begins a cell."""
        return self.last is None or self.last.ends_cell

    @property
    def over(self) -> bool:
        """Whether the story has been told."""
        return self.last is not None and self.last.ends_story

    @property
    def place_in_cell(self) -> int:
        """The number that the next turn has in its cell."""
        return 1 + sum(turn.cell == self.cell for turn in self.turns)

    def where(self, cells: int) -> Where:
        """How far it is, of so many cells."""
        headline = self.steps[self.step - 1].title if 0 < self.step <= len(self.steps) else ""
        return Where(self.cell, cells, self.step, len(self.steps), headline, len(self.turns), self.over)

    def opened(self, chapter: Chapter, memories: Memories) -> State:
        """At the beginning of a cell."""
        return replace(
            self,
            cell=chapter.number,
            steps=chapter.steps,
            step=min(1, len(chapter.steps)),
            stayed=0,
            moved=False,
            present=self.asked or chapter.present,
            memories=dict(memories),
            lines=(),
        )

    def with_present(self, names: Iterable[str]) -> State:
        """After the player said who is to be there."""
        there = tuple(names)
        return replace(self, present=there, asked=there)

    def answered(self, parties: Parties, who: str, said: str, answer: Answer, bounds: tuple[int, Pace]) -> State:
        """After a turn; `bounds` are the number of cells and the pace.

        EOD ends the cell at its last sub-plan (at any where the pace only watches), but never in its first turn.
        """
        cells, pace = bounds
        there = (parties.player, *self.present)
        line = Line(who, answer.action, answer.message, there) if answer.action or answer.message else None
        heard = (Line(parties.player, "", said, there),) if said else ()
        words = f"{said} {line.text if line else ''}"
        step, stayed, done = (
            after(self.steps, self.step, self.stayed, words, pace.at(self.freedom)) if self.steps else (0, 0, False)
        )
        at_end = pace.watches or self.step >= len(self.steps)
        ended = (answer.ended and at_end and self.place_in_cell > 1) or done
        turn = Turn(
            len(self.turns) + 1,
            self.cell,
            self.step,
            said,
            line,
            ends_cell=ended,
            ends_story=ended and self.cell >= cells,
        )
        return replace(
            self,
            step=step,
            stayed=stayed,
            moved=step != self.step,
            asked=(),
            lines=(*self.lines, *heard, *((line,) if line else ())),
            turns=(*self.turns, turn),
        )

    def skipped(self) -> State:
        """At the next sub-plan; at the last one unchanged."""
        if self.step >= len(self.steps):
            return self
        return replace(self, step=self.step + 1, stayed=0, moved=True)


# the log ------------------------------------------------------------------------------------------------------------


def record_of(before: State, after_: State) -> dict[str, Any]:
    """What the log keeps of a turn: enough to make `after_` of `before` again, whatever becomes of the story."""
    turn = after_.turns[-1]
    told: dict[str, Any] = {
        "cell": turn.cell,
        "step": turn.step,
        "said": turn.said,
        "line": None if turn.line is None else [turn.line.who, turn.line.action, turn.line.message],
        "ends": [turn.ends_cell, turn.ends_story],
        "next": [after_.step, after_.stayed, after_.moved],
        "present": list(after_.present),
    }
    if before.cell != after_.cell:
        told["plan"] = [[step.title, step.detail] for step in after_.steps]
        told["memories"] = dict(after_.memories)
    return told


def with_record(state: State, told: Mapping[str, Any], player: str) -> State:
    """`state` after a turn of the log."""
    present = tuple(map(str, told["present"]))
    if "plan" in told:
        steps = tuple(Step(str(title), str(detail)) for title, detail in told["plan"])
        memories = {str(name): str(text) for name, text in told["memories"].items()}
        state = replace(state, cell=int(told["cell"]), steps=steps, memories=memories, lines=())
    there = (player, *present)
    who, action, message = map(str, told["line"] or ("", "", ""))
    line = Line(who, action, message, there) if told["line"] else None
    said = str(told["said"])
    heard = (Line(player, "", said, there),) if said else ()
    ends_cell, ends_story = map(bool, told["ends"])
    turn = Turn(len(state.turns) + 1, state.cell, int(told["step"]), said, line, ends_cell, ends_story)
    step, stayed, moved = told["next"]
    return replace(
        state,
        present=present,
        asked=(),
        step=int(step),
        stayed=int(stayed),
        moved=bool(moved),
        lines=(*state.lines, *heard, *((line,) if line else ())),
        turns=(*state.turns, turn),
    )


def transcript(turns: Iterable[Turn], player: str) -> str:
    """Turns as a text that people read: `**Name:** (action) message`, a heading before each cell."""
    told: list[str] = []
    cell = 0
    for turn in turns:
        if turn.cell != cell:
            cell = turn.cell
            told.append(f"## Cell {cell}")
        if turn.said:
            told.append(f"**{player}:** {turn.said}")
        if turn.line is not None:
            told.append(f"**{turn.line.who}:** {turn.line.text}")
    return "\n\n".join(told)
