"""Running an experiment: write the missing stories concurrently, then measure. Finished calls are never made again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.experiment.cell import (
    UNFINISHED,
    CellOutcome,
    CellRecord,
    asked_of,
    fail_cell,
    is_away,
    read_cell,
    record_of,
    stopped,
    utc_now,
    write_cell,
)
from fabula.app.experiment.grid import COPY, Experiment, Trial, digests
from fabula.app.experiment.index import NOT_BEGUN, CellIndex
from fabula.app.experiment.matching import held_up, ready
from fabula.app.experiment.results import Results, charge, items_of, read_results, spent_in
from fabula.app.experiment.sharing import RunBudget, SharedModels, WholeBudget
from fabula.app.planning import plan_in, project_for_story
from fabula.app.workers.files import Files, Handing, files_in, put
from fabula.app.workers.pool import Pool
from fabula.app.workers.spread import Spread, check_nobody_plays
from fabula.app.workers.work import Caps, SharedWork
from fabula.app.writing import Options
from fabula.base.errors import BudgetError, FabulaError, ProjectError, UsageError
from fabula.base.files import held, read_text, write_atomically
from fabula.engine.events import CallFinished, Event, TextArrived
from fabula.engine.lines import with_code
from fabula.models.servers import Part
from fabula.project.settings import changes_said
from fabula.story import Story

if TYPE_CHECKING:
    from fabula.app.workers.worker import Desk
    from fabula.engine.roles import Answer
    from fabula.measure.report import Report
    from fabula.models.base import Usage


REPORTED: Final = ".fabula/reported"
"""The file that records everything that the report of a whole experiment depends on."""


@dataclass(frozen=True)
class How:
    """How to run an experiment.

    Attributes:
        environ: variables that hold keys and folders.
        workers: the number of concurrent runs; `None` takes the number in the file.
        retry: whether failed runs are tried again.
        budget_tokens: the most tokens for the whole experiment, including all earlier sessions; `None` takes the
            file's budget.
        budget_usd: the most US dollars, in the same way.
        person: answers for roles played by a person.
        spread: the workers that write the runs; by default this process writes them.
        part: which of several shards this is; each has its share of the runs, of the servers' capacity, and of the
            budget.
        hear: receives every event with the id of its run, or the label of its evaluator.
        ended: receives every run that is over, however it ended.
        now: returns the time stamp of a record.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    workers: int | None = None
    retry: bool = False
    budget_tokens: int | None = None
    budget_usd: float | None = None
    person: Answer | None = None
    hear: Callable[[str, Event], None] = lambda _where, _event: None
    spread: Spread | None = None
    part: Part = field(default_factory=Part)
    ended: Callable[[Trial, CellOutcome], None] = lambda _trial, _outcome: None
    now: Callable[[], str] = utc_now

    def whole_budget(self, experiment: Experiment, index: CellIndex) -> WholeBudget:
        """The budget of the whole experiment, including what has already been spent."""
        stated = experiment.spec.budget
        tokens = stated.tokens if self.budget_tokens is None else self.budget_tokens
        usd = stated.usd if self.budget_usd is None else self.budget_usd
        tokens = None if tokens is None else tokens // self.part.of
        usd = None if usd is None else usd / self.part.of
        budget = WholeBudget(tokens, usd)
        if tokens is not None or usd is not None:
            charge(budget, spent_in(experiment.folder, index))
        return budget


async def run_experiment(experiment: Experiment, how: How) -> Results:
    """Do everything that can be done now, and return all results; the caller writes the reports.

    A failed run is recorded with its error, and the others continue. If the whole budget is used up, or a model's
    server is unavailable after all tries of a call, the remaining work is left for the next session, and
    `Results.stopped` gives the reason. Evaluators measure only when no run is left to do.

    Raises:
        UsageError: a run's folder contains another brief or other settings than the file does now, or an evaluator
            cannot take that many stories.
        ProjectError: another process is working in the folder, or the folder cannot be written.
    """
    check_measures(experiment)
    check_folders(experiment, CellIndex(experiment.folder, keeps=False))
    with held(experiment.folder / ".fabula", f"The experiment in {experiment.folder}"):
        index = CellIndex(experiment.folder)
        text = experiment.file.read_text(encoding="utf-8-sig")
        write_atomically(experiment.folder / COPY, text)
        session = _Session(experiment, how, how.whole_budget(experiment, index), index)
        await session.plan()
        if not session.stopped:
            await session.write()
        if not session.stopped and not missing(session.experiment, index, retry=False):
            await session.measure()
        return read_results(session.experiment, index, session.reports, session.failures, session.stopped)


def changed_since(experiment: Experiment, index: CellIndex) -> str:
    """Which runs are kept and which are new, if the file has changed since the last session; otherwise empty."""
    copy = experiment.folder / COPY
    if not copy.is_file() or copy.read_text(encoding="utf-8-sig") == experiment.file.read_text(encoding="utf-8-sig"):
        return ""
    named = {trial.id for trial in experiment.trials}
    kept = sum(index.of(run) is not NOT_BEGUN for run in named)
    new, gone = len(named) - kept, len(set(index.known()) - named)
    left = f"; {gone:,} that it no longer names stay in runs/, but are not in any report" if gone else ""
    return (
        f"{experiment.file.name} has changed since the last session: {kept:,} of its {len(named):,} runs exist and "
        f"are kept, {new:,} {'is' if new == 1 else 'are'} new{left}."
    )


def is_reported(experiment: Experiment, index: CellIndex | None = None) -> bool:
    """Whether nothing is left to do: every run is done and measured, and the report is up to date.

    It reads no journal and no story.
    """
    index, file = index or CellIndex(experiment.folder, keeps=False), experiment.folder / REPORTED
    stamp = read_text(file, 1000).strip() if file.is_file() else ""
    return bool(stamp) and stamp == _stamp(experiment, index)


def mark_reported(results: Results) -> None:
    """Record that the report of a whole experiment is written, and what it depends on.

    Raises:
        ProjectError: the record cannot be written.
    """
    experiment, done = results.experiment, results.of_state("done")
    if len(done) == len(results.runs) and len(results.reports) == len(experiment.measures) and not results.stopped:
        index = CellIndex(experiment.folder, keeps=False)
        write_atomically(experiment.folder / REPORTED, _stamp(experiment, index) + "\n")


def _stamp(experiment: Experiment, index: CellIndex) -> str:
    """The key for everything that a report depends on; empty if it is unknown."""
    text = experiment.file.read_text(encoding="utf-8-sig")
    measures = [(one.label, one.config, one.settings.what_is_asked) for one in experiment.measures]
    found = [text, str(experiment.folder.resolve()), repr((measures, experiment.given, experiment.references))]
    for trial in (ready(one, index) for one in experiment.trials):
        if (seen := index.files_of(trial.id)) is None or index.of(trial.id).asked != trial.asked:
            return ""
        found.append(f"{trial.id} {seen}")
    files = (*experiment.folder.glob("report.*"), *experiment.folder.glob("evaluation/*/*.json*"))
    found += [f"{file.name} {file.stat().st_mtime_ns}" for file in sorted(files)]
    return with_code(*found)


def missing(experiment: Experiment, index: CellIndex, *, retry: bool) -> list[Trial]:
    """The runs that are not over; with `retry`, including those that failed."""
    wanted = ("unfinished", "failed") if retry else ("unfinished",)
    return [trial for trial in experiment.trials if index.of(trial.id).outcome.state in wanted]


def check_folders(experiment: Experiment, index: CellIndex) -> None:
    """Check that the existing runs are those of the file.

    Raises:
        UsageError: a run has another brief or other settings.
    """
    said = []
    for stated in experiment.trials:
        trial, folder = ready(stated, index), experiment.project(stated)
        if trial.after and trial is stated:  # what it may take is not known, so that it has not begun
            continue
        if index.of(trial.id).asked not in ("", trial.asked) and (other := _other(trial, folder)):
            said.append((folder, other))
    if said:
        folder, other = said[0]
        others = f"{len(said) - 1:,} more differ" if len(said) > 2 else "1 more differs"  # noqa: PLR2004 - a plural
        more = f" {others}." if len(said) > 1 else ""
        raise UsageError(
            f"{folder} was started with {other} than {experiment.file} has now.{more} Choose another folder for "
            "the experiment (`out`, or --out DIR), or move these runs elsewhere so that they are written again."
        )


def _other(trial: Trial, folder: Path) -> str:
    """How a run's brief or settings differ from the file; empty if they do not."""
    brief, settings, given = asked_of(folder)
    if brief != trial.brief:
        return "another brief"
    if changed := changes_said(settings.what_is_asked, trial.settings.what_is_asked):
        return f"other settings ({changed})"
    texts = sorted(digests(trial.given).items() ^ given.items())
    return f"another {texts[0][0]}" if texts else ""


def check_measures(experiment: Experiment) -> None:
    """Check that the evaluators can take as many stories as there will be.

    Raises:
        UsageError: an evaluator cannot.
    """
    items = [*(experiment.item(trial, Story()) for trial in experiment.trials), *experiment.given]
    for measure in experiment.measures:
        measure.evaluator.check(items, measure.config)


@dataclass
class _Session:
    """One session of work on an experiment."""

    experiment: Experiment
    how: How
    whole: WholeBudget
    index: CellIndex
    stopped: str = ""
    reports: dict[str, Report] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    # planning -------------------------------------------------------------------------------------------------------

    async def plan(self) -> None:
        """Extract the missing plans from people's stories; systems write from them."""
        for name, one in self.experiment.plans_missing().items():
            stored = one.settings.model_dump(mode="json", exclude_unset=True)
            project = project_for_story(self.experiment.plan_folder(name), one.story, one.brief, stored)
            try:
                await plan_in(project, one.settings, self._options(f"plans/{name}"))
            except FabulaError as error:
                self.stopped = stopped(error) if is_away(error) else f"The plan for {name} could not be made: {error}"
                return
        self.experiment = self.experiment.with_plans()

    # writing --------------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Write every missing story, several at once."""
        trials = missing(self.experiment, self.index, retry=self.how.retry)
        if self.how.spread is not None and trials:
            for wave in ([one for one in trials if not one.after], [one for one in trials if one.after]):
                await self._write_spread(wave, self.how.spread)
            return
        turns = self.how.part if self.how.part.of > 1 else None
        models = SharedModels(self.how.environ, self.how.person, lambda event: self.how.hear("", event), turns)
        models.expect(trial.contender.settings for trial in trials)
        waiting, over = {trial.id: trial for trial in trials}, asyncio.Condition()
        left = set(waiting)

        def next_ready() -> Trial | None:
            """The first run that does not wait for any unfinished run."""
            return next((trial for trial in waiting.values() if trial.after not in left), None)

        async def work() -> None:
            while waiting and not self.stopped:
                async with over:
                    await over.wait_for(lambda: next_ready() or not waiting or self.stopped)
                    trial = next_ready()
                    if trial is None or self.stopped:
                        return
                    del waiting[trial.id]
                await self._one(trial, models)
                async with over:
                    left.discard(trial.id)
                    over.notify_all()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.how.workers or self.experiment.spec.workers, len(trials))):
                    group.create_task(work())
        finally:
            await models.close()

    async def _one(self, trial: Trial, models: SharedModels) -> None:
        """One run, and the record of how it ended."""
        stated, settings = self.experiment.spec.budget, trial.contender.settings
        budget = RunBudget(stated.run_tokens, stated.run_usd, whole=self.whole)
        options = Options(
            listeners=[lambda event: self.how.hear(trial.id, event)],
            environ=self.how.environ,
            person=self.how.person,
        )
        folder = self.experiment.project(trial)
        record = await self._held_up(trial)
        if record is None:
            trial = ready(trial, self.index)
            record = await write_cell(trial, folder, models, budget, options, self.how.now)
        await models.done(settings)
        self._over(trial, record)

    async def _held_up(self, trial: Trial) -> CellRecord | None:
        """The record of a run that cannot be written because the run that it is matched with failed or is not over."""
        held = held_up(trial, self.index.of(trial.after)) if trial.after else UNFINISHED
        if held.state == "failed":
            return await fail_cell(ready(trial, self.index), self.experiment.project(trial), held, self.how.now)
        return CellRecord(held) if held.error else None

    async def _write_spread(self, wanted: list[Trial], spread: Spread) -> None:
        """Have workers write the runs that do not wait for each other."""
        trials: list[Trial] = []
        for trial in wanted if not self.stopped else ():
            if (record := await self._held_up(trial)) is not None:
                self._over(trial, record)
            else:
                trials.append(ready(trial, self.index))
        if not trials:
            return
        spent = (self.whole.spent_tokens, self.whole.spent_usd)
        await write_spread(
            self.experiment,
            trials,
            spread,
            environ=self.how.environ,
            side_by_side=self.how.workers or self.experiment.spec.workers,
            part=self.how.part,
            caps=(self.whole.tokens, self.whole.usd, spent),
            over=self._over,
            hear=self.how.hear,
            spent=self.whole.charge,
            stops=lambda: bool(self.stopped),
        )

    def _over(self, trial: Trial, record: CellRecord) -> None:
        """Record that a run is over, however it ended."""
        self.stopped = self.stopped or record.stops
        if record.outcome.state != "unfinished":
            try:
                self.index.add(trial.id, record)
            except ProjectError as error:  # a full disk; the run's own folder has it
                self.stopped = self.stopped or str(error)
        self.how.ended(trial, record.outcome)

    # measuring ------------------------------------------------------------------------------------------------------

    async def measure(self) -> None:
        """Have every evaluator measure all stories; a failure is recorded, and is tried again in the next session."""
        items = items_of(self.experiment, self.index)
        for measure in self.experiment.measures if items else ():
            task = EvaluationTask(measure.evaluator, items, measure.config, self.experiment.evaluation(measure))
            try:
                done = await evaluate_in(task, measure.settings, self._options(measure.label))
            except BudgetError as error:
                cap = self.whole.tokens if self.whole.tokens is not None else self.whole.usd
                self.stopped = f"The budget of the experiment ({cap:,}) is not enough for {measure.label}. {error}"
                return
            except FabulaError as error:
                if is_away(error):
                    self.stopped = stopped(error)
                    return
                self.failures[measure.label] = str(error)
                continue
            self.reports[measure.label] = done.report

    def _options(self, where: str) -> Options:
        return Options(
            whole=self.whole,
            listeners=[lambda event: self.how.hear(where, event)],
            environ=self.how.environ,
            person=self.how.person,
        )


# in several processes -------------------------------------------------------------------------------------------------
# On one machine or a cluster: what a worker does, and what it hands back. A worker on this machine writes a run in its
# final folder. A worker on a cluster writes it on the disk of its node, because a journal in use cannot be on a network
# disk. It hands the files back after calls while it works, and when the run is over.


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
