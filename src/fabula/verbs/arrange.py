"""`split`, `merge`, `move`: change how the book is divided into texts, and their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fabula.app import arranging
from fabula.app.contents import BookContents, contents_of
from fabula.app.titles import LONGEST
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONG, LONGEST_NAME, ArtefactName, verb


@verb("POST", "/splits/{artefact:path}", "texts", command="text split")
async def split(
    project: Workspace,
    artefact: ArtefactName,
    passage: Annotated[
        str,
        Field(max_length=LONG, description="The first words of the second text.", examples=["On Saturday the wind"]),
    ] = "",
    at: Annotated[int | None, Field(ge=0, le=9_999_999, description="Characters before the second text.")] = None,
    title: Annotated[
        str, Field(max_length=LONGEST, description="The title of the second text; empty: a scene without a heading.")
    ] = "",
) -> BookContents:
    """Divide a text in two at a place. No word changes, no model is called, and `undo` joins them again.

    Raises:
        UsageError: the text cannot be divided there, or belongs to a story that a run would write again.
    """
    with project.decided() as (texts, journal):
        arranging.split(texts, journal, artefact, passage, at, title)
    return contents_of(project)


@verb("POST", "/merges/{artefact:path}", "texts", command="text merge")
async def merge(project: Workspace, artefact: ArtefactName) -> BookContents:
    """Add the next text to a text, with a scene break in place of its heading; `undo` divides them again.

    Raises:
        UsageError: there is no next text, or it belongs to a story that a run would write again.
    """
    with project.decided() as (texts, journal):
        arranging.merge(texts, journal, artefact)
    return contents_of(project)


@verb("PUT", "/places/{artefact:path}", "texts", command="text move")
async def move(
    project: Workspace,
    artefact: ArtefactName,
    after: Annotated[
        str, Field(max_length=LONGEST_NAME, description="The text that comes before it; empty: it becomes the first.")
    ] = "",
) -> BookContents:
    """Move a text to another place in the book; `story.md` and the files follow, and `undo` moves it back.

    The heading of a volume stays with the volume.

    Raises:
        UsageError: a text is not listed, or the text belongs to a story that a run would write again.
    """
    with project.decided() as (texts, journal):
        moved = arranging.move(texts, journal, artefact, after)
    return replace(contents_of(project), changed=moved)
