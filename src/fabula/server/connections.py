"""Connections of the web server with bounds: how long a head may take, an idle client stays, a slow one reads.

uvicorn waits for ever for the first byte of a request and for a client that does not read, and takes as many
connections as there are. Here each wait has its time, and there are only so many connections: a new one takes the
place of the one that has been idle for longest, and where all are at work it is told to come again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from fabula.server.faults import SERVER, ErrorBody

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from fabula.server.gate import Bounds

_LOG: Final = logging.getLogger("fabula.server")
_SPARE: Final = 192  # open files that are kept for journals, logs, models and connections that are just accepted
_LEAST: Final = 8
_QUIET: Final = 60.0  # seconds between two complaints that no connection can be accepted
_FULL: Final = ErrorBody(
    503, "The server has as many connections as it takes. Try again.", SERVER, "too_many_connections"
)
_NO_HTTP: Final = ErrorBody(400, "This is no HTTP request that the server can read.", code="invalid_http")
_LATE: Final = ErrorBody(408, "The request did not come in time. Send it at once.", code="timeout")


def most_connections(wanted: int) -> int:
    """So many connections as wanted, or as the limit of open files leaves room for."""
    try:
        import resource  # noqa: PLC0415 - not on every system

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError, ValueError):
        return wanted
    return wanted if files < 0 else max(min(wanted, files - _SPARE), _LEAST)


class BoundedConnection(H11Protocol):
    """A connection that is held to bounds.

    Attributes:
        bounds: in which seconds what must come.
        most: connections that one server has.
        waiting: those of them that have no request at work, the one that waits for longest first.
    """

    bounds: Bounds
    most: int
    waiting: dict[BoundedConnection, None]
    _head: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    @property
    def _works(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - asyncio's transport
        """Take it, in the place of one that waits where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            oldest = next(iter(self.waiting), None)
            if oldest is None:
                self._end(_FULL)
                return
            oldest._end(None)  # noqa: SLF001 - of this class
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._begin()
        self._unread = _stopped(self._unread)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The head of a request is waited for until it is whole."""
        super().data_received(data)
        if self._works:
            self._begin()
        elif self._head is None and not self.transport.is_closing():
            self._wait()  # the head of a next request has begun

    def on_response_complete(self) -> None:
        """From now on another may take its place."""
        super().on_response_complete()
        if not self._works and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """The client does not read; it has its time to."""
        super().pause_writing()
        _stopped(self._unread)
        self._unread = self.loop.call_later(self.bounds.unread, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._unread = _stopped(self._unread)

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, in the shape of all errors."""
        del msg
        self._end(_NO_HTTP)

    def _wait(self) -> None:
        """A request is to come, and its head in time."""
        self.waiting[self] = None
        self._head = self.loop.call_later(self.bounds.head, lambda: self._end(_LATE))

    def _begin(self) -> None:
        """A request has come, or none will."""
        self.waiting.pop(self, None)
        self._head = _stopped(self._head)

    def _end(self, problem: ErrorBody | None) -> None:
        """Close the connection, with a reason where there is one that nobody waits for."""
        self._begin()
        if problem is not None and not self._works:
            self.transport.write(_written(problem))
        self.transport.close()


def bounded(bounds: Bounds) -> type[BoundedConnection]:
    """The protocol of one server's connections, which are held to `bounds`."""

    class Own(BoundedConnection):
        pass

    Own.bounds, Own.most, Own.waiting = bounds, most_connections(bounds.connections), {}
    return Own


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """No timer, where there may have been one."""
    if timer is not None:
        timer.cancel()
    return None


def _written(problem: ErrorBody) -> bytes:
    """A whole response, of which a browser can show the text and load nothing."""
    headers = problem.headers | {"content-length": str(len(problem.bytes)), "connection": "close"}
    headers |= {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
    headers |= {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n{lines}\r\n".encode() + problem.bytes


def quiet_accepting(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Complain once a minute where no connection can be accepted, not once for each; gives what ends that."""
    before, said = loop.get_exception_handler(), [-_QUIET]

    def heard(loop_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "accept" not in str(context.get("message", "")):
            (before or type(loop_).default_exception_handler)(loop_, context)
        elif loop_.time() - said[0] >= _QUIET:
            said[0] = loop_.time()
            _LOG.error("No connection can be accepted: %s. It is tried again.", context.get("exception"))

    loop.set_exception_handler(heard)

    def end() -> None:
        with suppress(RuntimeError):
            loop.set_exception_handler(before)

    return end
