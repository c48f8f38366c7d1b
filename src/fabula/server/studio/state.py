"""What the server of the studio and of `/api/v1` knows while it runs: `request.app.state.studio`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabula.app.writing import Options
from fabula.server.talks import Talks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.server.studio.shelf import Shelf


@dataclass
class StudioState:
    """What handlers share.

    Attributes:
        shelf: the projects.
        options: what models are asked with: the environment among it.
    """

    shelf: Shelf
    options: Options = field(default_factory=Options)
    _talks: dict[str, Talks] = field(default_factory=dict)

    def talks(self, project: str) -> Talks:
        """The conversations of a project."""
        workspace = self.shelf[project]
        known = self._talks.get(project)
        if known is None or known.workspace is not workspace:
            known = self._talks[project] = Talks(workspace, self.options)
        return known

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Do what goes on beside requests while this is open."""
        try:
            yield
        finally:
            for talks in self._talks.values():
                await talks.close()
