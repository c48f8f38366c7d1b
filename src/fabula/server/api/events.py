"""What happens, as it happens: server-sent events, from any number on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from fabula.server.api.depends import RunsDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.shared_schemas import NAME
from fabula.server.runs.feed import BATCH

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.server.runs.feed import Feed

router = APIRouter(tags=["events"])

BEAT: Final = 10.0  # seconds without an event after which a comment shows that the server lives
MOST: Final = 5_000
"""Events that are given at a time to whoever does not follow."""
_PAUSE: Final = 0.002  # seconds between two batches of a flood, so that a page has its turn between them
_RETRY: Final = b"retry: 1000\n\n"
_BEAT: Final = b": beat\n\n"
_EVENT: Final = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": f"#/components/schemas/{NAME}"},
}
_EVENTS: Final[dict[str, Any]] = {
    "description": "Each event as JSON: its number `n`, its `project` and `run`, its `type`, and what belongs to it.",
    "content": {
        "text/event-stream": {"itemSchema": {"type": "object", "required": ["data"], "properties": {"data": _EVENT}}}
    },
}
_AFTER: Final = Query(ge=0, le=2**53, description="The number of the last event that is known.")
_FOLLOW: Final = Query(
    description=f"Whether to wait for what is still to come; else about {MOST:,} are given at a time."
)
_LAST: Final = Header(alias="Last-Event-ID", description="As `after`, which it goes before: sent by a browser.")


@router.get(
    "/events", summary="What happens in all projects", response_class=StreamingResponse, responses={200: _EVENTS}
)
async def events(
    runs: RunsDep,
    after: Annotated[int | None, _AFTER] = None,
    follow: Annotated[bool, _FOLLOW] = True,  # noqa: FBT002 - FastAPI's form of a flag
    last: Annotated[str | None, _LAST] = None,
) -> StreamingResponse:
    """Every event behind number `after`, and then as they come; without a number, only what comes.

    A number that is missing in a client's row means that it has lost something: it asks again, from the last one before
    that. Where a log has been removed, `events_gone` stands for its events, with the number of the last.
    """
    number = int(last) if last and last.isascii() and last.isdigit() and len(last) < 17 else after  # noqa: PLR2004 - digits of 2**53
    feed = runs.feed
    body = _followed(feed, feed.last if number is None else number) if follow else _until_now(feed, number or 0)
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _followed(feed: Feed, after: int) -> AsyncIterator[bytes]:
    yield _RETRY + f"id: {after}\n\n".encode()  # where a browser goes on that is cut off before the first event
    async for events in feed.follow(after, BEAT):
        yield b"".join(event.sse for event in events) or _BEAT
        if len(events) == BATCH:  # a flood
            await asyncio.sleep(_PAUSE)


async def _until_now(feed: Feed, after: int) -> AsyncIterator[bytes]:
    until = min(feed.last, after + MOST)
    while after < until and (events := feed.after(after)):
        after = events[-1].n
        yield b"".join(event.sse for event in events)
