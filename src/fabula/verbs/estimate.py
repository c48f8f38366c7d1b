"""`changes`, `estimate`: files that were changed outside fabula, and the calls and cost of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field

from fabula.app.bills import ChangedFile, Estimate
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.project.folder import MAX_FILE
from fabula.story import count_words
from fabula.verbs.base import LONGEST_NAME, verb

MOST_CALLS: Final = 200
_MOST_TEXTS: Final = 200
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Text = Annotated[str, Field(max_length=MAX_FILE)]


@dataclass(frozen=True, slots=True)
class FileChange(ChangedFile):
    """A file that was changed outside fabula but not applied yet, with its current number of words."""

    words: int


@dataclass(frozen=True, slots=True)
class ChangeList:
    """The changed files, ordered by artefact."""

    changes: list[FileChange]


@verb("GET", "/changes", "what would change")
async def changes(project: Workspace) -> ChangeList:
    """List the files that were changed outside fabula. The next change or run applies these as edits.

    Raises:
        UsageError: two files of an artefact differ, or `story.md` has lost scene marks.
    """
    texts = project.texts()
    with texts.journal as journal:
        found = texts.changes(journal)
    return ChangeList([FileChange(one.path, one.file, count_words(one.text)) for one in found])


@verb("POST", "/estimate", "what would change", changes=False)
async def estimate(
    project: Workspace,
    pending: Annotated[
        Mapping[_Name, _Text],
        Field(
            max_length=_MOST_TEXTS,
            description="Unsaved texts, by artefact.",
            examples=[{"setting": "A harbour town, in autumn."}],
        ),
    ] = {},
    *,
    fit: Annotated[bool, Field(description="Revise old texts instead of rewriting them.")] = False,
) -> Estimate:
    """Return the calls that a run would make now and their cost, as if unsaved texts were saved.

    No model is called, and nothing is saved.

    Raises:
        FabulaError: a run cannot start.
    """
    found = await asyncio.to_thread(project.expected, pending=pending, fit=fit)
    return replace(found, calls=found.calls[:MOST_CALLS])
