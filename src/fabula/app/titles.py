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
_HEADING: Final = re.compile(r"(#{1,6})[ \t]([^\n]*)(?:\n+|\Z)")
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
    "notes/status.yaml": "Status of the texts",
}
_SHOWN: Final = ("", "story", "notes", "plan", "so-far", "role-play")  # folders whose texts a writer wants to see


@dataclass(frozen=True, slots=True)
class HeadedText:
    """A text with the headings that it begins with: those of a volume, then its own.

    Attributes:
        above: the headings above its own, as lines; empty if there are none.
        heading: its own heading, as a line; empty if it has none.
        body: what follows.
        level: the number of signs of its own heading; 0 if it has none.
        top: the number of signs of the first heading above; 0 if there is none.
    """

    above: str
    heading: str
    body: str
    level: int = 0
    top: int = 0

    @classmethod
    def of(cls, text: str) -> HeadedText:
        """A text, divided."""
        found: list[re.Match[str]] = []
        at = 0
        while match := _HEADING.match(text, at):
            found.append(match)
            at = match.end()
        if not found:
            return cls("", "", text)
        own, top = found[-1], len(found[0][1]) if len(found) > 1 else 0
        return cls(text[: own.start()].rstrip("\n"), own[0].rstrip("\n"), text[at:], len(own[1]), top)

    @property
    def title(self) -> str:
        """Its own title; may be empty."""
        return _title_in(self.heading)

    @property
    def volume(self) -> str:
        """The titles above its own, on one line; may be empty."""
        return ": ".join(filter(None, map(_title_in, self.above.split("\n"))))

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (self.above, self.heading, self.body)))


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
        given: titles by path, of planned chapters and of texts that begin with a heading, which may be another by now.
    """

    files: Mapping[str, str]
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str], texts: Mapping[str, str]) -> Titles:
        """The titles of texts by path, with their `files`."""
        chapters = next((texts.get(path, "") for path, file in files.items() if file == CHAPTERS), "")
        given, planned = dict[str, str](), _planned(chapters)
        for path, file in files.items():
            headed = HeadedText.of(texts.get(path, "") if file.startswith("story/") else "")
            if any(one.endswith(planned.get(path, "\n")) for one in (headed.title, headed.volume)):
                continue  # as it was planned, below a number or above those of its parts
            if headed.title:
                given[path] = headed.title
        return cls(files, planned | given)

    @classmethod
    def in_(cls, journal: Journal) -> Titles:
        """The titles of the texts that a journal has placed."""
        newest = journal.artefacts.newest_versions()
        return cls.of(journal.artefacts.places(), {path: version.text for path, version in newest.items()})

    def __call__(self, name: str) -> str:
        """The title of a text, given its path or its file."""
        path = name
        if name not in self.files and name not in self.given:
            path = next((path for path, file in self.files.items() if file == name), name)
        file = self.files.get(path, name)
        if file in _KNOWN:
            return _KNOWN[file]
        if path in self.given:
            return self.given[path]
        stem = NUMBER.sub("", PurePosixPath(file).name.partition(".")[0]) if file else path
        if cell := _CELL.fullmatch(stem):
            return f"Part {cell[1]}: {cell[2].replace('-', ' ')}"
        words = stem.replace("-", " ").strip() or name
        return self._of_another(path, file, words) or words[:1].upper() + words[1:]

    def _of_another(self, path: str, file: str, words: str) -> str:
        """The title of a text that belongs to another one: its notes, or its draft; empty for all others."""
        if file.startswith("so-far/"):
            return f"Notes after {words}"
        if path.startswith("notes/") and (of := path.removeprefix("notes/")) in self.files:
            return f"Notes on {self(of)}"
        if file.startswith("drafts/"):
            whole = path.removeprefix("drafts/")
            if whole in self.files or whole == path:
                return f"Draft of {self(whole) if whole != path else words}"
        return ""

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


def _title_in(heading: str) -> str:
    return _plain(heading.lstrip("#"))


def _planned(chapters: str) -> dict[str, str]:
    """The titles of a list of chapters, by the paths of their texts."""
    listed = read_chapters(chapters)
    return {one.name or slug(one.title): title for one in listed if (title := _plain(one.title))}


def _plain(title: str) -> str:
    return " ".join(title.replace("*", "").split())[:LONGEST]
