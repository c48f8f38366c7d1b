"""Conversations in the studio: each turn is made in its own task, and any number of clients can follow it.

A turn does not depend on a connection: a page that closes loses nothing, and a page that comes back gets the rest. The
project is held only during a turn and a moment longer, so that a run or the command line can use it between turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.app.conversations import ChatMade, check_free, kind_of, meant, settings_of
from fabula.app.conversing import READER, Conversing, conversing, read_names
from fabula.app.live_turns import BusyError, LiveTurn
from fabula.app.people import narrative_in
from fabula.app.writing import Options, PreparedMethod, Supplied
from fabula.base.errors import FabulaError, LockedError, ProjectError, UsageError
from fabula.craft.conversation import Freedom, Log, MoveKind
from fabula.craft.conversation.kept import said_by_player
from fabula.craft.narratives import people_read
from fabula.engine.run import Run

if TYPE_CHECKING:
    from fabula.app.workspace import Workspace


LINGER: Final = 0.3  # seconds for which a project stays open after a turn
_MOST: Final = 200  # concurrent turns of a server
_KEPT: Final = 100  # failed turns that can still be viewed


@dataclass
class Conversations:
    """The conversations of one project.

    Attributes:
        workspace: the project in which the conversations are kept.
        options: the options of the model calls.
        linger: seconds that the project stays open after a turn.
        shared: the project, if the server keeps it open as long as it runs.
    """

    workspace: Workspace
    options: Options
    linger: float = LINGER
    shared: Conversing | None = None
    _tasks: set[asyncio.Task[ChatMade]] = field(default_factory=set)
    _models: dict[str, Supplied] = field(default_factory=dict)
    _held: _Held | None = None
    _users: int = 0
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        """Use a project that the server keeps open with its settings, and hold it as long as the server runs."""
        if self.shared is not None:
            self.workspace.turns.held, self.workspace.turns.settings = True, self.shared.prepared.settings

    def live(self, conversation: str) -> LiveTurn[ChatMade] | None:
        """The turn in progress, or the last turn since the server started."""
        return self.workspace.turns.by_conversation.get(conversation)

    async def read_people(self) -> None:
        """Have a model find the characters of the story; it is called once for each version of the story.

        Raises:
            FabulaError: any of its kinds.
        """
        project = self.workspace.project()
        if self.shared is not None:
            await people_read(Run(self.shared.context), narrative_in(project), READER)
        else:
            await self.let_go()
            await read_names(project, self.workspace.settings(project), self.options, people_read)

    async def chat(
        self,
        line: str | None = None,
        *,
        others: Sequence[str] | None = None,
        player: str = "",
        conversation: str = "",
        move: MoveKind = "say",
        version: int | None = None,
        freedom: Freedom | None = None,
        model: str = "",
    ) -> LiveTurn[ChatMade]:
        """Begin a turn, with the arguments of the verb `chat`; it is made even if nobody follows it.

        Raises:
            UnknownNameError: a person is not in the story.
            BusyError: another turn of the conversation is in progress.
            StaleError: the conversation has continued since that version.
            UsageError: the message is empty or too long.
        """
        kind = kind_of(move, line)
        said = said_by_player(line or "") if kind == "say" else ""
        if others or player or not conversation:
            wanted = meant(self.workspace, conversation, others or (), player, freedom)
            conversation = await asyncio.to_thread(asyncio.run, wanted)
        turns = self.workspace.turns
        with turns.lock:
            check_free(self.workspace, conversation, version)
            if len(self._tasks) >= _MOST:
                raise BusyError(f"The server is already making {_MOST} answers, its maximum. Try again in a moment.")
            live = turns.by_conversation[conversation] = LiveTurn(kind, said)
            task = live.start(self._made(conversation, live, freedom, model))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._forget()
        return live

    async def draft_line(self, conversation: str, take: int = 0) -> str:
        """What the player could say next, with the model that answered last; nothing is said.

        Raises:
            BusyError: a turn of the conversation is in progress.
            UsageError: the story has ended.
        """
        log = check_free(self.workspace, conversation, None)
        held = await self._take(log.system, None)
        try:
            return await (await held.open.conversation(conversation)).draft(take)
        finally:
            self._leave()

    async def let_go(self) -> None:
        """Release the project for other processes if no turn is in progress."""
        async with self._opening:
            if not self._users:
                await self._close()

    async def close(self) -> None:
        """End the turns in progress, and close the models."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        async with self._opening:
            await self._close()
        while self._models:
            await self._models.popitem()[1].cast.close()

    # inner ------------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget all but the last turns that have ended."""
        turns = self.workspace.turns.by_conversation
        over = [name for name, live in turns.items() if live.ended]
        for name in over[: len(over) - _KEPT]:
            del turns[name]

    async def _made(self, name: str, live: LiveTurn[ChatMade], freedom: Freedom | None, model: str) -> ChatMade:
        """Make a turn in a conversation as its log has it; followers receive it as it is written."""
        log = Log.of(self.workspace.project().folder, name)
        held = await self._take(log.system, model)
        try:
            conversation = await held.open.conversation(name, freedom=freedom)

            def heard(piece: str) -> None:
                live.who = conversation.speaker
                live.hear(piece)

            turn = await conversation.move(live.kind, live.said, heard)
            with suppress(ProjectError):  # the turn is in the log, and its transcript can be made at any time
                conversation.log.write_transcript()
            return ChatMade.of(conversation, turn)
        finally:
            self._leave()

    async def _take(self, system: str, model: str | None) -> _Held:
        """The project, open for conversations with a system and a model; see `settings_of`."""
        if self.shared is not None:
            return self._take_shared(self.shared, system, model)
        settings = settings_of(self.workspace, system, model)
        key = settings.model_dump_json()
        async with self._opening:
            held = self._held
            if held is not None and held.key != key:
                if self._users:
                    raise LockedError(
                        "The server is answering in another conversation of this project. Try again in a moment."
                    )
                await self._close()
                held = None
            if held is None:
                if key not in self._models:
                    while self._models:  # the settings have changed
                        await self._models.popitem()[1].cast.close()
                    self._models[key] = Supplied(PreparedMethod(settings, self.options).cast())
                stack = AsyncExitStack()
                opened = conversing(self.workspace.project(), settings, self.options, self._models[key])
                self.workspace.turns.held = True
                try:
                    held = self._held = _Held(key, await stack.enter_async_context(opened), stack)
                finally:
                    self.workspace.turns.held = self._held is not None
            self._users += 1
            if model is not None:
                self.workspace.turns.models[settings.system] = model
            return held

    def _take_shared(self, shared: Conversing, system: str, model: str | None) -> _Held:
        if model or system not in ("", shared.prepared.method.name):
            name, own = shared.prepared.method.name, shared.prepared.settings.model
            raise UsageError(f"This server uses the system {name!r} and the model {own!r}. You cannot choose others.")
        self._users += 1
        return _Held("", shared, AsyncExitStack())

    def _leave(self) -> None:
        self._users -= 1
        if not self._users:
            task = asyncio.get_running_loop().create_task(self._close_later())
            self._closing = task  # the loop has only weak references to tasks

    async def _close_later(self) -> None:
        """Close the project when it has not been used for a moment."""
        held = self._held
        await asyncio.sleep(self.linger)
        async with self._opening:
            if held is self._held and not self._users:
                await self._close()

    async def _close(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            with suppress(FabulaError):
                await held.stack.aclose()
            self.workspace.turns.held = False


@dataclass
class _Held:
    key: str
    open: Conversing
    stack: AsyncExitStack
