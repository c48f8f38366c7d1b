"""A project: a folder of plain files that a writer can open, edit, diff and commit, and its journal.

    fabula.toml   brief.md   plan/*.md|yaml|csv   role-play/*.md   drafts/*.md|yaml   story/NN-*.md   story.md
    .fabula/journal.db

Files are the interface for edits: a file that differs from what was last written there is the author's edit.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.base.errors import ProjectError, UnknownNameError, UsageError
from fabula.base.files import read_text, write_atomically, write_error
from fabula.engine.journal import Journal
from fabula.project.settings import Settings, merged
from fabula.story import Brief, Story, plain, slug

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.engine.events import Kept

MAX_FILE: Final = 2_000_000
FOLDERS: Final = ("plan", "role-play", "drafts", "story")
SUFFIXES: Final = (".md", ".yaml", ".csv")
_MADE_AT_ONCE: Final = ("plan", "story")  # the others are made with their first file
STORY: Final = "story.md"
_NUMBER: Final = re.compile(r"^\d+-")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs from what fabula last wrote there, or that the author wrote there first."""

    path: str
    file: str
    text: str


class Project:
    """A project folder. `lock` before running; `journal` opens its record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._order: list[str] = []
        self._written: dict[str, str] = {}
        self._story_before: str | None = None

    @classmethod
    def create(cls, folder: Path, brief: Brief, settings: dict[str, Any] | None = None) -> Project:
        """A new project for `brief` in `folder`, which is made; files that exist are kept.

        Raises:
            ProjectError: it is a project already, or the folder cannot be written.
        """
        project = cls(folder)
        if project.settings_file.exists() or project.brief_file.exists():
            raise ProjectError(f"{folder} is a project already. Use it with `fabula write {folder}`, or name another.")
        Settings.of(settings or {}, "the command line")
        project._make_folders()
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

    def _make_folders(self, *more: str) -> None:
        for name in ("", ".fabula", *_MADE_AT_ONCE, *more):
            folder = self.folder / name
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
        return self.folder / STORY

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
            except OSError as error:
                raise ProjectError(
                    f"Cannot lock {file}: {error.strerror}. Keep the project on a disk that can lock files."
                ) from error
            with suppress(OSError):  # the number only names the process to others; a full disk may refuse it
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)

    # edits ----------------------------------------------------------------------------------------------------------

    def changes(self, journal: Journal) -> list[Change]:
        """What the author changed in files since fabula wrote them, in order of path. Emptied files are no change.

        Raises:
            UsageError: two files that hold the same artefact were changed in different ways, or `story.md` lost
                scene marks.
        """
        places = journal.places()
        found: dict[str, Change] = {}
        for change in chain(self._changed_files(journal, places), self._changed_scenes(journal, places, found)):
            other = found.setdefault(change.path, change)
            if other.text != change.text:
                raise UsageError(
                    f"{other.file} and {change.file} were both changed, and differ in {change.path!r}. Make them alike "
                    "or undo one of the two."
                )
        return [found[path] for path in sorted(found)]

    def _changed_files(self, journal: Journal, places: dict[str, str]) -> Iterator[Change]:
        known = {file: path for path, file in places.items()}
        for name in self._files():
            text = plain(read_text(self.folder / name, MAX_FILE))
            path = known.get(name) or _path_of(Path(name))
            if not text or text == _newest(journal, path):
                continue
            own = places.get(path, name)
            if own != name and (self.folder / own).is_file():
                raise UsageError(f"{own} and {name} are both files of {path!r}. Keep one, or give {name} another name.")
            yield Change(path, name, text)

    def _files(self) -> Iterator[str]:
        """The artefacts' files; hidden ones are editors' and our own half-written files."""
        for folder in FOLDERS:
            for file in sorted((self.folder / folder).glob("*")):
                if file.suffix in SUFFIXES and file.is_file() and not file.name.startswith("."):
                    yield f"{folder}/{file.name}"

    def _changed_scenes(self, journal: Journal, places: dict[str, str], found: dict[str, Change]) -> Iterator[Change]:
        """What was changed in `story.md`; `found` holds the changed files."""
        text = self._story_text()
        if text is None or not plain(text):
            return
        files = {path: change.file for path, change in found.items()} | places
        parts = {slug(path): path for path, file in files.items() if file.startswith("story/")}
        # Parts may have been written again since story.md was, when a run was stopped: only what differs from what
        # stood in story.md before is the author's edit. A label may stand twice where a room calls an agent twice.
        before = {(slug(scene.label), scene.text) for scene in Story.parse(journal.newest(STORY) or "").scenes}
        scenes = Story.parse(text).scenes
        lost = {label for label, _ in before} - {slug(scene.label) for scene in scenes}
        for label in sorted(lost | {slug(scene.label) for scene in scenes} - set(parts)):
            problem = "lacks the scene" if label in lost else "has a scene that is not in story/:"
            raise UsageError(
                f"story.md {problem} {label!r}. Keep its lines <!-- scene: ... --> as they were, or move story.md "
                "away; it is written again from story/."
            )
        for scene in scenes:
            path = parts[slug(scene.label)]
            if scene.text and (slug(scene.label), scene.text) not in before and scene.text != _newest(journal, path):
                yield Change(path, STORY, scene.text)

    @contextmanager
    def recorded(self) -> Iterator[Journal]:
        """The open journal of a project that this process alone changes; edits found in its files are taken over first.

        Raises:
            ProjectError: another process is at work on it.
            JournalError: the journal cannot be used.
        """
        with self.lock(), self.journal as journal:
            self.take_over(journal, self.changes(journal))
            yield journal

    def take_over(self, journal: Journal, changes: list[Change], kind: Literal["edit", "rewrite"] = "edit") -> None:
        """Record changed files as edits, and write each artefact's file. What is pinned is pinned with its new text."""
        for change in changes:
            override = journal.override(change.path)
            journal.decide(change.path, kind, change.text)
            if override is not None and override[1] == "pinned":
                journal.decide(change.path, "pin", change.text)
            journal.keep(change.path, change.text, "edited" if kind == "edit" else "rewritten")
            file = journal.places().get(change.path, change.file)
            journal.place(change.path, file)
            write_atomically(self.folder / file, change.text + "\n")
        if any(change.file == STORY for change in changes):
            journal.keep(STORY, self._story_text() or "", "edited")

    # writing --------------------------------------------------------------------------------------------------------

    def begin(self, journal: Journal) -> None:
        """Note what stands on disk before a run, so that an edit made while it runs is not overwritten."""
        self._order = []
        self._story_before = self._story_text()
        self._written = {path: _newest(journal, path) or "" for path in journal.places()}

    def write_kept(self, journal: Journal, kept: Kept) -> None:
        """Write an artefact's file; a file that the author changed meanwhile is left for the next `update`."""
        file = self._file_of(journal, kept)
        target = self.folder / file
        before = self._written.get(kept.path)
        if target.exists() and plain(read_text(target, MAX_FILE)) not in (before, plain(kept.text), ""):
            return
        self._make_folders(kept.folder)
        write_atomically(target, plain(kept.text) + "\n")
        self._written[kept.path] = plain(kept.text)

    def _file_of(self, journal: Journal, kept: Kept) -> str:
        """The file of an artefact; story parts are numbered in the order in which they were kept."""
        if kept.folder != "story":
            file = f"{kept.folder}/{slug(kept.path.removeprefix(f'{kept.folder}/'))}.{kept.suffix}"
        else:
            if kept.path not in self._order:
                self._order.append(kept.path)
            file = f"story/{self._order.index(kept.path) + 1:02d}-{slug(kept.path)}.md"
        old = journal.places().get(kept.path)
        if old != file:
            if old and (self.folder / old).exists() and not (self.folder / file).exists():
                self._rename(old, file)
            journal.place(kept.path, file)
        return file

    def _rename(self, old: str, new: str) -> None:
        try:
            (self.folder / old).replace(self.folder / new)
        except OSError as error:
            raise write_error(self.folder / new, error) from error

    def write_given(self, file: str, text: str) -> None:
        """Put `text` into the artefact's `file`, as if the author had written it there; the next run takes it over."""
        if not (self.folder / file).exists() or plain(read_text(self.folder / file, MAX_FILE)) != plain(text):
            write_atomically(self.folder / file, plain(text) + "\n")

    def write_story(self, journal: Journal, story: Story) -> None:
        """Write `story.md`; where the author changed it since `begin`, it is left for the next `update`."""
        if self._story_text() != self._story_before:
            return
        manuscript = story.manuscript()
        write_atomically(self.story_file, manuscript)
        journal.keep(STORY, manuscript, "made")

    def _story_text(self) -> str | None:
        return read_text(self.story_file, MAX_FILE) if self.story_file.exists() else None

    # decisions ------------------------------------------------------------------------------------------------------

    def artefact(self, journal: Journal, name: str) -> str:
        """The path of an artefact that a user names by path, file, or file name.

        Raises:
            UnknownNameError: there is none.
        """
        places = journal.places()
        wanted = name.removeprefix("./").removeprefix(f"{self.folder}/")
        if wanted in places:
            return wanted
        for path, file in places.items():
            if wanted in (path, file, Path(file).name, Path(file).stem, slug(path)):
                return path
        raise UnknownNameError("artefact", name, [*places, *places.values()])

    def edit(self, journal: Journal, path: str, text: str, kind: Literal["edit", "rewrite"] = "edit") -> None:
        """Record a new text for an artefact and write its file; in a "rewrite" one passage of it is new.

        Raises:
            UsageError: the text is empty.
        """
        text = plain(text)
        if not text:
            raise UsageError(f"The new text of {path!r} is empty. Give some text, or use `fabula retake`.")
        self.take_over(journal, [Change(path, journal.places()[path], text)], kind)

    def put_back(self, journal: Journal, path: str, text: str, source: str) -> None:
        """Make an earlier text of an artefact its newest version again, and write its file; no decision is recorded."""
        journal.keep(path, text, source)
        write_atomically(self.folder / journal.places()[path], plain(text) + "\n")

    def save_settings(self, changes: dict[str, Any]) -> None:
        """Write `changes` into `fabula.toml`; its other fields stay, comments in it do not.

        Raises:
            ConfigError: the file or a change is wrong.
        """
        Settings.of(changes, "the command line")
        stored = self.settings.model_dump(exclude_unset=True)
        write_atomically(self.settings_file, _toml(merged(stored, changes)))


def _path_of(file: Path) -> str:
    """The artefact of a file that fabula did not write: its name, below its folder where that is no common one."""
    name = slug(_NUMBER.sub("", file.stem))
    return name if file.parts[0] in _MADE_AT_ONCE else f"{file.parts[0]}/{name}"


def _newest(journal: Journal, path: str) -> str | None:
    text = journal.newest(path)
    return None if text is None else plain(text)


def _toml(settings: dict[str, Any]) -> str:
    """`settings` as the text of a new `fabula.toml`; tables come last, as TOML wants, and `None` is left out."""
    lines = ["# What this project has settled. `fabula write --help` and docs/reference/settings.md name all fields."]
    tables = {name: value for name, value in settings.items() if isinstance(value, dict)}
    lines += _lines({name: value for name, value in settings.items() if name not in tables})
    for name, table in tables.items():
        lines += _table(name, table)
    return "\n".join(lines) + "\n"


def _table(name: str, table: dict[str, Any]) -> list[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    own = _lines({key: value for key, value in table.items() if key not in inner})
    lines = ["", f"[{name}]", *own] if own else []
    for key, value in inner.items():
        lines += _table(f"{name}.{_key(key)}", value)
    return lines


def _lines(fields: dict[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in fields.items() if value is not None]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(_lines(value))} }}"
    # JSON escapes a text as TOML does, but leaves one control character alone.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
