"""Turns of conversations that are being made: each in a task of its own, which whoever likes follows."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fabula.app.writing import first_error
from fabula.base.errors import FabulaError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from fabula.craft.conversation import MoveKind
    from fabula.project.settings import Settings

T = TypeVar("T")


class StaleError(UsageError):
    """A move was meant for a conversation as it stood before."""


class BusyError(UsageError):
    """A turn of the conversation is being made already."""


@dataclass
class LiveTurn(Generic[T]):
    """A turn that is being made, or has just been made. It belongs to nobody who follows it.

    Attributes:
        kind: of the move.
        said: by the player.
        who: answers, once that is known.
        pieces: of the answer, as far as they have come.
        result: what was made, once it is.
        problem: why it failed.
        ended: it is made, or has failed.
        task: that makes it.
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
        """Begin, in a task that goes on until it ends, or `stop` ends it."""
        self.task = asyncio.get_running_loop().create_task(work)
        self.task.add_done_callback(self._end)
        return self.task

    def hear(self, piece: str) -> None:
        """A piece of the answer has come."""
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
        """What has come of the answer."""
        return "".join(self.pieces)

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

    async def made(self) -> T:
        """What is made, once it is.

        Raises:
            FabulaError: it failed.
        """
        if self.task is not None:
            await asyncio.wait({self.task})
        if self.result is None:
            raise self.problem or FabulaError("The answer was stopped.")
        return self.result

    async def stop(self) -> None:
        """End it where it is still being made; the conversation then stands as before."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task})


@dataclass
class LiveTurns:
    """The turns that this process makes in a project's conversations, and what it has open for them.

    Attributes:
        by_conversation: the turn that is being made in each, or was made last.
        models: that answered last with each system, where one was named.
        settings: with which conversations are begun and gone on with; `None` for the project's own.
        held: this process has the project open, so that nobody else can change it.
        lock: held for as long as it takes to see that a conversation is free, and to note what is done in it.
    """

    by_conversation: dict[str, LiveTurn[Any]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    settings: Settings | None = None
    held: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def check(self, conversation: str) -> None:
        """Check that nothing is being made in a conversation.

        Raises:
            BusyError: an answer is.
        """
        turn = self.by_conversation.get(conversation)
        if turn is not None and not turn.ended:
            raise BusyError("An answer is being made in this conversation. Wait for it, or stop it first.")
