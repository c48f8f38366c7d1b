"""`rename`: change the title of a part of the story."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fabula.app.saving import Saved, save
from fabula.app.titles import LONGEST, HeadedText
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.story import one_line
from fabula.verbs.base import ArtefactName, verb
from fabula.verbs.text import text


@verb("PUT", "/titles/{artefact:path}", "texts", command="text rename")
async def rename(
    project: Workspace,
    artefact: ArtefactName,
    title: Annotated[str, Field(max_length=LONGEST, description="The new title.", examples=["The Ferry"])],
) -> Saved:
    """Change the title of a part of the story, which is the heading of its text.

    This is an edit by the author, which `undo` can undo. No model is called.

    Raises:
        UsageError: the title is empty, or the text is not a part of the story.
    """
    stands, title = await text(project, artefact), one_line(title).strip()
    if not title or not stands.file.startswith("story/"):
        raise UsageError("Specify a part of the story, and a title that is not empty.")
    found = HeadedText.of(stands.text)
    new = replace(found, heading=f"{'#' * (found.level or 1)} {title}")
    with project.changing() as texts:
        return await save(texts, stands.name, str(new), stands.base, project.options)
