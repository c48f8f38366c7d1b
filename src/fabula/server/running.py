"""A server on its socket: it listens, and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.kept import KEPT
from fabula.base.memory import Trimmer
from fabula.server.gate import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabula.server.gate import App

_TIDY: Final = 2.0  # seconds between two looks at what memory can be given back
_GRACE: Final = 5  # seconds that answers in the making have when the server is ended
_BACKLOG: Final = 128  # connections that the system holds for us; so many are accepted in one go
_LARGEST_HEAD: Final = 65_536


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: only then asyncio sends small packets at once, and none waits 40 ms for the one before it.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(socket.SOMAXCONN)
    except OSError as error:
        opened.close()
        raise UsageError(
            f"Cannot listen at {host}:{port} ({error.strerror}). Give another --host or --port."
        ) from error
    return opened


def address_of(opened: socket.socket) -> str:
    """Where the server is found from this machine, without a slash at its end."""
    host, port = opened.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - every address is also this machine's
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


async def listen(
    app: App,
    opened: socket.socket,
    ready: Callable[[], None],
    bounds: Bounds | None = None,
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests at a socket until the task is cancelled; answers in the making are given a few seconds.

    `ending` is called before that: it ends what would never end by itself.
    """
    import uvicorn  # noqa: PLC0415 - imports what `fabula --help` does not need

    from fabula.server.connections import bounded, quiet_accepting  # noqa: PLC0415 - as above

    bounds = bounds or Bounds()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # who calls `serve` has signals cancel its task

    config = uvicorn.Config(
        app,
        http=bounded(bounds),
        log_config=None,
        log_level="error",  # whoever sends nonsense fills no log
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=max(round(bounds.idle), 1),
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
    )
    server = Server(config)
    loop = asyncio.get_running_loop()
    task, end_quiet = loop.create_task(server.serve([opened])), quiet_accepting(loop)
    tidying = loop.create_task(_tidy())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        ending()
        server.should_exit = True
        await task
        raise
    finally:
        tidying.cancel()
        end_quiet()


async def _tidy() -> None:
    """Let go of what nobody asks for any more, and give memory back that was freed, again and again."""
    loop, trimmer = asyncio.get_running_loop(), Trimmer()
    with ThreadPoolExecutor(1, "tidy") as thread:  # of its own: those of pages may all be at work for long
        while True:
            await asyncio.sleep(_TIDY)
            await loop.run_in_executor(thread, KEPT.forget_idle)
            await loop.run_in_executor(thread, trimmer.trim)
