"""What the server of the studio and of `/api/v1` knows while it runs: `request.app.state.studio`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabula.app.writing import Options

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

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Do what goes on beside requests while this is open."""
        yield
