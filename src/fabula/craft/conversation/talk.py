"""A conversation from turn to turn: what a system must be able to do (`Talk`), and where the conversation stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fabula.base.errors import NoRoomError
from fabula.craft.conversation.lines import (
    Freedom,
    Line,
    Step,
    Summaries,
    Turn,
    Where,
    dialogue_of,
    dialogue_text,
    remark,
    without_remarks,
    witnessed,
)
from fabula.craft.conversation.turns import Moment
from fabula.story import count_words
from fabula.story.people import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.craft.conversation.cards import Cards
    from fabula.craft.conversation.lines import Cell, Parties
    from fabula.craft.conversation.turns import Hearing
    from fabula.engine.replies.dialogue import Said
    from fabula.engine.run import Run

EXCHANGES_A_POINT: Final = 1.3
"""After how many exchanges a point of a plan has come up, for estimates."""
_SECOND: Final = 2  # turn of a cell, the first that two models have together
_FEWER_TURNS: Final = "a conversation is shorter than its plan takes"
_MOST_TURNS: Final = 500  # of a dialogue that goes on


class Progress(NamedTuple):
    """Where the plan of a cell stands after a turn.

    Attributes:
        step: number of the sub-plan that the next turn serves; 0 without a plan.
        stayed: turns that it has had.
        ends: the cell is over.
        dealt: numbers of the sub-plans that have come up, where it is known of each.
    """

    step: int
    stayed: int
    ends: bool
    dealt: tuple[int, ...] = ()


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
    def freedom(self) -> Freedom:
        """How far the player may lead away, unless a conversation says otherwise."""

    @property
    def last_word(self) -> bool:
        """Whether, between two models, the words that end a cell are answered once before the next begins."""

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[Step, ...] | None = None,
        there: tuple[str, ...] = (),
        before: Sequence[Line] = (),
    ) -> Cell:
        """The cell of this number, ready.

        Args:
            run: its place.
            number: from 1.
            summaries: what each of the parties remembers.
            steps: its plan, if it was made before.
            there: who is to be in it.
            before: lines of the cell before.
        """

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries, before: Sequence[Line] = ()) -> Cell:
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
        before: what was said in the cell before.
        dealt: numbers of the sub-plans that have come up, where answers say so.
        closing: the words that end the cell were said, and are to be answered once.
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
    before: tuple[Line, ...] = ()
    dealt: tuple[int, ...] = ()
    closing: bool = False
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
        return Where(*at, present=self.present, absent=absent, dealt=len(self.dealt))

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
            before=self.lines,
            lines=(),
            dealt=(),
            closing=False,
        )

    def with_present(self, names: Iterable[str]) -> State:
        """After the player said who is to be there."""
        there = tuple(names)
        return replace(self, present=there, asked=there)

    def with_turn(
        self,
        turn: Turn,
        player: str,
        step: int,
        stayed: int,
        *,
        moved: bool,
        dealt: tuple[int, ...] = (),
        closing: bool = False,
    ) -> State:
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
            dealt=dealt,
            closing=closing,
            turns=(*self.turns, turn),
        )

    def skipped(self) -> State:
        """At the next sub-plan that has not come up; at the last one unchanged."""
        if self.step >= len(self.steps):
            return self
        left = (n for n in range(self.step + 1, len(self.steps)) if n not in self.dealt)
        return replace(self, step=next(left, len(self.steps)), stayed=0, moved=True)

    def ended(self) -> State:
        """With its cell ended by the player."""
        if not self.turns:
            return self
        return replace(self, turns=(*self.turns[:-1], replace(self.turns[-1], ends_cell=True)))


async def conversation(
    talk: Talk, run: Run, cell: Cell, summaries: Summaries, most: int, before: Sequence[Line] = ()
) -> str:
    """A whole cell between two models, as a dialogue's text; `run` is its place, `before` the cell's before it.

    The character speaks first, then both in turn, until the cell is over (`Talk.progress`) or has `most` turns. Where
    it has them first, the text says so in a last remark, and so does a note.
    """
    state = replace(State(freedom=talk.freedom).opened(cell, summaries), before=tuple(before))
    state = await answered(talk, run, state, cell, "", alone=True)
    usual, stop = ceil(EXCHANGES_A_POINT * len(cell.steps)) or most, ""
    while not (state.waits or stop):
        if state.number_in_cell > most and not state.closing:
            turns = "exchange" if most == 1 else "exchanges"
            stop = stopped(state, f"after the {most} {turns} that it may have (max_turns)")
            break
        part = 0.0 if state.closing else (state.number_in_cell - _SECOND) / usual
        try:
            state = await exchanged(talk, run.optional(_FEWER_TURNS, part=part), state, cell)
        except NoRoomError:
            stop = stopped(state, "to keep within the budget")
    text = dialogue_text(state.lines)
    if state.waits:
        return text
    run.note(f"{stop} ({run.at})")
    return f"{text}\n\n{remark(stop)}"


async def gone_on(
    talk: Talk, run: Run, cell: Cell, summaries: Summaries, text: str, before: Sequence[Line] = ()
) -> str:
    """What two models say after a cell's dialogue, which an author wants to go on; `run` is its place.

    All of the plan has come up. They talk until as many words are said as are wanted, or one of them ends it.
    """
    lines = dialogue_of(text, talk.parties)
    opened = State(freedom=talk.freedom).opened(cell, summaries)
    dealt = tuple(range(1, len(cell.steps) + 1))
    state = replace(opened, before=tuple(before), lines=lines, step=len(cell.steps), dealt=dealt)
    words = run.words_to_follow(without_remarks(text))
    if lines and lines[-1].name == talk.parties.player:
        state = await answered(talk, run, state, cell, "", alone=True)
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
    """The state after an exchange between two models.

    Where one of them ends the cell, the other answers once more (`Talk.last_word`), or nobody does. `run` is the place
    of the cell; where its calls can be left out, both turns are made or none.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    said = await played(talk, run, state, cell)
    at = talk.progress(state, said.text, said) if said.ended else None
    if state.closing or (at is not None and at.ends and not talk.last_word):
        turn = _turn(talk, state, said.text, None, ends=True)
        step, stayed = (state.step, state.stayed) if at is None else (at.step, at.stayed)
        return state.with_turn(turn, talk.parties.player, step, stayed, moved=False, dealt=state.dealt)
    ends = at is not None and at.ends
    return await answered(talk, run.optional(""), state, cell, said.text, hearing, alone=True, last=ends)


async def answered(
    talk: Talk,
    run: Run,
    state: State,
    cell: Cell,
    said: str,
    hearing: Hearing | None = None,
    *,
    alone: bool = False,
    last: bool = False,
) -> State:
    """The state after the player said something ("" lets the character speak by itself) and was answered.

    Args:
        talk: what is talked through.
        run: the place of the cell.
        state: before the turn.
        cell: that it is in.
        said: by the player's character.
        hearing: gets the answer as it comes.
        alone: two models talk, so that an answer that ends the cell is to be answered, where `Talk.last_word`.
        last: the player's character has ended the cell, and this is the answer to it.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    player, who = talk.parties.player, next_speaker(talk.parties, state, said)
    there = (player, *state.present)
    lines = (*state.lines, Line(player, "", said, there)) if said else state.lines
    moment = replace(_moment(talk, state, cell, who, lines), moved=state.moved, hearing=hearing, last=last)
    answer = _in_plan(await talk.answer(run.scope("turn", state.number_in_cell), moment), moment, state)
    at = talk.progress(state, f"{said} {answer.text}", answer)
    closing = at.ends and alone and talk.last_word and not last
    line = Line(who, answer.action, answer.message, there) if answer.text else None
    turn = _turn(talk, state, said, line, ends=last or (at.ends and not closing))
    return state.with_turn(
        turn, player, at.step, at.stayed, moved=at.step != state.step, dealt=at.dealt, closing=closing
    )


def _in_plan(answer: Said, moment: Moment, state: State) -> Said:
    """An answer with the numbers of points as the whole plan has them; its speaker may know a part of the plan."""
    if answer.dealt is None:
        return answer
    numbers = [n for n, step in enumerate(state.steps, 1) if step.known_to(moment.who)]
    return replace(answer, dealt=tuple(numbers[n - 1] for n in answer.dealt if 0 < n <= len(numbers)))


def _turn(talk: Talk, state: State, said: str, line: Line | None, *, ends: bool) -> Turn:
    over = ends and state.cell >= len(talk.segments)
    return Turn(len(state.turns) + 1, state.cell, state.step, said, line, ends_cell=ends, ends_story=over)


async def played(talk: Talk, run: Run, state: State, cell: Cell) -> Said:
    """What the player's character does and says next, played by a model; `run` is the place of the cell."""
    moment = replace(_moment(talk, state, cell, talk.parties.player, state.lines), last=state.closing)
    said = await talk.play(run.scope("turn", state.number_in_cell), moment)
    return replace(said, dealt=None)  # its plan is another


def _moment(talk: Talk, state: State, cell: Cell, who: str, lines: Sequence[Line]) -> Moment:
    """What `who` may know now, and nothing else: its own view, lines, memory, and points of a plan."""
    if who == talk.parties.player:
        steps, here, come_up = cell.player_steps, None, frozenset[Step]()
    else:
        come_up = frozenset(state.steps[n - 1] for n in state.dealt if n <= len(state.steps))
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
        before=witnessed(state.before, who),
        dealt=tuple(n for n, step in enumerate(steps, 1) if step in come_up),
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
