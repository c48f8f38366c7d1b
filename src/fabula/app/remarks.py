"""What an author should know about the files of a project: the effect of changes, and which files have no effect."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.project.folder import MAX_STORY, NOTES, FileChange, ProjectFolder, some
from fabula.project.telling import ORDER, TITLE, is_own, never_made, of_empty, of_renamed, runs_of_chats
from fabula.story import Story, slug
from fabula.story.codex import FILE as CODEX_FILE

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


SETTINGS_FILE: Final = "fabula_toml"
"""Where the record of a run has what was in fabula.toml."""
_NOTHING_LEFT: Final = (
    "There is nothing to undo: the record of calls (.fabula/journal.db) is missing. If you have a copy of it, put it "
    "back first."
)
_LOST: Final = (
    "The record of calls (.fabula/journal.db) is missing, but there is a story. If you have a copy of the record, put "
    "it back now. Without it, all texts count as your own, so no model writes them again, and their history and costs "
    "are lost. `fabula text retake NAME` has a text written again."
)
_NO_SETTINGS: Final = (
    "fabula.toml is missing, so the defaults apply. The last run had {0} in it. If you deleted the file by mistake, "
    "write these lines again."
)
_NO_STORY: Final = "story.md is empty, although the texts in story/ are not. `fabula update` writes it again from them."
_CUT_OFF: Final = (
    "A command was killed before it had written {0}. Nothing is lost: `fabula update` writes what is missing and calls "
    "no model, and `fabula undo` takes the command's changes back."
)
_OWN: Final = "{0} is your own text: its name determines its place in the story, and no model rewrites it."
_UNUSED: Final = "{0} is not part of the current story, so your text in it has no effect."
_UNREAD: Final = "{0} is not read. Only .md, .yaml and .csv files are read, and subfolders are ignored."
_OWN_GONE: Final = "{0}, your own text, was deleted and is removed from the story."
_TAKEN_BACK: Final = "{0} is not in the story because you undid it. To put it back, change it. Otherwise, delete it."
_GONE: Final = (
    "{0} was deleted, which has no effect: the next run restores it. Run `fabula text retake {1}` for another "
    "version. To leave something out of the story, remove it from the plan or brief."
)


def remarks_on(
    project: ProjectFolder, journal: Journal, changes: Collection[FileChange], used: Collection[str] | None
) -> list[str]:
    """Remarks on the files, in sentences; the project does not repeat them.

    Args:
        project: the project of the files.
        journal: the journal of the project.
        changes: the changes found in the files.
        used: paths of the artefacts that the story is made of; `None` if they are not known.
    """
    found = [_LOST] if _is_lost(project, journal) else []
    if project.is_emptied(journal):
        found.append(_NO_STORY)
    if unwritten := project.unwritten(journal):
        found.append(_CUT_OFF.format(some(unwritten)))
    if not project.settings_file.exists() and (lost := (journal.last_settings(SETTINGS_FILE) or {}).get(SETTINGS_FILE)):
        said = [f"{name} = {json.dumps(value)}" for name, value in lost.items() if isinstance(value, str)]
        found.append(_NO_SETTINGS.format(" and ".join(said) or "settings of its own"))
    found += [*_of_names(project, journal, used), *_taken_back(project, journal, {change.path for change in changes})]
    found += [] if used is None else _of_changes(journal, changes, used)
    found += [_UNREAD.format(name) for name in project.unread()]
    project.told |= set(found)
    return list(dict.fromkeys(found))


def check_record(project: ProjectFolder) -> None:
    """Refuse to undo anything if the record of a story is missing; its texts have no earlier versions.

    Raises:
        UsageError: it is missing.
    """
    with project.journal as journal:
        if _is_lost(project, journal):
            raise UsageError(_NOTHING_LEFT)


def _is_lost(project: ProjectFolder, journal: Journal) -> bool:
    """Whether fabula has written a story here, and the journal does not know of it."""
    if journal.runs() or journal.decisions.find() or not project.story_file.is_file():
        return False
    return bool(Story.parse(read_text(project.story_file, MAX_STORY)).scenes)


def _of_names(project: ProjectFolder, journal: Journal, used: Collection[str] | None) -> Iterator[str]:
    """Remarks on files that were renamed, emptied or deleted."""
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
    """Remarks on the author's own texts that are not in the story although their files exist."""
    standing = journal.decisions.overrides()
    for path, file in journal.artefacts.places().items():
        if path in changed or path in standing or not never_made(journal, path, file):
            continue
        if (project.folder / file).exists():
            yield _TAKEN_BACK.format(file)


def _of_changes(journal: Journal, changes: Collection[FileChange], used: Collection[str]) -> Iterator[str]:
    """Remarks on the author's texts that are not part of what a system writes."""
    places, standing, chats = journal.artefacts.places(), journal.decisions.overrides(), runs_of_chats(journal)
    new = {change.path: change.file for change in changes if change.path not in (TITLE, ORDER)}
    decided = {path: file for path, file in places.items() if path in standing}
    for path, file in {**decided, **new}.items():
        if path in used or any(version.run in chats for version in journal.artefacts.versions(path)):
            continue
        if file.startswith(f"{NOTES}/"):
            continue
        own = path in standing and never_made(journal, path, file)
        if own or (path not in places and file.startswith("story/") and file.endswith(".md")):
            if path in new and path not in places:
                yield _OWN.format(file)
        elif file != CODEX_FILE:
            yield _UNUSED.format(file)
