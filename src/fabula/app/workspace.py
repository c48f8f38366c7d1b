"""One project for pages and programs: its texts, the decisions about it, and the cost of a run.

Every method is a plain function; a server calls it in its own thread. The project can be viewed while a run is in
progress. A change locks the project briefly, as every command does, and leaves the same records: a decision made here
can be undone at the command line, and the other way round.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from weakref import WeakValueDictionary

from fabula.app import deciding
from fabula.app.arranging import is_assembled
from fabula.app.beginning import naming_file, with_system_of
from fabula.app.bills import BudgetSpent, Estimate
from fabula.app.checking import OUT
from fabula.app.exporting import as_it_stands
from fabula.app.facts_shown import ProjectWorld
from fabula.app.findings import findings_of
from fabula.app.live_turns import LiveTurns
from fabula.app.saving import BRIEF, Saved, base_of
from fabula.app.standing import CHANGED, WAITS, shortfalls, texts, waiting, words_asked
from fabula.app.titles import Titles, is_behind
from fabula.app.writing import (
    Options,
    dry_run_in,
    fitting,
    paid_in,
    settings_as_last_time,
)
from fabula.base.errors import (
    FabulaError,
    GoneError,
    ModelError,
    UsageError,
)
from fabula.base.files import read_text
from fabula.base.kept import KEPT, KeptTexts
from fabula.project.default_model import default_model
from fabula.project.folder import FOLDERS, MAX_FILE, MAX_STORY, STORY, STYLE, ProjectFolder
from fabula.story import Story, count_words, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from fabula.app.findings import ProjectFindings
    from fabula.app.standing import TextStatus
    from fabula.app.training import Listener as TrainingListener
    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Listener
    from fabula.engine.journal import Journal
    from fabula.models.base import Request
    from fabula.project.folder import FileChange
    from fabula.project.settings import Settings

T = TypeVar("T")

PINNED: Final = "pinned"
BEHIND: Final = "behind the scenes"
_AS_IT_CAME: Final = ("edited", "imported")  # a manuscript's text that nobody has changed
_FILES: Final = (BRIEF, STYLE, "fabula.toml", STORY, ".fabula/journal.db", ".fabula/world.db")
_READ: Final = (*FOLDERS, "world", OUT)
_NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True)
class Artefact(Saved):
    """A text of the project in its current state.

    Attributes:
        name: its path in the journal; the brief is `brief.md`, the style sheet `style.md`.
        file: its file in the project.
        changed: whether its file was changed and the change has not been applied yet.
        words: number of words.
        version: the number of the newest version, from 1; 0 if versions are not numbered.
        base: identifies the text; see `Workspace.save`.
        title: the title that people see.
        behind: whether a system keeps it for itself, so that it is not part of the story or its plan.
        folder: "story", "plan", ...; empty for the brief.
        suffix: the suffix of its file: "md", "yaml", "csv".
        source: the source of the newest text: "made", "revised", "imported", "edited", "rewritten" or "pinned".
        asked: the least and greatest number of words requested; `None` if no length was.
        stale: whether a run would write it again; `None` if this was not checked or cannot be known.
        pinned: whether it stays as it is, whatever changes.
        waits: whether a run waits for its approval.
        states: its states, in words.
    """

    folder: str
    suffix: str
    source: str
    asked: tuple[int, int] | None = None
    stale: bool | None = False
    pinned: bool = False
    waits: bool = False
    states: tuple[str, ...] = ()
    title: str = ""
    behind: bool = False


@dataclass(frozen=True, slots=True)
class ArtefactVersion:
    """A version of an artefact, and who wrote it.

    Attributes:
        number: the number of the version, from 1.
        source: "made", "revised", "imported", "edited" or "rewritten".
        at: the time when it was saved.
        words: number of words.
        run: the run that saved it; 0 if no run did.
        role: the role that wrote it; empty if a person did.
        performer: the model or person that played the role.
        holds: whether it is the current text.
        note: the author's note for it, or the file from which it was imported; empty if there is neither.
        text: its text, if texts were requested.
    """

    number: int
    source: str
    at: str
    words: int
    run: int = 0
    role: str = ""
    performer: str = ""
    holds: bool = False
    note: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FolderBranch:
    """A folder of the project and its contents, in order."""

    name: str
    artefacts: tuple[Artefact, ...]


@dataclass(frozen=True, slots=True)
class LastRun:
    """The start and end of the last run, its error, and whether it waited for a person."""

    at: str
    ended: str | None
    error: str
    waited: bool

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> Self:
        """The end of a run in the journal."""
        return cls(run["at"], run["ended"], run["error"], "waits" in run["settings"])


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a project, without the calls that a run would make.

    Attributes:
        title: the title of the brief.
        system: the system that writes the story.
        model: the model of every role without its own model; empty if it is not known.
        words: the number of words of the whole story; 0 if there is no story.
        words_asked: the least and greatest number of words requested.
        problem: the reason why work on the project is not possible; empty if it is.
        waits: the artefact for which the last run waits.
        changed: files with changes that have not been applied yet.
        not_as_asked: requests that were not met, in sentences.
        calls: the number of recorded calls.
        runs: the number of runs.
        last_run: the end of the last run; null if there was no run.
        budget: the caps, and what has been spent.
        undo, redo: what undo and redo would do, in words; empty if there is nothing.
    """

    title: str
    system: str
    model: str
    words: int
    words_asked: tuple[int, int] | None
    problem: str
    waits: str
    changed: tuple[str, ...]
    not_as_asked: tuple[str, ...]
    calls: int
    runs: int
    last_run: LastRun | None
    budget: BudgetSpent
    undo: str
    redo: str


class Workspace:
    """A project that pages and programs view and change.

    Args:
        folder: the folder of the project.
        environ: variables with keys and folders; by default those of this process.

    Attributes:
        told: called with remarks on files for the author.
        listeners: called with the events of long tasks.
        training: called with the progress of a training.
        cast: turns the project's settings into those used for work started here.
        at_home: whether the caller is at this machine, so that the programs and folders that they name are trusted.
        only_foresees: whether long tasks only estimate their calls.
        turns: the conversation turns that this process makes.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._owner = f"{folder} {next(_NUMBERS)}"  # another environment may make other answers of the same files
        self.environ = os.environ if environ is None else environ
        self.told: Callable[[str], object] = lambda _: None
        self.listeners: tuple[Listener, ...] = ()
        self.training: TrainingListener | None = None
        self.cast: Callable[[Settings], Settings] = lambda settings: settings
        self.at_home = True
        self.only_foresees = False
        self.turns = LiveTurns()
        self._changing = threading.RLock()  # this process holds the project for one of its threads at a time
        self._looking = threading.Lock()
        self._makers: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()  # for as long as one is at work
        self._texts = KeptTexts(self._owner)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    def project(self, sitting: str = "") -> ProjectFolder:
        """The project, opened again; all decisions of one `sitting` are undone together.

        Raises:
            GoneError: the project no longer exists.
        """
        return self._opened(sitting, odd_texts=False)

    def texts(self, sitting: str = "") -> ProjectFolder:
        """The project for callers who only read its texts and decide about them: like `project`, but without odd texts.

        A link out of the project, or a pipe, among many files is not a reason to hide the other files.

        Raises:
            GoneError: the project no longer exists.
        """
        return self._opened(sitting, odd_texts=True)

    def _opened(self, sitting: str, *, odd_texts: bool) -> ProjectFolder:
        try:
            there = (self.folder / BRIEF).is_file()
        except OSError:
            there = False
        if not there:
            raise GoneError(
                f"The project {self.folder} is gone: it was deleted or moved. Put it back, or open it in its "
                "new location."
            )
        project = ProjectFolder.open(self.folder, sitting, odd_texts=odd_texts)
        project.tell, project.texts = self.told, self._texts
        return project

    def settings(self, project: ProjectFolder | None = None) -> Settings:
        """The settings of a run: `fabula.toml`, the options of the last run, and the model used last."""
        project = project or self.texts()
        settings = self.cast(settings_as_last_time(project))
        if "model" in settings.model_fields_set:
            return settings
        with project.journal as journal:
            begun = journal.last_settings() is not None
        chosen = None if begun else default_model(self.environ)
        changes = with_system_of(project, {} if chosen is None else dict(chosen.changes))
        return settings.with_(changes) if changes else settings

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Name, size and time of each file; it changes whenever anything in the project may have changed."""
        found: list[tuple[str, int, int]] = []
        for name in _FILES:
            _seen(found, self.folder / name, name)
        _seen(found, self.folder / ".fabula" / "journal.db-wal", "wal", empty=False)
        for name in _READ:
            with suppress(OSError), os.scandir(self.folder / name) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    _seen(found, entry, f"{name}/{entry.name}")
        return tuple(found)

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """The result of `make`, kept until something changes; two callers who want the same wait for each other."""
        with self._looking:
            one_at_a_time = self._makers.setdefault(name, threading.RLock())
        with one_at_a_time:
            return KEPT.answer(self._owner, name, _short(self.stamp()), make)

    # looking --------------------------------------------------------------------------------------------------------

    def overview(self) -> Overview:
        """The state of the project."""
        return self.cached("overview", self._overview)

    def _overview(self) -> Overview:
        project = self.texts()
        brief, problem = project.brief, ""
        settings = self.settings(project)
        file = project.story_file
        words = Story.parse(read_text(file, MAX_STORY)).words if file.exists() else 0
        with project.journal as journal:
            runs, waits, in_all = journal.runs(), waiting(journal), paid_in(journal, settings)
            changed: tuple[str, ...] = ()
            try:
                changed = tuple(change.file for change in self._changed(project, journal))
                with naming_file(settings.file, self.environ):
                    missed = tuple(shortfalls(journal, brief, settings, words, self._rows(project, journal)))
                    asked = words_asked(brief, settings)
            except FabulaError as error:
                problem, missed, asked = str(error), (), None
            done, undone, titles = (
                journal.decisions.last_done(),
                journal.decisions.last_undone(),
                Titles.in_(journal).every,
            )
            calls, begun = len(journal.calls), journal.last_settings() is not None
        return Overview(
            title=brief.title,
            system=settings.system,
            model=settings.model if begun or "model" in settings.model_fields_set else "",
            words=words,
            words_asked=None if asked is None else (asked.low, asked.high),
            problem=problem or next(iter(project.refused.values()), ""),
            waits=waits,
            changed=changed,
            not_as_asked=missed,
            calls=calls,
            runs=len(runs),
            last_run=LastRun.of(runs[-1]) if runs else None,
            budget=BudgetSpent.of(in_all, settings.budget),
            undo=deciding.wording_of(done, titles) if done else "",
            redo=deciding.wording_of(undone, titles) if undone else "",
        )

    def rows(self, *, marks: bool = True) -> list[Artefact]:
        """The brief and every text that a person may want to read, in the order of files.

        With `marks`, stale texts are marked; this needs a dry run.
        """
        if not marks:
            return list(self.cached("artefacts", lambda: self._artefacts(None)))
        return list(self.cached("artefacts with marks", self._marked))

    def _marked(self) -> list[Artefact]:
        try:
            return self._artefacts(self._dry_run()[0])
        except FabulaError:  # `expected` says why
            return self._artefacts(None)

    def _artefacts(self, coming: DryRun | None) -> list[Artefact]:
        project, stale = self.texts(), None if coming is None else frozenset(coming.stale)
        with project.journal as journal:
            changes = {change.path: change for change in self.changes_or_none(project, journal)}
            newest, stand_in = journal.artefacts.newest_versions(), journal.decisions.overrides()
            rows = texts(journal, list(changes.values()), coming) if coming else self._rows(project, journal)
            of = {
                row.path: (newest[row.path].text, newest[row.path].source) if row.path in newest else ("", "")
                for row in rows
            }
            why = {path: source for path, (_, source) in stand_in.items()}
            found = [
                self._artefact(row, of[row.path], why.get(row.path, ""), changes.get(row.path), stale) for row in rows
            ]
            new = [change for path, change in changes.items() if path not in of]
            titles = self._titles(journal, changes.values())
        found += [_new_artefact(change) for change in new if change.file != STORY]
        rows_ = [*self._beside(project), *sorted(found, key=lambda one: one.file)]
        return [replace(one, title=titles(one.name), behind=is_behind(one.file)) for one in rows_]

    def names(self) -> dict[str, str]:
        """The name of each text that a run or an edit has kept, by its file; quick, for no file is read."""

        def known() -> dict[str, str]:
            with self.texts().journal as journal:
                return {file: name for name, file in journal.artefacts.places().items()}

        return dict(self.cached("names", known))

    def titles(self) -> Titles:
        """The titles under which people see texts, including chapters that are only planned."""
        project = self.texts()
        with project.journal as journal:
            return self._titles(journal, self.changes_or_none(project, journal))

    def standing(self) -> dict[str, str]:
        """The current texts by path, with the changes in their files."""
        project = self.texts()
        with project.journal as journal:
            return _standing(journal, self.changes_or_none(project, journal))

    @staticmethod
    def _titles(journal: Journal, changes: Iterable[FileChange]) -> Titles:
        changes = [*changes]
        files = {change.path: change.file for change in changes} | journal.artefacts.places()
        return Titles.of(files, _standing(journal, changes))

    def changes_or_none(self, project: ProjectFolder, journal: Journal) -> tuple[FileChange, ...]:
        """The changes in files; empty if the changes contradict each other, which a run and `changes` report."""
        try:
            return self._changed(project, journal)
        except UsageError:
            return ()

    def _rows(self, project: ProjectFolder, journal: Journal) -> tuple[TextStatus, ...]:
        """The current texts, without the effects of a coming run."""
        return self.cached("texts", lambda: tuple(texts(journal, self.changes_or_none(project, journal))))

    def _changed(self, project: ProjectFolder, journal: Journal) -> tuple[FileChange, ...]:
        return self.cached("changes", lambda: tuple(project.changes(journal)))

    def _beside(self, project: ProjectFolder) -> list[Artefact]:
        """The brief, and the style sheet if there is one."""
        files = [file for file in (project.brief_file, project.style_file) if file.exists() or file.name == BRIEF]
        read = [(file.name, read_text(file, MAX_FILE)) for file in files]
        return [_file(name, count_words(text), base_of(text), "edited") for name, text in read]

    def _artefact(
        self,
        row: TextStatus,
        stands: tuple[str, str],
        stand_in: str,
        change: FileChange | None,
        stale: Collection[str] | None,
    ) -> Artefact:
        text = change.text if change else stands[0]
        source = stand_in if row.states else ""
        path = PurePosixPath(row.file)
        return Artefact(
            name=row.path,
            folder=path.parent.as_posix(),
            file=row.file,
            suffix=path.suffix.removeprefix("."),
            words=count_words(text) if change else row.words,
            asked=row.asked,
            source="edited" if change else stands[1] if (source, stands[1]) == _AS_IT_CAME else source or stands[1],
            stale=None if stale is None else row.path in stale,
            pinned=source == PINNED,
            waits=WAITS in row.states,
            changed=CHANGED in row.states,
            version=row.versions + bool(change),
            base=base_of(text),
            states=row.states,
        )

    def tree(self, *, marks: bool = True) -> list[FolderBranch]:
        """The artefacts by folder, with the manuscript first: those of `rows`, and `story.md`, the whole story."""
        found: dict[str, list[Artefact]] = {
            "": [],
            **{name: [] for name in ("story", "notes", "plan", "so-far", "role-play", "drafts")},
        }
        for one in self.rows(marks=marks):
            found.setdefault(one.folder, []).append(one)
        if found["story"] and (self.folder / STORY).is_file():
            words = sum(one.words for one in found["story"])
            found[""].append(replace(_file(STORY, words, "", "made"), title=self.titles()(STORY)))
        return [FolderBranch(name, tuple(artefacts)) for name, artefacts in found.items() if artefacts]

    def shown(self, *, marks: bool = True) -> list[FolderBranch]:
        """The texts as a writer sees them; those that a system keeps for itself come last, together."""
        branches = self.tree(marks=marks)
        behind = tuple(one for branch in branches for one in branch.artefacts if one.behind)
        parts = [FolderBranch(one.name, tuple(text for text in one.artefacts if not text.behind)) for one in branches]
        return [*(one for one in parts if one.artefacts), *([FolderBranch(BEHIND, behind)] if behind else [])]

    def is_behind(self) -> bool:
        """Whether `story.md` or a text's file is behind the current texts, so that a run must write it again."""
        return bool(self.cached("behind", self._behind))

    def _behind(self) -> bool:
        project = self.texts()
        with project.journal as journal:
            if project.unwritten(journal) or project.emptied(journal) or project.is_emptied(journal):
                return True
            if not project.story_file.is_file():
                return False
            story = Story.parse(read_text(project.story_file, MAX_STORY))
            return as_it_stands(journal, story) != story or not is_assembled(journal, story)

    def expected(self, *, pending: Mapping[str, str] | None = None, fit: bool = False) -> Estimate:
        """The calls that a run would make now, with their tokens and cost, and the stale texts. Calls no model.

        Args:
            pending: texts by artefact that have not been saved yet.
            fit: whether old texts are revised to fit what has changed, instead of being rewritten.

        Raises:
            FabulaError: a run is not possible.
        """
        dry, changes = self._foreseen(pending or {}, fit=fit) if pending or fit else self._dry_run()
        return Estimate.of(dry, changes=changes)

    def _dry_run(self) -> tuple[DryRun, list[FileChange]]:
        return self.cached("expected", lambda: self._foreseen({}, fit=False))

    def _foreseen(self, pending: Mapping[str, str], *, fit: bool) -> tuple[DryRun, list[FileChange]]:
        project, options = self.texts(), self.options
        settings = self.settings(project)
        with project.journal as journal:
            texts_ = {project.artefact(journal, name): plain(text) for name, text in pending.items()}
        dry, changes = asyncio.run(dry_run_in(project, settings, options, pending=texts_))
        if fit:
            with project.journal as journal:
                changed = {change.path for change in changes} | set(texts_)
                old = [path for path in fitting(journal, dry) if path not in changed]
            fitted = Options(environ=self.environ, person=_nobody, fit=old)
            dry, changes = asyncio.run(dry_run_in(project, settings, fitted, pending=texts_))
        return dry, changes

    @property
    def options(self) -> Options:
        """The options for checking plans and estimating runs; no person is available to play a role."""
        return Options(environ=self.environ, person=_nobody, listeners=self.listeners)

    def last_check(self) -> ProjectFindings:
        """The contradictions that the last check found in the story, next to the current story.

        Raises:
            UsageError: the report or the list of dismissals cannot be read.
        """
        return self.cached("findings", lambda: findings_of(self.project()))

    def known_facts(self) -> ProjectWorld:
        """The story's statements about its world, with the sentences that they come from; empty if nothing is recorded.

        Raises:
            ProjectError: the world cannot be read.
        """
        return self.cached("known facts", lambda: ProjectWorld.of(self.project()))

    # changing -------------------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self, sitting: str = "") -> Iterator[ProjectFolder]:
        """The project, for a change: only one thread of this process at a time has it."""
        with self._changing:
            yield self.texts(sitting)

    @contextmanager
    def decided(self, *, keeping: bool = False) -> Iterator[tuple[ProjectFolder, Journal]]:
        """The project and its journal, for decisions about texts; see `ProjectFolder.recorded`."""
        with self.changing() as project, project.recorded(keeping=keeping) as journal:
            yield project, journal

    @contextmanager
    def locked(self) -> Iterator[ProjectFolder]:
        """The project, for changes to files that are not texts."""
        with self._changing:
            project = self.project()
            with project.lock():
                yield project


def _short(stamp: Sequence[tuple[str, int, int]]) -> bytes:
    """A short value that identifies a stamp; keeping whole stamps with each answer would need much memory."""
    return sha256(
        "\n".join(f"{name}\0{size}\0{time_}" for name, size, time_ in stamp).encode("utf-8", "replace")
    ).digest()


def _standing(journal: Journal, changes: Iterable[FileChange]) -> dict[str, str]:
    newest, places = journal.artefacts.newest_versions(), journal.artefacts.places()
    return {path: newest[path].text for path in places if path in newest} | {
        change.path: change.text for change in changes
    }


async def _nobody(request: Request) -> str:
    raise ModelError(f"No person is available to play {request.role}. Start a run, and answer there.")


def _seen(found: list[tuple[str, int, int]], file: Path | os.DirEntry[str], name: str, *, empty: bool = True) -> None:
    """Note size and time of a file if it exists."""
    try:
        status = file.stat()
    except OSError:
        return
    if status.st_size or empty:
        found.append((name, status.st_size, status.st_mtime_ns))


def _new_artefact(change: FileChange) -> Artefact:
    """A text that the author has put into a new file and that has not been applied yet."""
    path = PurePosixPath(change.file)
    words, suffix = count_words(change.text), path.suffix.removeprefix(".")
    saved = Saved(change.path, change.file, changed=True, words=words, version=1, base=base_of(change.text))
    folder = path.parent.as_posix()
    return Artefact(**asdict(saved), folder=folder, suffix=suffix, source="edited", states=(CHANGED,))


def _file(name: str, words: int, base: str, source: str) -> Artefact:
    """A file that is not a numbered text: the brief, the style sheet or the whole story."""
    return Artefact(name, name, changed=False, words=words, version=0, base=base, folder="", suffix="md", source=source)
