"""What every request passes before anything else sees it: its token, the rate, the size of its body, the time it takes.

A layer of plain ASGI. The body is read whole, up to its bound, before it is parsed.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.server.faults import UNAUTHORISED, ErrorBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi.telemetry import TelemetryConfig

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# What a body may have of, so that reading it keeps nobody waiting: a conversation of 5,000 messages has far fewer.
_MOST_OF: Final = ((b"{", 12_000), (b"[", 12_000), (b'":', 50_000))
SHORTEST: Final = 16  # letters of a token
_ALWAYS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


# Whatever the environment sets up: stories, conversations and answers are nobody else's.
SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""What the web framework is told of telemetry."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the server takes.

    Attributes:
        body: bytes of a request.
        reading: seconds in which it must have come.
        rate: requests a minute for each token; 0 sets no bound.
        turns: answers that are made at once.
        answer: seconds that one may take.
        patience: seconds without a piece after which a stream shows that it lives.
        connections: held at once; fewer where the system allows fewer open files.
        head: seconds in which a request's head must have come.
        idle: seconds that a connection waits for its next request.
        unread: seconds after which a client that does not read is left.
        shorter: what is to be sent where a body is too large.
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
    """The tokens that open the gate; only their hashes are held, and they are compared in constant time."""

    _known: tuple[bytes, ...]

    @classmethod
    def of(cls, tokens: Sequence[str]) -> AccessTokens:
        """Those of a list.

        Raises:
            UsageError: there is none, or one that is easily guessed.
        """
        short = next((len(token) for token in tokens if len(token) < SHORTEST), None)
        if not tokens or short is not None:
            message = "There is no token." if short is None else f"A token has {short} letters."
            raise UsageError(f"{message} Give one of {SHORTEST} letters at least, as `openssl rand -hex 32` makes it.")
        return cls(tuple(sha256(token.encode("utf-8", "replace")).digest() for token in tokens))

    def which(self, given: bytes) -> int | None:
        """The number of the token in an `Authorization` header; `None` if it holds none of them."""
        kind, _, token = given.strip().partition(b" ")
        hashed = sha256(token.strip()).digest()
        found = [number for number, known in enumerate(self._known) if hmac.compare_digest(known, hashed)]
        return found[0] if found and kind.lower() == b"bearer" else None


@dataclass
class Rates:
    """How often each token was used: as many requests at once as in a minute, then as they come back."""

    rate: int
    clock: Callable[[], float]
    _left: dict[int, tuple[float, float]] = field(default_factory=dict)

    def wait(self, token: int) -> float:
        """Seconds that this request has to wait; 0 lets it in."""
        if not self.rate:
            return 0.0
        now = self.clock()
        left, before = self._left.get(token, (float(self.rate), now))
        left = min(left + (now - before) * self.rate / 60, float(self.rate))
        let_in = left >= 1
        self._left[token] = (left - 1 if let_in else left, now)
        return 0.0 if let_in else (1 - left) * 60 / self.rate


class RefusedRequest(Exception):  # noqa: N818 - no error: the way a refusal leaves the reading of a request
    """A request that is not let in, and what is answered."""

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
        """Let a request in, or answer it."""
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
            message = f"Too many requests: {self.bounds.rate} a minute are taken. Try again in {wait:.0f} s."
            raise RefusedRequest(ErrorBody(429, message, "rate_limit_error", "rate_limit_exceeded", retry_after=wait))

    def _check_parts(self, body: bytes) -> None:
        if any(body.count(mark) > most for mark, most in _MOST_OF):
            message = f"The body has more fields or parts than any conversation. Send {self.bounds.shorter}."
            raise RefusedRequest(ErrorBody(413, message, code="request_too_large"))


async def whole_body(scope: Scope, receive: Receive, bounds: Bounds) -> bytes:
    """The body of a request, read up to its bounds.

    Raises:
        Refused: it is too large, or did not come in time.
        LeftError: the client has gone.
    """
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and lengths[0].isdigit() and int(lengths[0][:20]) > bounds.body:
        raise _too_large(bounds)
    try:
        async with asyncio.timeout(bounds.reading):
            return await _read(receive, bounds)
    except TimeoutError:
        message = f"The body did not come within {bounds.reading:.0f} s. Send it at once."
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
    """The client has gone."""


def again(body: bytes, receive: Receive) -> Receive:
    """What gives the body that was read, and then what the server says."""
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
