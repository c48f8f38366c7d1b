"""`pins`: the texts that are pinned."""

from __future__ import annotations

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import Artefacts, verb


@verb("GET", "/pins")
async def pins(project: Workspace) -> Artefacts:
    """The texts that are pinned, in order of file."""
    return Artefacts([one.name for one in project.rows(marks=False) if one.pinned])
