"""Connections of the web server with time limits: for the head of a request, for idle clients and for slow readers.

uvicorn waits forever for the first byte of a request and for a client that does not read, and it accepts any number of
connections. Here each wait has a time limit, and the number of connections is limited: a new connection replaces the
one that has been idle longest. If all are busy, the client is told to try again.
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
_SPARE: Final = 192  # open files that are reserved for journals, logs, models and newly accepted connections
_LEAST: Final = 8
_QUIET: Final = 60.0  # seconds between two log entries that no connection can be accepted
_FULL: Final = ErrorBody(503, "The server has too many connections. Try again.", SERVER, "too_many_connections")
_NO_HTTP: Final = ErrorBody(400, "The server cannot read this as an HTTP request.", code="invalid_http")
_LATE: Final = ErrorBody(408, "The request did not arrive in time. Send it again without pauses.", code="timeout")


def most_connections(wanted: int) -> int:
    """The number of connections wanted, or as many as the limit of open files allows."""
    try:
        import resource  # noqa: PLC0415 - not on every system

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError, ValueError):
        return wanted
    return wanted if files < 0 else max(min(wanted, files - _SPARE), _LEAST)


class BoundedConnection(H11Protocol):
    """A connection with time limits.

    Attributes:
        bounds: the limits, in seconds.
        most: the maximum number of connections of one server.
        waiting: the connections without a request in progress; the one that has waited longest comes first.
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
        """Accept the connection; if there are too many, it replaces one that waits."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            oldest = next(iter(self.waiting), None)
            if oldest is None:
                self._end(_FULL)
                return
            oldest._end(None)  # noqa: SLF001 - of this class
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._begin()
        self._unread = _stopped(self._unread)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait until the head of a request is complete."""
        super().data_received(data)
        if self._works:
            self._begin()
        elif self._head is None and not self.transport.is_closing():
            self._wait()  # the head of the next request has begun

    def on_response_complete(self) -> None:
        """Let another connection replace this one from now on."""
        super().on_response_complete()
        if not self._works and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read."""
        super().pause_writing()
        _stopped(self._unread)
        self._unread = self.loop.call_later(self.bounds.unread, self.transport.abort)

    def resume_writing(self) -> None:
        """End the time limit: the client reads again."""
        super().resume_writing()
        self._unread = _stopped(self._unread)

    def send_400_response(self, msg: str) -> None:
        """Answer that this is not HTTP, in the format of all errors."""
        del msg
        self._end(_NO_HTTP)

    def _wait(self) -> None:
        """Wait for a request, whose head must arrive in time."""
        self.waiting[self] = None
        self._head = self.loop.call_later(self.bounds.head, lambda: self._end(_LATE))

    def _begin(self) -> None:
        """Stop waiting: a request has arrived, or none will."""
        self.waiting.pop(self, None)
        self._head = _stopped(self._head)

    def _end(self, problem: ErrorBody | None) -> None:
        """Close the connection; give a reason if there is one."""
        self._begin()
        if problem is not None and not self._works:
            self.transport.write(_written(problem))
        self.transport.close()


def bounded(bounds: Bounds) -> type[BoundedConnection]:
    """The protocol of one server's connections, with the limits of `bounds`."""

    class Own(BoundedConnection):
        pass

    Own.bounds, Own.most, Own.waiting = bounds, most_connections(bounds.connections), {}
    return Own


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer if there is one; gives `None`."""
    if timer is not None:
        timer.cancel()
    return None


def _written(problem: ErrorBody) -> bytes:
    """A complete response whose text a browser can show, but from which it loads nothing."""
    headers = problem.headers | {"content-length": str(len(problem.bytes)), "connection": "close"}
    headers |= {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
    headers |= {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n{lines}\r\n".encode() + problem.bytes


def quiet_accepting(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Log at most once a minute that no connection can be accepted; gives a function that ends this."""
    before, said = loop.get_exception_handler(), [-_QUIET]

    def heard(loop_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "accept" not in str(context.get("message", "")):
            (before or type(loop_).default_exception_handler)(loop_, context)
        elif loop_.time() - said[0] >= _QUIET:
            said[0] = loop_.time()
            _LOG.error("No connection can be accepted: %s. The server tries again.", context.get("exception"))

    loop.set_exception_handler(heard)

    def end() -> None:
        with suppress(RuntimeError):
            loop.set_exception_handler(before)

    return end
