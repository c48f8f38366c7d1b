"""`edit`: replace the text of an artefact."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabula.app.saving import Saved, save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.project.folder import MAX_STORY
from fabula.verbs.base import ArtefactName, verb


@verb("PUT", "/artefacts/{artefact:path}", "texts", command="edit")
async def edit(
    project: Workspace,
    artefact: ArtefactName,
    text: Annotated[
        str, Field(max_length=MAX_STORY, description="The whole text.", examples=["A harbour town, in autumn."])
    ],
    base: Annotated[
        str | None,
        Field(
            max_length=64,
            description="The `base` of the text that you edited, to avoid overwriting changes by others; empty: "
            "a new file by the author; null: overwrite any text.",
            examples=["9f2c41d07b"],
        ),
    ],
    sitting: Annotated[
        str,
        Field(
            max_length=64,
            pattern="^[A-Za-z0-9_-]*$",
            description="A name of your choice; a single undo reverts everything saved with the same sitting.",
        ),
    ] = "",
) -> Saved:
    """Replace a text, as an edit by the author, which `undo` can undo.

    Nothing happens if the text is unchanged. No model is called; the next run calls models for the texts that depend on
    this one.

    Raises:
        ConflictError: the text has changed in the meantime.
        LockedError: a run is in progress.
        UsageError: the text is empty, too long, or in a form from which no story can be written.
    """
    with project.changing(sitting) as texts:
        return await save(texts, artefact, text, base, project.options)
