"""Turns of conversations that are being made, each in its own task, which any number of listeners can follow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fabula.app.writing import first_error
from fabula.base.errors import FabulaError, UsageError

if TYPE_CHECKING:
    from fabula.craft.conversation import MoveKind
    from fabula.project.settings import Settings


T = TypeVar("T")


class StaleError(UsageError):
    """A move refers to an earlier state of the conversation."""


class BusyError(UsageError):
    """A turn of the conversation is already being made."""


@dataclass
class LiveTurn(Generic[T]):
    """A turn that is being made, or has just been made, independent of its listeners.

    Attributes:
        kind: the kind of the move.
        said: what the player said.
        who: the character that answers, once it is known.
        pieces: the pieces of the answer that have arrived.
        result: the turn, once it is made.
        problem: why the turn failed.
        ended: whether it is made, or has failed.
        task: the task that makes it.
    """

    kind: MoveKind = "say"
    said: str = ""
    who: str = ""
    pieces: list[str] = field(default_factory=list)
    result: T | None = None
    problem: BaseException | None = None
    ended: bool = False
    task: asyncio.Task[T] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start the turn in a task that continues until it ends, or until `stop` ends it."""
        self.task = asyncio.get_running_loop().create_task(work)
        self.task.add_done_callback(self._end)
        return self.task

    def hear(self, piece: str) -> None:
        """Add a piece of the answer that has arrived."""
        self.pieces.append(piece)
        self._tell()

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.problem = FabulaError("The answer was stopped.")
        elif (problem := task.exception()) is not None:
            self.problem = first_error(problem) if isinstance(problem, BaseExceptionGroup) else problem
        else:
            self.result = task.result()
        self.ended = True
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @property
    def text(self) -> str:
        """The part of the answer that has arrived."""
        return "".join(self.pieces)

    async def follow(self, patience: float) -> AsyncIterator[str]:
        """The pieces of the answer from the first one, as they arrive; "" after `patience` seconds without one."""
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

    async def made(self) -> T:
        """The finished turn, once it is made.

        Raises:
            FabulaError: the turn failed.
        """
        if self.task is not None:
            await asyncio.wait({self.task})
        if self.result is None:
            raise self.problem or FabulaError("The answer was stopped.")
        return self.result

    async def stop(self) -> None:
        """End the turn if it is still being made; the conversation is then unchanged."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task})


@dataclass
class LiveTurns:
    """The turns that this process makes in a project's conversations, and what it keeps open for them.

    Attributes:
        by_conversation: the turn that is being made in each conversation, or the last one.
        models: the models that last answered with each system, if one was named.
        settings: the settings for beginning and continuing conversations; `None` for the project's own.
        held: whether this process has the project open, so that no other process can change it.
        lock: the lock held while checking that a conversation is free and recording what is done in it.
    """

    by_conversation: dict[str, LiveTurn[Any]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    settings: Settings | None = None
    held: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def check(self, conversation: str) -> None:
        """Check that no turn is being made in a conversation.

        Raises:
            BusyError: an answer is being written.
        """
        turn = self.by_conversation.get(conversation)
        if turn is not None and not turn.ended:
            raise BusyError("An answer is being written in this conversation. Wait until it is finished, or stop it.")
