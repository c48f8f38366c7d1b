"""Projects on a socket: characters for chat programs, and `/api/v1`."""

from __future__ import annotations

import secrets
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fabula.app.conversing import conversing
from fabula.base.errors import UsageError
from fabula.server.chat.projects import ServedProjects, served
from fabula.server.chat.turns import measure
from fabula.server.gate import AccessTokens, Bounds
from fabula.server.running import address_of, listen
from fabula.story import slug

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from fabula.app.writing import Options
    from fabula.project.folder import ProjectFolder
    from fabula.project.settings import Settings


@dataclass(frozen=True)
class Offer:
    """The projects to serve, and how.

    Attributes:
        projects: the projects, each with its settings.
        options: the options of the calls.
        tokens: the tokens that the gate accepts.
        bounds: the limits of requests.
        player: the character whom the client plays by default; "" uses the project's own player.
        api: whether to offer the projects themselves at `/api/v1`.
    """

    projects: Sequence[tuple[ProjectFolder, Settings]]
    options: Options
    tokens: Sequence[str]
    bounds: Bounds = field(default_factory=Bounds)
    player: str = ""
    api: bool = True

    @property
    def names(self) -> list[str]:
        """The projects' names in the names of models.

        Raises:
            UsageError: two names are the same.
        """
        names = [slug(project.folder.resolve().name) for project, _ in self.projects]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(
                f"Two projects would have the same name, fabula/{twice}/... Rename one folder, or serve only "
                "one of them."
            )
        return names


def base_url(opened: socket.socket) -> str:
    """The "base URL" of the server, for clients."""
    return f"{address_of(opened)}/v1"


async def serve(offer: Offer, opened: socket.socket, ready: Callable[[ServedProjects], None]) -> None:
    """Serve until the task is cancelled; `ready` is called once requests are accepted.

    Raises:
        FabulaError: a project cannot be opened.
    """
    from fabula.server.chat.app import Dependencies, application  # noqa: PLC0415 - a second of imports
    from fabula.server.state import StudioState  # noqa: PLC0415 - as above
    from fabula.server.studio.application import mount_api  # noqa: PLC0415 - as above
    from fabula.verbs.home import Home  # noqa: PLC0415 - as above

    tokens = AccessTokens.of(offer.tokens)
    async with AsyncExitStack() as stack:
        options = replace(offer.options, listeners=(*offer.options.listeners, measure))
        projects = {}
        for name, (project, settings) in zip(offer.names, offer.projects, strict=True):
            open_ = await stack.enter_async_context(conversing(project, settings, options))
            projects[name] = await served(name, open_, offer.player)
        catalogue = ServedProjects(projects)
        means = Dependencies(catalogue, tokens, offer.bounds, time.monotonic, time.time, lambda: secrets.token_hex(12))
        if offer.api:
            shelf = Home.of([project.folder for project, _ in offer.projects], offer.options.environ)
            held = {one.conversing.project.folder.resolve(): one.conversing for one in projects.values()}
            state = await stack.enter_async_context(StudioState(shelf, offer.options, conversing=held).at_work())
            app = application(means, lambda app: mount_api(app, state))
        else:
            app = application(means)
        await listen(app, opened, lambda: ready(catalogue), offer.bounds)
