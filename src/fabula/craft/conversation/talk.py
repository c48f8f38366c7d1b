"""A conversation from turn to turn: what a system must be able to do (`Talk`), and where the conversation stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fabula.craft.conversation.lines import Freedom, Line, Step, Summaries, Turn, Where, dialogue_text, witnessed
from fabula.craft.conversation.turns import Moment
from fabula.story.people import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.craft.conversation.lines import Cell, Parties
    from fabula.craft.conversation.turns import Hearing
    from fabula.engine.replies.dialogue import Said
    from fabula.engine.run import Run


class Progress(NamedTuple):
    """Where the plan of a cell stands after a turn.

    Attributes:
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns that it has had.
        ends: the cell is over.
    """

    step: int
    stayed: int
    ends: bool


class Talk(Protocol):
    """A narrative that can be talked through, as a system does it; shared by all sessions on it.

    Calls are made with the `run` that is given: the place of a conversation's cell, for a turn that of the turn.
    """

    @property
    def segments(self) -> Sequence[str]:
        """The narrative, cell by cell."""

    @property
    def parties(self) -> Parties:
        """Who talks."""

    @property
    def freedom(self) -> Freedom:
        """How far the player may lead away, unless a session says otherwise."""

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[Step, ...] | None = None,
        there: tuple[str, ...] = (),
    ) -> Cell:
        """The cell of this number, ready; `steps` is its plan if it was made before, `there` who is to be in it."""

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries) -> Cell:
        """The cell, ready for a model that plays the player's character too."""

    async def answer(self, run: Run, moment: Moment) -> Said:
        """What `moment.who` does and says now."""

    async def play(self, run: Run, moment: Moment) -> Said:
        """What the player's character does and says, played by a model (the automatic mode)."""

    def progress(self, state: State, words: str, answer: Said) -> Progress:
        """Where the plan stands after a turn of these words, given its state before, and whether the cell is over."""

    async def summarise(self, run: Run, lines: Sequence[Line], summaries: Summaries) -> Summaries:
        """What each of the parties remembers after a cell of these lines."""


@dataclass(frozen=True, slots=True)
class State:
    """A conversation between two moves. A value; each move gives the next one.

    Attributes:
        cell: number of the cell it is in; 0 before the first.
        steps: that cell's plan.
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns it has had.
        moved: the last turn moved on to it.
        present: those of the parties who are there.
        asked: those whom the player wants there, said since the last turn; holds also if a cell begins.
        summaries: what each remembers of earlier cells.
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
    summaries: Summaries = field(default_factory=dict)
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
        """Whether the story is at its end."""
        return self.last is not None and self.last.ends_story

    @property
    def number_in_cell(self) -> int:
        """The number that the next turn has in its cell."""
        return 1 + sum(turn.cell == self.cell for turn in self.turns)

    @property
    def sub_plan(self) -> Step | None:
        """The sub-plan that the next turn serves."""
        return self.steps[self.step - 1] if 0 < self.step <= len(self.steps) else None

    def where(self, cells: int, parties: Parties) -> Where:
        """How far it is, of so many cells, as the player is shown it."""
        known = self.sub_plan is not None and self.sub_plan.known_to(parties.player)
        headline = self.sub_plan.title if self.sub_plan is not None and known else ""
        absent = tuple(name for name in parties.others if name not in self.present) if self.present else ()
        at = (self.cell, cells, self.step, len(self.steps), headline, len(self.turns), self.over)
        return Where(*at, present=self.present, absent=absent)

    def opened(self, cell: Cell, summaries: Summaries) -> State:
        """At the beginning of a cell."""
        return replace(
            self,
            cell=cell.number,
            steps=cell.steps,
            step=min(1, len(cell.steps)),
            stayed=0,
            moved=False,
            present=self.asked or cell.present,
            summaries=dict(summaries),
            lines=(),
        )

    def with_present(self, names: Iterable[str]) -> State:
        """After the player said who is to be there."""
        there = tuple(names)
        return replace(self, present=there, asked=there)

    def with_turn(self, turn: Turn, player: str, step: int, stayed: int, *, moved: bool) -> State:
        """After a turn, with the sub-plan of the next one."""
        said = (Line(player, "", turn.said, (player, *self.present)),) if turn.said else ()
        answer = (turn.line,) if turn.line else ()
        return replace(
            self,
            step=step,
            stayed=stayed,
            moved=moved,
            asked=(),
            lines=(*self.lines, *said, *answer),
            turns=(*self.turns, turn),
        )

    def skipped(self) -> State:
        """At the next sub-plan; at the last one unchanged."""
        if self.step >= len(self.steps):
            return self
        return replace(self, step=self.step + 1, stayed=0, moved=True)

    def ended(self) -> State:
        """With its cell ended by the player."""
        if not self.turns:
            return self
        return replace(self, turns=(*self.turns[:-1], replace(self.turns[-1], ends_cell=True)))


async def conversation(talk: Talk, run: Run, cell: Cell, summaries: Summaries, most: int) -> str:
    """A whole cell between two models, as a dialogue's text; `run` is its place.

    The character speaks first, then both in turn, until the cell is over (`Talk.progress`) or has `most` turns.
    """
    state = await answered(talk, run, State(freedom=talk.freedom).opened(cell, summaries), cell, "")
    while not state.waits and state.number_in_cell <= most:
        state = await exchanged(talk, run, state, cell)
    return dialogue_text(state.lines)


async def exchanged(talk: Talk, run: Run, state: State, cell: Cell, hearing: Hearing | None = None) -> State:
    """The state after an exchange between two models; where the player's character ends the cell, there is no answer.

    `run` is the place of the cell.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    said = await played(talk, run, state, cell)
    if said.ended and (at := talk.progress(state, said.text, said)).ends:
        turn = _turn(talk, state, said.text, None, ends=True)
        return state.with_turn(turn, talk.parties.player, at.step, at.stayed, moved=False)
    return await answered(talk, run, state, cell, said.text, hearing)


async def answered(talk: Talk, run: Run, state: State, cell: Cell, said: str, hearing: Hearing | None = None) -> State:
    """The state after the player said something ("" lets the character speak by itself) and was answered.

    `run` is the place of the cell.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    player, who = talk.parties.player, next_speaker(talk.parties, state, said)
    there = (player, *state.present)
    lines = (*state.lines, Line(player, "", said, there)) if said else state.lines
    moment = replace(_moment(talk, state, cell, who, lines), moved=state.moved, hearing=hearing)
    answer = await talk.answer(run.scope("turn", state.number_in_cell), moment)
    step, stayed, ends = talk.progress(state, f"{said} {answer.text}", answer)
    line = Line(who, answer.action, answer.message, there) if answer.text else None
    turn = _turn(talk, state, said, line, ends=ends)
    return state.with_turn(turn, player, step, stayed, moved=step != state.step)


def _turn(talk: Talk, state: State, said: str, line: Line | None, *, ends: bool) -> Turn:
    over = ends and state.cell >= len(talk.segments)
    return Turn(len(state.turns) + 1, state.cell, state.step, said, line, ends_cell=ends, ends_story=over)


async def played(talk: Talk, run: Run, state: State, cell: Cell) -> Said:
    """What the player's character does and says next, played by a model; `run` is the place of the cell."""
    moment = _moment(talk, state, cell, talk.parties.player, state.lines)
    return await talk.play(run.scope("turn", state.number_in_cell), moment)


def _moment(talk: Talk, state: State, cell: Cell, who: str, lines: Sequence[Line]) -> Moment:
    """What `who` may know now, and nothing else: its own view, lines, memory, and points of a plan."""
    if who == talk.parties.player:
        steps, here = cell.player_steps, None
    else:
        steps, here = tuple(step for step in state.steps if step.known_to(who)), state.sub_plan
    return Moment(
        talk.parties,
        cell.views[who],
        who,
        witnessed(lines, who),
        state.summaries.get(who, ""),
        steps,
        steps.index(here) + 1 if here in steps else 0,
        state.present,
        freedom=state.freedom,
    )


def next_speaker(parties: Parties, state: State, said: str) -> str:
    """Who answers: who is spoken to by name, else whom the sub-plan names, else who has been silent longest."""
    there = [name for name in parties.others if name in state.present] or list(parties.others)
    if len(there) == 1:
        return there[0]
    names = {name: (name, *(part for part in name.split() if len(part) > 2)) for name in there}  # noqa: PLR2004 - no "Mr"
    spoken_to = mentioned(said, names)
    if spoken_to:
        return spoken_to[0]
    spoke = {line.name: n for n, line in enumerate(state.lines)}
    planned = mentioned(state.sub_plan.text, names) if state.sub_plan else ()
    return min(planned or there, key=lambda name: spoke.get(name, -1))
