"""The studio on a socket."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import FabulaError
from fabula.server.browser import Names, OwnKeys, cookie_at
from fabula.server.gate import AccessTokens
from fabula.server.running import listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from fabula.server.gate import App, Event
    from fabula.server.state import StudioState


_PAUSE: Final = 0.5  # seconds in which only the first page is served


@dataclass(frozen=True)
class StudioOffer:
    """The projects to serve, and how.

    Attributes:
        state: the projects and the state of the server.
        tokens: the tokens that the studio accepts.
        host: the host at which the server listens.
        names: additional names of the server, under which a proxy forwards requests.
    """

    state: StudioState
    tokens: Sequence[str]
    host: str = "127.0.0.1"
    names: Sequence[str] = field(default_factory=tuple)


async def serve_studio(offer: StudioOffer, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until the task is cancelled; `ready` is called once requests are accepted.

    Raises:
        UsageError: a token is easy to guess.
    """
    from fabula.server.studio.application import BOUNDS, application  # noqa: PLC0415 - a second of imports

    keys, names = OwnKeys(AccessTokens.of(offer.tokens)), Names.of(offer.host, offer.names)
    app = application(offer.state, keys, names, cookie_at(opened, "fabula"))
    warming: list[asyncio.Task[None]] = []

    def begun() -> None:
        ready()
        warming.append(asyncio.create_task(warm_up(offer.state, app.app, _PAUSE)))

    async with offer.state.at_work():
        try:
            await listen(app, opened, begun, BOUNDS, offer.state.runs.feed.end)
        finally:
            for task in warming:
                task.cancel()


async def warm_up(state: StudioState, app: App, pause: float = 0.0) -> None:
    """Do in advance what pages would wait for: read a single project, and after a pause compile templates and routes.

    A page that is requested during the pause makes only what it needs and does not wait for the rest.
    """
    from fabula.server.studio.rendering import templates  # noqa: PLC0415 - a second of imports

    names = await asyncio.to_thread(lambda: state.shelf.names)
    with suppress(FabulaError):
        if len(names) == 1:
            workspace = state.shelf[names[0]]
            await asyncio.to_thread(workspace.overview)
            await asyncio.to_thread(workspace.tree, marks=False)
    await asyncio.sleep(pause)
    for name in templates().list_templates(["html"]):
        await asyncio.to_thread(templates().get_template, name)
    await app(_NOWHERE, _nothing, _unheard)


_NOWHERE: Final[dict[str, Any]] = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "path": "/nowhere",
    "query_string": b"",
    "headers": [],
}
"""A request whose answer is 404. It makes the web framework build its routes, which happens at the first request."""


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Event) -> None:
    return
