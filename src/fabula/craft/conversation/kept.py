"""A conversation with a narrative's characters, from move to move, kept in a log on disk.

The log is `chat/NAME.jsonl`, one JSON object a line, only ever added to. The first line says who talks. A last
line that was cut off by a kill is left out and written over.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

from fabula.base.errors import ProjectError, UnknownNameError, UsageError
from fabula.base.files import PRIVATE, append_synced, inside, plain_files, read_bytes, write_atomically, write_error
from fabula.craft import CONVERSATIONS
from fabula.craft.conversation.lines import Freedom, Line, Parties, Step, Turn, Where, freedom_of, witnessed
from fabula.craft.conversation.talk import State, answered, exchanged, next_speaker
from fabula.craft.conversation.turns import Hearing
from fabula.engine.run import Place, Run
from fabula.story import plain, readable, slug
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fabula.craft.conversation.lines import Cell, View
    from fabula.craft.conversation.talk import Talk
    from fabula.engine.context import RunContext

_LARGEST: Final = 200_000_000  # bytes of a log
FORMAT: Final = 1
_SHARED: Final = "_first-"  # no conversation has such a name
LONGEST: Final = 4000  # characters of a player's message: a prompt stays bounded by its cell


@dataclass
class Conversation:
    """A conversation. Made by `open_conversation`; one move at a time, others wait.

    Attributes:
        talk: the narrative, as a system talks it through.
        context: what calls are made with; each move counts its identical requests anew.
        files: where the log is; `None` keeps none.
        name: of the conversation.
        first: held while the first cell is made ready, which all conversations of the same people share.
        state: where it stands.
        records: of the log.
    """

    talk: Talk
    context: RunContext
    files: ConversationFiles | None
    name: str
    state: State = field(default_factory=State)
    records: list[dict[str, Any]] = field(default_factory=list)
    _cell: Cell | None = None
    _hearing: Hearing | None = None
    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ahead: tuple[State, asyncio.Task[tuple[State, Cell]]] | None = None

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
        return self.state.where(len(self.talk.segments), self.parties)

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

    @property
    def greetings(self) -> tuple[str, ...]:
        """What the character who speaks first may say, by its card."""
        return self.talk.cards.greetings(next_speaker(self.parties, State(), ""), self.parties.player)

    # moves ----------------------------------------------------------------------------------------------------------

    async def gather(self) -> Where:
        """Where the next turn will be and who will be there, before it is made; a cell that it begins is made ready.

        Raises:
            FabulaError: any of its kinds; the conversation stands as before.
        """
        async with self._one:
            if self.state.over:
                return self.where
            with self.context.recording_failures():
                state, _ = await self._ready(self.state)
            return state.where(len(self.talk.segments), self.parties)

    async def begin(self, on_text: Callable[[str], None] | None = None, greeting: int = 1) -> Turn:
        """The character speaks first; the last turn, where the conversation has begun.

        Where its card has greetings, the one of that number is what it says, and nobody is asked for it.

        Raises:
            UsageError: there is no such greeting.
            FabulaError: any other of its kinds; the conversation stands as before.
        """
        async with self._one:
            if self.state.last is not None:
                return self.state.last
            if not self.greetings and greeting == 1:
                return await self._turn("", on_text)
            return await self._greeted(self._greeting(greeting), on_text)

    async def greet(self, greeting: int, on_text: Callable[[str], None] | None = None) -> Turn:
        """Another greeting of the card in place of the one that stands; before anything else is said.

        Raises:
            UsageError: more has been said, or there is no such greeting.
        """
        async with self._one:
            text = self._greeting(greeting)
            if any(turn.said for turn in self.state.turns) or len(self.state.turns) > 1:
                raise UsageError(
                    "The talk has gone on from its greeting. Take it back with /undo, or begin with --new."
                )
            if self.state.turns:
                self._write({"do": "undo"})
                self.state = _state_after(self.records, self.parties)
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
        line = Line(who, "", text, (self.parties.player, *state.present))
        turn = Turn(len(state.turns) + 1, state.cell, state.step, "", line)
        after = state.with_turn(turn, self.parties.player, state.step, state.stayed)
        return self._stands(before, after, cell, take)

    async def say(self, message: str, on_text: Callable[[str], None] | None = None) -> Turn:
        """The answer to what the player says; pieces of it go to `on_text` as they come.

        After the end of a cell the message begins the next one; a single full stop does so without saying anything.

        Raises:
            UsageError: the message is empty or has more than 4,000 characters, or the story is over.
            FabulaError: no answer came; the conversation stands as before.
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
                if state.cell >= len(self.talk.segments):
                    raise UsageError("This is the end of the last cell. Talk on until it is over, or say /undo.")
                state = state.ended()
            return await self._turn("", on_text, start=state if state.waits else state.skipped())

    async def retry(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """The last turn again, drawn anew, with those who were there in it; who was said to be there since is then.

        Raises:
            UsageError: there is no turn yet.
        """
        async with self._one:
            drawn = _drawn(self.records)
            if not drawn:
                raise UsageError("There is no turn to draw anew yet. Say something first.")
            last = self.records[drawn[-1][-1]]
            said, take = str(last["turn"]["said"]), 1 + max(_take(self.records[number]) for number in drawn[-1])
            start = _state_after(self.records, self.parties, without=drawn[-1][-1])
            start = start.with_present(map(str, last["turn"]["present"]))
            if last.get("next"):
                start = start.ended() if start.cell != last["turn"]["cell"] else start.skipped()
            since = self.state.asked
            turn = await self._turn(said, on_text, start=start, take=take)
            self._note_present(since)
            return turn

    async def another(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """Another answer in place of the last one: the next greeting, where that was one and has more, else drawn anew.

        Raises:
            UsageError: there is no turn yet.
        """
        async with self._one:
            drawn = _drawn(self.records)
            said = {str(turn) for turn in self.alternatives}
            begun = len(drawn) == 1 and not self.state.turns[0].said and not said.isdisjoint(self.greetings)
            greeting = next((text for text in self.greetings if begun and text not in said), "")
            if greeting:
                start = _state_after(self.records, self.parties, without=drawn[-1][-1])
                take = 1 + max(_take(self.records[number]) for number in drawn[-1])
                return await self._greeted(greeting, on_text, start, take)
        return await self.retry(on_text)

    @property
    def alternatives(self) -> tuple[Turn, ...]:
        """All answers that were drawn for the last turn, oldest first; the one that stands is one of them."""
        return drawn_answers(self.records)[0]

    async def choose(self, number: int) -> Turn:
        """The answer of this number (from 1) of those drawn for the last turn, in place of the one that stands.

        Raises:
            UsageError: there is no such answer.
        """
        async with self._one:
            takes = _takes(self.records)
            if not 0 < number <= len(takes):
                raise UsageError(f"There is no answer {number}: {len(takes)} were drawn for the last turn.")
            record = self.records[takes[number - 1]]
            if _take(record) != _take(self.records[kept_turns(self.records)[-1]]):
                since = self.state.asked
                self._write({**record, "do": "retry"})
                self.state = _state_after(self.records, self.parties)
                self._note_present(since)
            return self.state.turns[-1]

    async def knew(self, number: int) -> Known:
        """What whoever answered in the turn of this number (from 1) knew and was to do. Asks nobody.

        Raises:
            UsageError: there is no such turn, or nobody answered in it.
            JournalMissError: what it knew of its cell is not recorded.
        """
        async with self._one:
            known = known_in(self.records, number)
            run = self._run(known.turn.cell)
            run = replace(run, context=replace(run.context, mode="frozen"))
            cell = await self.talk.cell(run, known.turn.cell, known.memories, known.steps, known.present)
            return replace(known, view=cell.views[known.who])

    async def undo(self) -> Turn | None:
        """The turn that stands after the last one was taken back; `None` before the first.

        Raises:
            UsageError: there is no turn to take back.
        """
        async with self._one:
            if not kept_turns(self.records):
                raise UsageError("There is no turn to take back.")
            self._write({"do": "undo"})
            self.state = _state_after(self.records, self.parties)
            return self.state.last

    async def play(self, on_text: Callable[[str], None] | None = None) -> Turn:
        """One exchange between two models: the player's character is played, and answered (the automatic mode)."""
        async with self._one:
            return await self._turn("" if self.state.waits else None, on_text)

    async def set_present(self, names: Sequence[str]) -> None:
        """From now on those of the characters are there, and no others; who is not there learns of nothing.

        A cell that begins later brings those who are in it, unless it begins with the next turn.

        Raises:
            UnknownNameError: a name is not of this conversation.
            UsageError: nobody would be left.
        """
        async with self._one:
            found = [among(name, self.parties.others) for name in names]
            for name, known in zip(names, found, strict=True):
                if known is None:
                    raise UnknownNameError("character of this conversation", name, self.parties.others)
            if not found:
                raise UsageError("Somebody has to be there to talk to. Name at least one character.")
            self._note_present(tuple(name for name in self.parties.others if name in found))

    async def set_freedom(self, freedom: str) -> Freedom:
        """From now on the player may lead away from the plan so far: "rails", "guided" or "loose".

        Raises:
            UsageError: there is no such freedom, or nothing here obeys it.
        """
        async with self._one:
            known = _checked(freedom_of(freedom), self.talk)
            self._write({"do": "freedom", "to": known})
            self.state = replace(self.state, freedom=known)
            return known

    # inner ----------------------------------------------------------------------------------------------------------

    def _note_present(self, there: tuple[str, ...]) -> None:
        if there:
            self._write({"do": "present", "names": list(there)})
            self.state = self.state.with_present(there)

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
        if before.over:
            raise UsageError("The story is over. Say /undo to take the last turn back, or begin another conversation.")
        self._hearing = hearing = None if on_text is None else Hearing(on_text)
        with self.context.recording_failures():
            state, cell = await self._ready(before)
            run = self._run(state.cell, hearing, take)
            if said is None:
                both = await self.talk.with_player_plan(run, cell, state.summaries)
                after = await exchanged(self.talk, run, state, both, hearing)
            else:
                after = await answered(self.talk, run, state, cell, said, hearing)
        led = self.records[kept_turns(self.records)[-1]].get("next") if take else start is not None
        turn = self._stands(before, after, cell, take, led=bool(led))
        if hearing is not None and turn.line is not None:
            hearing.end(turn.line.text)
        return turn

    def _stands(self, before: State, after: State, cell: Cell, take: int, *, led: bool = False) -> Turn:
        """The last turn of `after`, now that it is in the log; `led`: no word of the player's brought it about."""
        record = {"do": "retry" if take else "turn", "take": take, "turn": record_of(before, after)}
        self._write({**record, "cells": len(self.talk.segments), **({"next": True} if led else {})})
        self.state, self._cell = after, cell
        return after.turns[-1]

    def prepare(self) -> None:
        """Make the next cell ready while nobody waits for it, where the present one has ended.

        What fails here fails again, and is told, with the move that needs it. `close` ends it.
        """
        if self.state.waits and self.state.turns and not self.state.over and self._ahead is None:
            task = asyncio.get_running_loop().create_task(self._here(self.state))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # it is told by the next move
            self._ahead = self.state, task

    async def prepared(self) -> None:
        """Wait until what is being made ready ahead is there."""
        if self._ahead is not None:
            await asyncio.wait({self._ahead[1]})

    async def close(self) -> None:
        """End what is being made ready ahead; calls that were finished are kept."""
        if self._ahead is not None:
            _, task = self._ahead
            self._ahead = None
            task.cancel()
            await asyncio.wait({task})

    async def _ready(self, before: State) -> tuple[State, Cell]:
        """As `_here`; what was begun ahead from the same state is waited for, so that no call is made twice."""
        if self._ahead is not None and self._ahead[0] == before:
            _, task = self._ahead
            await asyncio.wait({task})
            self._ahead = None
            if not task.cancelled() and task.exception() is None:
                return task.result()
        await self.close()
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
                f"The story has no cell {before.cell + before.waits} any more. Begin another conversation."
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
        return Run(context, Place(take=take)).scope(CONVERSATIONS, self.name, f"cell-{cell}")

    def _shared(self) -> Run:
        """Where the first cell is made ready: nothing was said, so that it is the same for all of these people."""
        people = sha256("\n".join(self.parties.names).encode("utf-8", "replace")).hexdigest()[:8]
        return Run(replace(self.context, ordinals=Counter())).scope(CONVERSATIONS, f"{_SHARED}{people}", "cell-1")

    def _write(self, record: dict[str, Any]) -> None:
        if self.files is not None:
            self.files.append(record)
        self.records.append(record)


def open_conversation(
    files: ConversationFiles | None,
    talk: Talk,
    context: RunContext,
    freedom: Freedom | None = None,
    name: str = "session",
    *,
    system: str = "",
    first: asyncio.Lock | None = None,
) -> Conversation:
    """The conversation of a log, new or gone on with; one of this name without a log. Asks nobody.

    The log keeps the name of its `system`; `first` is shared by the conversations of the same people.

    Raises:
        UsageError: the log is a conversation of other people, or of another system; or nothing obeys `freedom`.
        ProjectError: the log cannot be read.
    """
    records, name = (files.read(), files.name) if files is not None else ([], name)
    if not records:
        parties, wanted = talk.parties, _checked(freedom or talk.freedom or "guided", talk)
        records = [{"format": FORMAT, "player": parties.player, "others": list(parties.others), "freedom": wanted}]
        records[0] |= {"system": system} if system else {}
        if files is not None:
            files.append(records[0])
    known = parties_of_log(records)
    if known != talk.parties:
        raise UsageError(
            f"In the conversation {name!r}, {known.player} talks with {', '.join(known.others)}. Give these names, or "
            "another --session."
        )
    if system and (made := system_of_log(records)) not in ("", system):
        raise UsageError(
            f"The conversation {name!r} was begun with the system {made!r} and goes on with it: --system {made}. For "
            f"{system!r}, begin another with --new."
        )
    state = _state_after(records, talk.parties)
    return Conversation(talk, context, files, name, state, records, first=first or asyncio.Lock())


def _checked(freedom: Freedom, talk: Talk) -> Freedom:
    """A freedom that is wanted, where the prompts know of it."""
    if talk.freedom is None and freedom != "guided":
        raise UsageError(
            f"How far you may lead away cannot be set to {freedom!r} here: the prompts are the paper's, and say "
            "nothing of it. SNAP's improved preset has it (--system snap --preset improved)."
        )
    return freedom


def said_by_player(message: str) -> str:
    """A player's message as it is kept: one text without blank lines at its ends.

    Raises:
        UsageError: it is empty, or has more than 4,000 characters.
    """
    if len(message) > LONGEST:
        raise UsageError(f"Your message has {len(message):,} characters; {LONGEST:,} are the most. Say less at a time.")
    said = " ".join(plain(readable(message)).split())
    if not said:
        raise UsageError("Your message is empty. Say something, or /next to let the story go on.")
    return said


def transcript(turns: Iterable[Turn], player: str) -> str:
    """Turns as a text that people read: `**Name:** (action) message`; a mark, no word of it, before each cell."""
    parts: list[str] = []
    cell = 0
    for turn in turns:
        if turn.cell != cell:
            cell = turn.cell
            parts.append(f"<!-- scene: cell-{cell} -->")
        if turn.said:
            parts.append(f"**{player}:** {turn.said}")
        if turn.line is not None:
            parts.append(f"**{turn.line.name}:** {turn.line.text}")
    return "\n\n".join(parts)


# the log ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """The files of one conversation: its log, and the transcript that is written when it is asked for."""

    log: Path

    @classmethod
    def in_(cls, project: Path, name: str) -> ConversationFiles:
        """Those of the conversation `name` in a project's folder.

        Raises:
            UsageError: the name cannot be a file's: give small letters, digits and hyphens, at most 60; or its log is a
                link that leaves the project.
        """
        if not name or slug(name) != name:
            raise UsageError(
                f"{name!r} cannot name a conversation. Use small letters, digits and hyphens: {slug(name)!r}."
            )
        return cls(inside(project, f"{CONVERSATIONS}/{name}.jsonl"))

    @property
    def name(self) -> str:
        """Of the conversation."""
        return self.log.stem

    @property
    def transcript(self) -> Path:
        """The Markdown file beside the log."""
        return self.log.with_suffix(".md")

    def read(self, *, mend: bool = True) -> list[dict[str, Any]]:
        """The records, oldest first; none where there is no log. Whoever holds the project may `mend` a cut line.

        Raises:
            ProjectError: the log cannot be read, or is none.
        """
        if not self.log.exists():
            return []
        try:
            data = read_bytes(self.log, _LARGEST)
        except UsageError as error:
            raise ProjectError(str(error)) from error
        whole, end, _ = data.rpartition(b"\n")
        records = [self._record(line, number) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]
        if mend and len(whole + end) < len(data):  # what is left is a line that a kill cut off
            write_atomically(self.log, whole + end)
        if records and records[0].get("format") != FORMAT:
            raise ProjectError(
                f"{self.log} is no log of this fabula (format {records[0].get('format')!r}). Upgrade, or move it away."
            )
        return records

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
            _check_record(record)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise ProjectError(
                f"{self.log}:{number} is no record of a conversation. Correct the line, or move the file away."
            ) from error
        return cast("dict[str, Any]", record)

    def write(self, records: Sequence[dict[str, Any]]) -> None:
        """A whole new log of these records, which is its owner's alone.

        Raises:
            ProjectError: it cannot be written.
        """
        self._make_folder()
        write_atomically(self.log, b"".join(map(_line, records)), mode=PRIVATE)

    def delete(self) -> None:
        """Have the conversation be there no more.

        Raises:
            ProjectError: a file cannot be deleted.
        """
        for file in (self.log, self.transcript):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise write_error(file, error) from error

    def append(self, record: dict[str, Any]) -> None:
        """Add a record; it is on the disk when this returns, in a file that is its owner's alone.

        Raises:
            ProjectError: it cannot be written.
        """
        self._make_folder()
        append_synced(self.log, _line(record))

    def _make_folder(self) -> None:
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.log, error) from error


def _line(record: Mapping[str, Any]) -> bytes:
    """A record as it stands in a log."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _check_record(record: dict[str, Any]) -> None:
    """Trip over a record that nothing can be made of, as its readers would."""
    kind = record.get("do")
    if kind in ("turn", "retry"):
        with_record(State(), record["turn"], "")
    elif kind == "present":
        list(map(str, record["names"]))


def conversations_in(project: Path) -> list[str]:
    """Names of a project's conversations, the one that was last talked in first."""
    files = plain_files(project / CONVERSATIONS, "*.jsonl")
    return [file.stem for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.stem))]


def parties_of_log(records: Sequence[Mapping[str, Any]]) -> Parties:
    """Who talks in the conversation of a log."""
    return Parties(str(records[0]["player"]), tuple(map(str, records[0]["others"])))


def system_of_log(records: Sequence[Mapping[str, Any]]) -> str:
    """The system of a conversation's log; empty where none was named."""
    return str(records[0].get("system", "")) if records else ""


def kept_turns(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indices of the turns that stand: not taken back, not drawn anew."""
    return [drawn[-1] for drawn in _drawn(records)]


def _drawn(records: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Of each turn that was not taken back, the indices of all that was drawn for it; the last one stands."""
    turns: list[list[int]] = []
    for number, record in enumerate(records):
        kind = record.get("do")
        if kind == "undo":
            turns = turns[:-1]
        elif kind == "turn" or (kind == "retry" and not turns):
            turns.append([number])
        elif kind == "retry":
            turns[-1].append(number)
    return turns


def _take(record: Mapping[str, Any]) -> int:
    return int(record.get("take", 0))


def _takes(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indices of the answers that were drawn for the last turn, each once, in the order in which they were drawn."""
    drawn = _drawn(records)
    first: dict[int, int] = {}
    for number in drawn[-1] if drawn else ():
        first.setdefault(_take(records[number]), number)
    return [first[take] for take in sorted(first)]


def drawn_answers(records: Sequence[Mapping[str, Any]]) -> tuple[tuple[Turn, ...], int]:
    """The answers that were drawn for a log's last turn, and the number (from 1) of the one that stands; 0 for none."""
    takes = _takes(records)
    if not takes:
        return (), 0
    parties, kept = parties_of_log(records), kept_turns(records)
    before = _state_after(records, parties, without=kept[-1])
    turns = tuple(with_record(before, records[number]["turn"], parties.player).turns[-1] for number in takes)
    return turns, 1 + [_take(records[number]) for number in takes].index(_take(records[kept[-1]]))


def state_of_log(records: Sequence[Mapping[str, Any]]) -> State:
    """Where the conversation of a log stands."""
    return _state_after(records, parties_of_log(records))


@dataclass(frozen=True, slots=True)
class Known:
    """What whoever answered in a turn knew, and what of the plan it served.

    Attributes:
        turn: that was made.
        who: answered.
        present: those of the others who were there.
        lines: what `who` had witnessed in this cell.
        memories: what each of those who talk remembered of earlier cells.
        steps: the plan of the cell.
        view: what `who` knew of the cell's part of the narrative; `None` where only the log was read.
    """

    turn: Turn
    who: str
    present: tuple[str, ...]
    lines: tuple[Line, ...]
    memories: Mapping[str, str]
    steps: tuple[Step, ...]
    view: View | None = None

    @property
    def memory(self) -> str:
        """What `who` remembered of earlier cells."""
        return self.memories.get(self.who, "")

    @property
    def plan(self) -> tuple[tuple[int, Step], ...]:
        """Those points of the plan, with their numbers, that `who` knew of."""
        return tuple((n, step) for n, step in enumerate(self.steps, 1) if step.known_to(self.who))


def known_in(records: Sequence[Mapping[str, Any]], number: int) -> Known:
    """What whoever answered in the turn of this number (from 1) knew, as far as a log says it.

    Raises:
        UsageError: there is no such turn, or nobody answered in it.
    """
    kept = kept_turns(records)
    if not 0 < number <= len(kept):
        raise UsageError(f"There is no turn {number}: {len(kept)} stand.")
    end = kept[number - 1] + 1
    state = _state_after(records[:end], parties_of_log(records))
    turn = state.turns[-1]
    if turn.line is None:
        raise UsageError(f"Nobody answered in turn {number}; it only ended the cell.")
    who = turn.line.name
    return Known(turn, who, state.present, witnessed(state.lines[:-1], who), state.summaries, state.steps)


def copy_log(source: ConversationFiles, turns: int, target: ConversationFiles) -> list[dict[str, Any]]:
    """Begin the conversation `target` with the first `turns` turns of another, and what was set by then; its records.

    Raises:
        UsageError: so many turns do not stand.
        ProjectError: a log cannot be read or written.
    """
    records = source.read()
    kept = kept_turns(records)
    if not records or not 0 <= turns <= len(kept):
        raise UsageError(f"There is no turn {turns} in the conversation {source.name!r}: {len(kept)} stand.")
    copied = records[: kept[turns - 1] + 1 if turns else 1]
    copied[0] = {**copied[0], "from": [source.name, turns]}
    target.write(copied)
    return copied


def cells_of_log(records: Sequence[Mapping[str, Any]]) -> int:
    """How many cells the story of a log had when it was last talked through; 0 where that is not known."""
    kept = kept_turns(records)
    return int(records[kept[-1]].get("cells", 0)) if kept else 0


def origin_of_log(records: Sequence[Mapping[str, Any]]) -> tuple[str, int] | None:
    """The conversation from which another one branched, and after how many of its turns; `None` where it did not."""
    found = records[0].get("from") if records else None
    if isinstance(found, list) and len(found) == 2 and isinstance(found[1], int):  # noqa: PLR2004 - a name and a number
        return str(found[0]), found[1]
    return None


def _state_after(records: Sequence[Mapping[str, Any]], parties: Parties, without: int = -1) -> State:
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


def record_of(before: State, after: State) -> dict[str, Any]:
    """What the log keeps of a turn: enough to make `after` of `before` again, whatever becomes of the story."""
    turn = after.turns[-1]
    record: dict[str, Any] = {
        "cell": turn.cell,
        "step": turn.step,
        "said": turn.said,
        "line": None if turn.line is None else [turn.line.name, turn.line.action, turn.line.message],
        "ends": [turn.ends_cell, turn.ends_story],
        "next": [after.step, after.stayed],
        "present": list(after.present),
    }
    if before.cell != after.cell:
        record["plan"] = [[step.title, step.detail, list(step.witnesses)] for step in after.steps]
        record["memories"] = dict(after.summaries)
    return record


def with_record(state: State, record: Mapping[str, Any], player: str) -> State:
    """`state` after a turn of the log."""
    state = replace(state, present=tuple(map(str, record["present"])))
    if "plan" in record:
        steps = tuple(Step(str(a), str(b), tuple(map(str, seen))) for a, b, seen in record["plan"])
        summaries = {str(name): str(text) for name, text in record["memories"].items()}
        state = replace(state, cell=int(record["cell"]), steps=steps, summaries=summaries, before=state.lines, lines=())
    name, action, message = map(str, record["line"] or ("", "", ""))
    line = Line(name, action, message, (player, *state.present)) if record["line"] else None
    ends_cell, ends_story = map(bool, record["ends"])
    said = str(record["said"])
    turn = Turn(len(state.turns) + 1, state.cell, int(record["step"]), said, line, ends_cell, ends_story)
    step, stayed = map(int, record["next"][:2])  # older logs say more
    return state.with_turn(turn, player, step, stayed)
