"""`pins`: the pinned texts."""

from __future__ import annotations

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import ArtefactNames, verb


@verb("GET", "/pins")
async def pins(project: Workspace) -> ArtefactNames:
    """List the pinned texts, ordered by file."""
    return ArtefactNames([one.name for one in project.rows(marks=False) if one.pinned])
