"""Saving a text: over the one that it was made from, and over nothing that somebody else wrote meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from fabula.app import deciding
from fabula.base.characters import binary_place, readable
from fabula.base.errors import ConflictError, FabulaError, ProjectError, UsageError
from fabula.base.files import inside, make_folder, read_text, write_atomically
from fabula.engine.events import RECORD
from fabula.project.folder import FOLDERS, MAX_FILE, MAX_STORY, STORY, SUFFIXES
from fabula.story import Brief, count_words, plain

if TYPE_CHECKING:
    from fabula.app.writing import Options
    from fabula.engine.journal import Journal
    from fabula.project.folder import ProjectFolder

BRIEF: Final = "brief.md"


def base_of(text: str) -> str:
    """What names a text to who wants to write the next one over it."""
    return sha256(plain(text).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Saved:
    """What stands after a text was saved; `changed` says whether it is another one than before."""

    name: str
    file: str
    changed: bool
    words: int
    version: int
    base: str


async def save(project: ProjectFolder, name: str, text: str, base: str | None, options: Options) -> Saved:
    """Give an artefact a new text; nothing that others wrote meanwhile is overwritten.

    Args:
        project: that it is of.
        name: of the artefact; of a new file, where `base` is empty: `story/06-epilogue.md`.
        text: the whole text.
        base: as it was read with the text that this one came from; `None` where any text may be overwritten.
        options: what a plan is checked with.

    Raises:
        ConflictError: another text stands by now.
        LockedError: a run is at work.
        UsageError: the text is empty, too long, or of a form that no story can be written from.
    """
    text = _fit_for_a_file(name, text)
    if name == BRIEF:
        return _save_brief(project, text, base)
    with project.recorded() as journal:
        if name == STORY:
            return _save_story(project, journal, text, base)
        if base == "" and (file := _new_file(project, journal, name)):
            return _save_new(project, journal, file, text)
        path = project.artefact(journal, name)
        stands = journal.artefacts.newest(path) or ""
        if plain(stands) != plain(text):
            _check_base(path, stands, base)
        changed = await deciding.edit(project, journal, path, text, options)
        return saved(journal, path, changed=changed)


def _save_brief(project: ProjectFolder, text: str, base: str | None) -> Saved:
    with project.lock():
        stands = read_text(project.brief_file, MAX_FILE)
        changed = plain(stands) != plain(text)
        if changed:
            _check_base(BRIEF, stands, base)
            Brief.parse(text)
            write_atomically(project.brief_file, plain(text) + "\n")
    return Saved(BRIEF, BRIEF, changed, count_words(text), 0, base_of(text))


def _save_story(project: ProjectFolder, journal: Journal, text: str, base: str | None) -> Saved:
    """The whole story with changes in it, taken over as if it had been changed in its file."""
    if not project.story_file.exists():
        raise ProjectError("There is no story yet. Write it with `fabula write`.")
    stands = read_text(project.story_file, MAX_STORY)
    changed = plain(stands) != plain(text)
    if changed:
        _check_base(STORY, stands, base)
        write_atomically(project.story_file, plain(text) + "\n")
        try:
            project.take_over(journal, project.changes(journal))
        except FabulaError:
            write_atomically(project.story_file, stands)
            raise
    return Saved(STORY, STORY, changed, count_words(text), len(journal.artefacts.versions(STORY)), base_of(text))


def _save_new(project: ProjectFolder, journal: Journal, file: str, text: str) -> Saved:
    """A text of the author's own in a file that is not there yet."""
    if not plain(text):
        raise UsageError(f"The text of {file} is empty. Give some text.")
    make_folder((project.folder / file).parent)
    write_atomically(project.folder / file, plain(text) + "\n")
    project.take_over(journal, [change for change in project.changes(journal) if change.file == file])
    path = next(path for path, place in journal.artefacts.places().items() if place == file)
    return saved(journal, path, changed=True)


def saved(journal: Journal, path: str, *, changed: bool) -> Saved:
    """What stands now at a path."""
    text = journal.artefacts.newest(path) or ""
    number, words = len(journal.artefacts.versions(path)), count_words(text)
    return Saved(path, journal.artefacts.places()[path], changed, words, number, base_of(text))


def _fit_for_a_file(name: str, text: str) -> str:
    """A text as a file may hold it.

    Raises:
        UsageError: it is binary data, or longer than a file that is read.
    """
    if place := binary_place(text):
        raise UsageError(f"The new text of {name} holds binary data ({place}). Take that character out.")
    text = readable(text)
    if len(text.encode("utf-8", "replace")) >= MAX_FILE:
        raise UsageError(f"The new text of {name} is larger than {MAX_FILE:,} bytes. Give a shorter one.")
    return text


def _check_base(name: str, stands: str, base: str | None) -> None:
    """Refuse to write over a text that whoever writes has not seen."""
    if base is not None and base_of(stands) != base:
        raise ConflictError(
            f"{name} was changed since you read it, and stays as it is. Put both texts together, and save again.",
            theirs=plain(stands),
            base=base_of(stands),
        )


def _new_file(project: ProjectFolder, journal: Journal, name: str) -> str:
    """The name of a file for a new text of the author's; empty where it names an artefact that is there.

    Raises:
        UsageError: no text can stand there.
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
        raise UsageError(f"{name} cannot be a new text. Name a file that is not there, with one of {kinds} at its end.")
    return name
