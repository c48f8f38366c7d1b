"""Files that are changed outside, by an editor or a command: no program says so by itself, so they are looked at."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.app.saving import BRIEF
from fabula.base.errors import FabulaError
from fabula.project.folder import FOLDERS, STORY
from fabula.server.runs.looking import again_and_again

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from fabula.app.workspace import Workspace
    from fabula.server.runs.feed import Feed
    from fabula.verbs.home import Home

EVERY: Final = 1.0  # seconds between two looks
_REST: Final = 20  # times as long as a look took passes until the next one: there may be very many files
_MOST_PROJECTS: Final = 20  # that are looked at: those that were asked for last
_MOST_FILES: Final = 50  # that are named in one go

Seen = dict[str, tuple[int, int]]


@dataclass
class Watcher:
    """Tells of changed files in the projects that somebody looks at.

    While nobody follows the events it does not look; what has changed meanwhile is told when somebody comes.
    Each file of a text that has changed is an event `artefact_changed` with the `file`. That something else has
    changed, such as what is decided about a text, is one `project_changed`; so is the first look at a project, before
    which a page may have been made.
    """

    shelf: Home
    feed: Feed
    _seen: dict[str, Seen] = field(default_factory=dict)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Look again and again while this is open."""
        watching = asyncio.create_task(again_and_again(self._look_later))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _look_later(self) -> float:
        await asyncio.sleep(EVERY)
        if not self.feed.followers:
            return 0
        began = time.monotonic()
        await self.look()
        return max(0.0, _REST * (time.monotonic() - began) - EVERY)

    async def look(self) -> None:
        """Tell what has changed since the last look."""
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
        texts = [name for name in changed if name in (BRIEF, STORY) or name.split("/")[0] in FOLDERS]
        for name in texts[:_MOST_FILES]:
            self.feed.tell("artefact_changed", folder, file=name)
        if len(texts) != len(changed) or len(texts) > _MOST_FILES:
            self.feed.tell("project_changed", folder)


def _seen_in(workspace: Workspace) -> Seen:
    """Size and time of a project's files, by name; nothing where it is gone."""
    with suppress(OSError, FabulaError):
        return {name: (size, time) for name, size, time in workspace.stamp()}
    return {}


def _changed(before: Mapping[str, tuple[int, int]], now: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """The files that are new, gone, or other than they were."""
    yield from (name for name in sorted({*before, *now}) if before.get(name) != now.get(name))
