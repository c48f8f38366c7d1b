"""A project: a folder of plain files that a writer can open, edit, diff and commit, and its journal.

    fabula.toml   brief.md   style.md   voice/*.md|txt   plan/*.md|yaml|csv   role-play/*.md   drafts/*.md|yaml
    notes/*.md|yaml   so-far/*.md   story/NN-*.md   story.md   .fabula/journal.db   .fabula/written

You edit a story in its files: a file that differs from what fabula last wrote there is the author's edit.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain, zip_longest
from math import inf
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.base.errors import JournalError, ProjectError, UnknownNameError, UsageError, nearest
from fabula.base.files import (
    held,
    inside,
    make_folder,
    near_path,
    no_file,
    read_bytes,
    read_text,
    remove_leftovers,
    write_atomically,
    write_error,
)
from fabula.base.tomltext import toml_text
from fabula.engine.journal import Journal
from fabula.project import packed
from fabula.project.settings import Settings, merged
from fabula.project.telling import (
    NUMBER,
    ORDER,
    TITLE,
    TextInFile,
    file_after,
    in_order,
    is_likely,
    is_own,
    never_made,
    of_empty,
    of_renamed,
    with_own,
)
from fabula.project.trust import Trust, acts_in
from fabula.project.written import FolderRecord
from fabula.story import Brief, Story, plain, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from fabula.base.kept import KeptTexts
    from fabula.engine.events import Kept
    from fabula.engine.journal import DecisionKind
    from fabula.project.trust import Act

MAX_FILE: Final = 2_000_000
_START: Final = 60  # characters of a line in a message
MAX_STORY: Final = 20_000_000
"""The maximum number of bytes in `story.md`, which contains every part."""
NOTES: Final = "notes"
"""The folder of the author's notes, which no role is shown."""
FOLDERS: Final = ("plan", "role-play", "drafts", "so-far", "story", NOTES)
SUFFIXES: Final = (".md", ".yaml", ".csv")
MOST_LISTED: Final = 5
"""The most names of texts in a message about a name that is none."""
STYLE: Final = "style.md"
"""The author's style sheet, which every role that writes prose gets."""
VOICE: Final = "voice"
"""The folder with samples of the author's own prose."""
BESIDE: Final = ("brief.md", STYLE)
"""Files of the author that are no artefacts; edits of them are decisions, too."""
_LONGEST_STYLE: Final = 12_000  # characters, which are part of every prompt that asks for prose
_OTHERS: Final = (
    ".fabula",
    "chat",
    "reports",
    "cards",
    "evaluation",
    "world",
    VOICE,
)  # folders that are read or written, too
# Files that their readers leave out (`plain_files`, `is_plain`) where they are links that leave the project, or pipes.
_LEFT_OUT: Final = {"chat": (".jsonl",), "cards": (".json",), "evaluation": (".json", ".md"), "world": (".json",)}
_READ_BY_NAME: Final = ("plan/plan.yaml", "plan/personas.yaml", "plan/narrative.md")  # not as other texts are
_MADE_AT_ONCE: Final = ("plan", "story")  # the others are made with their first file
_MOST_COMPARED: Final = 20_000  # pairs of texts of which it is looked whether one is the other with changes
_SETTLED: Final = 2_000_000_000  # nanoseconds after which a change of a file shows in its time for certain
STORY: Final = packed.STORY
BRIEF: Final = "brief_digest"
"""The name under which a run records its brief."""
REACHED: Final = "reached"
"""The name under which a finished run records the texts that it used."""


@dataclass(frozen=True, slots=True)
class FileChange(TextInFile):
    """A file that differs from what fabula last wrote there, or that the author wrote there first."""


@dataclass(frozen=True, slots=True)
class _Standing(FileChange):
    """A file as it is: the part of its text that counts, and the whole."""

    whole: str


class ProjectFolder:
    """A project folder. `lock` before running; `journal` opens its record.

    Attributes:
        told: sentences about the files that the author has read.
        texts: what was read from files, for the next time the project is opened: each file's state, and its text.
        refused: text files that are not read, with the reason; see `open`.
        tell: called with each sentence about the files that the author should read.
    """

    def __init__(self, folder: Path, command: str = "") -> None:
        self.folder = folder
        self.tell: Callable[[str], object] = lambda _: None
        self.told: set[str] = set()
        self.texts: dict[str, tuple[object, str, str]] | KeptTexts = {}
        self._order: list[str] = []
        self._command = command or secrets.token_hex(8)  # what is decided under one name is taken back as one
        self._written = FolderRecord(folder / ".fabula" / "written")
        self.refused: dict[str, str] = {}

    @classmethod
    def create(cls, folder: Path, brief: Brief, settings: dict[str, Any] | None = None) -> ProjectFolder:
        """A new project for `brief` in `folder`, which is created; existing files are kept.

        Raises:
            ProjectError: it is already a project, or the folder cannot be written, or its name is `~`.
        """
        check_name(folder)
        project, given = cls(folder), toml_text(settings or {}, packed.HEADING)
        if project.brief_file.exists():
            raise ProjectError(
                f"{folder} is already a project. Use it with `fabula write {quote(str(folder))}`, or choose another "
                "folder."
            )
        if project.settings_file.exists() and read_text(project.settings_file, MAX_FILE) != given:
            raise ProjectError(
                f"{folder} has a fabula.toml with other settings but no brief.md. Remove that file, or choose another "
                "folder."
            )
        Settings.of(settings or {}, "the command line")
        with removed_if_unused(folder):
            project._make_folders()
            write_atomically(project.settings_file, given)
            project.trust(acts_in(settings or {}, folder))
            write_atomically(project.brief_file, brief.write())  # last: with it, the folder is a project
        return project

    @classmethod
    def open(cls, folder: Path, command: str = "", *, odd_texts: bool = False) -> ProjectFolder:
        """The project in `folder`; decisions under one `command` are undone together, by default those made here.

        The files of a packed project (`fabula.project.packed`) are written. Among conversations, cards, reports and
        worlds, a link that leaves the project, or a pipe, is left out and added to `refused`. With `odd_texts`, so is
        one among the texts: for callers that read texts only through the project.

        Raises:
            ProjectError: there is no project.
            UsageError: a link in it leaves it, so that someone else's files would be read, sent or written.
        """
        project = cls(folder, command)
        with _permitted():
            project._check_links(odd_texts=odd_texts)
            there = project.brief_file.is_file()
        if not there:
            raise ProjectError(_no_project(folder))
        if os.access(folder, os.W_OK):
            packed.unpack(folder)
        return project

    def _check_links(self, *, odd_texts: bool) -> None:
        for name in (self.settings_file.name, self.brief_file.name, STYLE, STORY, *FOLDERS, *_OTHERS):
            place = self.folder / name
            for path in (place, *(_odd_ones(place) if place.is_dir() else ())):
                try:
                    self._check_link(path)
                except UsageError as error:
                    file = path.relative_to(self.folder).as_posix()
                    of_texts = odd_texts and name in FOLDERS and file not in _READ_BY_NAME
                    if path == place or not (of_texts or path.suffix in _LEFT_OUT.get(name, ())):
                        raise
                    self.refused[file] = str(error)

    def _check_link(self, path: Path) -> None:
        if path.is_symlink():
            inside(self.folder, path.relative_to(self.folder).as_posix())
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"{path} is a pipe or a device, and reading it might never end. Remove it.")

    def _make_folders(self, *more: str) -> None:
        for name in ("", ".fabula", *_MADE_AT_ONCE, *more):
            make_folder(self.folder / name, mode=0o700 if name == ".fabula" else 0o777)

    @property
    def is_only_brief(self) -> bool:
        """Whether the project is a brief without settings, texts and runs, so that its system is still to be chosen."""
        if self.settings_file.exists() or self.story_file.exists() or next(self._files(), ""):
            return False
        with self.journal as journal:
            return not journal.runs()

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
        """The settings in `fabula.toml`; relative paths start at the project."""
        return Settings.read(self.settings_file).at(self.folder)

    @property
    def brief(self) -> Brief:
        """The brief in `brief.md`."""
        return Brief.read(self.brief_file)

    @property
    def style_file(self) -> Path:
        """`style.md`, the author's style sheet."""
        return self.folder / STYLE

    @property
    def style(self) -> str:
        """The author's style sheet; empty if there is none.

        Raises:
            UsageError: it is not text, or is too long to be part of every prompt.
        """
        text = plain(read_text(self.style_file, MAX_FILE)) if self.style_file.exists() else ""
        if len(text) > _LONGEST_STYLE:
            raise UsageError(
                f"{self.style_file} has {len(text):,} characters, and every prompt for prose contains it. Shorten it "
                f"to at most {_LONGEST_STYLE:,} characters."
            )
        return text

    @property
    def samples(self) -> dict[str, str]:
        """The samples of the author's own prose, by file.

        Raises:
            UsageError: a sample is not text, or is too large.
        """
        files = sorted((self.folder / VOICE).glob("*")) if (self.folder / VOICE).is_dir() else []
        read = [file for file in files if file.suffix in (".md", ".txt") and not file.name.startswith(".")]
        return {f"{VOICE}/{file.name}": plain(read_text(file, MAX_STORY)) for file in read}

    def add_sample(self, source: str, text: str) -> None:
        """Save the prose of a file as a sample of the author's own.

        Raises:
            ProjectError: it cannot be written.
        """
        make_folder(self.folder / VOICE)
        write_atomically(self.folder / VOICE / f"{slug(Path(source).stem)}.md", plain(text) + "\n")

    @property
    def brief_digest(self) -> str:
        """A digest that distinguishes the present brief from any other."""
        return sha256(self.brief.write().encode("utf-8", "replace")).hexdigest()

    @property
    def journal(self) -> Journal:
        """The journal, closed; use it as a context manager. It stays empty if there is no folder to write it to."""
        file = self.folder / ".fabula" / "journal.db"
        with _permitted():
            usable = file.exists() or (file.parent.is_dir() and os.access(file.parent, os.W_OK))
        return Journal(file, command=self._command) if usable else Journal()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the project for this process, and remove what killed processes left half-written.

        Raises:
            ProjectError: another process holds it.
        """
        self._make_folders()
        with held(self.folder / ".fabula", f"The project {self.folder}"):
            inner = [folder for folder in self.folder.iterdir() if folder.is_dir()]
            remove_leftovers([self.folder, *inner, *self.folder.glob(".fabula/runs/*/")])
            yield

    # edits ----------------------------------------------------------------------------------------------------------

    def changes(self, journal: Journal) -> list[FileChange]:
        """The author's changes to files since fabula wrote them, in order of path. Emptied files do not count.

        Raises:
            UsageError: two files that hold the same artefact were changed in different ways, or `story.md` lost
                scene marks.
        """
        self._written.load()
        places = journal.artefacts.places()
        found: dict[str, FileChange] = {}
        story = self._story_text() or ""
        edited = not self._written.ours(STORY, story) and bool(plain(story))
        for change in chain(
            self._changed_files(journal, places),
            self._changed_scenes(journal, places, found, story) if edited else (),
            self._changed_telling(journal, story) if edited else (),
        ):
            other = found.setdefault(change.path, change)
            if other.text != change.text:
                both = zip_longest(other.text.split("\n"), change.text.split("\n"), fillvalue="")
                first, second = next((a, b) for a, b in both if a != b)
                raise UsageError(
                    f"{other.file} and {change.file} were both changed and differ in {change.path!r}, first in "
                    f"{_start(first)} and {_start(second)}. Make them equal. Or, to keep {other.file}, move "
                    f"{change.file} away (`mv {change.file} old-{Path(change.file).name}`) and run `fabula update`."
                )
        return [found[path] for path in sorted(found)]

    def _changed_files(self, journal: Journal, places: dict[str, str]) -> Iterator[FileChange]:
        for stands in self._standing(journal, places):
            path, name, text = stands.path, stands.file, stands.text
            if not text or self._written.ours(name, text) or text == _newest(journal, path):
                continue
            own = places.get(path, name)
            if own != name and (self.folder / own).is_file():
                raise UsageError(
                    f"{own} and {name} both belong to {path!r}. Keep only one of the files, or rename {name}."
                )
            yield FileChange(path, name, text)

    def _standing(self, journal: Journal, places: dict[str, str]) -> Iterator[_Standing]:
        """The current contents of the artefacts' files, including emptied ones."""
        known = {file: path for path, file in places.items()}
        renamed = self.renamed(journal, places)
        for name in self._files():
            path = known.get(name) or renamed.get(name) or self._written.artefact(name) or _path_of(Path(name))
            whole, text = self._read(name)
            yield _Standing(path, name, text, whole)

    def path_of(self, file: str) -> str:
        """The artefact that a new file holds: the one that was last written there, or one named after it."""
        self._written.load()
        return self._written.artefact(file) or _path_of(Path(file))

    def _read(self, name: str) -> tuple[str, str]:
        """A file's text, whole and plain; not read again while the file is the same, unless it was just written."""
        file = self.folder / name
        status = file.stat()
        seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self.texts.get(name)
        if known is not None and known[0] == seen:
            return known[1], known[2]
        whole = read_text(file, MAX_FILE)
        text = plain(whole)
        if time.time_ns() - status.st_mtime_ns > _SETTLED:
            self.texts[name] = seen, whole, text
        return whole, text

    def renamed(self, journal: Journal, places: dict[str, str]) -> dict[str, str]:
        """The artefacts of files that the author renamed, by the new name; their own files no longer exist.

        If very many files are missing and very many are new, only a file with the same text counts as renamed.
        """
        gone: dict[str, dict[str, str]] = {}  # by folder: the newest text of each artefact whose file is not there
        there = list(self._files())
        absent = set(places.values()).difference(there)
        for path, file in places.items():
            if file in absent and not (self.folder / file).is_file():
                gone.setdefault(file.rpartition("/")[0], {})[path] = _newest(journal, path) or ""
        known, found = set(places.values()), dict[str, str]()
        new = [name for name in there if name not in known] if gone else []
        few = len(new) * sum(map(len, gone.values())) <= _MOST_COMPARED
        same = {folder: {text: path for path, text in reversed(of.items())} for folder, of in gone.items()}
        for name in new:
            folder, text = name.rpartition("/")[0], self._read(name)[1]
            of = gone.get(folder, {})
            if not text or not of:
                continue
            likely = (path for path, other in of.items() if is_likely(text, other)) if few else iter(())
            was = next(likely, same[folder].get(text))
            if was in of:
                found[name] = was
                del of[was]
        return found

    def own_texts(self, journal: Journal, used: Collection[str]) -> list[TextInFile]:
        """The author's own texts in the story: existing files in `story/` that are not parts of it.

        Args:
            journal: the journal of the project.
            used: paths of the artefacts that the story is made of.
        """
        places = journal.artefacts.places()
        return [
            TextInFile(path, file, _newest(journal, path) or "")
            for path, file in places.items()
            if path not in used and is_own(journal, path, file) and (self.folder / file).is_file()
        ]

    def emptied(self, journal: Journal) -> list[str]:
        """The files of artefacts that the author emptied."""
        return [one.file for one in self._standing(journal, journal.artefacts.places()) if self._is_emptied(one)]

    def unwritten(self, journal: Journal) -> list[str]:
        """The files that still have an earlier text of ours, since the command that was to write them was killed."""
        self._written.load()
        return [
            one.file
            for one in self._standing(journal, journal.artefacts.places())
            if one.text
            and one.text != _newest(journal, one.path)
            and self._written.ours(one.file, one.text)
            and _has(journal, one)
        ]

    def _is_emptied(self, stands: _Standing) -> bool:
        return not stands.text and bool(self._written.artefact(stands.file))

    def unread(self) -> Iterator[str]:
        """Other contents of the text folders: folders, files of other kinds, names that are not UTF-8."""
        for folder in FOLDERS:
            for file in sorted((self.folder / folder).glob("*")):
                kept = file.name.startswith(".") or file.name.endswith(("~", ".bak", ".swp"))  # by an editor
                if not kept and (file.is_dir() or file.suffix not in SUFFIXES or not _is_utf8(file.name)):
                    yield f"{folder}/{os.fsencode(file.name).decode('utf-8', 'replace')}"

    def _say(self, sentence: str) -> None:
        """Tell the author something about the files, once."""
        if sentence not in self.told:
            self.told.add(sentence)
            self.tell(sentence)

    def _files(self) -> Iterator[str]:
        """The artefacts' files. Hidden files belong to editors or are half-written; `unread` has the others."""
        for folder in map(self.folder.joinpath, FOLDERS):
            with _permitted():
                files = _entries(folder) if folder.is_dir() else []
                names = sorted(file.name for file in files if file.name.endswith(SUFFIXES) and _is_file(file))
            found = (f"{folder.name}/{name}" for name in names if not name.startswith(".") and _is_utf8(name))
            yield from (file for file in found if file not in self.refused)

    def _changed_scenes(
        self, journal: Journal, places: dict[str, str], found: dict[str, FileChange], text: str
    ) -> Iterator[FileChange]:
        """The changes in `story.md`, whose text this is; `found` holds the changed files."""
        files = places | {path: change.file for path, change in found.items() if path not in places}
        parts = {slug(path): path for path, file in files.items() if file.startswith("story/")}
        # Parts may have been written again since story.md was, when a run was stopped: only what differs from what
        # stood in story.md before is the author's edit. A label may stand twice where a room calls an agent twice.
        before = {
            (slug(scene.label), scene.text) for scene in Story.parse(journal.artefacts.newest(STORY) or "").scenes
        }
        scenes = Story.parse(text).scenes
        lost = {label for label, _ in before} - {slug(scene.label) for scene in scenes}
        for label in sorted(lost):
            raise UsageError(
                f"story.md lacks the scene {label!r}. Restore its lines <!-- scene: ... -->, or move "
                "story.md away and let fabula write it again from story/. To remove your own text, remove its file "
                "in story/."
            )
        last = ""
        for scene in scenes:
            label = slug(scene.label)
            if (label, scene.text) not in before and len(scene.text.encode("utf-8", "replace")) >= MAX_FILE:
                raise UsageError(
                    f"The scene {label!r} in story.md is larger than {MAX_FILE:,} bytes, the maximum for its own "
                    "file. Remove anything that does not belong there, or move story.md away and let fabula write it "
                    "again from story/."
                )
            if label not in parts:  # a scene of the author's own, or the second half of one that was split
                if not before:
                    raise UsageError(
                        f"story.md has a scene that story/ lacks: {label!r}. Restore the lines <!-- scene: ... -->, "
                        "or move story.md away; it is written again from story/."
                    )
                if label in files:
                    raise UsageError(
                        f"story.md has a new scene {label!r}, the name of {files[label]}. Give it another name."
                    )
                last = files[label] = file_after(last, label, files.values())
                parts[label] = label
                if scene.text:
                    yield FileChange(label, last, scene.text)
                continue
            path, last = parts[label], files[parts[label]]
            if scene.text and (label, scene.text) not in before and scene.text != _newest(journal, path):
                yield FileChange(path, STORY, scene.text)

    def _changed_telling(self, journal: Journal, text: str) -> Iterator[FileChange]:
        """Another title, or another order of the same scenes, in `story.md`, whose text this is."""
        if (before := journal.artefacts.newest(STORY)) is None:
            return
        old, new = Story.parse(before), Story.parse(text)
        if new.title != old.title:
            yield FileChange(TITLE, STORY, new.title)
        labels, told = [scene.label for scene in new.scenes], [scene.label for scene in old.scenes]
        if [label for label in labels if label in told] != [label for label in told if label in labels]:
            yield FileChange(ORDER, STORY, "\n".join(labels))

    @contextmanager
    def recorded(self, *, keeping: bool = False) -> Iterator[Journal]:
        """The open journal of a project that only this process changes; edits found in its files are applied first.

        Args:
            keeping: the texts must stay as they are, even if the journal has lost their calls.

        Raises:
            ProjectError: another process is using it.
            JournalError: the journal cannot be used, or has lost everything.
        """
        with self.lock(), self.journal as journal:
            if not keeping:
                self.check_journal(journal)
            lost = self._settle(journal)
            if lost and not keeping:
                self.tell(
                    f"The journal has lost the calls that produced {some(lost)}. A run will make the required calls "
                    "again. Existing texts are kept (see `fabula show --versions ARTEFACT`)."
                )
            for name in BESIDE:
                if journal.decisions.find(name, undone=True):
                    self._note_beside(journal, name)
            if changes := self.changes(journal):
                self.take_over(journal, changes, found=True)
                self.tell(f"Applied from your files: {', '.join(files_of(changes))}.")
            yield journal

    def check_journal(self, journal: Journal) -> None:
        """Refuse to continue if texts by fabula exist, but the journal holds no call.

        Raises:
            JournalError: all calls would be made and paid again; the message says how to keep the texts.
        """
        self._written.load()
        if len(journal.calls):
            return
        lost = [
            stands.file
            for stands in self._standing(journal, journal.artefacts.places())
            if stands.text and self._written.ours(stands.file, stands.text) and not _has(journal, stands)
        ]
        if lost:
            raise JournalError(
                f"The journal of {self.folder} is missing, and with it the calls for {some(lost)}. If you continue, "
                "you pay for them again. To keep the texts as they are, run `fabula text pin --all` or restore a copy "
                "of .fabula/journal.db. To have the texts rewritten, move them away."
            )

    def _settle(self, journal: Journal) -> list[str]:
        """Complete what a killed process had begun: each file that fabula wrote gets its newest text.

        A text of ours that the journal does not know, because it lost its end, becomes a version there. Returns the
        files of such texts.
        """
        self._written.load()
        self._take_names_back(journal, journal.artefacts.places())
        lost, stand = [], []
        for stands in [*self._standing(journal, journal.artefacts.places())]:
            newest = _newest(journal, stands.path)
            if self._is_emptied(stands):
                self._say(of_empty(stands.file))
            elif stands.text == newest and stands.whole == f"{newest}\n":
                stand += [] if self._written.settled(stands.file, newest) else [stands]
            elif stands.text == newest and self._written.settled(stands.file, newest):
                pass  # the author's line ends
            elif newest is not None and stands.text == newest:
                self._write((stands.file, stands.path, newest + "\n"))
            elif self._written.ours(stands.file, stands.text):
                if newest is not None and _has(journal, stands):  # not the newest any more
                    self._write((stands.file, stands.path, newest + "\n"))
                else:
                    lost.append(stands)
        self._written.wrote(*((one.file, one.path, one.text) for one in stand))
        places = journal.artefacts.places()
        with journal.transaction():
            for one in lost:
                journal.artefacts.keep(one.path, one.text, "made")
                if one.path not in places:
                    journal.artefacts.place(one.path, one.file)
        self._written.compact()
        return [one.file for one in lost]

    def _take_names_back(self, journal: Journal, places: dict[str, str]) -> None:
        """Give the parts' files their names back; a text of the author's own is placed by its new name."""
        for name, path in self.renamed(journal, places).items():
            own = is_own(journal, path, name)
            if own:
                journal.artefacts.place(path, name)
            else:
                self._rename(name, places[path], path)
            self._say(of_renamed(name, places[path], own=own))

    def take_over(
        self,
        journal: Journal,
        changes: list[FileChange],
        kind: Literal["edit", "rewrite"] = "edit",
        *,
        found: bool = False,
        withdrawn: Collection[str] = (),
    ) -> None:
        """Record changed files as edits, and write each artefact's file. A pinned artefact is pinned with its new text.

        `found` says that they were changed without a command: each file is then taken back alone, the last changed one
        first. Of the `withdrawn` artefacts the author's texts no longer
        count, and their files are removed; their versions stay.
        """
        beside = [change for change in changes if change.path in (TITLE, ORDER)]
        changes = [change for change in changes if change not in beside]
        places, overrides = journal.artefacts.places(), journal.decisions.overrides()
        files = self._as_saved(change.file for change in (*beside, *changes)) if found else []
        number = {file: of for of, file in enumerate(files, journal.decisions.next_found())}
        changes.sort(key=lambda change: number.get(change.file, 0))
        with journal.transaction():
            for change in beside:
                journal.decisions.add(change.path, "edit", change.text, found=number.get(change.file, 0))
                journal.artefacts.keep(change.path, change.text, "edited")
            for change in changes:
                override, of = overrides.get(change.path), number.get(change.file, 0)
                journal.decisions.add(change.path, kind, change.text, found=of)
                if override is not None and override[1] == "pinned":
                    journal.decisions.add(change.path, "pin", change.text, found=of)
                journal.artefacts.keep(change.path, change.text, "edited" if kind == "edit" else "rewritten")
                own = never_made(journal, change.path, change.file)
                if change.file == STORY or not own or (self.folder / places.get(change.path, "")).is_file():
                    journal.artefacts.place(change.path, places.get(change.path, change.file))
                else:  # a text of the author's own stands where its new name says
                    journal.artefacts.place(change.path, change.file)
            for path in withdrawn:
                if overrides.get(path, ("", ""))[1] == "pinned":
                    journal.decisions.add(path, "unpin")
                journal.decisions.add(path, "unedit")
                journal.artefacts.unplace(path)
            if any(change.file == STORY for change in (*beside, *changes)):
                journal.artefacts.keep(STORY, self._story_text() or "", "edited")
        self._remove(places[path] for path in withdrawn if path in places)
        places, texts = journal.artefacts.places(), []
        for change in changes:
            file = places[change.path]
            if change.file not in (file, STORY) and not (self.folder / file).exists():  # renamed, and written anew
                self._rename(change.file, file, change.path)
                self._say(of_renamed(change.file, file, own=False))
            texts.append((file, change.path, change.text + "\n"))
        self._write(*texts)

    def _as_saved(self, files: Iterable[str]) -> list[str]:
        """The changed files, each once, in the order in which they were saved; those that are gone come last."""

        def when(file: str) -> float:
            with suppress(OSError):
                return (self.folder / file).stat().st_mtime_ns
            return inf

        return sorted(dict.fromkeys(files), key=when)

    def _write(self, *texts: tuple[str, str, str]) -> None:
        """Write our files, given as (file, path, text), known as ours at every moment; unchanged files are skipped."""
        others = [one for one in texts if not self._stands(one[0], one[2])]
        self._written.intend(*others)
        for file, _, text in others:
            write_atomically(self.folder / file, text)
        self._written.wrote(*texts)

    def _stands(self, file: str, text: str) -> bool:
        """Whether a file has exactly this text."""
        place = self.folder / file
        content = text.encode("utf-8", "replace")
        with suppress(OSError, UsageError):
            return place.stat().st_size == len(content) and read_bytes(place, MAX_STORY) == content
        return False

    # writing --------------------------------------------------------------------------------------------------------

    def begin(self, journal: Journal) -> None:
        """Note the files on disk before a run, so that an edit made meanwhile is not overwritten."""
        self._order = []
        self._written.load()
        stand = [
            one
            for one in self._standing(journal, journal.artefacts.places())
            if one.text and one.text == _newest(journal, one.path)
        ]
        notes = [(one.file, one.path, one.text) for one in stand]
        if story := self._story_text():  # what was changed in it was taken over before
            notes.append((STORY, STORY, story))
        self._written.wrote(*(note for note in notes if not self._written.settled(note[0], note[2])))

    def write_kept(self, journal: Journal, kept: Kept) -> None:
        """Write an artefact's file; a file that the author changed meanwhile is left for the next `update`."""
        file, text = self._file_of(journal, kept), plain(kept.text)
        target = self.folder / file
        if target.exists():
            stands = plain(read_text(target, MAX_FILE))
            if stands == text or (stands and not self._written.ours(file, stands)):
                return
        self._make_folders(kept.folder)
        self._write((file, kept.path, text + "\n"))

    def _file_of(self, journal: Journal, kept: Kept) -> str:
        """The file of an artefact; a new part of the story has the next number until the story is complete."""
        if kept.folder != "story":
            file = f"{kept.folder}/{slug(kept.path.removeprefix(f'{kept.folder}/'))}.{kept.suffix}"
        else:
            if kept.path not in self._order:
                self._order.append(kept.path)
            file = numbered(self._order.index(kept.path) + 1, kept.path)
            old = journal.artefacts.places().get(kept.path)
            if old and old.startswith("story/") and (self.folder / old).exists():
                return old  # what the author has edited is kept first, and keeps its number
        self._place(journal, kept.path, file)
        return file

    def _place(self, journal: Journal, path: str, file: str) -> None:
        old = journal.artefacts.places().get(path)
        if old != file:
            if old and (self.folder / old).exists() and not (self.folder / file).exists():
                self._rename(old, file, path)
            journal.artefacts.place(path, file)

    def _number_as_told(self, journal: Journal, story: Story) -> None:
        """Number the files of a complete story's parts in the order of its scenes."""
        labels = [slug(scene.label) for scene in story.scenes]
        if {slug(path) for path in self._order} <= set(labels):
            self._order.sort(key=lambda path: labels.index(slug(path)))
        for number, path in enumerate(self._order, 1):
            self._place(journal, path, numbered(number, path, len(self._order)))

    def _rename(self, old: str, new: str, path: str) -> None:
        text = plain(read_text(self.folder / old, MAX_FILE))
        if self._written.ours(old, text):
            self._written.intend((new, path, text))
        try:
            (self.folder / old).replace(self.folder / new)
        except OSError as error:
            raise write_error(self.folder / new, error) from error

    def begin_with(self, journal: Journal, texts: Iterable[FileChange], manuscript: str) -> Story:
        """Record the texts of a `manuscript` as the author's own, and write their files and `story.md`.

        This is how the project begins: no command undoes it.
        """
        texts = list(texts)
        with journal.transaction():
            journal.decisions.add("*", "import", manuscript, lasting=True)
            for one in texts:
                journal.decisions.add(one.path, "edit", one.text, lasting=True)
                journal.artefacts.keep(one.path, one.text, "imported")
                journal.artefacts.place(one.path, one.file)
        return self.go_on_beginning(journal)

    def go_on_beginning(self, journal: Journal) -> Story:
        """Write the missing files of an imported manuscript, and `story.md`. Returns the story as it is."""
        self._make_folders()
        self.write_newest(
            journal, [p for p, file in journal.artefacts.places().items() if not (self.folder / file).exists()]
        )
        return self.write_story(journal, Story.of(self.brief))

    def write_given(self, file: str, text: str) -> None:
        """Save `text` to the artefact's `file`, as if the author had written it there; the next run applies it."""
        if not (self.folder / file).exists() or plain(read_text(self.folder / file, MAX_FILE)) != plain(text):
            write_atomically(self.folder / file, plain(text) + "\n")

    def write_story(self, journal: Journal, story: Story) -> Story:
        """Write `story.md`. Returns the story as it is there, with the author's own texts, title and order.

        If the author changed it after `begin`, it is left for the next `update`.
        """
        self._number_as_told(journal, story)
        story = with_own(story, self.own_texts(journal, self._order), journal.artefacts.places())
        if (title := journal.decisions.override(TITLE)) is not None:
            story = replace(story, title=title[0])
        if (order := journal.decisions.override(ORDER)) is not None:
            story = in_order(story, order[0].split("\n"))
        self.write_manuscript(journal, story)
        return story

    def write_manuscript(self, journal: Journal, story: Story) -> None:
        """Write a story to `story.md` as it is, unless the author has changed the file after `begin`."""
        stands = self._story_text()
        if stands and plain(stands) and not self._written.ours(STORY, stands):
            return
        manuscript = story.manuscript()
        journal.artefacts.keep(STORY, manuscript, "made")
        if stands != manuscript:
            self._write((STORY, STORY, manuscript))

    def retell(self, journal: Journal, paths: Iterable[str]) -> None:
        """Number the files of the author's own parts in a new order, and write `story.md` of their newest texts."""
        self.begin(journal)
        self._order, story, places = [*paths], Story.of(self.brief), journal.artefacts.places()
        for number, path in enumerate(self._order, 1):
            story = story.add(path.replace("-", " ").capitalize(), _newest(journal, path) or "")
            if path not in places:
                self._place(journal, path, numbered(number, path, len(self._order)))
        self.write_newest(journal, self._order)
        self.write_story(journal, story)

    def story(self) -> Story:
        """The story in `story.md`.

        Raises:
            ProjectError: there is none yet, or the file was emptied.
        """
        text = self._story_text()
        if text is None:
            raise ProjectError("There is no story yet. Write it with `fabula write`, or check `fabula status`.")
        with self.journal as journal:
            if self.is_emptied(journal):
                raise ProjectError(
                    "story.md is empty, although the texts in story/ are not. `fabula update` writes it "
                    "again from them."
                )
        return Story.parse(text)

    def is_emptied(self, journal: Journal) -> bool:
        """Whether `story.md` was emptied after a story was written to it."""
        text = self._story_text()
        return text is not None and not Story.parse(text).words and bool(journal.artefacts.newest(STORY))

    def _story_text(self) -> str | None:
        return read_text(self.story_file, MAX_STORY) if self.story_file.exists() else None

    # decisions ------------------------------------------------------------------------------------------------------

    def artefact(self, journal: Journal, name: str) -> str:
        """The path of an artefact that a user names by path, file, or file name.

        Raises:
            UnknownNameError: there is no such artefact.
        """
        places = journal.artefacts.places()
        wanted = name.removeprefix("./").removeprefix(f"{self.folder}/")
        if wanted in places:
            return wanted
        for path, file in places.items():
            if wanted in (path, file, Path(file).name, Path(file).stem, slug(path)):
                return path
        parts = {Path(file).name.lstrip("0"): path for path, file in places.items() if file.startswith("story/")}
        begins = f"{name.lstrip('0')}-" if name.isascii() and name.isdigit() else ""
        if begins and (likely := next((path for file, path in parts.items() if file.startswith(begins)), "")):
            raise UnknownNameError("artefact", name, (), f"Did you mean {likely!r}?", listed=False)
        empty = "" if places else f"The project in {self.folder.resolve()} has no texts yet."
        near = "" if places else near_path(Path(name))
        meant = f"Did you mean the project {near!r}?" if near and (Path(near) / self.brief_file.name).is_file() else ""
        like = nearest(name, [*places, *places.values()])
        known = [like] if like else places
        raise UnknownNameError("artefact", name, known, f"{empty} {meant}".strip(), most=MOST_LISTED)

    def edit(self, journal: Journal, path: str, text: str, kind: Literal["edit", "rewrite"] = "edit") -> None:
        """Record a new text for an artefact and write its file; in a "rewrite", only one passage is new.

        Raises:
            UsageError: the text is empty, or longer than a file that is read.
        """
        self.edit_all(journal, {path: text}, kind)

    def edit_all(self, journal: Journal, texts: Mapping[str, str], kind: Literal["edit", "rewrite"] = "edit") -> None:
        """Record new texts for artefacts and write their files, all or none.

        Raises:
            UsageError: a text is empty, or longer than a file that is read.
        """
        places, changes = journal.artefacts.places(), []
        for path, text in texts.items():
            if not plain(text):
                raise UsageError(
                    f"The new text of {path!r} is empty. Write some text, or run `fabula text retake {path}`."
                )
            if len(plain(text).encode("utf-8", "replace")) >= MAX_FILE:
                raise UsageError(f"The new text of {path!r} is larger than {MAX_FILE:,} bytes. Use a shorter text.")
            changes.append(FileChange(path, places[path], plain(text)))
        self.take_over(journal, changes, kind)

    def edit_beside(self, journal: Journal, name: str, text: str) -> None:
        """Write the brief or the style sheet, and record that as a decision."""
        self._note_beside(journal, name)
        write_atomically(self.folder / name, plain(text) + "\n")
        journal.decisions.add(name, "edit", plain(text))

    def _note_beside(self, journal: Journal, name: str) -> None:
        """Record what the author has done to the brief or the style sheet since the last decision about it."""
        file, known = self.folder / name, journal.decisions.override(name)
        text = plain(read_text(file, MAX_FILE)) if file.exists() else ""
        if text != ("" if known is None else known[0]):
            first = not journal.decisions.find(name, undone=True)
            kind: DecisionKind = "edit" if text else "unedit"
            journal.decisions.add(name, kind, text or None, found=journal.decisions.next_found(), lasting=first)

    def write_newest(self, journal: Journal, paths: Iterable[str]) -> None:
        """Write the newest texts of artefacts to their files; artefacts without a text are skipped."""
        places = journal.artefacts.places()
        newest = {path: _newest(journal, path) for path in paths if path in places}
        self._write(*((places[path], path, text + "\n") for path, text in newest.items() if text))

    def write_decided(self, journal: Journal, paths: Iterable[str], *, found: bool = False) -> None:
        """Write the newest texts of artefacts after decisions about them were undone or redone.

        The file of a text that a command had added and nobody gives any more is removed, unless it was `found` in the
        folder; its versions stay, and the file comes back with the decision.
        """
        self._written.load()
        paths = [path for path in dict.fromkeys(paths) if path not in (TITLE, ORDER)]
        for name in set(paths).intersection(BESIDE):
            paths.remove(name)
            if (override := journal.decisions.override(name)) is not None:
                write_atomically(self.folder / name, override[0] + "\n")
            else:
                self._remove([name])
        for path in paths:
            place = journal.artefacts.places().get(path)
            given = journal.decisions.override(path) is not None or any(
                version.made for version in journal.artefacts.versions(path)
            )
            if place and not given and not found:
                journal.artefacts.unplace(path)
                self._remove([place])
            elif given and place is None and (file := self._written.file_of(path)):
                journal.artefacts.place(path, file)
        self.write_newest(journal, paths)

    def _remove(self, files: Iterable[str]) -> None:
        """Remove files of artefacts, whose versions stay in the journal."""
        for file in files:
            with suppress(OSError):
                (self.folder / file).unlink(missing_ok=True)

    def save_settings(self, changes: dict[str, Any]) -> None:
        """Write `changes` to `fabula.toml`; its other fields stay, but comments do not. `None` removes a field.

        Raises:
            ConfigError: the file or a change is wrong.
        """
        tables = _without_none(merged(Settings.read(self.settings_file).model_dump(exclude_unset=True), changes))
        Settings.of(tables, "the command line")
        write_atomically(self.settings_file, toml_text(tables, packed.HEADING))
        self.trust(acts_in(changes, self.folder))

    def trust(self, acts: Collection[Act]) -> None:
        """Remember that a person provided what could do this. If that cannot be written, the person is asked later."""
        if acts:
            with suppress(ProjectError):
                Trust().give(self.settings_file, acts)


def _no_project(folder: Path) -> str:
    """A message that there is no project in a folder, why, and what to do."""
    if folder.is_file():
        return (
            f"{folder} is a file. Specify the folder of a project. To create a project from a brief, run `fabula "
            f"write {quote(str(folder))}`."
        )
    if not folder.exists():
        advice = f"Correct the name, or create a project with `fabula new {quote(str(folder))}`."
        return no_file(folder, advice, "folder")
    if was_project(folder):
        return (
            f"{folder / 'brief.md'} is missing: it was deleted, moved or renamed. The rest of this project is still "
            "there. Put the file back from a copy or, if the project is in git, with `git restore brief.md`. Or write "
            "the brief again: if it differs, the texts that depend on it become stale."
        )
    named = "This folder" if folder == Path() else str(folder)
    elsewhere = "Go to a project folder, or specify it with -C FOLDER. " if folder == Path() else ""
    return (
        f"{named} is not a fabula project: it has no brief.md. {elsewhere}To make a project, run `fabula new "
        f"{quote(str(folder))} --brief FILE`. To try a finished project, run `fabula sample demo`."
    )


def was_project(folder: Path) -> bool:
    """Whether a folder is a project, or would be one if its brief were there."""
    return any((folder / name).is_file() for name in ("brief.md", packed.JOURNAL))


@contextmanager
def removed_if_unused(folder: Path) -> Iterator[None]:
    """Remove what is created in `folder` here if an error occurs before the project has its first run.

    Nothing that was there before is removed.
    """
    made = ("brief.md", "fabula.toml", ".fabula", *_MADE_AT_ONCE)
    before = {name for name in made if os.path.lexists(folder / name)}
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        yield
    except BaseException:
        if "brief.md" not in before and not _has_run(folder):
            for name in set(made) - before:
                place = folder / name
                with suppress(OSError):
                    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
            if "fabula.toml" not in before:
                Trust().forget(folder / "fabula.toml")
            for one in new:
                with suppress(OSError):  # it has something else in it
                    one.rmdir()
        raise


def _has_run(folder: Path) -> bool:
    """Whether a project has begun to work; if that cannot be read, it counts as begun."""
    file = folder / packed.JOURNAL
    if not file.is_file():
        return False
    try:
        with Journal(file) as journal:
            return bool(journal.runs() or len(journal.calls))
    except JournalError:
        return True


def check_name(folder: Path) -> None:
    """Check that a new project's folder can be named in a shell.

    Raises:
        ProjectError: the folder, or one above it, is called `~`.
    """
    if "~" in folder.parts:
        raise ProjectError(
            f"{folder} contains a folder named '~', which a shell interprets as your home folder, so removing it in a "
            "shell would remove all your files. Use another name. To refer to your home folder here, use its full "
            "path."
        )


def files_of(changes: Iterable[FileChange]) -> list[str]:
    """The files that were changed, with the part that was changed in `story.md`."""
    return [change.file + (f" ({change.path})" if change.file == STORY else "") for change in changes]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return list(found)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file; a link in a circle is none, where `os.DirEntry` raises an error."""
    return Path(entry).is_file() if entry.is_symlink() else entry.is_file()


def _is_utf8(name: str) -> bool:
    """Whether the name of a file is text: a name in another encoding can be neither shown nor recorded."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _odd_ones(folder: Path) -> list[Path]:
    """The contents of a folder that are neither files nor folders, known without looking at each."""
    with os.scandir(folder) as entries:
        return [
            folder / entry.name
            for entry in entries
            if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
        ]


@contextmanager
def _permitted() -> Iterator[None]:
    """Turn a missing permission into our error."""
    try:
        yield
    except PermissionError as error:
        raise ProjectError(f"Cannot read {error.filename}: {error.strerror}. Correct its permissions.") from error


def _path_of(file: Path) -> str:
    """The artefact of a file that fabula did not write: its name, below its folder unless that is a common one."""
    if file.parts[0] == NOTES:  # named after a text, whose name may begin with a number
        return note_on(file.stem)
    name = slug(NUMBER.sub("", file.stem))
    return name if file.parts[0] in _MADE_AT_ONCE else f"{file.parts[0]}/{name}"


def note_on(name: str) -> str:
    """The name of the author's notes on a text."""
    return f"{NOTES}/{slug(name)}"


def numbered(number: int, path: str, of: int = 0) -> str:
    """The file of a part of the story, by its number of so many; file names sort in the order of the parts."""
    return f"story/{number:0{max(2, len(str(of)))}d}-{slug(path)}.md"


def _has(journal: Journal, stands: _Standing) -> bool:
    """Whether the journal knows a text as a version of its artefact."""
    return any(plain(version.text) == stands.text for version in journal.artefacts.versions(stands.path))


def some(files: list[str]) -> str:
    """The first of some files, and the number of the others."""
    shown = ", ".join(files[:3])
    return shown if len(files) <= 3 else f"{shown} and {len(files) - 3} more"  # noqa: PLR2004 - as many as are shown


def _start(line: str) -> str:
    """The beginning of a line, quoted."""
    return f'"{line[:_START]}{"…" if len(line) > _START else ""}"'


def _newest(journal: Journal, path: str) -> str | None:
    text = journal.artefacts.newest(path)
    return None if text is None else plain(text)


def _without_none(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables without `None` values."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in tables.items()
        if value is not None
    }
