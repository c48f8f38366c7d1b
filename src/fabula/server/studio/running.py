"""The studio on its socket."""

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


_PAUSE: Final = 0.5  # seconds for which the first page has the server to itself


@dataclass(frozen=True)
class StudioOffer:
    """What is to be served, and to whom.

    Attributes:
        state: the projects, and what is known beside them.
        tokens: open the studio.
        host: that is listened at.
        names: beside its own, under which a proxy passes requests on.
    """

    state: StudioState
    tokens: Sequence[str]
    host: str = "127.0.0.1"
    names: Sequence[str] = field(default_factory=tuple)


async def serve_studio(offer: StudioOffer, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until the task is cancelled; `ready` is called once requests are taken.

    Raises:
        UsageError: a token is easily guessed.
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
    """Do what pages would wait for: look at a single project, and after a pause put templates and routes together.

    A page that is asked for in the pause makes what it needs of these itself, and does not wait for the others.
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
"""A request that is answered with a 404: the web framework puts its routes together when it looks for the first one."""


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Event) -> None:
    return
