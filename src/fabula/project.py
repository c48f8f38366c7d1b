"""A project: a folder of plain files that a writer can open, edit, diff and commit, and its journal.

    fabula.toml   brief.md   plan/*.md   story/NN-*.md   story.md   .fabula/journal.db

Files are the interface for edits: a file that differs from what was last written there is the author's edit.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.errors import ProjectError, UnknownNameError, UsageError
from fabula.files import read_text, slug, write_atomically
from fabula.journal import Journal
from fabula.settings import Settings
from fabula.story import Brief, Story, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.events import Kept

MAX_FILE: Final = 2_000_000
FOLDERS: Final = ("plan", "story")
_NUMBER: Final = re.compile(r"^\d+-")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs from what fabula last wrote there, or that the author laid there first."""

    path: str
    file: str
    text: str


class Project:
    """A project folder. `lock` before running; `journal` opens its record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: dict[str, str] = {}

    @classmethod
    def create(cls, folder: Path, brief: Brief, settings: dict[str, Any] | None = None) -> Project:
        """A new project for `brief` in `folder`, which is made; files that exist are kept.

        Raises:
            ProjectError: it is a project already, or the folder cannot be written.
        """
        project = cls(folder)
        if project.settings_file.exists() or project.brief_file.exists():
            raise ProjectError(f"{folder} is a project already. Use it with `fabula write {folder}`, or name another.")
        project._make_folders()
        Settings.of(settings or {}, "the command line")
        write_atomically(project.brief_file, brief.write())
        write_atomically(project.settings_file, _toml(settings or {}))
        return project

    @classmethod
    def open(cls, folder: Path) -> Project:
        """The project in `folder`.

        Raises:
            ProjectError: there is none.
        """
        project = cls(folder)
        if not project.brief_file.is_file():
            raise ProjectError(
                f"{folder} is no fabula project: it has no brief.md. Make one with `fabula new {folder}`."
            )
        return project

    def _make_folders(self) -> None:
        for folder in (self.folder, self.folder / ".fabula", *(self.folder / name for name in FOLDERS)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ProjectError(f"Cannot make the folder {folder}: {error.strerror}. Choose another one.") from error

    @property
    def settings_file(self) -> Path:
        """`fabula.toml`."""
        return self.folder / "fabula.toml"

    @property
    def brief_file(self) -> Path:
        """`brief.md`."""
        return self.folder / "brief.md"

    @property
    def story_file(self) -> Path:
        """`story.md`, the whole story."""
        return self.folder / "story.md"

    @property
    def settings(self) -> Settings:
        """What `fabula.toml` says."""
        return Settings.read(self.settings_file)

    @property
    def brief(self) -> Brief:
        """What `brief.md` asks."""
        return Brief.read(self.brief_file)

    @property
    def journal(self) -> Journal:
        """The journal, closed; use it as a context manager."""
        self._make_folders()
        return Journal(self.folder / ".fabula" / "journal.db")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the project for this process.

        Raises:
            ProjectError: another process holds it.
        """
        self._make_folders()
        file = self.folder / ".fabula" / "lock"
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ProjectError(f"Cannot write in {self.folder}: {error.strerror}. Check its permissions.") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                who = os.pread(handle, 20, 0).decode(errors="replace").strip() or "another process"
                raise ProjectError(
                    f"The project {self.folder} is in use by process {who}. Wait for it to end, or stop it."
                ) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)

    # edits ----------------------------------------------------------------------------------------------------------

    def changes(self, journal: Journal) -> list[Change]:
        """What the author changed in files since fabula wrote them, in order of path.

        Raises:
            UsageError: a file and `story.md` were changed in different ways, or `story.md` lost its scene marks.
        """
        places = journal.places()
        found = {change.path: change for change in self._changed_files(journal, places)}
        for change in self._changed_scenes(journal, places):
            other = found.get(change.path)
            if other is not None and other.text != change.text:
                raise UsageError(
                    f"{other.file} and story.md were both changed, and differ in {change.path!r}. Make them alike or "
                    "undo one of the two."
                )
            found.setdefault(change.path, change)
        return [found[path] for path in sorted(found)]

    def _changed_files(self, journal: Journal, places: dict[str, str]) -> Iterator[Change]:
        known = {file: path for path, file in places.items()}
        for folder in FOLDERS:
            for file in sorted((self.folder / folder).glob("*.md")):
                name = f"{folder}/{file.name}"
                text = plain(read_text(file, MAX_FILE))
                path = known.get(name, slug(_NUMBER.sub("", file.stem)))
                if text and text != _newest(journal, path):
                    yield Change(path, name, text)

    def _changed_scenes(self, journal: Journal, places: dict[str, str]) -> Iterator[Change]:
        parts = {slug(path): path for path, file in places.items() if file.startswith("story/")}
        if not parts or not self.story_file.exists():
            return
        story = Story.parse(read_text(self.story_file, MAX_FILE))
        for scene in story.scenes:
            path = parts.get(slug(scene.label))
            if path is None:
                raise UsageError(
                    f"story.md has a scene {scene.label!r} that is not in story/. Keep its lines <!-- scene: ... --> "
                    "as they were, or delete story.md: it is written again from story/."
                )
            if scene.text != _newest(journal, path):
                yield Change(path, "story.md", scene.text)

    def take_over(self, journal: Journal, changes: list[Change]) -> None:
        """Record changed files as edits, and bring file and `story.md` to the same text."""
        for change in changes:
            journal.decide(change.path, "edit", change.text)
            journal.keep(change.path, change.text, "edited")
            file = journal.places().get(change.path, change.file)
            journal.place(change.path, file)
            write_atomically(self.folder / file, change.text + "\n")

    # writing --------------------------------------------------------------------------------------------------------

    def begin(self, journal: Journal) -> None:
        """Note what stands on disk before a run, so that an edit made while it runs is not overwritten."""
        self._order: list[str] = []
        self._written = {path: _newest(journal, path) or "" for path in journal.places()}

    def write_kept(self, journal: Journal, kept: Kept) -> None:
        """Write an artefact's file; a file that the author changed meanwhile is left for the next `update`."""
        file = self._file_of(journal, kept)
        target = self.folder / file
        before = self._written.get(kept.path)
        if target.exists() and plain(read_text(target, MAX_FILE)) not in (before, plain(kept.text), ""):
            return
        write_atomically(target, plain(kept.text) + "\n")
        self._written[kept.path] = plain(kept.text)

    def _file_of(self, journal: Journal, kept: Kept) -> str:
        """The file of an artefact; story parts are numbered in the order in which they were kept."""
        if kept.folder != "story":
            file = f"{kept.folder}/{slug(kept.path)}.md"
        else:
            if kept.path not in self._order:
                self._order.append(kept.path)
            file = f"story/{self._order.index(kept.path) + 1:02d}-{slug(kept.path)}.md"
        old = journal.places().get(kept.path)
        if old != file:
            if old and (self.folder / old).exists():
                (self.folder / old).replace(self.folder / file)
            journal.place(kept.path, file)
        return file

    def write_story(self, story: Story) -> None:
        """Write `story.md`."""
        write_atomically(self.story_file, story.manuscript())

    # decisions ------------------------------------------------------------------------------------------------------

    def artefact(self, journal: Journal, name: str) -> str:
        """The path of an artefact that a user names by path, file, or file name.

        Raises:
            UnknownNameError: there is none.
        """
        places = journal.places()
        wanted = name.removeprefix("./").removeprefix(f"{self.folder}/")
        for path, file in places.items():
            if wanted in (path, file, Path(file).name, Path(file).stem, slug(path)):
                return path
        raise UnknownNameError("artefact", name, [*places, *places.values()])

    def edit(self, journal: Journal, path: str, text: str) -> None:
        """Record a new text for an artefact and write its file.

        Raises:
            UsageError: the text is empty.
        """
        text = plain(text)
        if not text:
            raise UsageError(f"The new text of {path!r} is empty. Give some text, or use `fabula retake`.")
        self.take_over(journal, [Change(path, journal.places()[path], text)])


def _newest(journal: Journal, path: str) -> str | None:
    text = journal.newest(path)
    return None if text is None else plain(text)


def _toml(settings: dict[str, Any]) -> str:
    """`settings` as the text of a new `fabula.toml`; tables come last, as TOML wants."""
    lines = ["# What this project has settled. `fabula write --help` and docs/reference/settings.md name all fields."]
    tables = {name: value for name, value in settings.items() if isinstance(value, dict)}
    lines += [f"{name} = {_value(value)}" for name, value in settings.items() if name not in tables]
    for name, table in tables.items():
        lines += _table(name, table)
    return "\n".join(lines) + "\n"


def _table(name: str, table: dict[str, Any]) -> list[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    plain_ones = {key: value for key, value in table.items() if key not in inner}
    lines = ["", f"[{name}]", *(f"{_key(k)} = {_value(v)}" for k, v in plain_ones.items())] if plain_ones else []
    for key, value in inner.items():
        lines += _table(f"{name}.{_key(key)}", value)
    return lines


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(v) for v in value)}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'
    return repr(value)
