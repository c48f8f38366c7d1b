"""Doing an experiment: write what is missing, side by side, then measure. What is finished is never asked again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.experiment.results import (
    CellOutcome,
    Results,
    charge,
    items_of,
    outcome_of,
    read_results,
    record_outcome,
    spent_in,
)
from fabula.app.experiment.sharing import RunBudget, SharedModels, WholeBudget, WholeBudgetError
from fabula.app.planning import plan_in, project_for_story
from fabula.app.writing import Options, Supplied, write_in
from fabula.base.errors import BudgetError, FabulaError, OverloadedError, PausedError, UnreachableError, UsageError
from fabula.base.files import held, make_folder, read_text, write_atomically
from fabula.project.folder import MAX_FILE, ProjectFolder
from fabula.project.settings import changes_said, difference
from fabula.story import Story, plain
from fabula.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.engine.events import Event
    from fabula.engine.roles import Answer
    from fabula.measure.report import Report

COPY: Final = "experiment.toml"
GIVEN: Final = "given.json"
"""In a run's folder: digests of the texts that it was given, which its author may have changed since."""


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    ended: Callable[[Trial, CellOutcome], None] = lambda _trial, _outcome: None
    now: Callable[[], str] = _utc_now

    def whole_budget(self, experiment: Experiment) -> WholeBudget:
        """The budget of the whole, with what has been spent before."""
        stated = experiment.spec.budget
        tokens = stated.tokens if self.budget_tokens is None else self.budget_tokens
        usd = stated.usd if self.budget_usd is None else self.budget_usd
        budget = WholeBudget(tokens, usd)
        if tokens is not None or usd is not None:
            charge(budget, spent_in(experiment.folder))
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
    check_folders(experiment)
    with held(experiment.folder / ".fabula", f"The experiment in {experiment.folder}"):
        text = experiment.file.read_text(encoding="utf-8-sig")
        write_atomically(experiment.folder / COPY, text)
        session = _Session(experiment, how, how.whole_budget(experiment))
        await session.plan()
        if not session.stopped:
            await session.write()
        if not session.stopped and not missing(session.experiment, retry=False):
            await session.measure()
    return read_results(session.experiment, session.reports, session.failures, session.stopped)


def missing(experiment: Experiment, *, retry: bool) -> list[Trial]:
    """The runs that are not over; with `retry` those that failed too."""
    wanted = ("unfinished", "failed") if retry else ("unfinished",)
    return [trial for trial in experiment.trials if outcome_of(experiment.project(trial)).state in wanted]


def check_folders(experiment: Experiment) -> None:
    """Look whether the runs that are there are those of the file.

    Raises:
        UsageError: one has another brief or other settings.
    """
    for trial in experiment.trials:
        folder = experiment.project(trial)
        project = ProjectFolder(folder)
        if not project.brief_file.exists():
            continue
        if project.brief != trial.brief:
            other = "another brief"
        elif project.settings_file.exists() and (
            changed := changes_said(project.settings.what_is_asked, trial.settings.what_is_asked)
        ):
            other = f"other settings ({changed})"
        elif texts := sorted(_digests(trial).items() ^ _recorded(folder).items()):
            other = f"another {texts[0][0]}"
        else:
            continue
        raise UsageError(
            f"{folder} was begun with {other} than {experiment.file} says now. Give the experiment another folder "
            "(`out`, or --out DIR), or move that run away to have it written anew."
        )


def _digests(trial: Trial) -> dict[str, str]:
    return {file: sha256(text.encode()).hexdigest() for file, text in trial.given.items()}


def _recorded(folder: Path) -> dict[str, str]:
    file = folder / GIVEN
    found: dict[str, str] = json.loads(read_text(file, MAX_FILE)) if file.exists() else {}
    return found


def check_measures(experiment: Experiment) -> None:
    """Look whether the evaluators can take as many stories as there will be.

    Raises:
        UsageError: one cannot.
    """
    items = [*(experiment.item(trial, Story()) for trial in experiment.trials), *experiment.given]
    for measure in experiment.measures:
        measure.evaluator.check(items, measure.config)


def _is_away(error: BaseException | None) -> bool:
    """Whether a model's server did not answer at all, or said when it will: no fault of what was asked."""
    said_when = isinstance(error, OverloadedError) and error.retry_after is not None
    return said_when or isinstance(error, UnreachableError)


def _stopped(error: BaseException | None) -> str:
    """Why an experiment ends before its end."""
    if not _is_away(error):
        return str(error)
    return (
        f"Paused: {error} No run failed by that. Start the experiment again when the server is back: it goes on from "
        "the last finished call, and measures once all runs are over."
    )


@dataclass
class _Session:
    """One session of work on an experiment."""

    experiment: Experiment
    how: How
    whole: WholeBudget
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
                self.stopped = _stopped(error) if _is_away(error) else f"The plan for {name} is not made: {error}"
                return
        self.experiment = self.experiment.with_plans()

    # writing --------------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Write every story that is missing, some side by side."""
        trials = missing(self.experiment, retry=self.how.retry)
        models = SharedModels(self.how.environ, self.how.person, lambda event: self.how.hear("", event))
        models.expect((trial.settings, system_of(trial.settings)) for trial in trials)
        waiting = iter(trials)

        async def work() -> None:
            for trial in waiting:
                if self.stopped:
                    return
                await self._one(trial, models)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.how.workers or self.experiment.spec.workers, len(trials))):
                    group.create_task(work())
        finally:
            await models.close()

    async def _one(self, trial: Trial, models: SharedModels) -> None:
        """One run, and the record of how it ended."""
        method = system_of(trial.settings)
        # `gather` returns any error as a value, also one of a user's own program: the other runs go on.
        (error,) = await asyncio.gather(self._story(trial, models), return_exceptions=True)
        await models.done(trial.settings, method)
        stops = isinstance(error, WholeBudgetError) or _is_away(error)
        if stops:
            self.stopped = self.stopped or _stopped(error)
        if stops or isinstance(error, PausedError):
            self.how.ended(trial, CellOutcome("unfinished", type(error).__name__, str(error)))
            return
        outcome = CellOutcome("done", ended=self.how.now())
        if isinstance(error, BaseException):
            shown = str(error) if isinstance(error, FabulaError) else f"{type(error).__name__}: {error}"
            outcome = CellOutcome("failed", type(error).__name__, shown, self.how.now())
        folder = self.experiment.project(trial)
        record_outcome(folder, outcome)
        self.how.ended(trial, outcome)

    async def _story(self, trial: Trial, models: SharedModels) -> None:
        """Write the story of a run in its project, going on where it stopped."""
        project = self._project(trial)
        settings = trial.settings  # as the project's, which says them too; the experiment's file is the one to trust
        options = Options(
            listeners=[lambda event: self.how.hear(trial.id, event)],
            environ=self.how.environ,
            person=self.how.person,
        )
        stated = self.experiment.spec.budget
        budget = RunBudget(stated.run_tokens, stated.run_usd, whole=self.whole)
        with project.journal as journal:
            charge(budget, [one.usage for one in journal.calls.payments()])
        await write_in(project, settings, options, Supplied(models.cast(settings, system_of(settings)), budget))

    def _project(self, trial: Trial) -> ProjectFolder:
        """The project of a run: made, or gone on with. A kill may have left one without its settings."""
        folder = self.experiment.project(trial)
        if not (folder / "brief.md").exists():
            for file, text in trial.given.items():
                make_folder((folder / file).parent)
                write_atomically(folder / file, plain(text) + "\n")
            if trial.given:
                write_atomically(folder / GIVEN, json.dumps(_digests(trial)) + "\n")
            return ProjectFolder.create(folder, trial.brief, trial.stored())
        project = ProjectFolder.open(folder)
        if not project.settings_file.exists() or project.settings != trial.settings:
            project.save_settings(difference(trial.stored(), project.settings.as_tables))
        return project

    # measuring ------------------------------------------------------------------------------------------------------

    async def measure(self) -> None:
        """Have every evaluator measure all stories; one that fails is recorded, and goes on the next time."""
        items = items_of(self.experiment)
        for measure in self.experiment.measures if items else ():
            task = EvaluationTask(measure.evaluator, items, measure.config, self.experiment.evaluation(measure))
            try:
                done = await evaluate_in(task, measure.settings, self._options(measure.label))
            except BudgetError as error:
                cap = self.whole.tokens if self.whole.tokens is not None else self.whole.usd
                self.stopped = f"The budget of the experiment ({cap:,}) does not reach for {measure.label}. {error}"
                return
            except FabulaError as error:
                if _is_away(error):
                    self.stopped = _stopped(error)
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
