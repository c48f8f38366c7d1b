"""Checks that every request must pass first: its token, its rate, the size of its body and the time to read it.

A layer of plain ASGI. The whole body is read, up to its limit, before it is parsed.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.server.faults import UNAUTHORISED, ErrorBody

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig


Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Limits of a body, so that parsing it delays nobody: a conversation of 5,000 messages is far below them.
_MOST_OF: Final = ((b"{", 12_000), (b"[", 12_000), (b'":', 50_000))
SHORTEST: Final = 16  # characters of a token
_ALWAYS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


# Whatever the environment configures: stories, conversations and answers stay private.
SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""The web framework's telemetry settings."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a server.

    Attributes:
        body: the maximum size of a request's body, in bytes.
        reading: seconds within which the body must arrive.
        rate: requests per minute for each token; 0 means no limit.
        turns: the maximum number of concurrent answers.
        answer: the maximum duration of an answer, in seconds.
        patience: seconds without a piece after which a stream sends a sign of life.
        connections: the maximum number of connections; fewer if the system allows fewer open files.
        head: seconds within which a request's head must arrive.
        idle: seconds that a connection waits for its next request.
        unread: seconds after which a client that does not read is disconnected.
        shorter: what to send if a body is too large.
    """

    body: int = 2_000_000
    reading: float = 30.0
    rate: int = 600
    turns: int = 256
    answer: float = 600.0
    patience: float = 10.0
    connections: int = 1000
    head: float = 10.0
    idle: float = 30.0
    unread: float = 60.0
    shorter: str = "a shorter history"


@dataclass
class AccessTokens:
    """The tokens that the gate accepts; only their hashes are stored, and they are compared in constant time."""

    _known: tuple[bytes, ...]

    @classmethod
    def of(cls, tokens: Sequence[str]) -> AccessTokens:
        """The tokens of a list.

        Raises:
            UsageError: there is no token, or one is easy to guess.
        """
        short = next((len(token) for token in tokens if len(token) < SHORTEST), None)
        if not tokens or short is not None:
            message = "There is no token." if short is None else f"A token has only {short} characters."
            raise UsageError(
                f"{message} Use a token with at least {SHORTEST} characters, such as one from `openssl rand -hex 32`."
            )
        return cls(tuple(sha256(token.encode("utf-8", "replace")).digest() for token in tokens))

    def which(self, given: bytes) -> int | None:
        """The number of the token in an `Authorization` header; `None` if the header has no known token."""
        kind, _, token = given.strip().partition(b" ")
        hashed = sha256(token.strip()).digest()
        found = [number for number, known in enumerate(self._known) if hmac.compare_digest(known, hashed)]
        return found[0] if found and kind.lower() == b"bearer" else None


@dataclass
class Rates:
    """The rate limit of each token: a minute's requests at once, and then as they become available again."""

    rate: int
    clock: Callable[[], float]
    _left: dict[int, tuple[float, float]] = field(default_factory=dict)

    def wait(self, token: int) -> float:
        """The seconds that this request must wait; 0 admits it."""
        if not self.rate:
            return 0.0
        now = self.clock()
        left, before = self._left.get(token, (float(self.rate), now))
        left = min(left + (now - before) * self.rate / 60, float(self.rate))
        let_in = left >= 1
        self._left[token] = (left - 1 if let_in else left, now)
        return 0.0 if let_in else (1 - left) * 60 / self.rate


class RefusedRequest(Exception):  # noqa: N818 - no error: the way a refusal leaves the reading of a request
    """A request that is not admitted, with its answer."""

    def __init__(self, problem: ErrorBody) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass
class Gate:
    """The layer around an application."""

    app: App
    tokens: AccessTokens
    bounds: Bounds
    rates: Rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or answer it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._let_in(scope)
            body = await whole_body(scope, receive, self.bounds)
            self._check_parts(body)
        except RefusedRequest as refused:
            await answer(refused.problem, send)
            return
        except LeftError:
            return
        await self.app(scope, again(body, receive), _with_headers(send))

    def _let_in(self, scope: Scope) -> None:
        """Check the token and its rate."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        token = self.tokens.which(given[0]) if len(given) == 1 else None
        if token is None:
            raise RefusedRequest(UNAUTHORISED)
        wait = self.rates.wait(token)
        if wait:
            message = f"Too many requests: the limit is {self.bounds.rate} per minute. Try again in {wait:.0f} s."
            raise RefusedRequest(ErrorBody(429, message, "rate_limit_error", "rate_limit_exceeded", retry_after=wait))

    def _check_parts(self, body: bytes) -> None:
        if any(body.count(mark) > most for mark, most in _MOST_OF):
            message = f"The body has too many fields or parts. Send {self.bounds.shorter}."
            raise RefusedRequest(ErrorBody(413, message, code="request_too_large"))


async def whole_body(scope: Scope, receive: Receive, bounds: Bounds) -> bytes:
    """The body of a request, read up to its limit.

    Raises:
        RefusedRequest: the body is too large or did not arrive in time.
        LeftError: the client has disconnected.
    """
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and lengths[0].isdigit() and int(lengths[0][:20]) > bounds.body:
        raise _too_large(bounds)
    try:
        async with asyncio.timeout(bounds.reading):
            return await _read(receive, bounds)
    except TimeoutError:
        message = f"The body did not arrive within {bounds.reading:.0f} s. Send it again without pauses."
        raise RefusedRequest(ErrorBody(408, message, code="timeout")) from None


async def _read(receive: Receive, bounds: Bounds) -> bytes:
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise LeftError
        body += event.get("body", b"")
        if len(body) > bounds.body:
            raise _too_large(bounds)
        if not event.get("more_body"):
            return bytes(body)


def _too_large(bounds: Bounds) -> RefusedRequest:
    message = f"The body has more than {bounds.body:,} bytes. Send {bounds.shorter}."
    return RefusedRequest(ErrorBody(413, message, code="request_too_large"))


class LeftError(Exception):
    """The client has disconnected."""


def again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body already read, and then the server's messages."""
    waiting: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Event:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _with_headers(send: Send) -> Send:
    async def send_with(event: Event) -> None:
        if event["type"] == "http.response.start":
            event["headers"] = [*event.get("headers", ()), *_ALWAYS]
        await send(event)

    return send_with


async def answer(problem: ErrorBody, send: Send) -> None:
    """Send a problem as JSON, and close the connection."""
    body = problem.bytes
    headers = [(name.encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [*_ALWAYS, (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
