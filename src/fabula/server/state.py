"""The state of the server of the studio and of `/api/v1` while it runs: `request.app.state.studio`."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Any

from fabula.app.writing import Options
from fabula.project.trust import state_home
from fabula.server.conversations import Conversations
from fabula.server.runs.children import Runs
from fabula.server.runs.feed import Feed
from fabula.server.watching import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from fabula.app.conversing import Conversing
    from fabula.server.runs.record import RunRecord
    from fabula.verbs.home import Home


@dataclass
class StudioState:
    """The state that handlers share.

    Attributes:
        shelf: the projects.
        options: the options of model calls, including the environment.
        runs: long-running work in the projects, and its events.
        conversing: the projects, by folder, that this server keeps open as long as it runs.
    """

    shelf: Home
    options: Options = field(default_factory=Options)
    runs: Runs = field(init=False)
    conversing: Mapping[Path, Conversing] = field(default_factory=dict)
    _conversations: dict[str, Conversations] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give events numbers that are valid as long as the same folders are served."""
        places = sha256("\n".join(sorted(map(str, self.shelf.places))).encode("utf-8", "replace")).hexdigest()[:16]
        feed = Feed(state_home() / "studio", places, time)
        self.runs = Runs(self.shelf, feed, time, {**os.environ, **self.options.environ})
        self.shelf.at_work.append(self.runs.at_work_in)

    def conversations(self, project: str) -> Conversations:
        """The conversations of a project."""
        workspace = self.shelf[project]
        known = self._conversations.get(project)
        if known is None or known.workspace is not workspace:
            shared = self.conversing.get(workspace.folder.resolve())
            known = self._conversations[project] = Conversations(workspace, self.options, shared=shared)
        return known

    async def start(self, project: str, verb: str, arguments: Mapping[str, Any]) -> RunRecord:
        """Begin a run of a verb, or queue it; a conversation that still holds the project releases it first.

        Raises:
            FabulaError: see `Runs.start`.
        """
        await self.conversations(project).let_go()
        return self.runs.start(project, verb, arguments)

    async def again(self, project: str, run: str, *, anew: bool = False) -> RunRecord:
        """Repeat a run; with `anew`, existing texts are rewritten.

        Raises:
            FabulaError: see `Runs.again`.
        """
        await self.conversations(project).let_go()
        return self.runs.again(project, run, anew=anew)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[StudioState]:
        """Do the background work of the server while this context is open."""
        try:
            async with self.runs.at_work(), Watcher(self.shelf, self.runs.feed).at_work():
                yield self
        finally:
            for conversations in self._conversations.values():
                await conversations.close()
