"""An experiment over several processes, on this machine or on a cluster: what a worker does, and what it hands back.

A worker on this machine writes a run where it belongs. One on a cluster writes it on the disk of its node, because a
journal in use cannot lie on a network disk, and hands the files back: while it works, after calls, and when it is over.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.app.experiment.cell import CellOutcome, CellRecord, read_cell, record_of, utc_now, write_cell
from fabula.app.experiment.sharing import RunBudget, SharedModels, SpreadBudget
from fabula.app.workers.channels import ProcessChannel, RayCluster
from fabula.app.workers.pool import Pool
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.engine.events import CallFinished, TextArrived
from fabula.models.providers import KINDS, Gateway
from fabula.project.packed import JOURNAL, RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.app.workers.worker import Desk
    from fabula.engine.events import Event
    from fabula.models.base import Usage
    from fabula.models.servers import Part

Files: TypeAlias = "dict[str, bytes]"
_FILES: Final = ("brief.md", JOURNAL, RECORD)  # of a run, in the order of writing: the record says that it is over
_OFTEN: Final = 1.0  # seconds between two times that a run at work is handed back


@dataclass(frozen=True)
class Spread:
    """How many workers there are, and where.

    Attributes:
        workers: how many; `None` for as many as the cluster has processors.
        on: "ray", or the address of a Ray cluster; empty for processes on this machine.
    """

    workers: int | None = None
    on: str = ""

    def __post_init__(self) -> None:
        if self.on and self.on != "ray" and not self.on.startswith("ray://"):
            raise UsageError(f"--on {self.on}: give `ray`, or the address of a cluster as in ray://HEAD:10001.")


@dataclass(eq=False)
class CellWork:
    """What a worker does for an experiment.

    Attributes:
        experiment: with its trials alone.
        environ: variables that hold keys and folders.
        caps: most tokens and US dollars of the whole experiment, and what of both it has taken before.
        here: whether the worker shares a disk with the driver.
    """

    experiment: Experiment
    environ: Mapping[str, str] = field(repr=False)
    caps: tuple[int | None, float | None, tuple[int, float]]
    here: bool
    _desk: Desk = field(init=False, repr=False)
    _whole: SpreadBudget = field(init=False, repr=False)
    _models: SharedModels = field(init=False, repr=False)
    _folders: set[Path] = field(default_factory=set, init=False, repr=False)

    async def begin(self, desk: Desk) -> None:
        """Open what runs share; variables of a node go before those of the driver."""
        self._desk, environ = desk, self.environ if self.here else {**self.environ, **os.environ}
        tokens, usd, spent = self.caps
        self._whole = SpreadBudget(tokens, usd)
        if self._whole.capped:
            self._whole.spend = desk.spend
        self._whole.spent_tokens, self._whole.spent_usd = spent
        desk.on_spent = self._whole.others
        self._models = SharedModels(environ, None, lambda event: desk.say(("", event)), desk)
        self.environ = environ

    async def do(self, job: tuple[int, Mapping[str, Any], Files]) -> tuple[CellRecord, Files]:
        """Write a run; its record, and its files where they have to be handed back."""
        number, config, files = job
        trial = replace(self.experiment.trials[number], config=config)
        stated = self.experiment.spec.budget
        folder = self.experiment.project(trial) if self.here else self._local(trial, files)
        handing = None if self.here else _Handing(self._desk, folder)

        def hear(event: Event) -> None:
            if not isinstance(event, TextArrived):
                self._desk.say((trial.id, event))
            if handing is not None and isinstance(event, CallFinished) and not event.replayed:
                handing.soon()

        budget = RunBudget(stated.run_tokens, stated.run_usd, whole=self._whole)
        record = await write_cell(trial, folder, self._models, budget, Options(listeners=[hear], environ=self.environ))
        if handing is None:
            return record, {}
        handing.stop()
        return record, await asyncio.to_thread(files_in, folder)

    async def end(self, *, over: bool) -> None:
        """Close the models; what the driver has is taken from this disk."""
        await self._models.close()
        for folder in self._folders if over else ():
            rmtree(folder, ignore_errors=True)

    def _local(self, trial: Trial, files: Files) -> Path:
        """Where this node has the run; what the driver has of it goes before a shorter journal that lies here."""
        home = Path(tempfile.gettempdir()) / f"fabula-{os.getuid()}"
        make_folder(home, mode=0o700)
        if home.stat().st_uid != os.getuid() or home.is_symlink():
            raise UsageError(f"{home} belongs to somebody else. Remove it, or set TMPDIR on the nodes.")
        of = sha256(str(self.experiment.folder).encode()).hexdigest()[:16]
        folder = home / of / trial.id
        if len(files.get(JOURNAL, b"")) > len(files_in(folder).get(JOURNAL, b"")):
            put(folder, files)
        self._folders.add(folder)
        return folder


@dataclass(eq=False)
class _Handing:
    """Hands a run back while it is at work: after calls, and not more often than every second."""

    desk: Desk
    folder: Path
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def soon(self) -> None:
        """A call is finished."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._hand())

    def stop(self) -> None:
        """The run is over."""
        if self._task is not None:
            self._task.cancel()

    async def _hand(self) -> None:
        await asyncio.sleep(_OFTEN)
        self.desk.keep(await asyncio.to_thread(files_in, self.folder))


def files_in(folder: Path) -> Files:
    """The files of a run, the journal as it is at this moment, also while it is written."""
    found: Files = {}
    for name in _FILES:
        file = folder / name
        if not file.is_file():
            continue
        if name == JOURNAL:
            with closing(sqlite3.connect(file)) as journal:
                found[name] = journal.serialize()
        else:
            found[name] = file.read_bytes()
    return found


def put(folder: Path, files: Files) -> None:
    """Write the files of a run, each whole or not at all.

    Raises:
        ProjectError: they cannot be written.
    """
    make_folder((folder / JOURNAL).parent, mode=0o700)
    if (folder / f"{JOURNAL}-wal").exists():  # of the journal that was there before, and would be read into this one
        with closing(sqlite3.connect(folder / JOURNAL)) as journal:
            journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for rest in (f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
            (folder / rest).unlink(missing_ok=True)
    for name in _FILES:
        if name in files:
            write_atomically(folder / name, files[name])


def variables_of(experiment: Experiment, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the models of an experiment need on another machine: keys and addresses, and no others."""
    names: set[str] = set()
    for contender in experiment.contenders:
        tables = contender.settings.models
        for model in (contender.settings.model, *contender.settings.cast_models):
            kind, table = KINDS.get(model.partition(":")[0]), tables.get(model)
            names |= {*kind.keys, kind.address_variable} if kind else set()
            names |= {table.key_env, *Gateway(table.headers, table.query).variables()} if table else set()
    return {name: environ[name] for name in names if name in environ}


async def write_spread(
    experiment: Experiment,
    trials: Sequence[Trial],
    spread: Spread,
    *,
    environ: Mapping[str, str],
    side_by_side: int,
    part: Part,
    caps: tuple[int | None, float | None, tuple[int, float]],
    over: Callable[[Trial, CellRecord], None],
    hear: Callable[[str, Event], None],
    spent: Callable[[Usage], None],
    stops: Callable[[], bool],
) -> None:
    """Have runs written by workers; `over` gets each with its record once its files lie in the experiment's folder.

    Raises:
        WorkerError: no worker can be had, or one can do nothing.
        UsageError: a person plays a role, whom no worker can ask; or Ray is not installed.
    """
    for contender in experiment.contenders:
        if any(role.play == "me" for role in contender.settings.roles.values()):
            raise UsageError(
                f"A person plays a role of {contender.label}, and workers ask nobody. Leave out --processes and --on."
            )
    here = not spread.on
    cluster = None if here else RayCluster.connected("" if spread.on == "ray" else spread.on)
    places = {trial.id: number for number, trial in enumerate(experiment.trials)}
    sent = dict(environ) if here else variables_of(experiment, environ)

    async def hire(_place: int) -> Any:  # noqa: ANN401 - a channel
        return await ProcessChannel.open({}) if cluster is None else await cluster.open()

    def ended(trial: Trial, result: tuple[CellRecord, Files]) -> None:
        record, files = result
        if files:
            put(experiment.project(trial), files)
        over(trial, record)

    def lost(trial: Trial, why: str) -> tuple[CellRecord, Files]:
        said, folder = f"The worker that wrote it was lost three times: {why}", experiment.project(trial)
        record_of(trial, CellOutcome("failed", "WorkerLostError", said, utc_now())).write(folder)
        return read_cell(folder), {}

    pool = Pool(
        hire,
        spread.workers or (1 if cluster is None else min(cluster.processors, side_by_side)),
        side_by_side,
        CellWork(replace(experiment, measures=()), sent, caps, here),
        part,
        given=lambda trial: (places[trial.id], trial.config, {} if here else files_in(experiment.project(trial))),
        over=ended,
        lost=lost,
        kept=lambda trial, files: put(experiment.project(trial), files),
        said=lambda what: hear(*what),
        spent=spent,
        stops=stops,
    )
    await pool.do(trials)
