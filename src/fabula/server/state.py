"""The state of the server of the studio and of `/api/v1` while it runs: `request.app.state.studio`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.saving import BRIEF
from fabula.app.writing import Options
from fabula.base.errors import FabulaError
from fabula.project.folder import FOLDERS, STORY, STYLE
from fabula.project.trust import state_home
from fabula.server.conversations import Conversations
from fabula.server.runs.children import Runs
from fabula.server.runs.feed import Feed
from fabula.server.runs.looking import looking

if TYPE_CHECKING:
    from fabula.app.conversing import Conversing
    from fabula.app.workspace import Workspace
    from fabula.server.runs.record import RunRecord
    from fabula.verbs.home import Home


# watching for files that an editor or a command changes: no program announces its changes ----------------------------

EVERY: Final = 1.0  # seconds between two looks at the files
_REST: Final = 20  # a pause is at least so many times as long as a look, since there may be very many files
_MOST_PROJECTS: Final = 20  # projects that are watched: the most recently requested
_MOST_FILES: Final = 50  # files that are named at a time

Seen = dict[str, tuple[int, int]]


@dataclass
class Watcher:
    """Reports changed files in the projects that are open somewhere.

    It does not look while nobody follows the events. Changes in that time are reported when somebody follows again.
    For each changed file of a text, there is an event `artefact_changed` with the `file`. Any other change, such as a
    decision about a text, is one event `project_changed`. So is the first look at a project, since a page may have
    been made before it.
    """

    shelf: Home
    feed: Feed
    _seen: dict[str, Seen] = field(default_factory=dict)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Look repeatedly while this context is open."""
        async with looking(self._look_later):
            yield

    async def _look_later(self) -> float:
        await asyncio.sleep(EVERY)
        if not self.feed.followers:
            return 0
        began = time.monotonic()
        await self.look()
        return max(0.0, _REST * (time.monotonic() - began) - EVERY)

    async def look(self) -> None:
        """Report the changes since the last look."""
        looked_at = self.shelf.in_use[-_MOST_PROJECTS:]
        for gone in self._seen.keys() - {str(workspace.folder) for workspace in looked_at}:
            del self._seen[gone]
        for workspace in looked_at:
            folder = str(workspace.folder)
            now = await asyncio.to_thread(_seen_in, workspace)
            before = self._seen.get(folder)
            self._seen[folder] = now
            if before is None:
                self.feed.tell("project_changed", folder)
            elif before != now:
                self._tell(folder, list(_changed(before, now)))

    def _tell(self, folder: str, changed: Sequence[str]) -> None:
        texts = [name for name in changed if name in (BRIEF, STYLE, STORY) or name.split("/")[0] in FOLDERS]
        for name in texts[:_MOST_FILES]:
            self.feed.tell("artefact_changed", folder, file=name)
        if len(texts) != len(changed) or len(texts) > _MOST_FILES:
            self.feed.tell("project_changed", folder)


def _seen_in(workspace: Workspace) -> Seen:
    """The sizes and times of a project's files, by name; empty if the project is gone."""
    with suppress(OSError, FabulaError):
        return {name: (size, time) for name, size, time in workspace.stamp()}
    return {}


def _changed(before: Mapping[str, tuple[int, int]], now: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """The files that are new, gone or changed."""
    yield from (name for name in sorted({*before, *now}) if before.get(name) != now.get(name))


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
        feed = Feed(state_home() / "studio", places, time.time)
        self.runs = Runs(self.shelf, feed, time.time, {**os.environ, **self.options.environ})
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
