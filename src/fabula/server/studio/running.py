"""The studio on its socket."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from fabula.server.browser import Names, OwnKeys
from fabula.server.gate import Tokens
from fabula.server.running import listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from fabula.server.studio.state import StudioState


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

    keys, names = OwnKeys(Tokens.of(offer.tokens)), Names.of(offer.host, offer.names)
    async with offer.state.at_work():
        app = application(offer.state, keys, names, cookie_at(opened))
        await listen(app, opened, ready, BOUNDS, offer.state.runs.feed.end)


def cookie_at(opened: socket.socket) -> str:
    """The name of the cookie: a browser sends the cookies of one machine to all its ports."""
    return f"fabula-{opened.getsockname()[1]}"


def link_to(opened: socket.socket, token: str = "", page: str = "/") -> str:
    """The link that signs a browser in and opens a page; without a token, the address alone."""
    host, port = opened.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - every address is also this machine's
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
    following = "" if page == "/" else f"&next={quote(page)}"
    return f"{address}/login?token={quote(token)}{following}" if token else address + page
