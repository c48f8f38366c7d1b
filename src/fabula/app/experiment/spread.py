"""An experiment in several processes, on one machine or a cluster: what a worker does, and what it hands back.

A worker on this machine writes a run in its final folder. A worker on a cluster writes it on the disk of its node,
because a journal in use cannot be on a network disk. It hands the files back after calls while it works, and when the
run is over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fabula.app.experiment.cell import CellOutcome, CellRecord, read_cell, record_of, utc_now, write_cell
from fabula.app.experiment.sharing import RunBudget, SharedModels
from fabula.app.workers.files import Handing, files_in, put
from fabula.app.workers.pool import Pool
from fabula.app.workers.spread import check_nobody_plays
from fabula.app.workers.work import SharedWork
from fabula.app.writing import Options
from fabula.engine.events import CallFinished, TextArrived

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.app.workers.files import Files
    from fabula.app.workers.spread import Spread
    from fabula.app.workers.work import Caps
    from fabula.app.workers.worker import Desk
    from fabula.engine.events import Event
    from fabula.models.base import Usage
    from fabula.models.servers import Part


@dataclass(eq=False, kw_only=True)
class CellWork(SharedWork):
    """What a worker does for an experiment.

    Attributes:
        experiment: the experiment with only its trials.
    """

    experiment: Experiment
    _models: SharedModels = field(init=False, repr=False)

    async def begin(self, desk: Desk) -> None:
        """Open what the runs share."""
        await super().begin(desk)
        self._models = SharedModels(self.environ, None, lambda event: desk.say(("", event)), desk)

    async def do(self, job: tuple[int, Mapping[str, Any], Files]) -> tuple[CellRecord, Files]:
        """Write a run, and return its record, and its files if they must be handed back."""
        number, config, files = job
        trial = replace(self.experiment.trials[number], config=config)
        stated = self.experiment.spec.budget
        folder = self.experiment.project(trial) if self.here else self._node.put(trial.id, files)
        handing = None if self.here else Handing(self._desk, folder)

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
        """Close the models, too."""
        await self._models.close()
        await super().end(over=over)


async def write_spread(
    experiment: Experiment,
    trials: Sequence[Trial],
    spread: Spread,
    *,
    environ: Mapping[str, str],
    side_by_side: int,
    part: Part,
    caps: Caps,
    over: Callable[[Trial, CellRecord], None],
    hear: Callable[[str, Event], None],
    spent: Callable[[Usage], None],
    stops: Callable[[], bool],
) -> None:
    """Have workers write runs; `over` gets each run with its record once its files are in the experiment's folder.

    Raises:
        WorkerError: no worker is available, or a worker cannot do anything.
        UsageError: a person plays a role, but workers cannot ask a person; or Ray is not installed.
    """
    for contender in experiment.contenders:
        check_nobody_plays(contender.label, contender.settings)
    here = spread.here
    places = {trial.id: number for number, trial in enumerate(experiment.trials)}
    sent = spread.environ(environ, (one.settings for one in experiment.contenders))

    def ended(trial: Trial, result: tuple[CellRecord, Files]) -> None:
        record, files = result
        if files:
            put(experiment.project(trial), files)
        over(trial, record)

    def lost(trial: Trial, why: str) -> tuple[CellRecord, Files]:
        said, folder = f"The worker for this run was lost three times: {why}", experiment.project(trial)
        record_of(trial, CellOutcome("failed", "WorkerLostError", said, utc_now())).write(folder)
        return read_cell(folder), {}

    pool = Pool(
        spread.hire,
        spread.count(side_by_side),
        side_by_side,
        CellWork(
            experiment=replace(experiment, measures=()),
            folder=experiment.folder,
            environ=sent,
            caps=caps,
            here=here,
        ),
        part,
        given=lambda trial: (places[trial.id], trial.config, {} if here else files_in(experiment.project(trial))),
        over=ended,
        lost=lost,
        kept=lambda trial, files: put(experiment.project(trial), files),
        said=lambda what: hear(*what),
        spent=spent,
        stops=stops,
        waits=spread.waits,
    )
    await pool.do(trials)
