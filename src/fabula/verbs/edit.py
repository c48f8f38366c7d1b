"""`edit`: a new text for an artefact."""

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
            description="As it was read with the text that this one came from, so that nothing is overwritten that "
            "others wrote meanwhile; empty, for a new file of the author's own; null, whatever stands.",
            examples=["9f2c41d07b"],
        ),
    ],
    sitting: Annotated[
        str,
        Field(
            max_length=64,
            pattern="^[A-Za-z0-9_-]*$",
            description="What is saved in one sitting (any word of yours) is taken back by one undo.",
        ),
    ] = "",
) -> Saved:
    """Give a text a new wording, as an edit of the author's, which undo takes back.

    Where the same text stands already, nothing is done. Nobody is asked; the next run is, about what hangs on it.

    Raises:
        ConflictError: another text stands by now.
        LockedError: a run is at work.
        UsageError: the text is empty, too long, or of a form that no story can be written from.
    """
    with project.changing(sitting) as texts:
        return await save(texts, artefact, text, base, project.options)
