"""Conversations of a project: what is shown of them, where they are kept, and what can be done without a model.

Everything here reads or changes logs only, so that conversations can be seen while a run continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fabula.app.bills import Estimate  # noqa: TC001 - pydantic reads it
from fabula.app.conversing import looked_at, settings_for
from fabula.app.live_turns import StaleError
from fabula.app.people import STRANGER, narrative_in, of_cards, people_in, reading_in
from fabula.base.errors import FabulaError, UsageError
from fabula.base.kept import of_file
from fabula.craft.conversation import Conversation, Log, Parties, conversations_in, log_file
from fabula.craft.conversation.cards import Cards, write_persona
from fabula.craft.conversation.kept import checked_freedom
from fabula.craft.conversation.lines import Where  # noqa: TC001 - pydantic reads it
from fabula.craft.narratives import check_people, parties_of
from fabula.engine.journal import CallFilter
from fabula.models.base import NOTHING_USED, Usage
from fabula.project.casting import full_name
from fabula.story import slug
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabula.app.bills import Bill
    from fabula.app.conversing import Conversing
    from fabula.app.workspace import Workspace
    from fabula.craft.conversation import Freedom, MoveKind, Turn
    from fabula.craft.conversation.log import Known
    from fabula.engine.journal import Call, Journal
    from fabula.project.folder import ProjectFolder
    from fabula.project.settings import Settings

_SHOWN: Final = 120  # characters of a conversation's last words
_STRANGER: Final = "Somebody who is not in the story, has come by, and talks with {}."
_SLUG: Final = 50  # letters of a conversation's name before its number


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A conversation in a list. `last` begins its last words; `problem` says why its log cannot be read."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPeople:
    """The people whom you can talk to.

    Attributes:
        characters: the characters of the plan, the personas, the settings and the cards; if there are none, `named`.
        named: other people from the plan or the world, or found by a model that read the story.
        was_read: whether a model has read the current story for its people.
        personas: the people whom you have described to play them.
    """

    characters: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    was_read: bool = False
    personas: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChatList(KnownPeople):
    """The conversations of a project, the most recent first, and the people whom you can talk to."""

    chats: list[ChatLine]


@dataclass(frozen=True, slots=True)
class People(KnownPeople):
    """The people in a story, and the cost of having a model read the story for more.

    Attributes:
        reading: the calls and cost of the reading; `null` if they cannot be estimated.
        problem: why they cannot be estimated.
    """

    reading: Estimate | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """An exchange: what the player said (empty if the character spoke first), and the answer of `who`.

    Attributes:
        number: the turn's number, from 1.
        step: the number of the point of the plan that the turn serves; 0 if there is no plan.
        who: the character that answered; empty if none did.
        action: what `who` did; `answer` contains it too.
        edited: whether the words were changed after they were said.
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
    edited: bool = False

    @classmethod
    def of(cls, turn: Turn) -> ChatTurn:
        """A turn in the form that the interfaces show."""
        line = turn.line
        who, answer, action = (line.name, line.text, line.action) if line else ("", "", "")
        ends = turn.ends_cell, turn.ends_story, turn.edited
        return cls(turn.number, turn.cell, turn.step, turn.said, who, answer, action, *ends)


@dataclass(frozen=True, slots=True)
class ChatPoint:
    """A point of the plan. `stands` is "before", "now" or "ahead"."""

    number: int
    title: str
    detail: str
    stands: str


@dataclass(frozen=True, slots=True)
class ChatMoving:
    """A turn that is being made, or whose last attempt failed.

    Attributes:
        kind: the kind of the move.
        said: what the player said.
        who: the character that answers, if it is already known.
        text: the part of the answer that has arrived.
        problem: why the turn failed; empty while it is being made.
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
        system: the system that the conversation was started with.
        version: a number that grows with every change: a turn, another answer, a choice, a change of characters. A
            request that includes it is only carried out if nothing has changed since.
        alternatives: the answers that were given for the last turn; `chosen` (from 1) is the current one.
        plan: the points of the present cell, if they are requested; the reader decides whether to see those that are
            ahead.
        branches: the conversations that branched from this one; `branched_from` is the one that this one branched
            from.
        moving: the turn that is being made, or whose last attempt failed.
    """

    name: str
    player: str
    others: list[str]
    system: str
    version: int
    turns: list[ChatTurn]
    alternatives: list[ChatTurn]
    chosen: int
    place: Where
    branches: list[ChatLine]
    branched_from: str
    branched_after: int
    plan: list[ChatPoint] | None = None
    moving: ChatMoving | None = None


@dataclass(frozen=True, slots=True)
class ChatMade:
    """A turn that was made, and the conversation's new state.

    Attributes:
        conversation: the conversation's name.
        player: the character that is played.
        version: the conversation's version now; see `ChatView`.
    """

    conversation: str
    player: str
    turn: ChatTurn
    place: Where
    version: int

    @classmethod
    def of(cls, conversation: Conversation, turn: Turn) -> ChatMade:
        """A turn that has just been made."""
        where = conversation.where
        return cls(conversation.name, conversation.parties.player, ChatTurn.of(turn), where, conversation.log.version)


@dataclass(frozen=True, slots=True)
class ChatEnded(ChatView):
    """A conversation at the end of a session, with its project, its log, and its cost."""

    project: str = ""
    log: str = ""
    bill: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as Markdown."""

    conversation: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatWhy:
    """Why a character said something: what it knew, which point of the plan it served, and which calls were made.

    Attributes:
        story: what the character knows of this part of the story; `null` if the project is in use and only the log was
            read.
        persona: who the character is.
        memory: what the character remembers of earlier cells.
        heard: what the character has heard in this cell, as `Name: words`.
        plan: the points of the plan that the character knows.
        calls: the numbers of the calls that were made for the turn, the last one first; `model` and `took` belong to
            them.
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


# what is seen ---------------------------------------------------------------------------------------------------------


def chats_in(project: ProjectFolder) -> ChatList:
    """The conversations of a project, and the people whom you can talk to in it."""
    known, named = people_in(project)
    personas, read = (
        [name for name in Cards.in_(project.folder).players if name != STRANGER],
        reading_in(project) is not None,
    )
    return ChatList(lines_in(project), characters=known, named=named, was_read=read, personas=personas)


def lines_in(project: ProjectFolder) -> list[ChatLine]:
    """The conversations of a project in which something was said, the most recent first."""
    found = []
    for name in conversations_in(project.folder):
        with suppress(OSError, UsageError):  # it was deleted just now, or cannot be a conversation's
            log = log_file(project.folder, name)
            found.append(of_file(log, "line", partial(_line, project.folder, name, log.stat().st_mtime)))
    return [line for line in found if line.turns or line.problem]


def _line(folder: Path, name: str, changed: float) -> ChatLine:
    """The list entry of a conversation whose log was last changed at that time."""
    at = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
    try:
        log = Log.at(folder, name, mend=False)
        if not log.records:
            return ChatLine(name, at=at, problem="The log is empty.")
        parties, state = log.parties, log.state
    except FabulaError as error:
        return ChatLine(name, at=at, problem=str(error))
    words = "" if state.last is None else str(state.last) or state.last.said
    people = parties.player, list(parties.others)
    return ChatLine(name, *people, len(state.turns), state.over, at, words[:_SHOWN], *log.origin)


def view_of(project: ProjectFolder, name: str, *, plan: bool = False) -> ChatView:
    """A conversation as its log records it, with the points of its present cell if they are requested.

    Raises:
        UnknownNameError: there is no such conversation.
        ProjectError: the log cannot be read.
    """
    log = Log.of(project.folder, name)
    branches = [line for line in lines_in(project) if line.branched_from == name and line.name != name]
    return shown(log, name, branches, plan=plan)


def shown(log: Log, name: str, branches: Sequence[ChatLine] = (), *, plan: bool = False) -> ChatView:
    """The conversation that a log records."""
    parties, state, (drawn, chosen) = log.parties, log.state, log.answers
    where = state.where(log.cells, parties)
    return ChatView(
        name,
        parties.player,
        list(parties.others),
        log.system,
        log.version,
        [ChatTurn.of(turn) for turn in state.turns],
        [ChatTurn.of(turn) for turn in drawn],
        chosen,
        replace(where, present=where.present or parties.others),
        sorted(branches, key=lambda one: (one.branched_after, one.name)),
        *log.origin,
        plan=[ChatPoint(n, step.title, step.detail, _stands(n, state.step)) for n, step in enumerate(state.steps, 1)]
        if plan
        else None,
    )


def ended(project: ProjectFolder, conversation: Conversation, bill: Bill) -> ChatEnded:
    """A conversation as `fabula chat --json` prints it at its end."""
    view, file = shown(conversation.log, conversation.name), conversation.log.file
    own = {one.name: getattr(view, one.name) for one in fields(view)}
    log = "" if file is None else str(file)
    return ChatEnded(**own, project=str(project.folder), log=log, bill=bill.as_data()["bill"])


def _stands(number: int, step: int) -> str:
    return "now" if number == step else "before" if number < step else "ahead"


def why_of(journal: Journal, log: Log, name: str, known: Known) -> ChatWhy:
    """Why a character said something in a turn; without a `view`, only what the log records."""
    turn, view, line = known.turn, known.view, known.turn.line
    calls = calls_for(journal, log, name, turn.number)
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


def calls_for(journal: Journal, log: Log, name: str, number: int) -> list[Call]:
    """The calls that were made for a turn, oldest first; in a branch, including those of the original conversation."""
    (source, after), turns = log.origin, log.state.turns
    cell = turns[number - 1].cell
    place = sum(one.cell == cell for one in turns[:number])
    found = journal.calls.find(CallFilter(under=f"chat/{name}/cell-{cell}/turn/{place}"), prompts=True)
    if not found and source and number <= after:
        found = journal.calls.find(CallFilter(under=f"chat/{source}/cell-{cell}/turn/{place}"), prompts=True)
    return found


# who talks, and where it is kept --------------------------------------------------------------------------------------


def parties_for(
    project: ProjectFolder, others: Sequence[str], player: str, persona: str = "", *, dry: bool = False
) -> Parties | None:
    """The parties of a conversation if those who answer are named; you play another character of the story by default.

    If no other character is known, or you are to be a stranger to the story, the stranger gets a card in the project,
    and so does a player with a `persona`. With `dry`, no card is written.

    Raises:
        UnknownNameError: a named character is not in the story.
        UsageError: only the player is named.
    """
    if not others:
        if player:
            raise UsageError(f"You are {player}. Also specify the character that answers.")
        return None
    people = [name for names in people_in(project) for name in names]
    others, cards = [among(one, people) or one for one in others], Cards.in_(project.folder)
    player = (
        among(player, people)
        or player
        or next((name for name in people if not among(name, [*others, *of_cards(project)])), STRANGER)
    )
    if player == STRANGER and cards.of(player) is None:
        persona = persona or _STRANGER.format(" and ".join(others))
    if persona:
        check_people((player, *others), narrative_in(project), (*people, *cards.people, player))
        people.append(player)
        if not dry:
            write_persona(project.folder, player, persona)  # after the check
    return parties_of(narrative_in(project), player, others, cards.names(player), people)


def conversation_for(
    project: ProjectFolder, named: str, given: Parties | None, *, new: bool = False
) -> tuple[str, Parties | None]:
    """The conversation's name and parties; a new conversation has the last one's parties if none are named.

    Raises:
        UsageError: a new conversation is to have a name that is taken.
    """
    known = conversations_in(project.folder)
    if named and new and named in known:
        raise UsageError(f"There is already a conversation named {named!r}. Continue it, or choose another name.")
    if named in known or (known and not (given or named or new)):
        return named or known[0], given
    parties = given or (_parties_of(project, known[0]) if known else None)
    if named:
        return named, parties
    same = [name for name in known if not new and _parties_of(project, name) == parties]
    return same[0] if same else free_name(slug("-".join(parties.names) if parties else "talk"), known), parties


def free_name(wanted: str, known: Sequence[str]) -> str:
    """A free name for a new conversation: `wanted`, followed by a number if that name is taken."""
    number, free = 1, wanted
    while free in known:
        number += 1
        free = f"{wanted[:_SLUG].rstrip('-')}-{number}"
    return free


def _parties_of(project: ProjectFolder, name: str) -> Parties | None:
    log = Log.at(project.folder, name)
    return log.parties if log.records else None


def kind_of(move: MoveKind, line: str | None) -> MoveKind:
    """The requested kind of move: without a line, the story continues."""
    return "go_on" if move == "say" and line is None else move


def system_of(project: ProjectFolder, name: str) -> str:
    """The system that a conversation was started with; empty if there is no conversation with that name."""
    return Log.at(project.folder, name).system


def settings_of(project: Workspace, system: str = "", model: str | None = None) -> Settings:
    """The settings with which a conversation continues.

    Args:
        project: the project that contains it.
        system: the conversation's system; if empty, the project's own system, if it supports conversations.
        model: the model that answers; if empty, the project's own; if `None`, the one that answered last.
    """
    settings = settings_for(project.turns.settings or project.settings(project.project()), system)
    model = project.turns.models.get(settings.system, "") if model is None else model
    return settings.with_({"model": full_name(model)}, "the request") if model else settings


def looking(project: Workspace, system: str) -> AbstractAsyncContextManager[Conversing]:
    """A project opened only to look at its conversations: no model is called, and nothing is written."""
    return looked_at(project.project(), settings_of(project, system), project.options)


# what is done without asking anybody ----------------------------------------------------------------------------------


@contextmanager
def changing(project: Workspace) -> Iterator[ProjectFolder]:
    """The project, opened to change conversations without calling a model.

    Raises:
        LockedError: a run or a command is working on the project.
    """
    with nullcontext(project.project()) if project.turns.held else project.locked() as opened, project.turns.lock:
        yield opened


@contextmanager
def free(project: Workspace, name: str, version: int | None = None) -> Iterator[Log]:
    """The log of a conversation, opened to change it without calling a model.

    Raises:
        UnknownNameError: there is no such conversation.
        BusyError: the conversation is waiting for an answer.
        StaleError: the conversation has continued since that version.
        LockedError: a run or a command is working on the project.
    """
    with changing(project):
        yield check_free(project, name, version)


def check_free(project: Workspace, name: str, version: int | None) -> Log:
    """The log of a conversation that can be changed now.

    Raises:
        UnknownNameError: there is no such conversation.
        BusyError: the conversation is waiting for an answer.
        StaleError: the conversation has continued since that version.
    """
    log = Log.of(project.project().folder, name)
    project.turns.check(name)
    if version is not None and version != log.version:
        raise StaleError(
            "This conversation was continued in another window. You now see its current state. Your text is kept."
        )
    return log


async def begun(project: Workspace, parties: Parties | None, freedom: Freedom | None, wanted: str) -> str:
    """The name of a new conversation that has no turns yet.

    Raises:
        UsageError: no character is named, the name is taken or invalid, or nothing in the system obeys the freedom.
    """
    if parties is None:
        raise UsageError("Choose at least one character to talk to.")
    async with looking(project, "") as open_:
        talk, system = await open_.talk(parties), open_.prepared.method.name
    asked = checked_freedom(freedom or talk.freedom or "guided", talk)
    with changing(project) as opened:
        name, _ = conversation_for(opened, wanted, parties, new=True)
        Log.at(opened.folder, name).begin(talk.parties, asked, system)
    return name


async def meant(project: Workspace, wanted: str, others: Sequence[str], player: str, freedom: Freedom | None) -> str:
    """The name of the requested conversation: `wanted`, or the last one of these people; a new one if there is none.

    Raises:
        UnknownNameError: a named character is not in the story.
        UsageError: no character is named, or the conversation with that name has other parties.
    """
    opened = project.project()
    name, parties = conversation_for(opened, wanted, parties_for(opened, others, player))
    if name not in conversations_in(opened.folder):
        return await begun(project, parties, freedom, name)
    Log.of(opened.folder, name).check_parties(name, parties)
    return name


async def knew(project: Workspace, log: Log, name: str, number: int) -> Known:
    """What the character that answered in a turn knew; without a `view` if that is not recorded.

    Raises:
        UsageError: there is no such turn, or it has no answer.
    """
    known = log.known(number)
    with suppress(FabulaError):
        async with looking(project, log.system) as open_:
            return await Conversation(await open_.talk(log.parties), open_.context, log, name).knew(number)
    return known
