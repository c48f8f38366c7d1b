"""Conversations that go on in the studio: each turn is made in a task of its own, and whoever likes follows it.

A turn belongs to nobody's connection: a page that goes away loses nothing, and one that comes back hears the rest. The
project is held while a turn is made, and a moment longer, so that a run or the command line can have it between turns.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fabula.app.chat_views import ChatMoving, ChatView, MoveKind, records_of, view_of
from fabula.app.chatting import free_name, parties_for, write_transcript
from fabula.app.conversing import (
    READER,
    conversing,
    dry_run_beginning,
    dry_run_people,
    read_people,
    settings_for,
)
from fabula.app.people import narrative_in
from fabula.app.writing import Prepared, Supplied, first_error
from fabula.base.errors import FabulaError, LockedError, ProjectError, UnknownNameError, UsageError
from fabula.craft.conversation import ConversationFiles, conversations_in
from fabula.craft.conversation.kept import copy_log, said_by_player, system_of_log
from fabula.craft.narratives import people_read
from fabula.engine.run import Run
from fabula.project.casting import full_name
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from typing import TypeVar

    from fabula.app.conversing import Conversing
    from fabula.app.workspace import Workspace
    from fabula.app.writing import Options
    from fabula.craft.conversation import Conversation, Freedom, Turn
    from fabula.craft.conversation.kept import Known
    from fabula.engine.dry_run import DryRun
    from fabula.project.folder import Project

    T = TypeVar("T")

LINGER: Final = 0.3  # seconds for which a project stays open after a turn
_MOST: Final = 200  # turns of a server that are made at once
_NOBODY: Final = "Choose at least one character to talk with."
_SHOWN: Final = 200  # letters of an unknown name
_KEPT: Final = 100  # turns that failed and can still be looked at


class StaleError(UsageError):
    """A move was meant for a conversation as it stood before."""


class BusyError(UsageError):
    """A turn of the conversation is being made already."""


@dataclass
class LiveTurn:
    """A turn that is being made, or has just been made.

    Attributes:
        kind: of the move.
        said: by the player.
        who: answers, once that is known.
        pieces: of the answer, as far as they have come.
        turn: the whole of it, once it is made.
        problem: why it failed.
        task: that makes it.
    """

    kind: MoveKind
    said: str
    who: str = ""
    pieces: list[str] = field(default_factory=list)
    turn: Turn | None = None
    problem: BaseException | None = None
    ended: bool = False
    task: asyncio.Task[None] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """There is something new for those who follow."""
        self._news.set()
        self._news = asyncio.Event()

    def end(self, task: asyncio.Task[None]) -> None:
        """It is made, or failed, with the task that makes it."""
        if task.cancelled():
            self.problem = FabulaError("The answer was stopped.")
        elif (problem := task.exception()) is not None:
            self.problem = first_error(problem) if isinstance(problem, BaseExceptionGroup) else problem
        self.ended = True
        self.tell()

    @property
    def text(self) -> str:
        """What has come of the answer."""
        return "".join(self.pieces)

    @property
    def moving(self) -> ChatMoving:
        """It as a page sees it."""
        return ChatMoving(self.kind, self.said, self.who, self.text, str(self.problem or ""))

    async def follow(self, patience: float) -> AsyncIterator[str]:
        """Its pieces from the first one on, as they come; "" whenever nothing came for `patience` seconds."""
        given = 0
        while True:
            news = self._news
            while given < len(self.pieces):
                given += 1
                yield self.pieces[given - 1]
            if self.ended:
                return
            try:
                await asyncio.wait_for(news.wait(), patience)
            except TimeoutError:
                yield ""


@dataclass
class Conversations:
    """The conversations of one project.

    Attributes:
        workspace: the project in which they are kept.
        options: what the models are asked with.
        linger: seconds for which the project stays open after a turn.
        shared: the project, where the server has it open for as long as it runs.
    """

    workspace: Workspace
    options: Options
    linger: float = LINGER
    shared: Conversing | None = None
    _turns: dict[str, LiveTurn] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _models: dict[str, Supplied] = field(default_factory=dict)
    _played: dict[str, str] = field(default_factory=dict)
    _held: _Held | None = None
    _users: int = 0
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def project(self) -> Project:
        """The project.

        Raises:
            GoneError: it is there no more.
        """
        return self.workspace.project()

    # what there is ----------------------------------------------------------------------------------------------------

    async def view(self, name: str, *, plan: bool = False) -> ChatView:
        """A conversation as it stands, with the turn that is being made or failed last.

        Raises:
            UnknownNameError: there is no such conversation.
            ProjectError: its log cannot be read.
        """
        found = await asyncio.to_thread(view_of, self.project, name, plan=plan)
        live = self._turns.get(name)
        showing = live is not None and live.turn is None
        return replace(found, moving=live.moving if live is not None and showing else None)

    def live(self, name: str) -> LiveTurn | None:
        """The turn that is being made, or was made last since the server was started."""
        return self._turns.get(name)

    async def knew(self, name: str, number: int) -> Known | None:
        """What whoever answered in a turn knew; `None` where the project is in use or that is not recorded."""
        try:
            return await self._with(name, lambda conversation: conversation.knew(number))
        except FabulaError:
            return None

    # what is done -----------------------------------------------------------------------------------------------------

    async def open(self, others: Sequence[str], player: str, freedom: Freedom | None, wanted: str = "") -> str:
        """Begin a conversation; gives its name.

        Raises:
            UnknownNameError: somebody is not in the story.
            UsageError: nobody is named, or the name is taken or cannot be one.
            FabulaError: any other of its kinds.
        """
        parties = await asyncio.to_thread(parties_for, self.project, others, player)
        if parties is None:
            raise UsageError(_NOBODY)
        known = conversations_in(self.project.folder)
        if wanted and wanted in known:
            raise UsageError(f"There is a conversation {wanted!r} already. Choose another name.")
        name = wanted or free_name(slug("-".join(parties.names)), known)
        ConversationFiles.in_(self.project.folder, name)
        held = await self._take("")
        try:
            await held.open.close_conversation(name)  # one of that name whose log was deleted
            await held.open.conversation(name, parties, freedom)
        finally:
            self._leave()
        return name

    async def beginning_expected(self, others: Sequence[str], player: str, freedom: Freedom | None) -> DryRun:
        """What the first turn of a new conversation would ask and cost. Asks nobody, writes nothing.

        Raises:
            FabulaError: what stands in the way.
        """
        project = self.project
        parties = await asyncio.to_thread(partial(parties_for, project, others, player, dry=True))
        if parties is None:
            raise UsageError(_NOBODY)
        return await dry_run_beginning(project, self.workspace.settings(project), self.options, parties, freedom)

    async def people_expected(self) -> DryRun:
        """What having the story read for its people would ask and cost. Asks nobody, writes nothing.

        Raises:
            FabulaError: what stands in the way.
        """
        project = self.project
        return await dry_run_people(project, self.workspace.settings(project), self.options)

    async def read_people(self) -> tuple[str, ...]:
        """Who is in the story, as a model reads it; asked once for each version of the story.

        Raises:
            FabulaError: any of its kinds.
        """
        project = self.project
        if self.shared is not None:
            return await people_read(Run(self.shared.context), narrative_in(project), READER)
        await self.let_go()
        return await read_people(project, self.workspace.settings(project), self.options)

    def move(self, name: str, kind: MoveKind, text: str = "", version: int | None = None, model: str = "") -> LiveTurn:
        """Begin a turn; it is made whether anybody follows it or not.

        Args:
            name: of the conversation.
            kind: of the move.
            text: what the player says.
            version: of the conversation as whoever moves has seen it.
            model: answers instead of the project's own.

        Raises:
            UnknownNameError: there is no such conversation.
            BusyError: a turn is being made in it.
            StaleError: it has gone on since that version.
            UsageError: what is said is empty or too long.
        """
        said = said_by_player(text) if kind == "say" else ""
        self._check(name, version)
        if len(self._tasks) >= _MOST:
            raise BusyError(f"{_MOST} answers are being made, and no more at once. Try again in a moment.")
        live = self._turns[name] = LiveTurn(kind, said)
        task = asyncio.get_running_loop().create_task(self._make(name, live, model))
        live.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(live.end)
        self._forget()
        return live

    async def choose(self, name: str, number: int, version: int | None = None) -> None:
        """Let the answer of this number stand for the last turn.

        Raises:
            UsageError: there is no such answer, or the conversation has gone on.
        """
        self._check(name, version)
        await self._with(name, lambda conversation: conversation.choose(number))
        self._turns.pop(name, None)

    async def undo(self, name: str, version: int | None = None) -> None:
        """Take the last turn back.

        Raises:
            UsageError: there is none, or the conversation has gone on.
        """
        self._check(name, version)
        await self._with(name, lambda conversation: conversation.undo())
        self._turns.pop(name, None)

    async def set(self, name: str, present: Sequence[str] | None, freedom: str | None) -> None:
        """Say who is there from now on, and how far the player may lead away.

        Raises:
            UnknownNameError: somebody is not of this conversation.
            UsageError: nobody would be left, or there is no such freedom.
        """
        self._check(name, None)
        if present is not None:
            await self._with(name, lambda conversation: conversation.set_present(present))
        if freedom:
            await self._with(name, lambda conversation: conversation.set_freedom(freedom))

    async def branch(self, name: str, after: int) -> str:
        """Begin another conversation with the first turns of this one; gives its name.

        Raises:
            UsageError: so many turns do not stand.
        """
        records_of(self.project, name)
        base = name.rstrip("0123456789").removesuffix("-") if name[-1:].isdigit() and "-" in name else name
        free = free_name(base, conversations_in(self.project.folder))
        source, target = (ConversationFiles.in_(self.project.folder, one) for one in (name, free))
        copy_log(source, after, target)
        return free

    async def stop(self, name: str) -> None:
        """End the turn that is being made; the conversation stands as before."""
        if (live := self._turns.get(name)) is not None and live.task is not None and not live.task.done():
            live.task.cancel()
            await asyncio.wait({live.task})

    async def leave(self, name: str) -> None:
        """Forget a conversation that is in memory; its log stays."""
        live = self._turns.get(name)
        if live is None or live.ended:
            self._turns.pop(name, None)
            open_ = self.shared or (self._held.open if self._held is not None else None)
            if open_ is not None:
                await open_.close_conversation(name)

    async def delete(self, name: str) -> None:
        """Delete a conversation, with its transcript; what was asked for it stays in the journal.

        Raises:
            UnknownNameError: there is no such conversation.
            BusyError: an answer is being made in it.
            LockedError: a run or a command is at work on the project.
        """
        folder = self.project.folder
        if name not in (known := conversations_in(folder)):
            raise UnknownNameError("conversation", name[:_SHOWN], known)
        if (live := self._turns.get(name)) is not None and not live.ended:
            raise BusyError("An answer is being made in this conversation. Stop it or wait for it, and delete it then.")
        await self.leave(name)
        await self.let_go()
        held = self.shared is not None or self._held is not None
        with nullcontext() if held else self.project.lock():
            ConversationFiles.in_(folder, name).delete()

    async def let_go(self) -> None:
        """Let another process have the project, where no turn is being made."""
        async with self._opening:
            if not self._users:
                await self._close()

    async def close(self) -> None:
        """End what is being made, and close the models."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        async with self._opening:
            await self._close()
        while self._models:
            await self._models.popitem()[1].cast.close()

    # inner ------------------------------------------------------------------------------------------------------------

    def _check(self, name: str, version: int | None) -> None:
        """Check that a move can be made now."""
        records = records_of(self.project, name)
        live = self._turns.get(name)
        if live is not None and not live.ended:
            raise BusyError("An answer is being made in this conversation. Wait for it, or follow it here.")
        if version is not None and version != len(records):
            raise StaleError(
                "This conversation has gone on in another window. It is shown as it stands now; what you wrote is kept."
            )

    def _forget(self) -> None:
        """Keep only so many turns that have ended."""
        ended = [name for name, live in self._turns.items() if live.ended]
        for name in ended[: len(ended) - _KEPT]:
            del self._turns[name]

    async def _make(self, name: str, live: LiveTurn, model: str) -> None:
        """Make a turn; those who follow are told as it comes."""

        async def move(conversation: Conversation) -> Turn:
            def heard(piece: str) -> None:
                live.who = conversation.speaker
                live.pieces.append(piece)
                live.tell()

            moves: dict[MoveKind, Callable[[], Awaitable[Turn]]] = {
                "say": lambda: conversation.say(live.said, heard),
                "begin": lambda: conversation.begin(heard),
                "go_on": lambda: conversation.go_on(heard) if conversation.turns else conversation.begin(heard),
                "another": lambda: conversation.another(heard),
            }
            turn = await moves[live.kind]()
            with suppress(ProjectError):  # the turn is in the log; its transcript can be had at any time
                write_transcript(conversation)
            conversation.prepare()
            return turn

        live.turn = await self._with(name, move, model)

    async def _with(self, name: str, work: Callable[[Conversation], Awaitable[T]], model: str | None = None) -> T:
        """What is done in a conversation, which is as its log has it."""
        records = records_of(self.project, name)
        held = await self._take(system_of_log(records), model)
        try:
            conversation = await held.open.conversation(name)
            if len(conversation.records) != len(records):  # somebody changed the log
                await held.open.close_conversation(name)
                conversation = await held.open.conversation(name)
            return await work(conversation)
        finally:
            self._leave()

    async def _take(self, system: str, model: str | None = None) -> _Held:
        """The project, open for conversations with a system and a model; "" is its own, `None` the one used last."""
        if self.shared is not None:
            return self._take_shared(self.shared, system, model)
        project = self.project
        settings = settings_for(self.workspace.settings(project), system)
        model = self._played.get(settings.system, "") if model is None else model
        settings = settings.with_({"model": full_name(model)}, "the page") if model else settings
        key = settings.model_dump_json()
        async with self._opening:
            held = self._held
            if held is not None and held.key != key:
                if self._users:
                    raise LockedError("Another conversation of this project is being answered. Try again in a moment.")
                await self._close()
                held = None
            if held is None:
                if key not in self._models:
                    while self._models:  # the settings have changed
                        await self._models.popitem()[1].cast.close()
                    self._models[key] = Supplied(Prepared(settings, self.options).cast())
                stack = AsyncExitStack()
                opened = conversing(project, settings, self.options, self._models[key])
                held = _Held(key, await stack.enter_async_context(opened), stack)
                self._held = held
            self._users += 1
            self._played[settings.system] = model
            return held

    def _take_shared(self, shared: Conversing, system: str, model: str | None) -> _Held:
        if model or system not in ("", shared.prepared.method.name):
            name, own = shared.prepared.method.name, shared.prepared.settings.model
            raise UsageError(f"This server talks with the system {name!r} and the model {own!r}. Name no other one.")
        self._users += 1
        return _Held("", shared, AsyncExitStack())

    def _leave(self) -> None:
        self._users -= 1
        if not self._users:
            task = asyncio.get_running_loop().create_task(self._close_later())
            self._closing = task  # the loop holds tasks weakly

    async def _close_later(self) -> None:
        """Close the project once nobody has wanted it for a moment, and what was begun ahead is there."""
        await asyncio.sleep(self.linger)
        held = self._held
        if held is not None and not self._users:
            await held.open.prepared_ahead()
        async with self._opening:
            if held is self._held and not self._users:
                await self._close()

    async def _close(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            with suppress(FabulaError):
                await held.stack.aclose()


@dataclass
class _Held:
    key: str
    open: Conversing
    stack: AsyncExitStack
