"""One project as pages and programs see it: what stands in it, what is decided about it, and what a run would cost.

Every method is a plain function; a server calls it in a thread of its own. What is looked at can be looked at while a
run holds the project; what is changed needs the project for a moment, as every command does, and leaves the same
records: what is decided here can be taken back at the command line, and the other way round.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping  # noqa: TC003 - pydantic reads it, for `/api/v1`
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from weakref import WeakValueDictionary

from fabula.app import deciding
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
from fabula.project.folder import FOLDERS, MAX_FILE, MAX_STORY, STORY, ProjectFolder
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
_FILES: Final = (BRIEF, "fabula.toml", STORY, ".fabula/journal.db", ".fabula/world.db")
_READ: Final = (*FOLDERS, "world", OUT)
_NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True)
class Artefact(Saved):
    """A text of the project as it stands.

    Attributes:
        name: its path in the journal; the brief is `brief.md`.
        file: in the project.
        changed: its file was changed, and that is not taken over yet.
        words: number of words.
        version: number of the newest text, from 1; 0 where texts are not numbered.
        base: names the text; see `Workspace.save`.
        title: what a person calls it.
        behind: a system keeps it for itself; it is no part of the story or its plan.
        folder: "story", "plan", ...; empty for the brief.
        suffix: of the file: "md", "yaml", "csv".
        source: where the newest text is from: "made", "revised", "imported", "edited", "rewritten" or "pinned".
        asked: the fewest and most words that were asked; `None` where none were.
        stale: a run would write it again; `None` where nobody looked, or that cannot be known.
        pinned: it stays as it is, whatever changes.
        waits: a run waits for its approval.
        states: what holds for it, in words.
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
        number: from 1.
        source: "made", "revised", "imported", "edited" or "rewritten".
        at: when it was kept.
        words: number of words.
        run: that kept it; 0 where none did.
        role: that wrote it; empty where a person did.
        performer: who played the role.
        holds: it is the text that stands.
        note: what the author wished of it, or the file that it was imported from; empty where there is neither.
        text: of it, where the texts are asked for.
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
    """A folder of the project and what is in it, in order."""

    name: str
    artefacts: tuple[Artefact, ...]


@dataclass(frozen=True, slots=True)
class LastRun:
    """When the last run began and ended, its error, and whether it waited for a person."""

    at: str
    ended: str | None
    error: str
    waited: bool

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> Self:
        """How a run of the journal ended."""
        return cls(run["at"], run["ended"], run["error"], "waits" in run["settings"])


@dataclass(frozen=True, slots=True)
class Overview:
    """Where a project stands, without a look at what a run would ask.

    Attributes:
        title: of the brief.
        system: that writes it.
        model: that plays every role which is not cast otherwise; empty where none is known.
        words: of the whole story; 0 where there is none.
        words_asked: the fewest and most that were asked.
        problem: why it cannot be worked on as it is; empty where it can.
        waits: the artefact for which the last run waits.
        changed: files that were changed and are not taken over yet.
        not_as_asked: what was asked and not got, in sentences.
        calls: how many are recorded.
        runs: how many there were.
        last_run: how it ended; null where there was none.
        budget: caps, and what is spent of them.
        undo, redo: what these would do, in words; empty where there is nothing.
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
    """A project that pages and programs look at and change.

    Args:
        folder: of the project.
        environ: variables that hold keys and folders; those of this process by default.

    Attributes:
        told: hears sentences about the files that the author should read.
        listeners: hear what happens in work that takes long.
        training: hears how a training goes on.
        cast: gives the settings with which this door has work done, for those of the project.
        at_home: who calls sits at this machine, so that a program or folder that they name is trusted.
        only_foresees: what takes long only says what it would ask.
        turns: of conversations, which this process makes.
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
        """The project, opened anew; what is decided in one `sitting` is taken back as one.

        Raises:
            GoneError: it is there no more.
        """
        return self._opened(sitting, odd_texts=False)

    def texts(self, sitting: str = "") -> ProjectFolder:
        """The project for who reads its texts and decides about them alone: as `project`, without texts that are odd.

        A link that leads out of it, or a pipe, among many files is no reason to show none of the others.

        Raises:
            GoneError: it is there no more.
        """
        return self._opened(sitting, odd_texts=True)

    def _opened(self, sitting: str, *, odd_texts: bool) -> ProjectFolder:
        try:
            there = (self.folder / BRIEF).is_file()
        except OSError:
            there = False
        if not there:
            raise GoneError(
                f"The project {self.folder} is gone: it was deleted or moved. Put it back, or open it where it is now."
            )
        project = ProjectFolder.open(self.folder, sitting, odd_texts=odd_texts)
        project.tell, project.texts = self.told, self._texts
        return project

    def settings(self, project: ProjectFolder | None = None) -> Settings:
        """What a run would be done with: `fabula.toml`, what the last run was given, and the model used last."""
        project = project or self.texts()
        settings = self.cast(settings_as_last_time(project))
        if "model" in settings.model_fields_set:
            return settings
        with project.journal as journal:
            begun = journal.last_settings() is not None
        chosen = None if begun else default_model(self.environ)
        return settings if chosen is None else settings.with_(chosen.changes)

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Name, size and time of each file: another one whenever anything in the project may have changed."""
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
        """What `make` gives, or gave since which nothing has changed; two who want the same wait for each other."""
        with self._looking:
            one_at_a_time = self._makers.setdefault(name, threading.RLock())
        with one_at_a_time:
            return KEPT.answer(self._owner, name, _short(self.stamp()), make)

    # looking --------------------------------------------------------------------------------------------------------

    def overview(self) -> Overview:
        """Where the project stands."""
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
        """The brief and every text that a person may want to read, in order of file.

        With `marks` also which are stale, for which what a run would ask is looked at.
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
        rows_ = [self._brief(project), *sorted(found, key=lambda one: one.file)]
        return [replace(one, title=titles(one.name), behind=is_behind(one.file)) for one in rows_]

    def titles(self) -> Titles:
        """What the texts are called where a person sees them, also chapters that are only planned."""
        project = self.texts()
        with project.journal as journal:
            return self._titles(journal, self.changes_or_none(project, journal))

    @staticmethod
    def _titles(journal: Journal, changes: Iterable[FileChange]) -> Titles:
        new = {change.path: change for change in changes}
        files = {path: change.file for path, change in new.items()} | journal.artefacts.places()
        texts_ = {path: version.text for path, version in journal.artefacts.newest_versions().items()}
        return Titles.of(files, texts_ | {path: change.text for path, change in new.items()})

    def changes_or_none(self, project: ProjectFolder, journal: Journal) -> tuple[FileChange, ...]:
        """What was changed in files; nothing where the changes do not fit together, which a run and `changes` say."""
        try:
            return self._changed(project, journal)
        except UsageError:
            return ()

    def _rows(self, project: ProjectFolder, journal: Journal) -> tuple[TextStatus, ...]:
        """The texts as they stand, without a look at what a run would make of them."""
        return self.cached("texts", lambda: tuple(texts(journal, self.changes_or_none(project, journal))))

    def _changed(self, project: ProjectFolder, journal: Journal) -> tuple[FileChange, ...]:
        return self.cached("changes", lambda: tuple(project.changes(journal)))

    def _brief(self, project: ProjectFolder) -> Artefact:
        text = read_text(project.brief_file, MAX_FILE)
        return _file(BRIEF, count_words(text), base_of(text), "edited")

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
        """The artefacts by folder, the manuscript first; as `rows`, and `story.md`, which is the whole story."""
        found: dict[str, list[Artefact]] = {"": [], **{name: [] for name in ("story", "plan", "role-play", "drafts")}}
        for one in self.rows(marks=marks):
            found.setdefault(one.folder, []).append(one)
        if found["story"] and (self.folder / STORY).is_file():
            words = sum(one.words for one in found["story"])
            found[""].append(replace(_file(STORY, words, "", "made"), title=self.titles()(STORY)))
        return [FolderBranch(name, tuple(artefacts)) for name, artefacts in found.items() if artefacts]

    def shown(self, *, marks: bool = True) -> list[FolderBranch]:
        """The texts as a writer sees them: those that a system keeps for itself are together, and last."""
        branches = self.tree(marks=marks)
        behind = tuple(one for branch in branches for one in branch.artefacts if one.behind)
        parts = [FolderBranch(one.name, tuple(text for text in one.artefacts if not text.behind)) for one in branches]
        return [*(one for one in parts if one.artefacts), *([FolderBranch(BEHIND, behind)] if behind else [])]

    def is_behind(self) -> bool:
        """Whether `story.md` has earlier texts of its parts than those that stand, until it is put together again."""
        return bool(self.cached("behind", self._behind))

    def _behind(self) -> bool:
        project = self.texts()
        if not project.story_file.is_file():
            return False
        story = Story.parse(read_text(project.story_file, MAX_STORY))
        with project.journal as journal:
            return as_it_stands(journal, story) != story

    def expected(self, *, pending: Mapping[str, str] | None = None, fit: bool = False) -> Estimate:
        """What a run would ask and cost now: the calls, their tokens, and what is stale. Asks nobody, writes nothing.

        Args:
            pending: texts by artefact that are not saved yet.
            fit: old texts are revised to fit what has changed, instead of being written anew.

        Raises:
            FabulaError: what stands in the way of a run.
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
        """What plans are checked and runs looked at with: nobody is here to play a role."""
        return Options(environ=self.environ, person=_nobody, listeners=self.listeners)

    def last_check(self) -> ProjectFindings:
        """Where the story contradicts itself, as the last check found, beside the story as it is now.

        Raises:
            UsageError: the report or the list of dismissals cannot be read.
        """
        return self.cached("findings", lambda: findings_of(self.project()))

    def known_facts(self) -> ProjectWorld:
        """What the story says about its world, with the sentences that say so; empty where nothing is recorded.

        Raises:
            ProjectError: it cannot be read.
        """
        return self.cached("known facts", lambda: ProjectWorld.of(self.project()))

    # changing -------------------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self, sitting: str = "") -> Iterator[ProjectFolder]:
        """The project, for who changes it: one thread of this process at a time."""
        with self._changing:
            yield self.texts(sitting)

    @contextmanager
    def decided(self, *, keeping: bool = False) -> Iterator[tuple[ProjectFolder, Journal]]:
        """The project and its journal, for who decides about texts; see `ProjectFolder.recorded`."""
        with self.changing() as project, project.recorded(keeping=keeping) as journal:
            yield project, journal

    @contextmanager
    def locked(self) -> Iterator[ProjectFolder]:
        """The project, for who changes files of it that are no texts."""
        with self._changing:
            project = self.project()
            with project.lock():
                yield project


def _short(stamp: Sequence[tuple[str, int, int]]) -> bytes:
    """What tells a stamp from others: with many files each answer's own would be large."""
    return sha256(
        "\n".join(f"{name}\0{size}\0{time_}" for name, size, time_ in stamp).encode("utf-8", "replace")
    ).digest()


async def _nobody(request: Request) -> str:
    raise ModelError(f"Nobody is here to play {request.role}. Start a run, and answer there.")


def _seen(found: list[tuple[str, int, int]], file: Path | os.DirEntry[str], name: str, *, empty: bool = True) -> None:
    """Note size and time of a file that is there."""
    try:
        status = file.stat()
    except OSError:
        return
    if status.st_size or empty:
        found.append((name, status.st_size, status.st_mtime_ns))


def _new_artefact(change: FileChange) -> Artefact:
    """A text that the author has put into a new file, not taken over yet."""
    path = PurePosixPath(change.file)
    words, suffix = count_words(change.text), path.suffix.removeprefix(".")
    saved = Saved(change.path, change.file, changed=True, words=words, version=1, base=base_of(change.text))
    folder = path.parent.as_posix()
    return Artefact(**asdict(saved), folder=folder, suffix=suffix, source="edited", states=(CHANGED,))


def _file(name: str, words: int, base: str, source: str) -> Artefact:
    """A file that is no numbered text: the brief, or the whole story."""
    return Artefact(name, name, changed=False, words=words, version=0, base=base, folder="", suffix="md", source=source)
