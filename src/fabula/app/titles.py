"""The titles under which people see texts; file names are never shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from fabula.craft.chapters import read_chapters
from fabula.project.telling import NUMBER
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.engine.journal import Journal

CHAPTERS: Final = "plan/chapters.md"
HEADING: Final = re.compile(r"#{1,6}[ \t]([^\n]*)")
"""The optional heading of a text."""
_CELL: Final = re.compile(r"cell-(\d{1,6})-([a-z-]{1,40})")
LONGEST: Final = 120
"""The longest title, in characters."""
_KNOWN: Final = {
    "brief.md": "Brief",
    "style.md": "Style",
    "story.md": "The whole story",
    "drafts/refused.yaml": "What you refused of the final reading",
    "drafts/edits.yaml": "Changes of the final reading",
    "plan/plan.yaml": "Plan",
    "plan/personas.yaml": "Characters",
}
_SHOWN: Final = ("", "story", "plan", "role-play")  # folders whose texts a writer wants to see


def is_behind(file: str) -> bool:
    """Whether a system keeps a text for itself, so that it is not part of a story or its plan."""
    path = PurePosixPath(file)
    folder = "" if path.parent == PurePosixPath() else path.parent.as_posix()
    if folder not in _SHOWN:
        return True
    return file not in _KNOWN and folder == "plan" and (path.suffix != ".md" or _CELL.match(path.stem) is not None)


@dataclass(frozen=True)
class Titles:
    """The titles of a project's texts.

    Attributes:
        files: files of the texts, by path.
        given: titles by path, of planned chapters and of texts that begin with a heading.
    """

    files: Mapping[str, str]
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str], texts: Mapping[str, str]) -> Titles:
        """The titles of texts by path, with their `files`."""
        chapters = next((texts.get(path, "") for path, file in files.items() if file == CHAPTERS), "")
        given = {path: title for path, file in files.items() if (title := _heading(file, texts.get(path, "")))}
        return cls(files, given | _planned(chapters))

    @classmethod
    def in_(cls, journal: Journal) -> Titles:
        """The titles of the texts that a journal has placed."""
        newest = journal.artefacts.newest_versions()
        return cls.of(journal.artefacts.places(), {path: version.text for path, version in newest.items()})

    def __call__(self, name: str) -> str:
        """The title of a text, given its path or its file."""
        path = name if name in self.files or name in self.given else self._path(name)
        file = self.files.get(path, name)
        if file in _KNOWN:
            return _KNOWN[file]
        if path in self.given:
            return self.given[path]
        stem = NUMBER.sub("", PurePosixPath(file).name.partition(".")[0]) if file else path
        if cell := _CELL.fullmatch(stem):
            return f"Part {cell[1]}: {cell[2].replace('-', ' ')}"
        words = stem.replace("-", " ").strip() or name
        if file.startswith("drafts/"):
            whole = path.removeprefix("drafts/")
            if whole in self.files or whole == path:
                return f"Draft of {self(whole) if whole != path else words}"
        return words[:1].upper() + words[1:]

    @property
    def every(self) -> dict[str, str]:
        """The titles of all texts, by path."""
        return {path: self(path) for path in self.files}

    def of_calls(self, paths: Iterable[str]) -> list[str]:
        """The titles of the story's texts for which calls are made, without duplicates."""
        story = {path for path, file in self.files.items() if file.startswith("story/")} | self.given.keys()
        known = sorted(story, key=len, reverse=True)
        found = (next((one for one in known if path == one or path.startswith(f"{one}/")), "") for path in paths)
        return [self(one) for one in dict.fromkeys(found) if one]

    def is_written(self, title: str) -> bool:
        """Whether a text with this title is already in the story."""
        return any(self(path) == title for path, file in self.files.items() if file.startswith("story/"))

    def _path(self, file: str) -> str:
        return next((path for path, one in self.files.items() if one == file), file)


def _heading(file: str, text: str) -> str:
    """The title with which a text of the story begins; empty if it has none."""
    found = HEADING.match(text) if file.startswith("story/") else None
    return _plain(found[1]) if found else ""


def _planned(chapters: str) -> dict[str, str]:
    """The titles of a list of chapters, by the paths of their texts."""
    listed = read_chapters(chapters)
    return {one.name or slug(one.title): title for one in listed if (title := _plain(one.title))}


def _plain(title: str) -> str:
    return " ".join(title.replace("*", "").split())[:LONGEST]
