"""Turning a manuscript into a project: its parts are the author's own texts, word for word. No model is called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.exporting import keep_space
from fabula.app.item_files import TABLES
from fabula.app.sources import read_story
from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.continuity.parts import Manuscript, ManuscriptPart, Way, manuscript, of_story
from fabula.craft.chapters import Chapter, chapters_text
from fabula.data.story_files import LISTED, SCREENPLAYS, SUFFIXES, Reading, is_chat, reading_of, text_of
from fabula.project.folder import MAX_FILE, MAX_STORY, FileChange, ProjectFolder, numbered
from fabula.project.settings import Settings
from fabula.project.telling import imported_from
from fabula.story import Brief, count_words, one_line, plain
from fabula.systems import find, system_of, systems

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


SYSTEM: Final = "end-to-end"
"""The system that continues a manuscript if no other system is specified."""
KINDS: Final = (*SUFFIXES, ".json", ".jsonl", ".zip")
"""The file extensions of manuscripts, for forms; a folder is uploaded as an archive."""
READ: Final = f"A manuscript: {LISTED}, or a folder of Markdown or text files."
"""What can be imported, for help."""
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
    """A project that was made from a manuscript, or would be.

    Attributes:
        folder: the folder of the project.
        title: the title of the story; may be empty.
        system: the system that continues it.
        source: the manuscript's file.
        way: how it was divided into parts.
        cut: how many parts were added by dividing parts that were too long.
        texts: the texts of its parts, with their files.
        before: whether the project already existed, from the same manuscript.
        notices: what the author should know about how it was read, as sentences.
        left_out: how many things of each kind were not carried over, such as "footnote".
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
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """The number of words in all parts."""
        return sum(count_words(one.text) for one in self.texts)

    @property
    def divided(self) -> str:
        """How it was divided, in words."""
        return _WAYS[self.way]

    def to_dict(self) -> dict[str, Any]:
        """The result as `fabula import --json` prints it."""
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
            "left_out": {kind: number for kind, number in self.left_out.items() if number},
        }


def read_manuscript(file: Path) -> Manuscript:
    """The manuscript in a file, the project of a writing program, or a folder of files: see `story_files.KINDS`.

    Raises:
        UsageError: the file cannot be read, is of another kind, or has no words; the message says what to do.
    """
    suffix = file.suffix.casefold()
    if (file / "brief.md").is_file():
        raise UsageError(f"{file} is already a fabula project. Continue it with `fabula text continue {file}`.")
    if suffix == ".json" or (file.name.endswith(TABLES) and not is_chat(file)):
        parts = of_story(read_story(file))
        return parts if parts.title or suffix != ".json" else replace(parts, title=_title_in(file))
    found = reading_of(file, MAX_STORY)
    if not count_words(found.text):
        raise UsageError(f"The manuscript {file} is empty. Specify a file that contains text.")
    parts = manuscript(found.text, is_screenplay=suffix in SCREENPLAYS)
    return replace(parts, encoding=found.encoding, left_out=found.left_out)


def _title_in(file: Path) -> str:
    """The title of the story in a JSON file, such as an export; empty if it has none."""
    with suppress(ValueError, RecursionError):
        data = json.loads(text_of(file, MAX_STORY))
        if isinstance(data, dict) and isinstance(title := data.get("title"), str):
            return one_line(readable(title))
    return ""


def system_for_manuscript(named: str | None) -> str:
    """The system that is to continue from a manuscript.

    Raises:
        UnknownNameError: there is no system with that name.
        UsageError: the system makes parts from its own plan, so that those of a manuscript do not fit.
    """
    if not named:
        return SYSTEM
    system = find(named)
    if not system.takes_manuscript:
        able = ", ".join(name for name, one in systems().items() if one.takes_manuscript)
        raise UsageError(
            f"{system.name} divides a story into parts according to its own plan, so it cannot use the parts of "
            f"a manuscript. Import with {able}, which keeps the parts unchanged. For the other systems, `fabula "
            "plan --from-story` extracts a plan from a story."
        )
    return system.spec


def planned_import(folder: Path, found: Manuscript, source: str, settings: dict[str, Any], title: str = "") -> Imported:
    """The project that `import_manuscript` would make; nothing is written.

    Raises:
        UsageError: a part is too long for a file.
    """
    texts = []
    for number, part in enumerate(found.parts, 1):
        if len(part.text.encode("utf-8", "replace")) >= MAX_FILE:
            raise UsageError(
                f"{part.title or 'A part'} of {source} is larger than {MAX_FILE:,} bytes. Divide it by adding "
                "one or two headings."
            )
        texts.append(FileChange(part.name, numbered(number, part.name, len(found.parts)), part.text))
    system = system_of(Settings.of(settings, "the command line")).name
    notices, left_out = Reading("", found.encoding, found.left_out).notices(source), found.left_out
    title = title or found.title
    return Imported(
        folder, title, system, source, found.way, found.cut, tuple(texts), notices=notices, left_out=left_out
    )


def import_manuscript(
    folder: Path, found: Manuscript, source: str, settings: dict[str, Any], title: str = "", *, own: bool = False
) -> Imported:
    """Create a project from a manuscript, or finish one that a kill left unfinished. No model is called.

    Args:
        folder: the folder of the project.
        found: the manuscript.
        source: the name of the manuscript's file, for the history of the texts.
        settings: the settings of a new project.
        title: the title of the story, if it differs from the manuscript's own.
        own: whether it is the author's own prose, so that it becomes a sample for the style sheet.

    Raises:
        UsageError: the folder contains another project, or a part is too long.
        ProjectError: the project cannot be written.
    """
    made = planned_import(folder, found, source, settings, title)
    listed = FileChange(_CHAPTERS, _CHAPTERS_FILE, plain(_listed(found)))
    brief = Brief(_BRIEF, made.title)
    if not (folder / "brief.md").exists():
        ProjectFolder.create(folder, brief, settings)
    project = ProjectFolder.open(folder)
    if own:
        project.add_sample(source, "\n\n".join(map(_as_sample, found.parts)))
    texts = (listed, *made.texts)
    with project.recorded(keeping=True) as journal:
        if imported_from(journal):
            _check_same(folder, journal, texts)
            project.go_on_beginning(journal)
            return replace(made, before=True)
        if journal.artefacts.paths() or project.brief != brief:
            raise UsageError(f"{folder} already contains another project. Choose another folder with --out DIR.")
        keep_space(journal, {part.name: part.space for part in found.parts})
        project.begin_with(journal, texts, source)
    return made


def _as_sample(part: ManuscriptPart) -> str:
    """A part with its heading as one of Markdown, at which a sample ends."""
    first, _, rest = part.text.partition("\n")
    if not part.title or first.startswith("#"):
        return part.text
    return f"# {part.title}\n\n{rest.strip() if first.strip() == part.title else part.text}"


def _check_same(folder: Path, journal: Journal, texts: Sequence[FileChange]) -> None:
    """Check that a project was made from these texts, even if they have changed since.

    Raises:
        UsageError: it was made from other texts.
    """
    for one in texts:
        versions = journal.artefacts.versions(one.path)
        if not versions or plain(versions[0].text) != plain(one.text):
            raise UsageError(
                f"{folder} was made from another manuscript, or from an earlier version of this one. Choose "
                f"another folder with --out DIR, or copy the new text to the files in {folder}/story."
            )


def _listed(found: Manuscript) -> str:
    """The parts as chapters of `plan/chapters.md`."""
    chapters = [Chapter(part.title, name=part.name, words=count_words(part.text) or 1) for part in found.parts]
    return chapters_text(chapters, None)
