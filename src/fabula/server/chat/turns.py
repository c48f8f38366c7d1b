"""A turn that is being made: its pieces as they come, what it took, and how it ends."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.engine.events import CallFinished
from fabula.models.base import NOTHING_USED, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from fabula.craft.conversation import Where
    from fabula.engine.events import Event


@dataclass
class Meter:
    """What the calls of one request took; what the journal answers takes nothing."""

    usage: Usage = NOTHING_USED


_METER: Final[ContextVar[Meter | None]] = ContextVar("fabula_meter", default=None)


def measure(event: Event) -> None:
    """A listener of the run: a call is counted for the request in whose task it is made."""
    meter = _METER.get()
    if meter is not None and isinstance(event, CallFinished) and not event.replayed:
        meter.usage += event.usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request gets.

    Attributes:
        text: the answer.
        conversation: its name.
        where: how far the conversation is.
        who: has spoken; "" where nobody has.
        present: those of the characters who are there.
        ends_cell: the next message begins the next cell.
        ends_story: the story is over.
    """

    text: str
    conversation: str
    where: Where
    who: str = ""
    present: tuple[str, ...] = ()
    ends_cell: bool = False
    ends_story: bool = False

    @property
    def about(self) -> dict[str, object]:
        """What the field `fabula` of a reply says beside OpenAI's fields."""
        where = self.where
        about = {"session": self.conversation, "who": self.who, "present": list(self.present), "cell": where.cell}
        about |= {"cells": where.cells, "step": where.step, "steps": where.steps}
        return about | {"ends_cell": self.ends_cell, "ends_story": self.ends_story}


OnPiece: TypeAlias = "Callable[[str], None] | None"
Move: TypeAlias = "Callable[[OnPiece], Coroutine[None, None, Outcome]]"


@dataclass
class PendingTurn:
    """A turn that is being made in a task of its own, which ends with it.

    Attributes:
        heard: somebody listens to its pieces.
        meter: what it has taken so far.
    """

    heard: bool = True
    meter: Meter = field(default_factory=Meter)
    _pieces: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    _task: asyncio.Task[Outcome] | None = None

    def start(self, move: Move, timeout: float, done: Callable[[], None]) -> None:
        """Begin.

        Args:
            move: makes the turn; is given what takes pieces of the answer, if anything does.
            timeout: seconds that it has.
            done: is called when it has ended.
        """

        async def made() -> Outcome:
            _METER.set(self.meter)
            async with asyncio.timeout(timeout):
                return await move(self._pieces.put_nowait if self.heard else None)

        def ended(_: asyncio.Task[Outcome]) -> None:
            self._pieces.put_nowait(None)
            done()

        self._task = asyncio.get_running_loop().create_task(made())
        self._task.add_done_callback(ended)

    async def pieces(self, patience: float) -> AsyncIterator[str]:
        """Pieces of the answer as they come; "" whenever nothing came for `patience` seconds.

        What the answer says beyond its pieces is the last piece. After them, `result` or `problem` says how it ended.
        """
        given = ""
        while True:
            try:
                piece = await asyncio.wait_for(self._pieces.get(), patience)
            except TimeoutError:
                piece = ""
            if piece is None:
                break
            given += piece
            yield piece
        if self.result is not None and self.result.text != given:
            yield self.result.text.removeprefix(given)

    async def wait(self, other: asyncio.Task[None]) -> None:
        """Until it has ended, or the other task has."""
        if self._task is not None:
            await asyncio.wait({self._task, other}, return_when=asyncio.FIRST_COMPLETED)

    @property
    def result(self) -> Outcome | None:
        """The whole answer; `None` while it is being made, and where it failed."""
        task = self._task
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    @property
    def problem(self) -> BaseException | None:
        """Why it failed; `None` while it is being made, and where it has not."""
        task = self._task
        if task is None or not task.done():
            return None
        return asyncio.CancelledError() if task.cancelled() else task.exception()

    async def stop(self) -> None:
        """End it where it is still being made; the conversation then stands as before."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
