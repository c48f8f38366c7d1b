"""A session: one conversation with a narrative's characters, from move to move, kept in its log."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation.hearing import Hearing
from fabula.craft.conversation.moves import opened, played, turned
from fabula.craft.conversation.state import State, record_of, transcript, with_record
from fabula.craft.conversation.store import FOLDER, FORMAT
from fabula.craft.conversation.talk import Freedom, Place, Step, Turn, Where, freedom_of
from fabula.engine.run import Run
from fabula.story import plain, readable
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.craft.conversation.store import SessionFiles
    from fabula.craft.conversation.talk import Chapter, Parties, Talk
    from fabula.engine.context import RunContext

LONGEST: Final = 4000  # letters of a player's message: a prompt stays bounded by its cell


@dataclass
class Session:
    """A conversation. Made by `open_session`; one move at a time, others wait.

    Attributes:
        talk: the narrative, as a system talks it through.
        hands: what calls are made with; each move counts its identical requests anew.
        files: where the log is; `None` keeps none.
        state: where it stands.
    """

    talk: Talk
    context: RunContext
    files: SessionFiles | None
    state: State = field(default_factory=State)
    records: list[dict[str, Any]] = field(default_factory=list)
    _chapter: Chapter | None = None
    _hearing: Hearing | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def name(self) -> str:
        """Of the session."""
        return self.files.name if self.files else "session"

    @property
    def parties(self) -> Parties:
        """Who talks."""
        return self.talk.parties

    @property
    def speaker(self) -> str:
        """Who speaks in the turn that is being made, or spoke in the last one."""
        return self._hearing.name if self._hearing else ""

    @property
    def where(self) -> Where:
        """How far it is."""
        return self.state.where(len(self.talk.cells))

    @property
    def plan(self) -> tuple[Step, ...]:
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

    # moves ----------------------------------------------------------------------------------------------------------

    async def begin(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """The character speaks first; the last turn, where the session has begun.

        Raises:
            FabulaError: any of its kinds; the session stands as before.
        """
        async with self._one:
            return self.state.last or await self._turn("", on_text)

    async def say(self, message: str, on_text: Callable[[str], None] | None = None) -> Turn:
        """The answer to what the player says; pieces of it go to `on_text` as they come.

        After the end of a cell the message begins the next one; a single full stop does so without saying anything.

        Raises:
            UsageError: the message is empty or has more than 4,000 letters, or the story is over.
            FabulaError: no answer came; the session stands as before.
        """
        said = said_by_player(message)
        async with self._one:
            return await self._turn("" if said == "." and self.state.waits else said, on_text)

    async def go_on(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """The story goes on without the player: to the next sub-plan, after the last one to the next cell.

        Raises:
            UsageError: the story is over.
        """
        async with self._one:
            state = self.state
            if not state.waits and state.step >= len(state.steps):
                if state.cell >= len(self.talk.cells):
                    raise UsageError("This is the end of the last cell. Talk on until it is over, or say /undo.")
                last = replace(state.turns[-1], ends_cell=True)
                state = replace(state, turns=(*state.turns[:-1], last))
            return await self._turn("", on_text, start=state if state.waits else state.skipped())

    async def retry(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """The last turn again, drawn anew.

        Raises:
            UsageError: there is no turn yet.
        """
        async with self._one:
            kept = self._kept_turns()
            if not kept:
                raise UsageError("There is no turn to draw anew yet. Say something first.")
            last = self.records[kept[-1]]
            said, take = str(last["turn"]["said"]), int(last.get("take", 0)) + 1
            start = _folded(self.records, self.parties, without=kept[-1])
            if last.get("next"):
                start = _ended(start) if start.cell != last["turn"]["cell"] else start.skipped()
            return await self._turn(said, on_text, start=start, take=take, again=True)

    async def undo(self) -> Turn | None:
        """The turn that stands after the last one was taken back; `None` before the first.

        Raises:
            UsageError: there is no turn to take back.
        """
        async with self._one:
            if not self._kept_turns():
                raise UsageError("There is no turn to take back.")
            self._write({"do": "undo"})
            self.state = _folded(self.records, self.parties)
            return self.state.last

    async def play(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """One exchange between two models: the player's character is played, and answered (the automatic mode)."""
        async with self._one:
            if self.state.waits:
                return await self._turn("", on_text)
            state, chapter = await self._here(self.state)
            said = await played(self.talk, self._place(None), state, chapter)
            return await self._turn(said, on_text)

    async def set_present(self, names: Sequence[str]) -> None:
        """From now on those of the characters are there, and no others; who is not there learns of nothing.

        A cell that begins later brings those who are in it, unless it begins with the next turn.

        Raises:
            UnknownNameError: a name is not of this session.
            UsageError: nobody would be left.
        """
        async with self._one:
            found = [among(name, self.parties.others) for name in names]
            for name, known in zip(names, found, strict=True):
                if known is None:
                    raise UnknownNameError("character of this session", name, self.parties.others)
            if not found:
                raise UsageError("Somebody has to be there to talk to. Name at least one character.")
            there = tuple(name for name in self.parties.others if name in found)
            self._write({"do": "present", "names": list(there)})
            self.state = self.state.with_present(there)

    async def set_freedom(self, freedom: str) -> Freedom:
        """From now on the player may lead away from the plan so far: "rails", "guided" or "loose".

        Raises:
            UsageError: there is no such freedom.
        """
        async with self._one:
            known = freedom_of(freedom)
            self._write({"do": "freedom", "to": known})
            self.state = replace(self.state, freedom=known)
            return known

    # inner ----------------------------------------------------------------------------------------------------------

    async def _turn(
        self,
        said: str,
        on_text: Callable[[str], None] | None,
        *,
        start: State | None = None,
        take: int = 0,
        again: bool = False,
    ) -> Turn:
        """One turn from `start` (the present state); it counts when it is in the log."""
        before = self.state if start is None else start
        if before.over:
            raise UsageError("The story is over. Say /undo to take the last turn back, or begin another session.")
        hearing = None if on_text is None else Hearing("", self.parties.names, (), on_text)
        self._hearing = hearing
        state, chapter = await self._here(before)
        after = await turned(self.talk, self._place(hearing, take), state, chapter, said, take=take, hearing=hearing)
        record = {"do": "retry" if again else "turn", "take": take, "turn": record_of(before, after)}
        if self.records[self._kept_turns()[-1]].get("next") if again else start is not None:
            record["next"] = True  # no word of the player's brought it about, but /next
        self._write(record)
        self.state, self._chapter = after, chapter
        turn = after.turns[-1]
        if hearing is not None and turn.line is not None:
            hearing.end(turn.line.text)
        return turn

    async def _here(self, before: State) -> tuple[State, Chapter]:
        """The cell in which the next turn is: the next one, where the present one has ended."""
        chapter = await self._ready(before)
        if before.waits and before.cell < len(self.talk.cells):
            return await opened(self.talk, self._place(None), before, chapter)
        if chapter is None or before.waits:
            raise UsageError(f"The story has no cell {before.cell + before.waits} any more. Begin another session.")
        return before, chapter

    async def _ready(self, state: State) -> Chapter | None:
        """The cell that the conversation is in; made ready again after it was resumed, which asks nothing."""
        if not 0 < state.cell <= len(self.talk.cells):
            return None
        if self._chapter is None or self._chapter.number != state.cell:
            place = self._place(None)
            own = Place(place.story, place.own.scope(f"cell-{state.cell}"))
            self._chapter = await self.talk.chapter(own, state.cell, state.memories, state.steps)
        return self._chapter

    def _place(self, hearing: Hearing | None, take: int = 0) -> Place:
        """Where this move makes its calls. What is asked alike in two moves is one call, and is paid for once."""
        listeners = (*self.context.listeners, hearing.hear) if hearing else self.context.listeners
        context = replace(self.context, ordinals=Counter(), listeners=listeners)
        return Place(Run(context), replace(Run(context).scope(FOLDER, self.name), take=take))

    def _write(self, record: dict[str, Any]) -> None:
        if self.files is not None:
            self.files.append(record)
        self.records.append(record)

    def _kept_turns(self) -> list[int]:
        return kept_turns(self.records)


def said_by_player(message: str) -> str:
    """A player's message as it is kept: one text without blank lines at its ends.

    Raises:
        UsageError: it is empty, or has more than 4,000 letters.
    """
    if len(message) > LONGEST:
        raise UsageError(f"Your message has {len(message):,} letters; {LONGEST:,} are the most. Say less at a time.")
    said = " ".join(plain(readable(message)).split())
    if not said:
        raise UsageError("Your message is empty. Say something, or /next to let the story go on.")
    return said


def open_session(files: SessionFiles | None, talk: Talk, context: RunContext, freedom: Freedom = "guided") -> Session:
    """The session of a log, new or gone on with. Asks nobody.

    Raises:
        UsageError: the log is a conversation of other people.
        ProjectError: the log cannot be read.
    """
    records = files.read() if files is not None else []
    told = {"format": FORMAT, "player": talk.parties.player, "others": list(talk.parties.others), "freedom": freedom}
    if not records:
        if files is not None:
            files.append(told)
        records = [told]
    head = records[0]
    if (head["player"], head["others"]) != (told["player"], told["others"]):
        where = files.name if files is not None else "it"
        raise UsageError(
            f"In the session {where!r}, {head['player']} talks with {', '.join(head['others'])}. Give these names, or "
            "another --session."
        )
    return Session(talk, context, files, _folded(records, talk.parties), records)


def kept_turns(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indices of the turns that stand: not taken back, not drawn anew."""
    kept: list[int] = []
    for number, record in enumerate(records):
        if record.get("do") in ("undo", "retry"):
            kept = kept[:-1]
        if record.get("do") in ("turn", "retry"):
            kept.append(number)
    return kept


def _folded(records: Sequence[Mapping[str, Any]], parties: Parties, without: int = -1) -> State:
    """The state after all records but the turn `without`."""
    state = State(freedom=freedom_of(str(records[0]["freedom"])))
    kept = set(kept_turns(records)) - {without}
    for number, record in enumerate(records):
        if number in kept:
            state = with_record(state, record["turn"], parties.player)
        elif record.get("do") == "present":
            state = state.with_present(map(str, record["names"]))
        elif record.get("do") == "freedom":
            state = replace(state, freedom=freedom_of(str(record["to"])))
    return state


def _ended(state: State) -> State:
    """`state` with its cell ended, as `go_on` ends it."""
    if not state.turns:
        return state
    return replace(state, turns=(*state.turns[:-1], replace(state.turns[-1], ends_cell=True)))
