"""`changes`: files that were changed outside."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.app.bills import ChangedFile
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.story import count_words
from fabula.verbs.base import verb


@dataclass(frozen=True, slots=True)
class FileChange(ChangedFile):
    """A file that was changed outside and is not taken over yet, and the words that it has now."""

    words: int


@dataclass(frozen=True, slots=True)
class ChangeList:
    """The changed files, in order of artefact."""

    changes: list[FileChange]


@verb("GET", "/changes", "what would change")
async def changes(project: Workspace) -> ChangeList:
    """Files that were changed outside, and are taken over by the next change or run, as edits.

    Raises:
        UsageError: two files of one artefact differ, or `story.md` lost scene marks.
    """
    texts = project.texts()
    with texts.journal as journal:
        found = texts.changes(journal)
    return ChangeList([FileChange(one.path, one.file, count_words(one.text)) for one in found])
