"""Conversations of a project as an API and a page see them. All of it is read from logs, so that a run may go on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.people import people_in, reading_in
from fabula.base.errors import FabulaError, UnknownNameError, UsageError
from fabula.base.kept import of_file
from fabula.craft.conversation import ConversationFiles, conversations_in
from fabula.craft.conversation.kept import (
    cells_of_log,
    drawn_answers,
    known_in,
    origin_of_log,
    parties_of_log,
    state_of_log,
    system_of_log,
)
from fabula.engine.journal import CallFilter
from fabula.models.base import NOTHING_USED, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.craft.conversation import Turn
    from fabula.craft.conversation.kept import Known
    from fabula.craft.conversation.talk import State
    from fabula.engine.journal import Call, Journal
    from fabula.project.folder import Project

MoveKind: TypeAlias = Literal["say", "begin", "go_on", "another"]
"""A move: say something, let the character begin, let the story go on, draw another answer."""

_SHOWN: Final = 120  # characters of a conversation's last words


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A conversation in a list. `last` is how its last words begin; `problem` says why its log cannot be read."""

    name: str
    player: str = ""
    others: list[str] = field(default_factory=list)
    turns: int = 0
    over: bool = False
    at: str = ""
    last: str = ""
    branched_from: str = ""
    branched_after: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChatList:
    """The conversations of a project, the one that was last talked in first, and who can be talked to.

    Attributes:
        characters: of the plan, the personas and the settings, and who has a card; where there are none, `named`.
        named: others whom the plan or the world has as persons, or a model found who read the story.
        was_read: a model has read the story, as it stands now, for its people.
    """

    chats: list[ChatLine]
    characters: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    was_read: bool = False


@dataclass(frozen=True, slots=True)
class PeopleShown:
    """Who is in a story, and what a model's reading of it for its people would take.

    Attributes:
        characters: who can be talked to; empty where nobody is known.
        named: others in the story.
        was_read: a model has read the story, as it stands now.
        calls: that a reading would make.
        tokens: of its prompts and replies, about.
        cost: in US dollars; `null` where a price is not known.
        problem: why that cannot be said.
    """

    characters: list[str]
    named: list[str]
    was_read: bool
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """An exchange: what the player said (empty where the character spoke by itself), and the answer of `who`.

    Attributes:
        number: in the conversation, from 1.
        step: number of the point of the plan that it serves; 0 where there is no plan.
        who: answered; empty where nobody did.
        action: what `who` did; `answer` has it too.
    """

    number: int
    cell: int
    step: int
    said: str
    who: str
    answer: str
    action: str
    ends_cell: bool
    ends_story: bool

    @classmethod
    def of(cls, turn: Turn) -> ChatTurn:
        """The same."""
        line = turn.line
        who, answer, action = (line.name, line.text, line.action) if line else ("", "", "")
        ends = turn.ends_cell, turn.ends_story
        return cls(turn.number, turn.cell, turn.step, turn.said, who, answer, action, *ends)


@dataclass(frozen=True, slots=True)
class ChatPoint:
    """A point of the plan. `stands` is "before", "now" or "ahead"."""

    number: int
    title: str
    detail: str
    stands: str


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """How far a conversation is.

    Attributes:
        cells: of the story; 0 where that is not known.
        headline: of the present point of the plan; empty where the player's character does not know of it.
        share: of the story that has been told.
    """

    cell: int
    cells: int
    step: int
    steps: int
    headline: str
    share: float
    over: bool
    present: list[str]
    absent: list[str]
    freedom: str


@dataclass(frozen=True, slots=True)
class ChatBranch:
    """A conversation that branched off, after so many turns of the one that it was copied from."""

    name: str
    after: int
    turns: int


@dataclass(frozen=True, slots=True)
class ChatMoving:
    """A turn that is being made, or failed last.

    Attributes:
        kind: of the move.
        said: by the player.
        who: answers, where that is known yet.
        text: what has come of the answer.
        problem: why it failed; empty while it is being made.
    """

    kind: str
    said: str
    who: str
    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class ChatView:
    """A conversation.

    Attributes:
        version: grows with whatever is done in it; a move says which one it saw.
        alternatives: the answers that were drawn for the last turn; `chosen` (from 1) is the one that stands.
        plan: the points of the present cell, where they are asked for; those that are ahead are the reader's choice.
        branches: that went off from this one; `branched_from` is the one that it went off from.
        moving: what is being made now, or failed last.
    """

    name: str
    player: str
    others: list[str]
    system: str
    version: int
    turns: list[ChatTurn]
    alternatives: list[ChatTurn]
    chosen: int
    place: ChatPlace
    branches: list[ChatBranch]
    branched_from: str
    branched_after: int
    plan: list[ChatPoint] | None = None
    moving: ChatMoving | None = None


@dataclass(frozen=True, slots=True)
class ChatWhy:
    """Why somebody said something: what it knew, which point of the plan it served, and what it was asked.

    Attributes:
        story: what it knows of this part of the story; `null` where the project is in use and only the log was read.
        persona: who it is.
        memory: what it remembers of earlier cells.
        heard: what it has heard in this cell, as `Name: words`.
        plan: points that it knows of.
        calls: numbers of the calls that were made for the turn, the last one first; their model, and what they took.
    """

    turn: int
    who: str
    cell: int
    step: int
    headline: str
    present: list[str]
    story: str | None
    persona: str
    memory: str
    heard: list[str]
    plan: list[ChatPoint]
    calls: list[int] = field(default_factory=list)
    model: str = ""
    took: Usage | None = None


def chats_in(project: Project) -> ChatList:
    """The conversations of a project, and who can be talked to in it."""
    known, named = people_in(project)
    return ChatList(lines_in(project), known, named, was_read=reading_in(project) is not None)


def lines_in(project: Project) -> list[ChatLine]:
    """The conversations of a project in which something was said, the one that was last talked in first."""
    found = []
    for name in conversations_in(project.folder):
        with suppress(OSError, UsageError):  # it was deleted just now, or cannot be a conversation's
            log = ConversationFiles.in_(project.folder, name).log
            found.append(of_file(log, "line", partial(_line, project.folder, name, log.stat().st_mtime)))
    return [line for line in found if line.turns or line.problem]


def _line(folder: Path, name: str, changed: float) -> ChatLine:
    """A conversation in the list, whose log was last changed then."""
    at = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
    try:
        records = ConversationFiles.in_(folder, name).read(mend=False)
        if not records:
            return ChatLine(name, at=at, problem="The log is empty.")
        parties, state = parties_of_log(records), state_of_log(records)
    except FabulaError as error:
        return ChatLine(name, at=at, problem=str(error))
    last = state.last
    words = "" if last is None else last.line.text if last.line else last.said
    origin = origin_of_log(records) or ("", 0)
    people = parties.player, list(parties.others)
    return ChatLine(name, *people, len(state.turns), state.over, at, words[:_SHOWN], *origin)


def records_of(project: Project, name: str) -> list[dict[str, Any]]:
    """The records of a conversation's log.

    Raises:
        UnknownNameError: there is no such conversation.
        ProjectError: the log cannot be read.
    """
    known = conversations_in(project.folder)
    records = ConversationFiles.in_(project.folder, name).read(mend=False) if name in known else []
    if not records:
        raise UnknownNameError("conversation", name[:_SHOWN], [one for one in known if one != name])
    return records


def view_of(project: Project, name: str, *, plan: bool = False) -> ChatView:
    """A conversation as its log has it; with the points of its present cell, if they are asked for.

    Raises:
        UnknownNameError: there is no such conversation.
        ProjectError: the log cannot be read.
    """
    records = records_of(project, name)
    parties, state, (drawn, chosen) = parties_of_log(records), state_of_log(records), drawn_answers(records)
    where, origin = state.where(cells_of_log(records), parties), origin_of_log(records) or ("", 0)
    place = ChatPlace(
        where.cell,
        where.cells,
        where.step,
        where.steps,
        where.headline,
        where.share,
        where.over,
        list(where.present or parties.others),
        list(where.absent),
        state.freedom,
    )
    return ChatView(
        name,
        parties.player,
        list(parties.others),
        system_of_log(records),
        len(records),
        [ChatTurn.of(turn) for turn in state.turns],
        [ChatTurn.of(turn) for turn in drawn],
        chosen,
        place,
        _branches(project, name),
        *origin,
        plan=_points(state) if plan else None,
    )


def _branches(project: Project, name: str) -> list[ChatBranch]:
    """The conversations that went off from one."""
    lines = [line for line in lines_in(project) if line.branched_from == name and line.name != name]
    return sorted(
        (ChatBranch(one.name, one.branched_after, one.turns) for one in lines), key=lambda one: (one.after, one.name)
    )


def _points(state: State) -> list[ChatPoint]:
    return [ChatPoint(n, step.title, step.detail, _stands(n, state.step)) for n, step in enumerate(state.steps, 1)]


def _stands(number: int, step: int) -> str:
    return "now" if number == step else "before" if number < step else "ahead"


def why_of(
    journal: Journal, records: Sequence[Mapping[str, Any]], name: str, number: int, known: Known | None
) -> ChatWhy:
    """Why somebody said what it did in a turn (its number, from 1); without `known`, as far as the log says it.

    Raises:
        UsageError: there is no such turn, or nobody answered in it.
    """
    known = known or known_in(records, number)
    turn, view, line = known.turn, known.view, known.turn.line
    calls = calls_for(journal, records, name, number)
    own = [call for call in calls if line is not None and line.message in call.reply.text] or calls
    plan = [ChatPoint(n, step.title, step.detail, _stands(n, turn.step)) for n, step in known.plan]
    return ChatWhy(
        turn.number,
        known.who,
        turn.cell,
        turn.step,
        next((point.title for point in plan if point.number == turn.step), ""),
        list(known.present),
        None if view is None else view.segment,
        "" if view is None else view.persona,
        known.memory,
        [f"{one.name}: {one.text}" for one in known.lines],
        plan,
        [call.id for call in reversed(own)],
        own[-1].performer if own else "",
        sum((call.reply.usage for call in own), NOTHING_USED) if own else None,
    )


def calls_for(journal: Journal, records: Sequence[Mapping[str, Any]], name: str, number: int) -> list[Call]:
    """The calls that were made for a turn, oldest first; of a branch, also those of what it came from."""
    origin = origin_of_log(records)
    turns = state_of_log(records).turns
    turn = turns[number - 1]
    place = sum(one.cell == turn.cell for one in turns[:number])
    found = journal.calls.find(CallFilter(under=f"chat/{name}/cell-{turn.cell}/turn/{place}"), prompts=True)
    if not found and origin is not None and number <= origin[1]:
        found = journal.calls.find(CallFilter(under=f"chat/{origin[0]}/cell-{turn.cell}/turn/{place}"), prompts=True)
    return found
