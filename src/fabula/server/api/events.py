"""The events of all projects as they happen: server-sent events, from any number onwards."""

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

BEAT: Final = 10.0  # seconds without an event after which a comment is sent as a sign of life
MOST: Final = 5_000
"""The maximum number of events in an answer to a client that does not wait for more."""
_PAUSE: Final = 0.002  # seconds between two batches of many events, so that pages are served in between
_RETRY: Final = b"retry: 1000\n\n"
_BEAT: Final = b": beat\n\n"
_EVENT: Final = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": f"#/components/schemas/{NAME}"},
}
_EVENTS: Final[dict[str, Any]] = {
    "description": (
        "Each event is a JSON object with its number `n`, `project`, `run` and `type`, and the fields of that type."
    ),
    "content": {
        "text/event-stream": {"itemSchema": {"type": "object", "required": ["data"], "properties": {"data": _EVENT}}}
    },
}
_AFTER: Final = Query(ge=0, le=2**53, description="The number of the last event that you have seen.")
_FOLLOW: Final = Query(
    description=f"Whether to wait for future events. Otherwise, an answer has about {MOST:,} events."
)
_LAST: Final = Header(alias="Last-Event-ID", description="Same as `after`, which it overrides. Browsers send it.")


@router.get("/events", summary="The events of all projects", response_class=StreamingResponse, responses={200: _EVENTS})
async def events(
    runs: RunsDep,
    after: Annotated[int | None, _AFTER] = None,
    follow: Annotated[bool, _FOLLOW] = True,  # noqa: FBT002 - FastAPI's form of a flag
    last: Annotated[str | None, _LAST] = None,
) -> StreamingResponse:
    """All events after number `after`, then new events as they happen; without a number, only new events.

    If a number is missing, the client has lost an event and must ask again from the last number before it. If a log was
    removed, one `events_gone` replaces its events, with the number of the last one.
    """
    number = int(last) if last and last.isascii() and last.isdigit() and len(last) < 17 else after  # noqa: PLR2004 - digits of 2**53
    feed = runs.feed
    body = _followed(feed, feed.last if number is None else number) if follow else _until_now(feed, number or 0)
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _followed(feed: Feed, after: int) -> AsyncIterator[bytes]:
    yield _RETRY + f"id: {after}\n\n".encode()  # where a browser resumes if it is cut off before the first event
    async for events in feed.follow(after, BEAT):
        yield b"".join(event.sse for event in events) or _BEAT
        if len(events) == BATCH:  # many events
            await asyncio.sleep(_PAUSE)


async def _until_now(feed: Feed, after: int) -> AsyncIterator[bytes]:
    until = min(feed.last, after + MOST)
    while after < until and (events := feed.after(after)):
        after = events[-1].n
        yield b"".join(event.sse for event in events)
