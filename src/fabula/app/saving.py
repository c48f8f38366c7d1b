"""Saving a text without overwriting what others have written since it was read."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from fabula.app import deciding
from fabula.app.arranging import assemble
from fabula.app.plan_cards import CHAPTERS
from fabula.base.characters import binary_place, readable
from fabula.base.errors import ConflictError, FabulaError, ProjectError, UsageError
from fabula.base.files import inside, make_folder, read_text, write_atomically
from fabula.engine.events import RECORD
from fabula.project.folder import FOLDERS, MAX_FILE, MAX_STORY, STORY, STYLE, SUFFIXES, FileChange
from fabula.story import Brief, count_words, plain

if TYPE_CHECKING:
    from fabula.app.writing import Options
    from fabula.engine.journal import Journal
    from fabula.project.folder import ProjectFolder

BRIEF: Final = "brief.md"


def base_of(text: str) -> str:
    """The identifier of a text, to be given with the text that replaces it."""
    return sha256(plain(text).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Saved:
    """The text after saving; `changed` says whether it differs from the text before."""

    name: str
    file: str
    changed: bool
    words: int
    version: int
    base: str


async def save(project: ProjectFolder, name: str, text: str, base: str | None, options: Options) -> Saved:
    """Give an artefact a new text without overwriting what others have written in the meantime.

    Args:
        project: the project of the artefact.
        name: the name of the artefact, or of a new file if `base` is empty: `story/06-epilogue.md`.
        text: the whole text.
        base: identifies the text that this one is based on; `None` if any text may be overwritten.
        options: the options for checking a plan.

    Raises:
        ConflictError: the text has changed in the meantime.
        LockedError: a run is in progress.
        UsageError: the text is empty, too long, or in a form that no story can be written from.
    """
    text = _fit_for_a_file(name, text)
    if name in (BRIEF, STYLE):
        return _save_beside(project, name, text, base)
    with project.recorded() as journal:
        if name == STORY:
            return _save_story(project, journal, text, base)
        if base == "" and (file := _new_file(project, journal, name)):
            return _save_new(project, journal, file, text)
        path = project.artefact(journal, name)
        stands = journal.artefacts.newest(path) or ""
        if plain(stands) != plain(text):
            check_base(path, stands, base)
        changed = await deciding.edit(project, journal, path, text, options)
        if changed and path == CHAPTERS:
            assemble(project, journal)
        return saved(journal, path, changed=changed)


def _save_beside(project: ProjectFolder, name: str, text: str, base: str | None) -> Saved:
    """Save the brief, or the style sheet, which need not exist."""
    file = project.folder / name
    with project.lock(), project.journal as journal:
        stands = read_text(file, MAX_FILE) if file.exists() else ""
        changed = plain(stands) != plain(text)
        if changed:
            if stands or base:
                check_base(name, stands, base)
            if name == BRIEF:
                Brief.parse(text)
            project.edit_beside(journal, name, text)
    return Saved(name, name, changed, count_words(text), 0, base_of(text))


def _save_story(project: ProjectFolder, journal: Journal, text: str, base: str | None) -> Saved:
    """Save the changed whole story as if it had been changed in its file."""
    if not project.story_file.exists():
        raise ProjectError("There is no story yet. Write it with `fabula write`.")
    stands = read_text(project.story_file, MAX_STORY)
    changed = plain(stands) != plain(text)
    if changed:
        check_base(STORY, stands, base)
        write_atomically(project.story_file, plain(text) + "\n")
        try:
            project.take_over(journal, project.changes(journal))
        except FabulaError:
            write_atomically(project.story_file, stands)
            raise
    return Saved(STORY, STORY, changed, count_words(text), len(journal.artefacts.versions(STORY)), base_of(text))


def _save_new(project: ProjectFolder, journal: Journal, file: str, text: str) -> Saved:
    """Save the author's own text in a new file."""
    if not plain(text):
        raise UsageError(f"The text of {file} is empty. Enter a text.")
    path = project.path_of(file)
    if path in (places := journal.artefacts.places()):
        raise UsageError(f"{places[path]} and {file} both belong to {path!r}. Use another file name.")
    make_folder((project.folder / file).parent)
    project.take_over(journal, [FileChange(path, file, plain(text))])
    return saved(journal, path, changed=True)


def saved(journal: Journal, path: str, *, changed: bool) -> Saved:
    """The current text at a path."""
    text = journal.artefacts.newest(path) or ""
    number, words = len(journal.artefacts.versions(path)), count_words(text)
    return Saved(path, journal.artefacts.places()[path], changed, words, number, base_of(text))


def _fit_for_a_file(name: str, text: str) -> str:
    """The text, if it can be stored in a file.

    Raises:
        UsageError: the text is binary data, or larger than the files that are read.
    """
    if place := binary_place(text):
        raise UsageError(f"The new text of {name} contains binary data ({place}). Remove that character.")
    text = readable(text)
    if len(text.encode("utf-8", "replace")) >= MAX_FILE:
        raise UsageError(f"The new text of {name} is larger than {MAX_FILE:,} bytes. Use a shorter text.")
    return text


def check_base(name: str, stands: str, base: str | None) -> None:
    """Refuse to overwrite a text that the writer has not seen.

    Raises:
        ConflictError: the text is another one than that with this `base`.
    """
    if base is not None and base_of(stands) != base:
        raise ConflictError(
            f"{name} has changed since you read it, so it was not overwritten. Merge the two texts and save again.",
            theirs=plain(stands),
            base=base_of(stands),
        )


def _new_file(project: ProjectFolder, journal: Journal, name: str) -> str:
    """The name of a file for the author's new text; empty if the name is that of an existing artefact.

    Raises:
        UsageError: the file cannot hold a text.
    """
    parts = PurePosixPath(name).parts
    if (
        len(parts) != 2  # noqa: PLR2004 - a folder and a name
        or parts[0] not in FOLDERS
        or name in journal.artefacts.places()
        or name in journal.artefacts.places().values()
    ):
        return ""
    file = inside(project.folder, name)
    if file.suffix not in SUFFIXES or name.endswith(f".{RECORD}") or file.name.startswith(".") or file.exists():
        kinds = ", ".join(SUFFIXES)
        raise UsageError(f"{name} cannot be the name of a new text. Use a new file name that ends in one of {kinds}.")
    return name
