"""The server on its socket: opens the projects, listens, and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import time
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from fabula.app.conversing import conversing
from fabula.base.errors import UsageError
from fabula.project.casting import load_servers
from fabula.server.chat.projects import Catalogue, served
from fabula.server.chat.turns import measure
from fabula.server.gate import Bounds, Tokens
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fabula.app.writing import Options
    from fabula.project.folder import Project
    from fabula.project.settings import Settings
    from fabula.server.gate import App

_GRACE: Final = 5  # seconds that answers in the making have when the server is ended
_BACKLOG: Final = 128  # connections that the system holds for us; so many are accepted in one go
_LARGEST_HEAD: Final = 65_536


@dataclass(frozen=True)
class Offer:
    """What is to be served.

    Attributes:
        projects: each with the settings in force.
        options: what the calls are made with.
        tokens: open the gate.
        bounds: of requests.
        player: who the client plays, where a request says nothing; "" leaves it to each project.
        api: offer the projects themselves, too, as `/api/v1`.
    """

    projects: Sequence[tuple[Project, Settings]]
    options: Options
    tokens: Sequence[str]
    bounds: Bounds = field(default_factory=Bounds)
    player: str = ""
    api: bool = True

    @property
    def names(self) -> list[str]:
        """The projects' names in those of models.

        Raises:
            UsageError: two are alike.
        """
        names = [slug(project.folder.resolve().name) for project, _ in self.projects]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"Two projects would both be fabula/{twice}/... Rename one folder, or serve one of them.")
        return names


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: only then asyncio sends small packets at once, and none waits 40 ms for the one before it.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(socket.SOMAXCONN)
    except OSError as error:
        opened.close()
        raise UsageError(
            f"Cannot listen at {host}:{port} ({error.strerror}). Give another --host or --port."
        ) from error
    return opened


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(opened: socket.socket) -> str:
    """Where clients find the server: their "base URL"."""
    host, port = opened.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


async def serve(offer: Offer, opened: socket.socket, ready: Callable[[Catalogue], None]) -> None:
    """Serve until the task is cancelled; `ready` is called once requests are taken.

    Raises:
        FabulaError: a project cannot be opened.
    """
    from fabula.server.chat.app import Dependencies, application  # noqa: PLC0415 - a second of imports
    from fabula.server.studio.application import mount_api  # noqa: PLC0415 - as above
    from fabula.server.studio.shelf import Shelf  # noqa: PLC0415 - as above
    from fabula.server.studio.state import StudioState  # noqa: PLC0415 - as above

    tokens = Tokens.of(offer.tokens)
    async with AsyncExitStack() as stack:
        options = replace(offer.options, listeners=(*offer.options.listeners, measure))
        projects = {}
        for name, (project, settings) in zip(offer.names, offer.projects, strict=True):
            open_ = await stack.enter_async_context(conversing(project, settings, options))
            projects[name] = await served(name, open_, offer.player)
        load_servers({name.partition(":")[0] for _, settings in offer.projects for name in settings.cast_models})
        catalogue = Catalogue(projects)
        means = Dependencies(catalogue, tokens, offer.bounds, time.monotonic, time.time, lambda: secrets.token_hex(12))
        if offer.api:
            shelf = Shelf.of([project.folder for project, _ in offer.projects], offer.options.environ)
            held = {one.conversing.project.folder.resolve(): one.conversing for one in projects.values()}
            state = await stack.enter_async_context(StudioState(shelf, offer.options, conversing=held).at_work())
            app = application(means, lambda app: mount_api(app, state))
        else:
            app = application(means)
        await listen(app, opened, lambda: ready(catalogue), offer.bounds)


async def listen(
    app: App,
    opened: socket.socket,
    ready: Callable[[], None],
    bounds: Bounds | None = None,
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests at a socket until the task is cancelled; answers in the making are given a few seconds.

    `ending` is called before that: it ends what would never end by itself.
    """
    import uvicorn  # noqa: PLC0415 - imports what `fabula --help` does not need

    from fabula.server.connections import bounded, quiet_accepting  # noqa: PLC0415 - as above

    bounds = bounds or Bounds()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # who calls `serve` has signals cancel its task

    config = uvicorn.Config(
        app,
        http=bounded(bounds),
        log_config=None,
        log_level="error",  # whoever sends nonsense fills no log
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=max(round(bounds.idle), 1),
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
    )
    server = Server(config)
    loop = asyncio.get_running_loop()
    task, end_quiet = loop.create_task(server.serve([opened])), quiet_accepting(loop)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        ending()
        server.should_exit = True
        await task
        raise
    finally:
        end_quiet()
