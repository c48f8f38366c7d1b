"""What an experiment would ask and cost, without asking anybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import EvaluationTask, dry_run_evaluation
from fabula.app.experiment.cell import CellFolder
from fabula.app.experiment.index import CellIndex
from fabula.app.experiment.matching import amount, ready, with_amount
from fabula.app.experiment.results import items_of
from fabula.app.experiment.working import check_folders, check_measures, missing
from fabula.app.planning import dry_run_plan_in, project_for_story
from fabula.app.writing import Options, dry_run, dry_run_in
from fabula.craft.length import parse_range, read_range
from fabula.engine.dry_run import DryRun, placeholder
from fabula.project.folder import ProjectFolder
from fabula.project.packed import PackedRecord
from fabula.project.trust import Trust
from fabula.story import Scene, Story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.experiment.grid import Experiment, PlanToRead, Trial
    from fabula.app.experiment.working import How
    from fabula.measure.items import Item

_USUAL_WORDS: Final = 1200  # of a story whose brief names no length: about the mean of Agents' Room, Table 2


@dataclass
class ExpectedRow:
    """What one line of the table stands for.

    Attributes:
        of: a contender's or an evaluator's label.
        runs: to do; for an evaluator the stories to measure.
        cost: US dollars, `None` where a price is not known.
    """

    of: str
    runs: int = 0
    calls: int = 0
    prompt: int = 0
    reply: int = 0
    cost: float | None = 0.0
    replayed: int = 0

    def add(self, expected: DryRun) -> None:
        """Take a dry run in."""
        self.runs += 1
        self.calls += len(expected.planned)
        self.prompt += sum(call.prompt for call in expected.planned)
        self.reply += sum(call.reply for call in expected.planned)
        self.replayed += expected.replayed
        self.cost = None if self.cost is None or expected.cost is None else self.cost + expected.cost


@dataclass
class Forecast:
    """What an experiment would still do.

    Attributes:
        done: runs that are over, failed ones (unless they are tried again) included.
    """

    contenders: list[ExpectedRow] = field(default_factory=list)
    measures: list[ExpectedRow] = field(default_factory=list)
    done: int = 0


async def forecast(experiment: Experiment, how: How) -> Forecast:
    """Calls, tokens and cost of everything that is not done; stories that are not written count with a likely length.

    Raises:
        UsageError: a run's folder holds another brief or other settings than the file says now, or an evaluator cannot
            take as many stories.
    """
    check_measures(experiment)
    index = CellIndex(experiment.folder, keeps=False)
    check_folders(experiment, index)
    options = Options(environ=how.environ, person=how.person)
    lines = {contender.label: ExpectedRow(contender.label) for contender in experiment.contenders}
    alike: dict[tuple[str, str], DryRun] = {}
    trials = missing(experiment, index, retry=how.retry)
    for stated in trials:
        trial = ready(stated, index)
        if trial.after and trial is stated and (leader := alike.get((trial.brief_id, trial.contender.after))):
            took = amount(leader.tokens, len(leader.planned), leader.cost, trial.contender.by)
            trial = with_amount(trial, took) if took else trial
        lines[trial.contender.label].add(await _dry_run_of(experiment, trial, options, alike))
    found = Forecast(list(lines.values()), done=len(experiment.trials) - len(trials))
    if plans := experiment.plans_missing():
        found.measures.append(await _dry_run_of_plans(plans, options))
    items = _items(experiment, index, trials)
    for measure in experiment.measures if items else ():
        line = ExpectedRow(measure.label)
        task = EvaluationTask(measure.evaluator, items, measure.config, experiment.evaluation(measure))
        line.add(await dry_run_evaluation(task, measure.settings, options))
        line.runs = len(items)
        found.measures.append(line)
    return found


async def _dry_run_of_plans(plans: Mapping[str, PlanToRead], options: Options) -> ExpectedRow:
    """What reading plans off stories would ask; each in a folder that goes again."""
    line = ExpectedRow("plans")
    for name, one in plans.items():
        with TemporaryDirectory(prefix="fabula-") as spare:
            stored = one.settings.model_dump(mode="json", exclude_unset=True)
            project = project_for_story(Path(spare) / name, one.story, one.brief, stored)
            line.add(await dry_run_plan_in(project, one.settings, options))
            Trust().forget(project.settings_file)
    return line


async def _dry_run_of(
    experiment: Experiment, trial: Trial, options: Options, alike: dict[tuple[str, str], DryRun]
) -> DryRun:
    """The dry run of a trial; those that differ in the seed alone, and have not begun, are alike."""
    folder = experiment.project(trial)
    if (folder / "brief.md").exists():
        packed = PackedRecord.is_in(folder)
        project = CellFolder(folder, trial) if packed else ProjectFolder.open(folder)
        return (await dry_run_in(project, trial.settings, options))[0]
    key = (trial.brief_id, trial.contender.label)
    if key not in alike:
        pending = {PurePosixPath(file).stem: text for file, text in trial.given.items()}
        alike[key] = await dry_run(trial.brief, trial.settings, options, pending)
    return alike[key]


def _items(experiment: Experiment, index: CellIndex, trials: list[Trial]) -> list[Item]:
    """The stories that there will be: those that are written, and stand-ins for the others."""
    there = {item.id: item for item in items_of(experiment, index)}
    coming = {trial.id for trial in trials}
    return [
        *(
            there.get(trial.id) or experiment.item(trial, _stand_in(trial))
            for trial in experiment.trials
            if trial.id in coming or index.of(trial.id).outcome.state == "done"
        ),
        *experiment.given,
    ]


def _stand_in(trial: Trial) -> Story:
    asked = str(trial.settings.config.get("words", ""))
    want = parse_range(asked) if asked else read_range(trial.brief.text)
    words = _USUAL_WORDS if want is None else want.target
    return Story(trial.brief.title, (Scene("Story", placeholder(words, trial.id)),))
