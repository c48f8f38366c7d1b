"""A server on its socket: it listens until it is cancelled."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import mmap
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.kept import KEPT
from fabula.server.gate import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabula.server.gate import App

_TIDY: Final = 2.0  # seconds between two attempts to release memory
_GRACE: Final = 5  # seconds that unfinished answers have when the server is stopped
_BACKLOG: Final = 128  # connections that the system queues for us; at most so many are accepted at a time
_LAST: Final = 65_535  # port
_LARGEST_HEAD: Final = 65_536
_SIZE: Final = Path("/proc/self/statm")
_MOST_PLACES: Final = -8  # `M_ARENA_MAX` in glibc's malloc.h
_WORTH: Final = 4_000_000  # bytes; giving back less is not worth the time that it takes


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
    """Repeatedly drop unused caches and return free memory to the system."""
    loop, trimmer = asyncio.get_running_loop(), Trimmer()
    with ThreadPoolExecutor(1, "tidy") as thread:  # a separate thread: those of pages may all be busy for a long time
        while True:
            await asyncio.sleep(_TIDY)
            await loop.run_in_executor(thread, KEPT.forget_idle)
            await loop.run_in_executor(thread, trimmer.trim)


class Trimmer:
    """Returns freed memory whenever the process has grown since the last time; threads begun later share one arena.

    A large answer uses many times its size for a moment. glibc keeps freed memory for later, in a separate arena for
    each thread, as large as that thread's largest answer. A server that answered a few large requests would stay large
    for ever. Since only one Python thread computes at a time, one arena for all of them is enough.

    Only glibc has the functions (`malloc_trim`, `mallopt`); with other C libraries, and outside Linux, nothing is done.
    """

    def __init__(self) -> None:
        self._trim, self._before = _of_libc("malloc_trim"), 0
        if (set_option := _of_libc("mallopt")) is not None and self._trim is not None:
            set_option(_MOST_PLACES, 1)

    def trim(self) -> bool:
        """Return freed memory if the process has grown by much since the last time; returns whether it did."""
        if self._trim is None or (size := resident()) - self._before < _WORTH:
            return False
        self._trim(0)
        self._before = resident() or size
        return True


def resident() -> int:
    """Bytes of memory that this process holds; 0 if the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        return int(_SIZE.read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
    return 0


def _of_libc(name: str) -> ctypes._NamedFuncPointer | None:
    """A function of the C library; `None` if it has none of that name."""
    with suppress(OSError, TypeError, AttributeError):  # no such function, or no library of that kind
        found: ctypes._NamedFuncPointer = getattr(ctypes.CDLL(None), name)
        return found
    return None
