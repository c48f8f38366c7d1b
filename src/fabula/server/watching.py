"""Watches for files that an editor or a command changes: no program announces its changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.app.saving import BRIEF
from fabula.base.errors import FabulaError
from fabula.project.folder import FOLDERS, STORY, STYLE
from fabula.server.runs.looking import looking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from fabula.app.workspace import Workspace
    from fabula.server.runs.feed import Feed
    from fabula.verbs.home import Home

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
