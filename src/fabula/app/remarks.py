"""What an author should know of the files of a project: what a change in them means, and which have no meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.project.telling import ORDER, TITLE, is_own, never_made, of_empty, of_renamed, runs_of_chats
from fabula.story import Story, slug

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fabula.engine.journal import Journal
    from fabula.project.folder import FileChange, ProjectFolder

_OWN: Final = "{0} is a text of your own: it stands in the story where its name says, and nobody writes it again."
_UNUSED: Final = "{0} is not used in this story as it is written now, so your text there changes nothing."
_UNREAD: Final = "{0} is not read: only files .md, .yaml and .csv are, and none in further folders."
_OWN_GONE: Final = "{0}, a text of your own, is gone, and leaves the story with it."
_TAKEN_BACK: Final = "{0} is not in the story, since you took it back. Change it to have it in again, or delete it."
_GONE: Final = (
    "{0} is gone, which says nothing: it gets its text back. Say `fabula text retake {1}` for another "
    "one; what the story "
    "is to do without has to leave its plan or brief."
)


def remarks_on(
    project: ProjectFolder, journal: Journal, changes: Collection[FileChange], used: Collection[str] | None
) -> list[str]:
    """What is to be said of the files, in sentences; the project does not tell them a second time.

    Args:
        project: whose files.
        journal: of the project.
        changes: that were found in the files.
        used: paths of the artefacts that the story is made of; `None` where that is not known.
    """
    found = [*_of_names(project, journal, used), *_taken_back(project, journal, {change.path for change in changes})]
    found += [] if used is None else _of_changes(journal, changes, used)
    found += [_UNREAD.format(name) for name in project.unread()]
    project.told |= set(found)
    return list(dict.fromkeys(found))


def _of_names(project: ProjectFolder, journal: Journal, used: Collection[str] | None) -> Iterator[str]:
    """What is said of files that were renamed, emptied or deleted."""
    places, standing = journal.artefacts.places(), journal.decisions.overrides()
    renamed = project.renamed(journal, places)
    again = frozenset(renamed.values())
    for name, path in renamed.items():
        yield of_renamed(name, places[path], own=is_own(journal, path, name))
    for name in project.emptied(journal):
        yield of_empty(name)
    told = {slug(scene.label) for scene in Story.parse(journal.artefacts.newest("story.md") or "").scenes}
    for path, file in places.items():
        if path in again or (project.folder / file).exists():
            continue
        if path in standing and never_made(journal, path, file):
            if path in told and path not in (used or ()):
                yield _OWN_GONE.format(file)
        elif used is None or path in used:
            yield _GONE.format(file, path)


def _taken_back(project: ProjectFolder, journal: Journal, changed: Collection[str]) -> Iterator[str]:
    """What is said of texts of the author's own that are out of the story, though their files are there."""
    standing = journal.decisions.overrides()
    for path, file in journal.artefacts.places().items():
        if path in changed or path in standing or not never_made(journal, path, file):
            continue
        if (project.folder / file).exists():
            yield _TAKEN_BACK.format(file)


def _of_changes(journal: Journal, changes: Collection[FileChange], used: Collection[str]) -> Iterator[str]:
    """What is said of the author's texts that are no part of what a system writes."""
    places, standing, chats = journal.artefacts.places(), journal.decisions.overrides(), runs_of_chats(journal)
    new = {change.path: change.file for change in changes if change.path not in (TITLE, ORDER)}
    decided = {path: file for path, file in places.items() if path in standing}
    for path, file in {**decided, **new}.items():
        if path in used or any(version.run in chats for version in journal.artefacts.versions(path)):
            continue
        own = path in standing and never_made(journal, path, file)
        if own or (path not in places and file.startswith("story/") and file.endswith(".md")):
            if path in new and path not in places:
                yield _OWN.format(file)
        else:
            yield _UNUSED.format(file)
