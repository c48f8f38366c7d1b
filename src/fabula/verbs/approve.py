"""`approve`: approve texts that a run is waiting for."""

from __future__ import annotations

from fabula.app.deciding import authored, newest_of, source_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import ArtefactName, ArtefactNames, verb


@verb("POST", "/approvals", command="text approve")
async def approve(project: Workspace, artefact: ArtefactName = "") -> ArtefactNames:
    """Approve a text or, without a name, all texts that are waiting for approval.

    The result omits texts that were already approved.
    """
    with project.decided() as (texts, journal):
        asked = [texts.artefact(journal, artefact)] if artefact else list(authored(journal))
        waiting = [path for path in asked if source_of(journal, path) in {"", "continued"}]
        approved = [path for path in waiting if not journal.decisions.approved(path, newest_of(journal, path))]
        with journal.transaction():
            for path in approved:
                journal.decisions.add(path, "approve", newest_of(journal, path))
    return ArtefactNames(approved)
