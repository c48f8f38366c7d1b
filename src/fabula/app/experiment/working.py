"""Doing an experiment: write what is missing, side by side, then measure. What is finished is never asked again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.experiment.cell import (
    UNFINISHED,
    CellRecord,
    asked_of,
    fail_cell,
    is_away,
    stopped,
    utc_now,
    write_cell,
)
from fabula.app.experiment.grid import COPY, digests
from fabula.app.experiment.index import NOT_BEGUN, CellIndex
from fabula.app.experiment.matching import held_up, ready
from fabula.app.experiment.results import Results, charge, items_of, read_results, spent_in
from fabula.app.experiment.sharing import RunBudget, SharedModels, WholeBudget
from fabula.app.experiment.spread import write_spread
from fabula.app.planning import plan_in, project_for_story
from fabula.app.writing import Options
from fabula.base.errors import BudgetError, FabulaError, ProjectError, UsageError
from fabula.base.files import held, read_text, write_atomically
from fabula.engine.lines import with_code
from fabula.models.servers import Part
from fabula.project.settings import changes_said
from fabula.story import Story
from fabula.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabula.app.experiment.cell import CellOutcome
    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.app.experiment.spread import Spread
    from fabula.engine.events import Event
    from fabula.engine.roles import Answer
    from fabula.measure.report import Report

REPORTED: Final = ".fabula/reported"
"""Tells what the report of a whole experiment rests on."""


@dataclass(frozen=True)
class How:
    """How an experiment is to be done.

    Attributes:
        environ: variables that hold keys and folders.
        workers: runs side by side; `None` takes what the file says.
        retry: runs that failed are tried again.
        budget_tokens: most tokens of the whole experiment, all earlier sessions included; `None`: as the file says.
        budget_usd: the same in US dollars.
        person: answers for roles played by a person.
        spread: workers that write the runs; by default this process does.
        part: which of several shards this is; each has its part of the runs, of what servers take, and of the budget.
        hear: gets every event with the id of its run, or the label of its evaluator.
        ended: gets every run that is over, in whatever way.
        now: gives the time stamp of a record.
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
        """The budget of the whole, with what has been spent before."""
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
    """Everything the experiment found, once all that can be done is done; the reports are for the caller to write.

    A run that fails is recorded with its error, and the others go on. Where the whole budget is used up, or a model's
    server is away after all tries of a call, what remains is left for the next time, and `Results.stopped` says so.
    Evaluators measure only when no run is left to do.

    Raises:
        UsageError: a run's folder holds another brief or other settings than the file says now, or an evaluator cannot
            take as many stories.
        ProjectError: another process is at work in the folder, or it cannot be written.
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
    """What of an experiment is kept and what is new, where its file has changed since the last session; else empty."""
    copy = experiment.folder / COPY
    if not copy.is_file() or copy.read_text(encoding="utf-8-sig") == experiment.file.read_text(encoding="utf-8-sig"):
        return ""
    named = {trial.id for trial in experiment.trials}
    kept = sum(index.of(run) is not NOT_BEGUN for run in named)
    new, gone = len(named) - kept, len(set(index.known()) - named)
    left = f"; {gone:,} that it does not name any more stay in runs/, and are in no report" if gone else ""
    return (
        f"{experiment.file.name} has changed since the last session: {kept:,} of its {len(named):,} runs are there and "
        f"are kept, {new:,} {'is' if new == 1 else 'are'} new{left}."
    )


def is_reported(experiment: Experiment, index: CellIndex | None = None) -> bool:
    """Whether nothing is left to do: every run is done and measured, and nothing has changed since that was reported.

    No journal and no story is looked at.
    """
    index, file = index or CellIndex(experiment.folder, keeps=False), experiment.folder / REPORTED
    stamp = read_text(file, 1000).strip() if file.is_file() else ""
    return bool(stamp) and stamp == _stamp(experiment, index)


def mark_reported(results: Results) -> None:
    """Note that the report of a whole experiment is written, with what it rests on.

    Raises:
        ProjectError: it cannot be written.
    """
    experiment, done = results.experiment, results.of_state("done")
    if len(done) == len(results.runs) and len(results.reports) == len(experiment.measures) and not results.stopped:
        index = CellIndex(experiment.folder, keeps=False)
        write_atomically(experiment.folder / REPORTED, _stamp(experiment, index) + "\n")


def _stamp(experiment: Experiment, index: CellIndex) -> str:
    """What tells all that a report rests on from anything else; empty where it cannot be told."""
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
    """The runs that are not over; with `retry` those that failed too."""
    wanted = ("unfinished", "failed") if retry else ("unfinished",)
    return [trial for trial in experiment.trials if index.of(trial.id).outcome.state in wanted]


def check_folders(experiment: Experiment, index: CellIndex) -> None:
    """Look whether the runs that are there are those of the file.

    Raises:
        UsageError: one has another brief or other settings.
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
            f"{folder} was begun with {other} than {experiment.file} says now.{more} Give the experiment another "
            "folder (`out`, or --out DIR), or move such runs away to have them written anew."
        )


def _other(trial: Trial, folder: Path) -> str:
    """What a run was begun with and the file says otherwise; empty where there is nothing."""
    brief, settings, given = asked_of(folder)
    if brief != trial.brief:
        return "another brief"
    if changed := changes_said(settings.what_is_asked, trial.settings.what_is_asked):
        return f"other settings ({changed})"
    texts = sorted(digests(trial.given).items() ^ given.items())
    return f"another {texts[0][0]}" if texts else ""


def check_measures(experiment: Experiment) -> None:
    """Look whether the evaluators can take as many stories as there will be.

    Raises:
        UsageError: one cannot.
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
        """Read the plans that are missing off people's stories; systems write from them."""
        for name, one in self.experiment.plans_missing().items():
            stored = one.settings.model_dump(mode="json", exclude_unset=True)
            project = project_for_story(self.experiment.plan_folder(name), one.story, one.brief, stored)
            try:
                await plan_in(project, one.settings, self._options(f"plans/{name}"))
            except FabulaError as error:
                self.stopped = stopped(error) if is_away(error) else f"The plan for {name} is not made: {error}"
                return
        self.experiment = self.experiment.with_plans()

    # writing --------------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Write every story that is missing, some side by side."""
        trials = missing(self.experiment, self.index, retry=self.how.retry)
        if self.how.spread is not None and trials:
            for wave in ([one for one in trials if not one.after], [one for one in trials if one.after]):
                await self._write_spread(wave, self.how.spread)
            return
        turns = self.how.part if self.how.part.of > 1 else None
        models = SharedModels(self.how.environ, self.how.person, lambda event: self.how.hear("", event), turns)
        models.expect((trial.contender.settings, system_of(trial.contender.settings)) for trial in trials)
        waiting, over = {trial.id: trial for trial in trials}, asyncio.Condition()
        left = set(waiting)

        def next_ready() -> Trial | None:
            """The first run that waits for none of those that are not over yet."""
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
        await models.done(settings, system_of(settings))
        self._over(trial, record)

    async def _held_up(self, trial: Trial) -> CellRecord | None:
        """The record of a run that cannot be written, because that which it is matched with failed or is not over."""
        held = held_up(trial, self.index.of(trial.after)) if trial.after else UNFINISHED
        if held.state == "failed":
            return await fail_cell(ready(trial, self.index), self.experiment.project(trial), held, self.how.now)
        return CellRecord(held) if held.error else None

    async def _write_spread(self, wanted: list[Trial], spread: Spread) -> None:
        """Have workers write runs that wait for none of each other."""
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
        """A run is over, in whatever way."""
        self.stopped = self.stopped or record.stops
        if record.outcome.state != "unfinished":
            try:
                self.index.add(trial.id, record)
            except ProjectError as error:  # a full disk; the run's own folder has it
                self.stopped = self.stopped or str(error)
        self.how.ended(trial, record.outcome)

    # measuring ------------------------------------------------------------------------------------------------------

    async def measure(self) -> None:
        """Have every evaluator measure all stories; one that fails is recorded, and goes on the next time."""
        items = items_of(self.experiment, self.index)
        for measure in self.experiment.measures if items else ():
            task = EvaluationTask(measure.evaluator, items, measure.config, self.experiment.evaluation(measure))
            try:
                done = await evaluate_in(task, measure.settings, self._options(measure.label))
            except BudgetError as error:
                cap = self.whole.tokens if self.whole.tokens is not None else self.whole.usd
                self.stopped = f"The budget of the experiment ({cap:,}) does not reach for {measure.label}. {error}"
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
