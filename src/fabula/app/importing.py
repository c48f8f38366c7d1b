"""A manuscript becomes a project: its parts are the author's own texts, word for word, and nobody is asked for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.app.item_files import TABLES
from fabula.app.sources import read_story
from fabula.base.errors import UsageError
from fabula.continuity.parts import Manuscript, manuscript, of_story
from fabula.craft.chapters import Chapter, chapters_text
from fabula.data.story_files import SUFFIXES, said_of_encoding, text_and_encoding
from fabula.project.folder import MAX_FILE, MAX_STORY, FileChange, ProjectFolder, numbered
from fabula.project.settings import Settings
from fabula.project.telling import imported_from
from fabula.story import Brief, count_words, plain
from fabula.systems import find, system_of, systems

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.continuity.parts import Way
    from fabula.engine.journal import Journal

SYSTEM: Final = "end-to-end"
"""What goes on from a manuscript where nothing else is named."""
KINDS: Final = (*SUFFIXES, ".json")
"""What the files of manuscripts may end with, for forms."""
_WAYS: Final[dict[Way, str]] = {
    "scenes": "by its scenes",
    "headings": "by its headings",
    "chapters": "by the lines that begin its chapters",
    "breaks": "by its scene breaks",
    "length": "by length, at the ends of paragraphs, since it has no headings or scene breaks",
    "whole": "as one text, since it has no headings or scene breaks",
}
_BRIEF: Final = (
    "This story is its author's own, as far as it is told. What is added goes on from it: in its language, its voice, "
    "its tense and its point of view, and true to all that it has established."
)
_CHAPTERS: Final = "chapters"
_CHAPTERS_FILE: Final = f"plan/{_CHAPTERS}.md"


@dataclass(frozen=True, slots=True)
class Imported:
    """A project that was made of a manuscript, or would be.

    Attributes:
        folder: of the project.
        title: of the story; may be empty.
        system: that goes on from it.
        source: the manuscript's file.
        way: what it was parted by.
        cut: how many parts more there are since some were too long.
        texts: of its parts, with their files.
        before: it was there already, from the same manuscript.
        notices: what the author should know of how it was read, in sentences.
    """

    folder: Path
    title: str
    system: str
    source: str
    way: Way
    cut: int
    texts: tuple[FileChange, ...]
    before: bool = False
    notices: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """Number of words of all parts."""
        return sum(count_words(one.text) for one in self.texts)

    @property
    def divided(self) -> str:
        """What it was divided by, in words."""
        return _WAYS[self.way]

    def to_dict(self) -> dict[str, Any]:
        """As `fabula import --json` prints it."""
        return {
            "project": str(self.folder),
            "title": self.title,
            "system": self.system,
            "source": self.source,
            "divided": self.divided,
            "words": self.words,
            "parts": [{"name": one.path, "file": one.file, "words": count_words(one.text)} for one in self.texts],
            "before": self.before,
            "notices": list(self.notices),
        }


def read_manuscript(file: Path) -> Manuscript:
    """The manuscript in a file: Markdown, plain text, Word, OpenDocument, Rich Text, EPUB, Fountain, or JSON of scenes.

    Raises:
        UsageError: it cannot be read, is of another kind, or has no words; says what to do.
    """
    suffix = file.suffix.casefold()
    if file.is_dir():
        raise UsageError(f"{file} is a folder. Give one file with the whole manuscript.")
    if suffix in (".json", ".fountain") or file.name.endswith(TABLES):
        return of_story(read_story(file))
    text, encoding = text_and_encoding(file, MAX_STORY)
    if not count_words(text):
        raise UsageError(f"The manuscript {file} is empty. Give a file with words in it.")
    return replace(manuscript(text), encoding=encoding)


def system_for_manuscript(named: str | None) -> str:
    """The system that is to go on from a manuscript.

    Raises:
        UnknownNameError: there is none of that name.
        UsageError: it makes its parts of a plan of its own, so that a manuscript's do not fit.
    """
    if not named:
        return SYSTEM
    system = find(named)
    if not system.takes_manuscript:
        able = ", ".join(name for name, one in systems().items() if one.takes_manuscript)
        raise UsageError(
            f"{system.name} makes the parts of a story from a plan of its own, so those of a manuscript do not fit it. "
            f"Import with {able}, which keeps them as they are; `fabula plan --from-story` reads a plan off a story "
            "for the others."
        )
    return system.spec


def planned_import(folder: Path, found: Manuscript, source: str, settings: dict[str, Any], title: str = "") -> Imported:
    """What `import_manuscript` would make; nothing is made.

    Raises:
        UsageError: a part is too long for a file.
    """
    texts = []
    for number, part in enumerate(found.parts, 1):
        if len(part.text.encode("utf-8", "replace")) >= MAX_FILE:
            raise UsageError(
                f"{part.title or 'A part'} of {source} is larger than {MAX_FILE:,} bytes. Part it by a heading or two."
            )
        texts.append(FileChange(part.name, numbered(number, part.name, len(found.parts)), part.text))
    system = system_of(Settings.of(settings, "the command line")).name
    notices = tuple(filter(None, [said_of_encoding(source, found.encoding)]))
    return Imported(folder, title or found.title, system, source, found.way, found.cut, tuple(texts), notices=notices)


def import_manuscript(
    folder: Path, found: Manuscript, source: str, settings: dict[str, Any], title: str = ""
) -> Imported:
    """Make the project of a manuscript; one that a kill left unfinished is finished. Nobody is asked.

    Args:
        folder: of the project.
        found: the manuscript.
        source: the name of its file, for the history of the texts.
        settings: of a new project.
        title: of the story, where the manuscript's own is not meant.

    Raises:
        UsageError: the folder is the project of something else, or a part is too long.
        ProjectError: it cannot be written.
    """
    made = planned_import(folder, found, source, settings, title)
    listed = FileChange(_CHAPTERS, _CHAPTERS_FILE, plain(_listed(found)))
    brief = Brief(_BRIEF, made.title)
    if not (folder / "brief.md").exists():
        ProjectFolder.create(folder, brief, settings)
    project = ProjectFolder.open(folder)
    texts = (listed, *made.texts)
    with project.recorded(keeping=True) as journal:
        if imported_from(journal):
            _check_same(folder, journal, texts)
            project.go_on_beginning(journal)
            return replace(made, before=True)
        if journal.artefacts.paths() or project.brief != brief:
            raise UsageError(f"{folder} is the project of something else. Choose another folder with --out DIR.")
        project.begin_with(journal, texts, source)
    return made


def _check_same(folder: Path, journal: Journal, texts: Sequence[FileChange]) -> None:
    """Check that a project was made of these texts, whatever has become of them.

    Raises:
        UsageError: it was made of others.
    """
    for one in texts:
        versions = journal.artefacts.versions(one.path)
        if not versions or plain(versions[0].text) != plain(one.text):
            raise UsageError(
                f"{folder} was made of another manuscript, or of this one before it was changed. Choose another folder "
                f"with --out DIR, or put what is new into the files in {folder}/story."
            )


def _listed(found: Manuscript) -> str:
    """The parts as chapters of `plan/chapters.md`."""
    chapters = [Chapter(part.title, name=part.name, words=count_words(part.text) or 1) for part in found.parts]
    return chapters_text(chapters, None)
