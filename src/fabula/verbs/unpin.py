"""`unpin`: let a pinned text change again."""

from __future__ import annotations

from fabula.app.deciding import source_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.verbs.base import ArtefactName, ArtefactNames, verb


@verb("DELETE", "/pins/{artefact:path}", command="text unpin")
async def unpin(project: Workspace, artefact: ArtefactName) -> ArtefactNames:
    """Let a pinned text change again.

    `estimate` shows whether the text will change.

    Raises:
        UsageError: the text is not pinned.
    """
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        if source_of(journal, path) != "pinned":
            raise UsageError(f"{path} is not pinned. `fabula status` shows the pinned texts.")
        journal.decisions.add(path, "unpin")
    return ArtefactNames([path])
