"""A request with an `Idempotency-Key` is carried out once, however often it is sent: its answer is kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse

from fabula.server.faults import ErrorBody
from fabula.server.gate import again

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


HEADER: Final = "Idempotency-Key"
_MOST: Final = 1000  # answers that are kept
_LARGEST: Final = 1_000_000  # bytes of one that is kept
_LONGEST: Final = 200  # characters of a key
_REFUSED: Final = 400
_OTHER: Final = ErrorBody(
    422,
    f"This {HEADER} was already used for another request. Use a new key for each new request.",
    param=HEADER,
    code="invalid_field",
)


@dataclass
class _Answer:
    """The answer to a request, message by message; it may still be incomplete."""

    asked: bytes
    messages: list[MutableMapping[str, Any]] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def stands(self) -> bool:
        """Whether it is complete, not too large and not a refusal; a refused request may be tried again."""
        whole = bool(self.messages) and not self.messages[-1].get("more_body", False)
        size = sum(len(one.get("body", b"")) for one in self.messages)
        return whole and size <= _LARGEST and self.messages[0]["status"] < _REFUSED


class Once:
    """A layer that repeats the first answer for every request with the same key, as long as the server runs.

    A repeated request waits while the first one is in progress. The work continues if the client disconnects.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._answers: OrderedDict[str, _Answer] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        key = _key_of(scope)
        if not key:
            await self._app(scope, receive, send)
            return
        body = await Request(scope, receive).body()  # bounded by the gate before it
        asked = sha256(b"\0".join((scope["raw_path"], scope["query_string"], body))).digest()
        while (known := self._answers.get(key)) is not None:
            if known.asked != asked:
                await JSONResponse(_OTHER.body, _OTHER.status)(scope, receive, send)
                return
            await known.over.wait()
            if known.stands:
                for message in known.messages:
                    await send(dict(message))
                return
        answer = self._answers[key] = _Answer(asked)

        async def heard(message: MutableMapping[str, Any]) -> None:
            answer.messages.append(dict(message))
            await send(message)

        try:
            await self._app(scope, again(body, _never), heard)
        finally:
            if not answer.stands:
                self._answers.pop(key, None)  # it may have made room for others
            while len(self._answers) > _MOST:
                self._answers.popitem(last=False)
            answer.over.set()


def _key_of(scope: Scope) -> str:
    """The key of a request that must be carried out once; empty for any other request."""
    if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith("/api/"):
        return ""
    name = HEADER.lower().encode()
    return next((value.decode("latin-1")[:_LONGEST] for one, value in scope["headers"] if one == name), "")


async def _never() -> MutableMapping[str, Any]:
    """Wait forever instead of reporting that the client has disconnected."""
    nothing: asyncio.Future[MutableMapping[str, Any]] = asyncio.get_running_loop().create_future()
    return await nothing
