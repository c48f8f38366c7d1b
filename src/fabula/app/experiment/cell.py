"""One cell of an experiment: a run, written to a folder of three files, and the record of how it ended.

`write_cell` needs nothing else from the experiment, so that a cell can be written in any process and any folder. When
it returns, the folder can be moved as a whole.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.experiment.grid import Trial, asked_digest, digests
from fabula.app.experiment.sharing import SharedModels, WholeBudgetError
from fabula.app.writing import Options, Supplied, write_in
from fabula.base.errors import (
    DiskFullError,
    FabulaError,
    JournalDamagedError,
    JournalError,
    OverloadedError,
    PausedError,
    ProjectError,
    UnreachableError,
    UsageError,
)
from fabula.base.files import make_folder, read_text, write_atomically
from fabula.engine.journal import Journal, make_small
from fabula.models.base import NOTHING_USED, Usage
from fabula.project.folder import MAX_STORY, FileChange, ProjectFolder
from fabula.project.packed import JOURNAL, LARGEST, RECORD, STORY, PackedRecord, packed_story, unpack
from fabula.project.settings import Settings, difference
from fabula.story import Brief, Story, plain

if TYPE_CHECKING:
    from fabula.engine.events import Kept
    from fabula.models.budget import Budget


FORMAT: Final = 2
State: TypeAlias = Literal["done", "failed", "unfinished"]


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """How a run ended: "done", "failed" with its error, or "unfinished" (not begun, stopped, killed or waiting)."""

    state: State
    kind: str = ""
    error: str = ""
    ended: str = ""


UNFINISHED: Final = CellOutcome("unfinished")


@dataclass(frozen=True)
class CellRecord:
    """What is known of a cell without opening its journal.

    Attributes:
        outcome: how it ended.
        words: the words of the story; 0 if there is none.
        calls: how many calls were answered.
        usage: what the calls cost; the cost is `None` if that of any call is unknown.
        paid: everything that counts towards a budget, including failed calls: calls of known cost, and the others.
        changed: artefacts that a person decided about, so that the story is not only the system's.
        asked: the key that identifies brief, settings and given texts.
        stops: why no more cells are started; empty while cells are still started.
    """

    outcome: CellOutcome
    words: int = 0
    calls: int = 0
    usage: Usage = NOTHING_USED
    paid: tuple[Usage, ...] = ()
    changed: tuple[str, ...] = ()
    asked: str = ""
    stops: str = ""

    def as_data(self) -> dict[str, Any]:
        """The record as JSON data."""
        shown = {"usage": list(self.usage.values().values()), "paid": [list(u.values().values()) for u in self.paid]}
        row = {"words": self.words, "calls": self.calls, "changed": list(self.changed), "asked": self.asked}
        return {**asdict(self.outcome), **row, **shown}

    @classmethod
    def of(cls, data: Any) -> CellRecord:  # noqa: ANN401 - JSON
        """The record that `as_data` returned.

        Raises:
            KeyError, TypeError: the data is not a record.
        """
        outcome = CellOutcome(data["state"], data["kind"], data["error"], data["ended"])
        paid = tuple(Usage(*one) for one in data["paid"])
        usage, changed = Usage(*data["usage"]), tuple(data["changed"])
        return cls(outcome, data["words"], data["calls"], usage, paid, changed, data["asked"])


def utc_now() -> str:
    """The time stamp of a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class CellFolder(ProjectFolder):
    """A run as a project that writes no files: its journal contains all of them.

    Attributes:
        opened: its journal while the run is working, and afterwards until `close`.
    """

    def __init__(self, folder: Path, trial: Trial) -> None:
        super().__init__(folder)
        self._trial, self._settings = trial, trial.settings
        self.opened: Journal | None = None

    @property
    def brief(self) -> Brief:
        """The brief of the run."""
        return self._trial.brief

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self._settings

    @property
    def journal(self) -> Journal:
        """The journal, closed; an empty one if there is none."""
        file = self.folder / JOURNAL
        return Journal(file if file.exists() else None, command=self._command, small=True)

    @contextmanager
    def recorded(self, *, keeping: bool = False) -> Iterator[Journal]:  # noqa: ARG002 - there are no other texts
        """The open journal, with the given texts as the author's; the caller that begins the cell closes it."""
        journal = self.opened or self.open_journal()
        given = [FileChange(PurePosixPath(file).stem, file, plain(text)) for file, text in self._trial.given.items()]
        if changes := [one for one in given if one.text != journal.artefacts.newest(one.path)]:
            self.take_over(journal, changes, found=True)
        yield journal

    def open_journal(self) -> Journal:
        """Open the journal for the duration of the run."""
        self.opened = self.journal
        self.opened.open()
        return self.opened

    def close(self) -> None:
        """Close the journal; safe to call twice."""
        if self.opened is not None:
            self.opened.close()

    def begin(self, journal: Journal) -> None:
        """Do nothing: there are no files on disk before a run."""

    def write_kept(self, journal: Journal, kept: Kept) -> None:
        """Only decide which file an artefact will have."""
        self._file_of(journal, kept)

    def _write(self, *texts: tuple[str, str, str]) -> None:
        """Do nothing: the journal has the texts."""


async def write_cell(
    trial: Trial, folder: Path, models: SharedModels, budget: Budget, options: Options, now: Callable[[], str] = utc_now
) -> CellRecord:
    """Write a run to a folder, continuing from its current state, and return the record of how it ended.

    An error in a run becomes part of the record. When the function returns, the journal is closed.

    Args:
        trial: the run.
        folder: the folder for its files, created if it does not exist.
        models: the pool whose casts play the run.
        budget: the budget of the run, including what was spent in the folder earlier.
        options: the listeners and the environment variables.
        now: returns the time stamp of the record.
    """
    cell = CellFolder(folder, trial)
    # `gather` returns any error as a value, also one of a user's own program: the other runs go on.
    (error,) = await asyncio.gather(_written(trial, cell, models, budget, options), return_exceptions=True)
    outcome, stops = CellOutcome("done", ended=now()), ""
    if isinstance(error, WholeBudgetError | DiskFullError) or type(error) is JournalError or is_away(error):
        outcome, stops = CellOutcome("unfinished", type(error).__name__, str(error)), stopped(error)
    elif isinstance(error, PausedError):
        outcome = CellOutcome("unfinished", type(error).__name__, str(error))
    elif isinstance(error, BaseException):
        shown = str(error) if isinstance(error, FabulaError) else f"{type(error).__name__}: {error}"
        outcome = CellOutcome("failed", type(error).__name__, shown, now())
    try:
        return replace(await asyncio.to_thread(_ended, trial, cell, outcome), stops=stops)
    except ProjectError as problem:  # a full disk: the journal has what was paid
        return CellRecord(CellOutcome("unfinished", type(problem).__name__, str(problem)), stops=str(problem))


async def fail_cell(trial: Trial, folder: Path, why: CellOutcome, now: Callable[[], str] = utc_now) -> CellRecord:
    """Record that a run failed before it could begin."""
    return await asyncio.to_thread(_ended, trial, CellFolder(folder, trial), replace(why, ended=now()))


async def _written(trial: Trial, cell: CellFolder, models: SharedModels, budget: Budget, options: Options) -> None:
    """Write the story of a run, continuing from where it stopped."""
    settings, shared = trial.settings, trial.contender.settings
    project, paid = await asyncio.to_thread(_project, trial, cell)
    for usage in paid:
        budget.charge(usage)
    supplied = Supplied(models.cast(shared), budget, models.prompts(shared))
    try:
        await write_in(project, settings, options, supplied)
    except asyncio.CancelledError:
        cell.close()
        raise


def _project(trial: Trial, cell: CellFolder) -> tuple[ProjectFolder, list[Usage]]:
    """The project of a run, new or continued, and its cost so far; a killed run may have left any part of it."""
    folder = cell.folder
    if cell.settings_file.exists() and cell.brief_file.exists():  # somebody has opened it as a project
        project = ProjectFolder.open(folder)
        if project.settings != trial.settings:
            project.save_settings(difference(trial.stored(), project.settings.as_tables))
        with project.journal as journal:
            return project, [paid.usage for paid in journal.calls.payments()]
    begun = (folder / JOURNAL).exists()
    make_folder((folder / JOURNAL).parent, mode=0o700)
    record_of(trial, UNFINISHED).write(folder)
    make_small(folder / JOURNAL)
    write_atomically(cell.brief_file, trial.brief.write(), sync=False)  # last: with it, the folder is a project
    journal = cell.open_journal()
    return cell, [paid.usage for paid in journal.calls.payments()] if begun else []


def record_of(trial: Trial, outcome: CellOutcome) -> PackedRecord:
    """The record of a run with this outcome, to be written to its folder."""
    return PackedRecord(trial.stored(), trial.given, {"format": FORMAT, **asdict(outcome)})


def _ended(trial: Trial, cell: CellFolder, outcome: CellOutcome) -> CellRecord:
    """Write to the folder of a run how it ended, and return the run's record."""
    folder = cell.folder
    try:
        known = facts(cell.opened) if cell.opened is not None else None
    except JournalError:  # the run has failed by it
        known = None
    finally:
        cell.close()
    if outcome.state != "unfinished":
        make_folder(folder)
        record_of(trial, outcome).write(folder)
    if cell.opened is not None and cell.settings_file.exists():  # somebody has opened the project meanwhile
        cell.settings_file.unlink()
        unpack(folder)
    record = replace(known, outcome=outcome) if known else read_cell(folder)
    return replace(record, asked=trial.asked, outcome=outcome)


# reading --------------------------------------------------------------------------------------------------------------


def read_cell(folder: Path) -> CellRecord:
    """What is known of the cell in a folder, from its files and its journal."""
    outcome, story, file = _outcome(folder), folder / STORY, folder / JOURNAL
    known = CellRecord(outcome)
    if file.is_file():
        with suppress(JournalDamagedError), Journal(file) as journal:  # whoever goes on with it says what is wrong
            known = facts(journal)
    if story.is_file() and not PackedRecord.is_in(folder):
        known = replace(known, words=Story.parse(read_text(story, MAX_STORY)).words)
    elif not known.words and outcome.state == "done":
        outcome = UNFINISHED
    return replace(known, outcome=outcome, asked=_asked(folder))


def facts(journal: Journal) -> CellRecord:
    """What a journal records of a run, except how the run ended."""
    calls, story = journal.calls.find(), journal.artefacts.newest(STORY)
    changed = dict.fromkeys(one.path for one in journal.decisions.find() if one.kind != "pin-all")
    paid: dict[bool, Usage] = {}
    for usage in (one.usage for one in journal.calls.payments()):
        known = usage.cost is not None
        paid[known] = paid[known] + usage if known in paid else usage
    return CellRecord(
        UNFINISHED,
        Story.parse(story).words if story else 0,
        len(calls),
        sum((call.reply.usage for call in calls), NOTHING_USED),
        tuple(paid.values()),
        tuple(changed),
    )


def story_of(folder: Path) -> Story:
    """The story of a finished run.

    Raises:
        UsageError: the story cannot be read.
    """
    if PackedRecord.is_in(folder):
        return Story.parse(packed_story(folder) or "")
    return Story.parse(read_text(folder / STORY, MAX_STORY))


def asked_of(folder: Path) -> tuple[Brief, Settings, dict[str, str]]:
    """What the run in a folder was started with: brief, settings, and digests of the given texts by their files.

    Raises:
        FabulaError: a file cannot be read.
    """
    brief, record = Brief.read(folder / "brief.md"), PackedRecord.read(folder)
    if record is None:
        return brief, ProjectFolder(folder).settings, {}
    packed = PackedRecord.is_in(folder)
    settings = Settings.of(dict(record.settings), str(folder / RECORD)) if packed else ProjectFolder(folder).settings
    return brief, settings, digests(record.given)


def _asked(folder: Path) -> str:
    try:
        return asked_digest(*asked_of(folder))
    except FabulaError:  # whoever looks at it more closely says what is wrong
        return ""


def _outcome(folder: Path) -> CellOutcome:
    """How the run in a folder ended; a record that cannot be read is ignored, since the journal has everything."""
    try:
        data = json.loads(read_text(folder / RECORD, LARGEST))
        outcome = CellOutcome(data["state"], data["kind"], data["error"], data["ended"])
    except (UsageError, ValueError, KeyError, TypeError):
        return UNFINISHED
    return outcome if outcome.state in {"done", "failed"} else UNFINISHED


# stopping -------------------------------------------------------------------------------------------------------------


def is_away(error: BaseException | None) -> bool:
    """Whether a model's server did not answer at all, or said when it will: an error that the run did not cause."""
    said_when = isinstance(error, OverloadedError) and error.retry_after is not None
    return said_when or isinstance(error, UnreachableError)


def stopped(error: BaseException | None) -> str:
    """The reason why an experiment stops early."""
    if not is_away(error):
        return str(error)
    return (
        f"Paused: {error} No run failed because of this. Start the experiment again when the server is "
        "available: it continues after the last finished call, and measures the stories when all runs have ended."
    )
