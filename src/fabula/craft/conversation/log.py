"""The log of a conversation: who talks, every turn and every answer that was drawn for one, and what was set.

It is `chat/NAME.jsonl`, one JSON object a line, only ever added to. The first line says who talks. A last line that was
cut off by a kill is left out and written over. What changes a conversation and calls no model is done here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from pathlib import Path
from typing import Any, Final, cast

from fabula.base.errors import ProjectError, UnknownNameError, UsageError
from fabula.base.files import PRIVATE, append_synced, inside, plain_files, read_bytes, write_atomically, write_error
from fabula.craft import CONVERSATIONS
from fabula.craft.conversation.lines import (
    Freedom,
    Parties,
    PartyView,
    SpokenLine,
    SubPlan,
    Turn,
    Where,
    freedom_of,
    witnessed,
)
from fabula.craft.conversation.talk import State
from fabula.engine.replies.dialogue import read_said
from fabula.story import slug
from fabula.story.people import among

FORMAT: Final = 1
_LARGEST: Final = 200_000_000  # bytes of a log
_BARE: Final[Mapping[str, Any]] = {"cell": 1, "step": 0, "ends": [0, 0], "next": [0, 0], "present": []}
_SHOWN: Final = 120  # characters of a name that is not known


@dataclass
class Log:
    """What was kept of a conversation. A `version` stands for all of it: it grows with whatever is done.

    Attributes:
        records: one for what was done each time, the first of which says who talks; none before it is begun.
        file: in which it is kept; `None` where it is in memory alone.
    """

    records: list[dict[str, Any]]
    file: Path | None = None
    _seen: tuple[int, int] | None = field(init=False, compare=False, default=None)

    def __post_init__(self) -> None:
        """What the file is like now, so that others' changes of it are noticed."""
        self._seen = _stamp(self.file)

    @property
    def is_behind(self) -> bool:
        """Whether the file was changed by somebody else since this was read."""
        return self._seen != _stamp(self.file)

    @classmethod
    def at(cls, project: Path, name: str, *, mend: bool = True) -> Log:
        """The log of that name in a project's folder; whoever holds the project may `mend` a line that was cut off.

        Raises:
            UsageError: the name cannot be a conversation's.
            ProjectError: the log cannot be read, or is none.
        """
        return cls.read(log_file(project, name), mend=mend)

    @classmethod
    def of(cls, project: Path, name: str) -> Log:
        """The log of a conversation that was begun, for who looks at it.

        Raises:
            UnknownNameError: there is no such conversation.
            ProjectError: the log cannot be read.
        """
        known = conversations_in(project)
        log = cls.at(project, name, mend=False) if name in known else None
        if log is None or not log.records:
            raise UnknownNameError("conversation", name[:_SHOWN], [one for one in known if one != name])
        return log

    @classmethod
    def read(cls, file: Path, *, mend: bool = True) -> Log:
        """The log in a file.

        Raises:
            ProjectError: it cannot be read, or is none.
        """
        if not file.exists():
            return cls([], file)
        try:
            data = read_bytes(file, _LARGEST)
        except UsageError as error:
            raise ProjectError(str(error)) from error
        whole, end, _ = data.rpartition(b"\n")
        records = [_record(file, line, number) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]
        if mend and len(whole + end) < len(data):  # what is left is a line that a kill cut off
            write_atomically(file, whole + end)
        if records and records[0].get("format") != FORMAT:
            raise ProjectError(
                f"{file} is not a log of this fabula (format {records[0].get('format')!r}). Upgrade, or move it away."
            )
        return cls(records, file)

    # what stands ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Of the conversation."""
        return self.file.stem if self.file is not None else ""

    @property
    def version(self) -> int:
        """How often something was done in it."""
        return len(self.records)

    @property
    def parties(self) -> Parties:
        """Who talks."""
        return Parties(str(self.records[0]["player"]), tuple(map(str, self.records[0]["others"])))

    @property
    def system(self) -> str:
        """The system with which it was started; empty if none was named or nothing is kept yet."""
        return str(self.records[0].get("system", "")) if self.records else ""

    @property
    def origin(self) -> tuple[str, int]:
        """The conversation from which it branched off, and after how many of its turns; ("", 0) where it did not."""
        found = self.records[0].get("from")
        if isinstance(found, list) and len(found) == 2 and isinstance(found[1], int):  # noqa: PLR2004 - a name and a number
            return str(found[0]), found[1]
        return "", 0

    @property
    def drawn(self) -> list[list[int]]:
        """Of each turn that was not taken back, the indices of all that was drawn for it; the last one stands."""
        turns: list[list[int]] = []
        for number, record in enumerate(self.records):
            kind = record.get("do")
            if kind == "undo":
                turns = turns[:-1]
            elif kind == "turn" or (kind == "retry" and not turns):
                turns.append([number])
            elif kind == "retry":
                turns[-1].append(number)
        return turns

    @property
    def kept(self) -> list[int]:
        """Indices of the turns that stand: not taken back, not drawn again."""
        return [drawn[-1] for drawn in self.drawn]

    @property
    def state(self) -> State:
        """The state of the conversation."""
        return self.state_without()

    def state_without(self, turn: int = -1, *, end: int | None = None) -> State:
        """The state after the records before `end` (all), as if the `turn` of this index had not been."""
        records = self.records[:end]
        state, player = State(freedom=freedom_of(str(records[0]["freedom"]))), self.parties.player
        log = Log(records)
        kept, edits = {*log.kept} - {turn}, log.edits
        for number, record in enumerate(records):
            if number in kept:
                state = with_record(state, edits.get(number, record["turn"]), player)
            elif record.get("do") == "present":
                state = state.with_present(map(str, record["names"]))
            elif record.get("do") == "freedom":
                state = replace(state, freedom=freedom_of(str(record["to"])))
        return state

    @property
    def cells(self) -> int:
        """How many cells the story had when it was last talked through; 0 where that is not known."""
        kept = self.kept
        return int(self.records[kept[-1]].get("cells", 0)) if kept else 0

    @property
    def where(self) -> Where:
        """How far the story is."""
        return self.state.where(self.cells, self.parties)

    @property
    def markdown(self) -> str:
        """The conversation as Markdown, below the names of who talks."""
        parties = self.parties
        text = transcript(self.state.turns, parties.player)
        return f"# {parties.player} and {', '.join(parties.others)}\n\n{text}\n"

    @property
    def edits(self) -> dict[int, dict[str, Any]]:
        """The turns whose words were changed, as they read now, by the indices of their records."""
        found: dict[int, dict[str, Any]] = {}
        for record in self.records:
            of = record.get("of")
            if record.get("do") == "edit" and isinstance(of, int) and 0 < of < len(self.records):
                turn = {**self.records[of].get("turn", {}), "said": record["said"], "line": record["line"]}
                found[of] = {**turn, "edited": record["edited"]}
        return found

    def turn(self, number: int) -> dict[str, Any]:
        """The turn of a record, with its words as they read now."""
        found: dict[str, Any] = self.edits.get(number) or self.records[number]["turn"]
        return found

    @property
    def takes(self) -> list[int]:
        """Indices of the answers that were drawn for the last turn, each once, in the order of their draws."""
        drawn = self.drawn
        last = {self.take(number): number for number in (drawn[-1] if drawn else ())}
        return [last[take] for take in sorted(last)]

    def take(self, number: int) -> int:
        """Which draw a record of a turn is."""
        return int(self.records[number].get("take", 0))

    @property
    def answers(self) -> tuple[tuple[Turn, ...], int]:
        """The answers that were drawn for the last turn, and the number (from 1) of the one that stands; 0 for none."""
        takes = self.takes
        if not takes:
            return (), 0
        player, stands = self.parties.player, self.kept[-1]
        before = self.state_without(stands)
        turns = tuple(with_record(before, self.turn(number), player).turns[-1] for number in takes)
        return turns, 1 + [self.take(number) for number in takes].index(self.take(stands))

    def check_parties(self, name: str, wanted: Parties | None) -> None:
        """Check that those who are wanted talk in it, if any are; in which order the others are named does not matter.

        Raises:
            UsageError: others do.
        """
        parties = self.parties
        if wanted is not None and not parties.alike(wanted):
            raise UsageError(
                f"In the conversation {name!r}, {parties.player} talks with {', '.join(parties.others)}. Name another "
                "one."
            )

    def known(self, number: int) -> Known:
        """What whoever answered in the turn of this number (from 1) knew, as far as the log says it.

        Raises:
            UsageError: there is no such turn, or nobody answered in it.
        """
        kept = self.kept
        if not 0 < number <= len(kept):
            raise UsageError(f"There is no turn {number}: {len(kept)} stand.")
        state = self.state_without(end=kept[number - 1] + 1)
        turn = state.turns[-1]
        if turn.line is None:
            raise UsageError(f"Nobody answered in turn {number}; it only ended the cell.")
        who = turn.line.name
        return Known(turn, who, state.present, witnessed(state.lines[:-1], who), state.summaries, state.steps)

    # what changes it and asks nobody --------------------------------------------------------------------------------

    def begin(self, parties: Parties, freedom: Freedom, system: str) -> None:
        """Record who talks, if nothing is recorded yet."""
        head = {"format": FORMAT, "player": parties.player, "others": list(parties.others), "freedom": freedom}
        self.write({**head, "system": system} if system else head)

    def write(self, record: dict[str, Any]) -> None:
        """Add what was done; it is on the disk when this returns, in a file that is its owner's alone.

        Raises:
            ProjectError: it cannot be written.
        """
        if self.file is not None:
            behind = self.is_behind
            _make_folder(self.file)
            append_synced(self.file, _line(record))
            self._seen = None if behind else _stamp(self.file)
        self.records.append(record)

    def write_transcript(self) -> None:
        """Write the conversation as Markdown next to the log.

        Raises:
            ProjectError: it cannot be written.
        """
        if self.file is not None and self.kept:
            write_atomically(self.file.with_suffix(".md"), self.markdown, mode=PRIVATE)

    def delete(self) -> None:
        """Have the conversation be there no more.

        Raises:
            ProjectError: a file cannot be deleted.
        """
        for file in () if self.file is None else (self.file, self.file.with_suffix(".md")):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise write_error(file, error) from error

    def undo(self) -> None:
        """Take the last turn back.

        Raises:
            UsageError: there is none.
        """
        if not self.kept:
            raise UsageError("There is no turn to take back.")
        self.write({"do": "undo"})

    def choose(self, number: int) -> None:
        """Have the answer of this number (from 1) of those drawn for the last turn stand.

        Raises:
            UsageError: there is no such answer.
        """
        takes = self.takes
        if not 0 < number <= len(takes):
            raise UsageError(f"There is no answer {number}: {len(takes)} were drawn for the last turn.")
        chosen = takes[number - 1]
        if self.take(chosen) != self.take(self.kept[-1]):
            since = self.state.asked
            self.write({**self.records[chosen], "do": "retry", "turn": self.turn(chosen)})
            self.note_present(since)

    def edit(self, turn: int, said: str | None, answer: str | None) -> None:
        """Change the words of the turn of this number (from 1); with neither, they are again as they first were.

        What the characters remember of earlier cells stays as it is.

        Raises:
            UsageError: there is no such turn, or nobody said in it what is to be changed.
        """
        drawn = self.drawn
        if not 0 < turn <= len(drawn):
            raise UsageError(f"There is no turn {turn}: the conversation has {len(drawn)}.")
        now = self.turn(drawn[turn - 1][-1])
        first = next(n for n in drawn[turn - 1] if self.take(n) == self.take(drawn[turn - 1][-1]))
        before = self.records[first]["turn"]
        for new, old, who in ((said, now["said"], self.parties.player), (answer, now["line"], "the character")):
            if new is not None and not old:
                raise UsageError(f"In turn {turn}, {who} said nothing. Edit the other words of the turn.")
        words, line = now["said"] if said is None else said, now["line"]
        if answer is not None:
            line = _spoken(str(line[0]), answer)
        if said is answer is None:
            words, line = before["said"], before["line"]
        if [words, line] != [now["said"], now["line"]]:
            changed = [words, line] != [before["said"], before["line"]]
            self.write({"do": "edit", "of": drawn[turn - 1][-1], "said": words, "line": line, "edited": changed})

    def set_present(self, names: Sequence[str]) -> None:
        """From now on those of the characters are there, and no others; who is not there learns of nothing.

        A cell that begins later brings those who are in it, unless it begins with the next turn.

        Raises:
            UnknownNameError: a name is not of this conversation.
            UsageError: nobody would be left.
        """
        others = self.parties.others
        found = [among(name, others) for name in names]
        for name, known in zip(names, found, strict=True):
            if known is None:
                raise UnknownNameError("character of this conversation", name, others)
        if not found:
            raise UsageError("A conversation needs at least one other character. Specify one.")
        self.note_present(tuple(name for name in others if name in found))

    def note_present(self, there: Sequence[str]) -> None:
        """Those are there; nothing changes where nobody is named."""
        if there:
            self.write({"do": "present", "names": list(there)})

    def set_freedom(self, freedom: Freedom) -> None:
        """From now on the player may lead away from the plan so far."""
        self.write({"do": "freedom", "to": freedom})

    def begin_with(self, exchanges: Iterable[tuple[str, str, Sequence[str], int]]) -> None:
        """Keep, after who talks, turns that were made elsewhere, with all answers that were drawn for each.

        Each is what the player said, who answered, the answers (none where nobody did), and which of them stands.

        Raises:
            ProjectError: it cannot be written.
        """
        begins: dict[str, Any] = {"plan": [], "memories": {}}  # of the cell
        for said, who, answers, shown in exchanges:
            turn = {**_BARE, "said": said, "present": list(self.parties.others), **begins}
            begins = {}
            drawn = sorted(range(len(answers)), key=lambda take: take == shown)
            nobody: list[tuple[int, list[str] | None]] = [(0, None)]
            lines = [(take, _spoken(who, answers[take])) for take in drawn] or nobody
            for place, (take, line) in enumerate(lines):
                self.records.append({"do": "retry" if place else "turn", "take": take, "turn": {**turn, "line": line}})
        if self.file is not None:
            _make_folder(self.file)
            write_atomically(self.file, b"".join(map(_line, self.records)), mode=PRIVATE)
            self._seen = _stamp(self.file)

    def branched(self, turns: int, file: Path) -> Log:
        """Another conversation with the first `turns` turns of this one and what was set by then, in another file.

        Raises:
            UsageError: so many turns do not stand.
            ProjectError: the file cannot be written.
        """
        kept = self.kept
        if not 0 <= turns <= len(kept):
            raise UsageError(f"There is no turn {turns} in the conversation {self.name!r}: {len(kept)} stand.")
        end = kept[turns - 1] + 1 if turns else 1
        later = [one for one in self.records[end:] if one.get("do") == "edit" and one["of"] < end]
        copied = [{**self.records[0], "from": [self.name, turns]}, *self.records[1:end], *later]
        _make_folder(file)
        write_atomically(file, b"".join(map(_line, copied)), mode=PRIVATE)
        return Log(copied, file)


def log_file(project: Path, name: str) -> Path:
    """The file that holds the log of a conversation.

    Raises:
        UsageError: the name cannot be a file's: give small letters, digits and hyphens, at most 60; or its log is a
            link that leaves the project.
    """
    if not name or slug(name) != name:
        raise UsageError(f"{name!r} cannot name a conversation. Use small letters, digits and hyphens: {slug(name)!r}.")
    return inside(project, f"{CONVERSATIONS}/{name}.jsonl")


def conversations_in(project: Path) -> list[str]:
    """Names of a project's conversations, the one that was last talked in first."""
    files = plain_files(project / CONVERSATIONS, "*.jsonl")
    return [file.stem for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.stem))]


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """What changes with a file; `None` where there is none."""
    try:
        status = file.stat() if file is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_size, status.st_mtime_ns)


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(file, error) from error


def _record(file: Path, line: bytes, number: int) -> dict[str, Any]:
    """A line of a log, if something can be made of it."""
    try:
        record = cast("dict[str, Any]", json.loads(line))
        if record.get("do") in ("turn", "retry"):
            with_record(State(), record["turn"], "")
        elif record.get("do") == "edit":
            index(record["of"]), record["edited"]
            with_record(State(), {**_BARE, "said": record["said"], "line": record["line"]}, "")
        elif record.get("do") == "present":
            list(map(str, record["names"]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ProjectError(
            f"{file}:{number} is not a record of a conversation. Correct the line, or move the file away."
        ) from error
    return record


def _spoken(who: str, text: str) -> list[str]:
    """The line of a turn whose words are `text`, as a record has it."""
    said = read_said(text, who)
    return [who, said.action, said.message] if said.text == text else [who, "", text]


def _line(record: Mapping[str, Any]) -> bytes:
    """A record as it is in a log."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


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
    lines: tuple[SpokenLine, ...]
    memories: Mapping[str, str]
    steps: tuple[SubPlan, ...]
    view: PartyView | None = None

    @property
    def memory(self) -> str:
        """What `who` remembered of earlier cells."""
        return self.memories.get(self.who, "")

    @property
    def plan(self) -> tuple[tuple[int, SubPlan], ...]:
        """Those points of the plan, with their numbers, that `who` knew of."""
        return tuple((n, step) for n, step in enumerate(self.steps, 1) if step.known_to(self.who))


def transcript(turns: Iterable[Turn], player: str) -> str:
    """Turns as a text that people read: `**Name:** (action) message`; a mark, no word of it, before each cell."""
    parts: list[str] = []
    cell = 0
    for turn in turns:
        if turn.cell != cell:
            cell = turn.cell
            parts.append(f"<!-- scene: cell-{cell} -->")
        parts += [f"**{who}:** {words}" for who, words in turn.lines(player)]
    return "\n\n".join(parts)


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
        steps = tuple(SubPlan(str(a), str(b), tuple(map(str, seen))) for a, b, seen in record["plan"])
        summaries = {str(name): str(text) for name, text in record["memories"].items()}
        state = replace(state, cell=int(record["cell"]), steps=steps, summaries=summaries, before=state.lines, lines=())
    name, action, message = map(str, record["line"] or ("", "", ""))
    line = SpokenLine(name, action, message, (player, *state.present)) if record["line"] else None
    ends_cell, ends_story = map(bool, record["ends"])
    said = str(record["said"])
    at = len(state.turns) + 1, state.cell, int(record["step"])
    turn = Turn(*at, said, line, ends_cell, ends_story, edited=bool(record.get("edited")))
    step, stayed = map(int, record["next"][:2])  # older logs say more
    return state.with_turn(turn, player, step, stayed)
