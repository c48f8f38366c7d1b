"""A conversation with a narrative's characters, from move to move, kept in its log."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft import CONVERSATIONS
from fabula.craft.conversation.lines import Cell, Freedom, Parties, SpokenLine, SubPlan, Turn, Where, freedom_of
from fabula.craft.conversation.log import Known, Log, record_of, transcript
from fabula.craft.conversation.talk import State, Talk, answered, exchanged, next_speaker, played
from fabula.craft.conversation.turns import Hearing
from fabula.engine.run import Run, RunPlace
from fabula.story import plain, readable

if TYPE_CHECKING:
    from fabula.engine.context import RunContext


MoveKind: TypeAlias = Literal["say", "begin", "go_on", "another"]
"""A move: say something, let the character begin, let the story go on, draw another answer."""
_SHARED: Final = "_first-"  # no conversation has such a name
LONGEST: Final = 4000  # characters of a player's message: a prompt stays bounded by its cell


@dataclass
class Conversation:
    """A conversation. Made by `open_conversation`; one move at a time, others wait.

    Attributes:
        talk: the narrative, as a system talks it through.
        context: what calls are made with; each move counts its identical requests again.
        log: what was kept of it.
        name: the conversation's name.
        first: held while the first cell is made ready, which all conversations of the same people share.
        state: where it stands.
    """

    talk: Talk
    context: RunContext
    log: Log
    name: str
    state: State = field(default_factory=State)
    _cell: Cell | None = None
    _hearing: Hearing | None = None
    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def parties(self) -> Parties:
        """Who talks."""
        return self.talk.parties

    @property
    def speaker(self) -> str:
        """Who speaks in the turn that is being made, or spoke in the last one."""
        return self._hearing.name if self._hearing else ""

    @property
    def is_busy(self) -> bool:
        """Whether a move is being made."""
        return self._one.locked()

    @property
    def where(self) -> Where:
        """How far it is."""
        return self.state.where(len(self.talk.segments), self.parties)

    @property
    def plan(self) -> tuple[SubPlan, ...]:
        """The plan of the cell it is in."""
        return self.state.steps

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns that stand."""
        return self.state.turns

    @property
    def transcript(self) -> str:
        """The conversation as Markdown."""
        return transcript(self.state.turns, self.parties.player)

    @property
    def greetings(self) -> tuple[str, ...]:
        """The greetings on the card of the character who speaks first."""
        return self.talk.cards.greetings(next_speaker(self.parties, State(), ""), self.parties.player)

    # moves ----------------------------------------------------------------------------------------------------------

    async def move(self, kind: MoveKind, said: str = "", on_text: Callable[[str], None] | None = None) -> Turn:
        """The turn of a move: the answer to what is `said`, or to nothing; at its beginning, the character speaks.

        Raises:
            FabulaError: any of its kinds; the conversation is unchanged.
        """
        if kind == "say":
            return await self.say(said, on_text)
        if kind == "another":
            return await self.another(on_text)
        return await (self.go_on(on_text) if kind == "go_on" and self.turns else self.begin(on_text))

    async def gather(self) -> Where:
        """Where the next turn will be and who will be there, before it is made; a cell that it begins is made ready.

        Raises:
            FabulaError: any of its kinds; the conversation is unchanged.
        """
        async with self._one:
            if self.state.over:
                return self.where
            with self.context.recording_failures():
                state, _ = await self._ready(self.state)
            return state.where(len(self.talk.segments), self.parties)

    async def begin(self, on_text: Callable[[str], None] | None = None, greeting: int = 1) -> Turn:
        """The character's first turn, or the last turn if the conversation has begun.

        Where its card has greetings, the one of that number is what it says, and no model is called for it.

        Raises:
            UsageError: there is no such greeting.
            FabulaError: any other of its kinds; the conversation is unchanged.
        """
        async with self._one:
            if self.state.last is not None:
                return self.state.last
            if not self.greetings and greeting == 1:
                return await self._turn("", on_text)
            return await self._greeted(self._greeting(greeting), on_text)

    async def greet(self, greeting: int, on_text: Callable[[str], None] | None = None) -> Turn:
        """Replace the greeting with another one from the card, before anything else is said.

        Raises:
            UsageError: more has been said, or there is no such greeting.
        """
        async with self._one:
            text = self._greeting(greeting)
            if any(turn.said for turn in self.state.turns) or len(self.state.turns) > 1:
                raise UsageError(
                    "The conversation is past its greeting. Go back with /undo, or begin a new one with --new."
                )
            if self.state.turns:
                self.log.undo()
                self.state = self.log.state
            return await self._greeted(text, on_text)

    def _greeting(self, number: int) -> str:
        found = self.greetings
        if not 0 < number <= len(found):
            who = " and ".join(self.parties.others)
            has = f"has {len(found)}, from 1 on" if found else "has none on a card"
            raise UsageError(f"There is no greeting {number}: {who} {has}.")
        return found[number - 1]

    async def _greeted(
        self, text: str, on_text: Callable[[str], None] | None, start: State | None = None, take: int = 0
    ) -> Turn:
        """The turn of a greeting, shown before the cell is made ready; with a `take` it replaces the last turn."""
        who = next_speaker(self.parties, self.state, "")
        if on_text is not None:
            self._hearing = Hearing(on_text, who)
            self._hearing.end(text)
        before = start or self.state
        state, cell = await self._ready(before)
        line = SpokenLine(who, "", text, (self.parties.player, *state.present))
        turn = Turn(len(state.turns) + 1, state.cell, state.step, "", line)
        after = state.with_turn(turn, self.parties.player, state.step, state.stayed)
        return self._stands(before, after, cell, take)

    async def say(self, message: str, on_text: Callable[[str], None] | None = None) -> Turn:
        """The answer to what the player says; pieces of it go to `on_text` as they arrive.

        After the end of a cell the message begins the next one; a single full stop does so without saying anything.

        Raises:
            UsageError: the message is empty or has more than 4,000 characters, or the story is over.
            FabulaError: no answer came; the conversation is unchanged.
        """
        said = said_by_player(message)
        async with self._one:
            return await self._turn("" if said == "." and self.state.waits else said, on_text)

    async def go_on(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """Continue the story without the player: to the next sub-plan or, after the last one, to the next cell.

        Raises:
            UsageError: the story is over.
        """
        async with self._one:
            state = self.state
            if not state.waits and state.step >= len(state.steps):
                if state.cell >= len(self.talk.segments):
                    raise UsageError("This is the end of the last cell. Continue until it is over, or type /undo.")
                state = state.ended()
            return await self._turn("", on_text, start=state if state.waits else state.skipped())

    async def retry(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """The last turn again, drawn again, with those who were there in it; who was said to be there since is then.

        Raises:
            UsageError: there is no turn yet.
        """
        async with self._one:
            drawn = self.log.drawn
            if not drawn:
                raise UsageError("There is no turn to draw again yet. Say something first.")
            last, turn = self.log.records[drawn[-1][-1]], self.log.turn(drawn[-1][-1])
            said, take = str(turn["said"]), 1 + max(map(self.log.take, drawn[-1]))
            start = self.log.state_without(drawn[-1][-1]).with_present(map(str, turn["present"]))
            if last.get("next"):
                start = start.ended() if start.cell != turn["cell"] else start.skipped()
            since = self.state.asked
            made = await self._turn(said, on_text, start=start, take=take)
            if since:
                self.log.note_present(since)
                self.state = self.state.with_present(since)
            return made

    async def another(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """Another answer in place of the last one: the next greeting if it was one and there are more, else a new draw.

        Raises:
            UsageError: there is no turn yet.
        """
        async with self._one:
            drawn = self.log.drawn
            said = {str(turn) for turn in self.log.answers[0]}
            begun = len(drawn) == 1 and not self.state.turns[0].said and not said.isdisjoint(self.greetings)
            greeting = next((text for text in self.greetings if begun and text not in said), "")
            if greeting:
                start = self.log.state_without(drawn[-1][-1])
                take = 1 + max(map(self.log.take, drawn[-1]))
                return await self._greeted(greeting, on_text, start, take)
        return await self.retry(on_text)

    async def knew(self, number: int) -> Known:
        """What whoever answered in the turn of this number (from 1) knew and was to do. Calls no model.

        Raises:
            UsageError: there is no such turn, or nobody answered in it.
            JournalMissError: what it knew of its cell is not recorded.
        """
        async with self._one:
            known = self.log.known(number)
            run = self._run(known.turn.cell)
            run = replace(run, context=replace(run.context, mode="frozen"))
            cell = await self.talk.cell(run, known.turn.cell, known.memories, known.steps, known.present)
            return replace(known, view=cell.views[known.who])

    async def undo(self) -> Turn | None:
        """Take the last turn back; returns the one before it, or `None`.

        Raises:
            UsageError: there is no turn to take back.
        """
        async with self._one:
            self.log.undo()
            self.state = self.log.state
            return self.state.last

    async def edit(self, answer: str) -> Turn:
        """The last turn, with another answer, in its author's words.

        Raises:
            UsageError: there is no turn, or nobody answered in it.
        """
        async with self._one:
            self.log.edit(len(self.turns), None, answer)
            self.state = self.log.state
            return self.turns[-1]

    async def play(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """One exchange between two models: the player's character is played, and answered (the automatic mode)."""
        async with self._one:
            return await self._turn("" if self.state.waits else None, on_text)

    async def draft(self, take: int = 0) -> str:
        """What the player's character could say next, as a model plays it; nothing is said. Each `take` is another.

        Raises:
            UsageError: the story is over.
            FabulaError: any other of its kinds.
        """
        async with self._one:
            self._check_open(self.state)
            with self.context.recording_failures():
                state, cell = await self._ready(self.state)
                both = await self.talk.with_player_plan(self._run(state.cell), cell, state.summaries)
                return (await played(self.talk, self._run(state.cell, take=take), state, both)).text

    async def set_present(self, names: Sequence[str]) -> None:
        """Say who of the others is there from now on; see `Log.set_present`.

        Raises:
            UnknownNameError: a name is not of this conversation.
            UsageError: nobody would be left.
        """
        async with self._one:
            self.log.set_present(names)
            self.state = self.log.state

    async def set_freedom(self, freedom: str) -> Freedom:
        """From now on the player may lead away from the plan so far: "rails", "guided" or "loose".

        Raises:
            UsageError: there is no such freedom, or nothing here obeys it.
        """
        async with self._one:
            known = checked_freedom(freedom_of(freedom), self.talk)
            self.log.set_freedom(known)
            self.state = replace(self.state, freedom=known)
            return known

    # inner ----------------------------------------------------------------------------------------------------------

    async def _turn(
        self,
        said: str | None,
        on_text: Callable[[str], None] | None,
        *,
        start: State | None = None,
        take: int = 0,
    ) -> Turn:
        """One turn from `start` (the present state); with `None` as `said` a model plays the player's character too.

        It counts when it is in the log; with a `take` in place of the last one.
        """
        before = self.state if start is None else start
        self._check_open(before)
        self._hearing = hearing = None if on_text is None else Hearing(on_text)
        with self.context.recording_failures():
            state, cell = await self._ready(before)
            run = self._run(state.cell, hearing, take)
            if said is None:
                both = await self.talk.with_player_plan(run, cell, state.summaries)
                after = await exchanged(self.talk, run, state, both, hearing)
            else:
                after = await answered(self.talk, run, state, cell, said, hearing)
        led = self.log.records[self.log.kept[-1]].get("next") if take else start is not None
        turn = self._stands(before, after, cell, take, led=bool(led))
        if hearing is not None and turn.line is not None:
            hearing.end(turn.line.text)
        return turn

    def _check_open(self, state: State) -> None:
        if state.over:
            raise UsageError("The story is over. Type /undo to take back the last turn, or begin another conversation.")

    def _stands(self, before: State, after: State, cell: Cell, take: int, *, led: bool = False) -> Turn:
        """The last turn of `after`, now that it is in the log; `led`: no word of the player's brought it about."""
        record = {"do": "retry" if take else "turn", "take": take, "turn": record_of(before, after)}
        self.log.write({**record, "cells": len(self.talk.segments), **({"next": True} if led else {})})
        self.state, self._cell = after, cell
        return after.turns[-1]

    async def _ready(self, before: State) -> tuple[State, Cell]:
        """As `_here`; the first cell is made ready by one of all who need it at once."""
        if before.cell:
            return await self._here(before)
        async with self.first:
            return await self._here(before)

    async def _here(self, before: State) -> tuple[State, Cell]:
        """The cell in which the next turn is, and the state there: the next one, where the present one has ended."""
        cell = await self._present_cell(before)
        if before.waits and before.cell < len(self.talk.segments):
            summaries = before.summaries
            if cell is not None and before.lines:
                summaries = await self.talk.summarise(self._run(before.cell), before.lines, summaries)
            number = before.cell + 1
            place = self._run(number) if before.cell else self._shared()
            ready = await self.talk.cell(place, number, summaries, there=before.asked)
            return before.opened(ready, summaries), ready
        if cell is None or before.waits:
            raise UsageError(
                f"The story no longer has a cell {before.cell + before.waits}. Begin another conversation."
            )
        return before, cell

    async def _present_cell(self, state: State) -> Cell | None:
        """The cell that the conversation is in; made ready again after it was resumed, which asks nothing."""
        if not 0 < state.cell <= len(self.talk.segments):
            return None
        if self._cell is None or self._cell.number != state.cell:
            self._cell = await self.talk.cell(self._run(state.cell), state.cell, state.summaries, state.steps)
        return self._cell

    def _run(self, cell: int, hearing: Hearing | None = None, take: int = 0) -> Run:
        """Where a move makes its calls in a cell. What two moves ask alike is one call, and is paid for once."""
        listeners = (*self.context.listeners, hearing.hear) if hearing else self.context.listeners
        context = replace(self.context, ordinals=Counter(), listeners=listeners)
        return Run(context, RunPlace(take=take)).scope(CONVERSATIONS, self.name, f"cell-{cell}")

    def _shared(self) -> Run:
        """Where the first cell is made ready: nothing was said, so that it is the same for all of these people."""
        people = sha256("\n".join(self.parties.names).encode("utf-8", "replace")).hexdigest()[:8]
        return Run(replace(self.context, ordinals=Counter())).scope(CONVERSATIONS, f"{_SHARED}{people}", "cell-1")


def open_conversation(
    log: Log | None,
    talk: Talk,
    context: RunContext,
    freedom: Freedom | None = None,
    name: str = "session",
    *,
    system: str = "",
    first: asyncio.Lock | None = None,
) -> Conversation:
    """The conversation of a log, new or continued; one of this name without a log. Calls no model.

    The log keeps the name of its `system`; `first` is shared by the conversations of the same people.

    Raises:
        UsageError: the log is a conversation of other people, or of another system; or nothing obeys `freedom`.
        ProjectError: the log cannot be read.
    """
    log, name = (log, log.name) if log is not None else (Log([]), name)
    if not log.records:
        log.begin(talk.parties, checked_freedom(freedom or talk.freedom or "guided", talk), system)
    known = log.parties
    if known != talk.parties:
        raise UsageError(
            f"In the conversation {name!r}, {known.player} talks with {', '.join(known.others)}. Give these names, or "
            "another --session."
        )
    if system and log.system not in ("", system):
        raise UsageError(
            f"The conversation {name!r} was started with the system {log.system!r} and continues with it: --system "
            f"{log.system}. For {system!r}, begin another with --new."
        )
    return Conversation(talk, context, log, name, log.state, first=first or asyncio.Lock())


def checked_freedom(freedom: Freedom, talk: Talk) -> Freedom:
    """The wanted freedom, if the prompts support it.

    Raises:
        UsageError: they do not.
    """
    if talk.freedom is None and freedom != "guided":
        raise UsageError(
            f"How far you may stray cannot be set to {freedom!r} here: the prompts are the paper's, and say "
            "nothing of it. SNAP's improved preset has it (--system snap --preset improved)."
        )
    return freedom


def said_by_player(message: str) -> str:
    """A player's message as it is kept: one text without blank lines at its ends.

    Raises:
        UsageError: it is empty, or has more than 4,000 characters.
    """
    if len(message) > LONGEST:
        raise UsageError(
            f"Your message has {len(message):,} characters; the limit is {LONGEST:,}. Send a shorter message."
        )
    said = " ".join(plain(readable(message)).split())
    if not said:
        raise UsageError("Your message is empty. Write something, or type /next to let the story continue.")
    return said
