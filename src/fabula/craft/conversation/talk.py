"""A conversation from turn to turn: what a system must be able to do (`Talk`), and where the conversation stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fabula.base.errors import NoRoomError
from fabula.craft.conversation.lines import (
    Freedom,
    SpokenLine,
    SubPlan,
    Summaries,
    Turn,
    Where,
    dialogue_of,
    dialogue_text,
    remark,
    without_remarks,
    witnessed,
)
from fabula.craft.conversation.turns import EXCHANGES_A_POINT, TurnKnowledge
from fabula.craft.length import words_to_follow
from fabula.story import count_words
from fabula.story.people import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.craft.conversation.cards import Cards
    from fabula.craft.conversation.lines import Cell, Parties
    from fabula.craft.conversation.turns import Hearing
    from fabula.engine.replies.dialogue import SpokenTurn
    from fabula.engine.run import Run

_SECOND: Final = 2  # turn of a cell, the first that two models have together
_FEWER_TURNS: Final = "a conversation is shorter than its plan takes"
_MOST_TURNS: Final = 500  # of a dialogue that goes on
_NEXT: Final = 0.1  # likeness to the next sub-plan below which an exchange is not about it


class PlanProgress(NamedTuple):
    """The state of a cell's plan after a turn.

    Attributes:
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns that it has had.
        ends: the cell is over.
    """

    step: int
    stayed: int
    ends: bool


class Talk(Protocol):
    """A narrative that can be talked through, as a system does it; shared by all conversations on it.

    Calls are made with the `run` that is given: the place of a conversation's cell, for a turn that of the turn.
    """

    @property
    def segments(self) -> Sequence[str]:
        """The narrative, cell by cell."""

    @property
    def parties(self) -> Parties:
        """Who talks."""

    @property
    def cards(self) -> Cards:
        """The cards and lorebooks of those who talk."""

    @property
    def freedom(self) -> Freedom | None:
        """How far the player may lead away, unless a conversation says otherwise; `None` where that cannot be set."""

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[SubPlan, ...] | None = None,
        there: tuple[str, ...] = (),
    ) -> Cell:
        """The cell of this number, ready.

        Args:
            run: its place.
            number: from 1.
            summaries: what each of the parties remembers.
            steps: its plan, if it was made before.
            there: who must be in it.
        """

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries) -> Cell:
        """The cell, ready for a model that plays the player's character too."""

    async def answer(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """What `moment.who` does and says now."""

    async def play(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """What the player's character does and says, played by a model (the automatic mode)."""

    def progress(self, state: State, words: str, answer: SpokenTurn) -> PlanProgress:
        """Where the plan stands after a turn of these words, given its state before, and whether the cell is over."""

    async def summarise(self, run: Run, lines: Sequence[SpokenLine], summaries: Summaries) -> Summaries:
        """What each of the parties remembers after a cell of these lines."""


@dataclass(frozen=True, slots=True)
class State:
    """A conversation between two moves. A value; each move gives the next one.

    Attributes:
        cell: number of the cell it is in; 0 before the first.
        steps: that cell's plan.
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns it has had.
        present: those of the parties who are there.
        asked: those whom the player wants there, said since the last turn; holds also if a cell begins.
        summaries: what each remembers of earlier cells.
        lines: what was said in this cell.
        before: what was said in the cell before.
        turns: of the whole conversation.
        freedom: how far the player may lead away.
    """

    cell: int = 0
    steps: tuple[SubPlan, ...] = ()
    step: int = 0
    stayed: int = 0
    present: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    summaries: Summaries = field(default_factory=dict)
    lines: tuple[SpokenLine, ...] = ()
    before: tuple[SpokenLine, ...] = ()
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
    def sub_plan(self) -> SubPlan | None:
        """The sub-plan that the next turn serves."""
        return self.steps[self.step - 1] if 0 < self.step <= len(self.steps) else None

    def where(self, cells: int, parties: Parties) -> Where:
        """How far it is, of so many cells, as the player is shown it."""
        known = self.sub_plan is not None and self.sub_plan.known_to(parties.player)
        headline = self.sub_plan.title if self.sub_plan is not None and known else ""
        absent = tuple(name for name in parties.others if name not in self.present) if self.present else ()
        at = (self.cell, cells, self.step, len(self.steps), headline, len(self.turns), self._share(cells), self.over)
        return Where(*at, self.present, absent, self.freedom)

    def _share(self, cells: int) -> float:
        if self.over:
            return 1.0
        within = max(self.step - 1, 0) / len(self.steps) if self.steps else 0.0
        return max(self.cell - 1 + within, 0.0) / cells if cells else 0.0

    def opened(self, cell: Cell, summaries: Summaries) -> State:
        """At the beginning of a cell."""
        return replace(
            self,
            cell=cell.number,
            steps=cell.steps,
            step=min(1, len(cell.steps)),
            stayed=0,
            present=self.asked or cell.present,
            summaries=dict(summaries),
            before=self.lines,
            lines=(),
        )

    def with_present(self, names: Iterable[str]) -> State:
        """After the player said who must be there."""
        there = tuple(names)
        return replace(self, present=there, asked=there)

    def with_turn(self, turn: Turn, player: str, step: int, stayed: int) -> State:
        """After a turn, with the sub-plan of the next one."""
        said = (SpokenLine(player, "", turn.said, (player, *self.present)),) if turn.said else ()
        answer = (turn.line,) if turn.line else ()
        return replace(
            self,
            step=step,
            stayed=stayed,
            asked=(),
            lines=(*self.lines, *said, *answer),
            turns=(*self.turns, turn),
        )

    def skipped(self) -> State:
        """At the next sub-plan; at the last one unchanged."""
        return replace(self, step=self.step + 1, stayed=0) if self.step < len(self.steps) else self

    def ended(self) -> State:
        """With its cell ended by the player."""
        if not self.turns:
            return self
        return replace(self, turns=(*self.turns[:-1], replace(self.turns[-1], ends_cell=True)))


async def conversation(talk: Talk, run: Run, cell: Cell, summaries: Summaries, most: int) -> str:
    """A whole cell between two models, as a dialogue's text; `run` is its place.

    The character speaks first, then both in turn, until the cell is over (`Talk.progress`) or has `most` turns. Where
    it has them first, the text says so in a last remark, and so does a note.
    """
    state = State(freedom=talk.freedom or "guided").opened(cell, summaries)
    state = await answered(talk, run, state, cell, "")
    usual, stop = ceil(EXCHANGES_A_POINT * len(cell.steps)) or most, ""
    while not (state.waits or stop):
        if state.number_in_cell > most:
            turns = "exchange" if most == 1 else "exchanges"
            stop = stopped(state, f"after the {most} {turns} that it may have (max_turns)")
            break
        part = (state.number_in_cell - _SECOND) / usual
        try:
            state = await exchanged(talk, run.optional(_FEWER_TURNS, part=part), state, cell)
        except NoRoomError:
            stop = stopped(state, "to keep within the budget")
    text = dialogue_text(state.lines)
    if state.waits:
        return text
    run.note(f"{stop} ({run.at})")
    return f"{text}\n\n{remark(stop)}"


async def gone_on(talk: Talk, run: Run, text: str, cell: Cell, summaries: Summaries) -> str:
    """What two models say after a cell's dialogue, which an author wants to continue; `run` is its place.

    They are at the end of the plan, and talk until as many words are said as are wanted, or one of them ends it.
    """
    lines = dialogue_of(text, talk.parties, (talk.parties.player, *cell.present))
    opened = State(freedom=talk.freedom or "guided").opened(cell, summaries)
    state = replace(opened, lines=lines, step=len(cell.steps))
    words = words_to_follow(run, without_remarks(text))
    if lines and lines[-1].name == talk.parties.player:
        state = await answered(talk, run, state, cell, "")
    for _ in range(_MOST_TURNS):
        state = await exchanged(talk, run, state, cell)
        if state.waits or count_words(dialogue_text(state.lines[len(lines) :])) >= words:
            break
    return dialogue_text(state.lines[len(lines) :])


def stopped(state: State, why: str) -> str:
    """What is said of a conversation that has had its turns before it was over."""
    where = f" at point {state.step} of {len(state.steps)} of its plan" if state.steps else ""
    return f"The conversation stopped{where}, {why}."


async def exchanged(talk: Talk, run: Run, state: State, cell: Cell, hearing: Hearing | None = None) -> State:
    """The state after an exchange between two models; where the player's ends the cell, nobody answers.

    `run` is the place of the cell; where its calls can be left out, both turns are made or none.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    said = await played(talk, run, state, cell)
    at = talk.progress(state, said.text, said) if said.ended else None
    if at is not None and at.ends:
        turn = _turn(talk, state, said.text, None, ends=True)
        return state.with_turn(turn, talk.parties.player, at.step, at.stayed)
    return await answered(talk, run.optional(""), state, cell, said.text, hearing)


async def played(talk: Talk, run: Run, state: State, cell: Cell) -> SpokenTurn:
    """What the player's character does and says next, played by a model; `run` is the place of the cell.

    Raises:
        FabulaError: any of its kinds.
    """
    moment = _moment(talk, state, cell, talk.parties.player, state.lines)
    return await talk.play(run.scope("turn", state.number_in_cell), moment)


async def answered(talk: Talk, run: Run, state: State, cell: Cell, said: str, hearing: Hearing | None = None) -> State:
    """The state after the player said something ("" lets the character speak by itself) and was answered.

    Args:
        talk: what is talked through.
        run: the place of the cell.
        state: before the turn.
        cell: that it is in.
        said: by the player's character.
        hearing: gets the answer as it comes.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    player, who = talk.parties.player, next_speaker(talk.parties, state, said)
    there = (player, *state.present)
    lines = (*state.lines, SpokenLine(player, "", said, there)) if said else state.lines
    moment = replace(_moment(talk, state, cell, who, lines), hearing=hearing)
    answer = await talk.answer(run.scope("turn", state.number_in_cell), moment)
    at = talk.progress(state, f"{said} {answer.text}", answer)
    line = SpokenLine(who, answer.action, answer.message, there) if answer.text else None
    turn = _turn(talk, state, said, line, ends=at.ends)
    return state.with_turn(turn, player, at.step, at.stayed)


def _turn(talk: Talk, state: State, said: str, line: SpokenLine | None, *, ends: bool) -> Turn:
    over = ends and state.cell >= len(talk.segments)
    return Turn(len(state.turns) + 1, state.cell, state.step, said, line, ends_cell=ends, ends_story=over)


def _moment(talk: Talk, state: State, cell: Cell, who: str, lines: Sequence[SpokenLine]) -> TurnKnowledge:
    """What `who` may know now, and nothing else: its own view, lines, memory, and points of a plan."""
    theirs = tuple(step for step in state.steps if step.known_to(who))
    return TurnKnowledge(
        talk.parties,
        cell.views[who],
        who,
        witnessed(lines, who),
        state.summaries.get(who, ""),
        cell.player_steps if who == talk.parties.player else theirs,
        state.present,
        freedom=state.freedom,
        before=witnessed(state.before, who),
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


def next_step(steps: Sequence[SubPlan], step: int, stayed: int, words: str, most: int = 0) -> PlanProgress:
    """Which sub-plan the next exchange serves, judged from the words of this one; no model is asked.

    The plan goes on when the words are nearer to the next sub-plan than to this one, and when this one has had its
    exchanges. It never goes further than one, and never back. The cell is over when the last one has had them.

    Args:
        steps: the plan.
        step: number of the sub-plan that the exchange served.
        stayed: exchanges that this sub-plan had before.
        words: of the exchange, the player's and the answer's.
        most: exchanges after which a sub-plan counts as stalled; 0 sets no bound.
    """
    stayed += 1
    stalled = bool(most) and stayed >= most
    if step >= len(steps):
        return PlanProgress(step, stayed, stalled)
    from fabula.craft.memory import tf_idf  # noqa: PLC0415 - numpy is not loaded where nobody talks

    here, there = tf_idf(words, [steps[step - 1].text, steps[step].text])
    goes_on = stalled or bool(there >= _NEXT and there > here)
    return PlanProgress(step + 1, 0, ends=False) if goes_on else PlanProgress(step, stayed, ends=False)
