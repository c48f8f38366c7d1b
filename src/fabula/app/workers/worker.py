"""A worker: does several jobs at once and asks its driver for turns. Start: `python -m fabula.app.workers.worker`."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeAlias

from fabula.base.errors import FabulaError
from fabula.base.version import __version__

if TYPE_CHECKING:
    from fabula.models.base import Usage


Message: TypeAlias = "tuple[Any, ...]"
_HEAD: Final = 8  # bytes that say how long a message is
_JOB: Final[ContextVar[int]] = ContextVar("fabula_job", default=0)


class Doing(Protocol):
    """The work of workers. It is sent to them, so it contains only plain data until it begins."""

    async def begin(self, desk: Desk) -> None:
        """Open what jobs share.

        Raises:
            FabulaError: this worker cannot do the work.
        """

    async def do(self, job: Any) -> Any:  # noqa: ANN401 - whatever is done
        """The result of a job, including any error."""

    async def end(self, *, over: bool) -> None:
        """Close what jobs share; `over` says whether the driver has all results."""


@dataclass(eq=False)
class Desk:
    """A worker's connection to its driver.

    Attributes:
        send: sends a message.
    """

    send: Callable[[Message], None]
    on_spent: Callable[[Usage], None] = lambda _: None
    _numbers: count[int] = field(default_factory=lambda: count(1), init=False)
    _asked: dict[int, asyncio.Future[Any]] = field(default_factory=dict, init=False)

    def turns(
        self, model: str, servers: int, most: int, rest: tuple[float, float], timeout: float | None
    ) -> DealtTurns:
        """The turns at the servers of a model, which the driver deals."""
        return DealtTurns(self, (model, servers, most, rest, timeout))

    def say(self, what: Any) -> None:  # noqa: ANN401 - whatever the driver hears
        """Send something to the driver."""
        self.send(("said", what))

    def keep(self, data: Any) -> None:  # noqa: ANN401 - whatever is kept
        """Have the driver keep the unfinished result of a job, for the next worker if this one is lost."""
        self.send(("kept", _JOB.get(), data))

    def spend(self, usage: Usage) -> None:
        """Report the usage of a call."""
        self.send(("spent", usage))

    async def ask(self, what: str, request: int, *values: Any) -> Any:  # noqa: ANN401 - whatever the answer is
        """The driver's answer."""
        answer = asyncio.get_running_loop().create_future()
        self._asked[request] = answer
        try:
            self.send((what, request, *values))
            return await answer
        finally:
            self._asked.pop(request, None)

    def hear(self, message: Message) -> None:
        """Process an answer, or another worker's usage."""
        match message:
            case ("turn" | "well", request, answer):
                waiting = self._asked.get(request)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
            case ("spent", usage):
                self.on_spent(usage)

    def number(self) -> int:
        """A number for a request."""
        return next(self._numbers)


@dataclass(eq=False)
class DealtTurns:
    """Turns that the driver deals (`fabula.models.servers.Turns`); the task that took a turn ends it."""

    desk: Desk
    model: tuple[str, int, int, tuple[float, float], float | None]
    _running: dict[tuple[asyncio.Task[Any] | None, int], int] = field(default_factory=dict, init=False)

    async def take(self) -> int:
        """A server, as soon as the driver has a turn for it."""
        request = self.desk.number()
        try:
            server: int = await self.desk.ask("take", request, *self.model, _JOB.get())
        except asyncio.CancelledError:
            self.desk.send(("give", request, False))
            raise
        self._running[asyncio.current_task(), server] = request
        return server

    def give(self, server: int, *, answered: bool) -> None:
        """End a turn after the call has reported its usage, so that the next turn starts with the remaining budget."""
        request = self._running.pop((asyncio.current_task(), server))
        asyncio.get_running_loop().call_soon(self.desk.send, ("give", request, answered))

    async def failed(self, server: int, retry_after: float | None) -> bool:
        """Have a failing server left out, and return whether another server works."""
        well: bool = await self.desk.ask("failed", self._running[asyncio.current_task(), server], retry_after)
        return well


async def serve(receive: Callable[[], Awaitable[Message | None]], send: Callable[[Message], None]) -> None:
    """Follow the driver's messages until it sends stop, or is gone (`None`)."""
    desk, jobs = Desk(send), dict[int, asyncio.Task[None]]()
    doing: Doing | None = None
    message: Message | None = ()
    try:
        while (message := await receive()) is not None and message[0] != "stop":
            if message[0] == "begin":
                doing = message[1]
                await doing.begin(desk)
                send(("ready", __version__, socket.gethostname()))
            elif message[0] == "do" and doing is not None:
                _, number, job = message
                jobs[number] = asyncio.create_task(_work(doing, number, job, send))
                jobs[number].add_done_callback(partial(_forget, jobs, number))
            else:
                desk.hear(message)
    except FabulaError as error:
        send(("broken", str(error)))
    finally:
        left = list(jobs.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if doing is not None:
            await doing.end(over=message is not None)
        send(("ended",))


def _forget(jobs: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    jobs.pop(number, None)


async def _work(doing: Doing, number: int, job: Any, send: Callable[[Message], None]) -> None:  # noqa: ANN401 - whatever is done
    """Do a job. It should never raise an error; if it does, that is a bug, and the driver reports it."""
    _JOB.set(number)
    result: Any = (await asyncio.gather(doing.do(job), return_exceptions=True))[0]
    if isinstance(result, Exception):
        send(("broken", f"{type(result).__name__}: {result}"))
    else:
        send(("over", number, result))


def framed(message: Message) -> bytes:
    """A message in the format of the pipe."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(_HEAD, "big") + data


def length_of(head: bytes) -> int:
    """The number of bytes in the message after a head."""
    return int.from_bytes(head, "big")


async def _main(reading: BinaryIO, writing: BinaryIO) -> None:
    loop, came = asyncio.get_running_loop(), asyncio.Queue["Message | None"]()

    def read() -> None:
        message: Message | None = ()
        while message is not None:
            head = reading.read(_HEAD)
            body = reading.read(length_of(head)) if len(head) == _HEAD else b""
            message = pickle.loads(body) if body else None  # noqa: S301 - the driver's, which has begun this process
            loop.call_soon_threadsafe(came.put_nowait, message)

    def send(message: Message) -> None:
        try:
            writing.write(framed(message))
            writing.flush()
        except OSError:  # the driver is gone
            came.put_nowait(None)

    threading.Thread(target=read, daemon=True).start()
    await serve(came.get, send)


if __name__ == "__main__":
    line = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a program prints is no message
    asyncio.run(_main(os.fdopen(0, "rb"), line))
