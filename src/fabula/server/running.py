"""A server on its socket: it listens until it is cancelled."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.server.gate import Bounds
from fabula.server.tidying import tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabula.server.gate import App

_GRACE: Final = 5  # seconds that unfinished answers have when the server is stopped
_BACKLOG: Final = 128  # connections that the system queues for us; at most so many are accepted at a time
_LAST: Final = 65_535  # port
_LARGEST_HEAD: Final = 65_536


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        UsageError: the address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: only then does asyncio send small packets at once, instead of waiting 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(socket.SOMAXCONN)
    except OSError as error:
        opened.close()
        raise UsageError(f"Cannot listen on {host}:{port}{_why_not(error, port)}") from error
    return opened


def _why_not(error: OSError, port: int) -> str:
    """The cause that a socket cannot listen, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f": another program uses this port. Give another one, such as --port {port + 1 if port < _LAST else 8001}."
        )
    if error.errno == errno.EACCES:
        return ": only an administrator may use this port. Give one above 1023, such as --port 8001."
    return f" ({error.strerror}). Choose another --host or --port."


def address_of(opened: socket.socket) -> str:
    """The address of the server on this machine, without a slash at the end."""
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
    """Answer requests at a socket until the task is cancelled; unfinished answers get a few seconds to finish.

    `ending` is called before that: it ends answers that would never end by themselves.
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
            yield  # the caller of `serve` lets signals cancel its task

    config = uvicorn.Config(
        app,
        http=bounded(bounds),
        log_config=None,
        log_level="error",  # malformed requests do not fill the log
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
    tidying = loop.create_task(tidy())
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
