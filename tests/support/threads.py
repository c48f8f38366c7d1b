"""A server in tests, on a socket of loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fabula.server.running import listening

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

Serving: TypeAlias = "Callable[[socket.socket, Callable[[], None]], Coroutine[Any, Any, None]]"
_PATIENCE = 60  # seconds


@dataclass(frozen=True)
class Served:
    """A server that takes requests.

    Attributes:
        opened: its socket.
        loop: in which it runs.
        problems: what it ended with, if not because it was told to.
    """

    opened: socket.socket
    loop: asyncio.AbstractEventLoop
    problems: list[BaseException]


@contextmanager
def serving(serve: Serving, port: int = 0) -> Iterator[Served]:
    """What `serve` serves, from when it says that it takes requests until this is left; a problem of its is raised."""
    ready, problems = threading.Event(), list[BaseException]()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def run() -> None:
        task = asyncio.ensure_future(serve(opened, ready.set))
        running.append((asyncio.get_running_loop(), task))
        await task

    def thread() -> None:
        try:
            asyncio.run(run())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - the test raises it
            problems.append(error)
        finally:
            ready.set()

    with listening("127.0.0.1", port) as opened:
        worker = threading.Thread(target=thread)
        worker.start()
        assert ready.wait(_PATIENCE)
        assert not problems, problems
        loop, task = running[0]
        try:
            yield Served(opened, loop, problems)
        finally:
            if not problems:
                loop.call_soon_threadsafe(task.cancel)
            worker.join(_PATIENCE)
            assert not worker.is_alive()
    assert not problems, problems
