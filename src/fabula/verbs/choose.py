"""`choose`: restore an earlier version."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabula.app.deciding import edit, revert, version_of
from fabula.app.saving import Saved, saved
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import ArtefactName, verb


@verb("POST", "/choices")
async def choose(
    project: Workspace,
    artefact: ArtefactName,
    version: Annotated[
        int | None,
        Field(
            ge=1,
            le=2**31 - 1,
            description="The number of the version; default: the version last written for you.",
            examples=[1],
        ),
    ] = None,
) -> Saved:
    """Restore an earlier version of a text, as an edit by the author.

    Without a version, undo the author's edits and restore the text last written for the author.

    Raises:
        UnknownNameError: there is no version with that number.
        UsageError: there is no edit to undo, or nothing was ever written for the author.
    """
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        if version is None:
            revert(texts, journal, path)
            return saved(journal, path, changed=True)
        changed = await edit(texts, journal, path, version_of(journal, path, version), project.options)
        return saved(journal, path, changed=changed)
