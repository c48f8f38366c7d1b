"""Finds the conversation of a client that names none but sends the whole history, as most chat programs do.

The last exchange that the client sends is looked up among all turns of such conversations. The conversation whose
earlier turns fit best is chosen. So a conversation is found even if the client has cut off its beginning to save space.
No turn is ever lost: a repeated answer, or a continuation from an earlier place, makes a branch. Each branch is its own
conversation, with a copy of the log up to that place.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from fabula.base.errors import ProjectError
from fabula.base.files import plain_files
from fabula.base.remembering import remembered
from fabula.craft import CONVERSATIONS
from fabula.craft.conversation import Log, Parties, Turn, log_file
from fabula.craft.conversation.kept import LONGEST

PREFIX: Final = "plain-"
SILENCE: Final = "(The scene ends.)"  # a character that only ends a cell says nothing, but clients need some text
_TAG, _HASH = 6, 12
_AT_A_TIME: Final = 16  # exchanges that are read before other tasks run
_DEPTH: Final = 32  # exchanges that are compared, from the last one backwards; histories may be long
Mark: TypeAlias = bytes
Place: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the player said ("" if the character began), and the answer."""

    said: str
    answer: str


@dataclass(frozen=True, slots=True)
class ConversationGroup:
    """Conversations that may be the same: with the same people, and from the same user of the client.

    Attributes:
        scene: the requested scene; first words with another scene begin another conversation.
    """

    parties: Parties
    user: str = ""
    scene: str = ""

    @property
    def tag(self) -> str:
        """The sign for the user in the names of conversations."""
        return sha256(self.user.encode("utf-8", "replace")).hexdigest()[:_TAG]

    def base(self, first: str) -> str:
        """The name of the first conversation that begins with these words."""
        begin = "\n".join((*self.parties.names, same(first), *([self.scene] if self.scene else [])))
        return f"{PREFIX}{self.tag}-{sha256(begin.encode('utf-8', 'replace')).hexdigest()[:_HASH]}"


@dataclass(frozen=True, slots=True)
class TurnChoice:
    """The conversation in which a turn is made, and the turns of another conversation with which it begins.

    Attributes:
        name: the conversation's name.
        again: whether its last turn must be retaken.
        copies: the conversation whose log is copied first ("" for none), and the name of the copy.
        kept: the number of turns that the copy keeps.
    """

    name: str
    again: bool = False
    copies: tuple[str, str] = ("", "")
    kept: int = 0


def same(text: str) -> str:
    """A text reduced for comparison to its letters and digits, in lower case; clients change punctuation and spaces.

    Only the two ends remain of a text that is longer than any turn.
    """
    return "".join(filter(str.isalnum, _ends(text).casefold()))


def _ends(text: str) -> str:
    return text if len(text) <= 2 * LONGEST else text[:LONGEST] + text[-LONGEST:]


def _mark(text: str) -> Mark:
    return _mark_of(_ends(text))


@remembered(8192, 2000)  # clients send the whole history each time
def _mark_of(text: str) -> Mark:
    return sha256(same(text).encode("utf-8", "replace")).digest()[:8]


async def prepare(history: Sequence[Exchange]) -> None:
    """Read a long history in advance, without delaying other tasks."""
    for number, exchange in enumerate(history, 1):
        _marks(exchange)
        if not number % _AT_A_TIME:
            await asyncio.sleep(0)


def _marks(exchange: Exchange) -> tuple[Mark, Mark]:
    return _mark(exchange.said), _mark(exchange.answer)


@dataclass
class Branches:
    """All conversations of a project that clients do not name; no method waits, so that a choice is never interrupted.

    Attributes:
        folder: the folder of the project.
    """

    folder: Path
    _turns: dict[str, list[tuple[Mark, Mark]]] = field(default_factory=dict)
    _groups: dict[str, tuple[str, Parties]] = field(default_factory=dict)
    _found: defaultdict[tuple[Mark, Mark], list[Place]] = field(default_factory=lambda: defaultdict(list))
    _busy: Counter[str] = field(default_factory=Counter)

    def load(self) -> list[str]:
        """Read the conversations on disk; gives the names of those whose logs cannot be read."""
        damaged = []
        for file in plain_files(self.folder / CONVERSATIONS, f"{PREFIX}*.jsonl"):
            try:
                log = Log.at(self.folder, file.stem)
            except ProjectError:
                damaged.append(file.stem)
                self._turns[file.stem] = []
                self._busy[file.stem] += 1  # permanently: the name is taken, and nobody continues it
                continue
            if log.records:
                self.learn(file.stem, log.parties, exchanges(log))
        return damaged

    def learn(self, name: str, parties: Parties, turns: Sequence[Exchange]) -> None:
        """Record the turns of a conversation."""
        before, now = self._turns.get(name, []), [_marks(turn) for turn in turns]
        self._turns[name] = now
        self._groups[name] = (name.removeprefix(PREFIX)[:_TAG], parties)
        for number, marks in enumerate(now, 1):
            if number > len(before) or before[number - 1] != marks:
                self._found[marks].append((name, number))

    def free(self, name: str) -> None:
        """Release a conversation whose turn has been made or has failed."""
        self._busy[name] -= 1

    def take(self, group: ConversationGroup, history: Sequence[Exchange], said: str | None) -> TurnChoice:
        """Choose a conversation as `choose` does, hold it for the turn, and copy the log if necessary.

        Raises:
            ProjectError: a log cannot be read or written.
        """
        choice = self.choose(group, history, said)
        self._copy(choice)
        self._groups[choice.name] = (group.tag, group.parties)
        self._busy[choice.name] += 1
        return choice

    def choose(self, group: ConversationGroup, history: Sequence[Exchange], said: str | None) -> TurnChoice:
        """The conversation for what is said after `history`; a new branch gets a free name."""
        now = _mark(said or "")
        place = self._by_exchange(group, history)
        if place is None and history and not same(history[0].said):  # a greeting from the client
            history = history[1:]
            place = self._by_exchange(group, history)
        first = next((e.said for e in history if same(e.said)), said or "")
        base = group.base(first)
        place = place or self._by_words(base, history, now)
        if place is None and group.scene:  # it may have begun without a scene
            place = self._by_words(replace(group, scene="").base(first), history, now)
        if place is None:
            return TurnChoice(self._free_name(base)) if history else self._first(base, now)
        return self._at(place, now)

    def _at(self, place: Place, now: Mark) -> TurnChoice:
        """The choice if the history was found, up to and including a turn of a conversation."""
        name, kept = place
        turns, idle = self._turns[name], not self._busy[name]
        if idle and kept == len(turns):
            return TurnChoice(name)
        free = self._free_name(name)
        if idle and kept == len(turns) - 1 and turns[-1][0] == now:
            return TurnChoice(name, again=True, copies=(name, free), kept=len(turns))
        return TurnChoice(free, copies=(name, free), kept=kept)

    def _first(self, base: str, now: Mark) -> TurnChoice:
        """The choice for first words: a retake if nothing else was said so far, otherwise a new conversation."""
        last = next((name for name in reversed(self._family(base)) if not self._busy[name]), None)
        if last is not None and not self._turns[last]:
            return TurnChoice(last)
        if last is not None and [said for said, _ in self._turns[last]] == [now]:
            return TurnChoice(last, again=True, copies=(last, self._free_name(base)), kept=1)
        return TurnChoice(self._free_name(base))

    def _by_exchange(self, group: ConversationGroup, history: Sequence[Exchange]) -> Place | None:
        """The place of the last exchange, in the conversation that fits best."""
        if not history:
            return None
        marks = [_marks(exchange) for exchange in history[-_DEPTH:]]
        fits: list[tuple[int, bool, bool, Place]] = []
        for name, number in self._found.get(marks[-1], ()):
            turns = self._turns[name][:number]
            tag, parties = self._groups[name]
            if tag != group.tag or not parties.alike(group.parties) or turns[-1:] != marks[-1:]:
                continue  # with other people, or retaken since
            alike = 0
            for one, other in zip(reversed(turns), reversed(marks), strict=False):
                if one != other:
                    break
                alike += 1
            goes_on = number == len(self._turns[name]) and not self._busy[name]
            whole = alike == len(marks) and number == len(history)
            fits.append((alike, whole, goes_on, (name, number)))
        return max(fits)[-1] if fits else None

    def _by_words(self, base: str, history: Sequence[Exchange], now: Mark) -> Place | None:
        """The place that the player's words alone lead to; clients let people change what characters said."""
        silence = _mark("")
        words = [mark for mark, _ in map(_marks, history) if mark != silence]
        for name in reversed(self._family(base) if words else []):
            turns = self._turns[name]
            said = [mark for mark, _ in turns if mark != silence]
            if said == words:
                return name, len(turns)
            if said == [*words, now] and turns[-1][0] == now:
                return name, len(turns) - 1
        return None

    def _family(self, base: str) -> list[str]:
        """The conversations that branched off from each other, in order."""
        names, number = [], 1
        while (name := base if number == 1 else f"{base}-{number}") in self._turns:
            names.append(name)
            number += 1
        return names

    def _free_name(self, name: str) -> str:
        """A name for another branch, which is reserved by this call."""
        base = name[: len(PREFIX) + _TAG + 1 + _HASH]
        number = len(self._family(base)) + 1
        free = base if number == 1 else f"{base}-{number}"
        self._turns[free] = []
        self._groups[free] = self._groups.get(name, ("", Parties("", ())))
        return free

    def _copy(self, choice: TurnChoice) -> None:
        """Copy the log for a choice, up to the last turn that it keeps, with the settings at that time."""
        source, target = choice.copies
        if not source:
            return
        copied = Log.of(self.folder, source).branched(choice.kept, log_file(self.folder, target))
        self.learn(target, self._groups[source][1], exchanges(copied))


def exchanges(log: Log) -> list[Exchange]:
    """The exchanges of a conversation's current turns."""
    return [exchange_of(turn) for turn in log.state.turns]


def exchange_of(turn: Turn) -> Exchange:
    """A turn of a conversation, as its client sends it later."""
    return Exchange(turn.said, turn.line.text if turn.line is not None else SILENCE)
