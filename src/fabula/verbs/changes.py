"""`changes`: files that were changed outside fabula."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.app.bills import ChangedFile
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.story import count_words
from fabula.verbs.base import verb


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
