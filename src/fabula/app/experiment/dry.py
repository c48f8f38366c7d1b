"""The calls and cost of an experiment, estimated without calling a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import EvaluationTask, dry_run_evaluation
from fabula.app.experiment.cell import CellFolder
from fabula.app.experiment.index import CellIndex
from fabula.app.experiment.matching import amount, ready, with_amount
from fabula.app.experiment.results import items_of
from fabula.app.experiment.working import How, check_folders, check_measures, missing
from fabula.app.planning import dry_run_plan_in, project_for_story
from fabula.app.writing import Options, dry_run, dry_run_in
from fabula.craft.length import parse_range, read_range
from fabula.engine.dry_run import DryRun, placeholder
from fabula.project.folder import ProjectFolder
from fabula.project.packed import PackedRecord
from fabula.project.trust import Trust
from fabula.story import Scene, Story

if TYPE_CHECKING:
    from fabula.app.experiment.grid import Experiment, PlanToRead, Trial
    from fabula.measure.items import Item


_USUAL_WORDS: Final = 1200  # of a story whose brief names no length: about the mean of Agents' Room, Table 2

_MOST_WALKED: Final = 200  # briefs that are walked for a contender; others count as these do on average


@dataclass
class ExpectedRow:
    """The values in one line of the table.

    Attributes:
        of: the label of a contender or an evaluator.
        runs: the runs to do; for an evaluator, the stories to measure.
        cost: US dollars; `None` if a price is unknown.
    """

    of: str
    runs: int = 0
    calls: int = 0
    prompt: int = 0
    reply: int = 0
    cost: float | None = 0.0
    replayed: int = 0

    def add(self, expected: DryRun) -> None:
        """Add a dry run."""
        self.runs += 1
        self.calls += len(expected.planned)
        self.prompt += sum(call.prompt for call in expected.planned)
        self.reply += sum(call.reply for call in expected.planned)
        self.replayed += expected.replayed
        self.cost = None if self.cost is None or expected.cost is None else self.cost + expected.cost

    def add_like(self, others: ExpectedRow, runs: int) -> None:
        """Add a number of runs that are on average like the `others`."""
        share = runs / others.runs
        self.runs += runs
        self.calls += round(others.calls * share)
        self.prompt += round(others.prompt * share)
        self.reply += round(others.reply * share)
        self.cost = None if self.cost is None or others.cost is None else self.cost + others.cost * share


@dataclass
class Forecast:
    """What is left to do in an experiment.

    Attributes:
        done: the runs that are over, including failed ones, unless these are tried again.
        drawn: how many briefs of a contender were estimated, if there are too many to estimate all; otherwise 0.
    """

    contenders: list[ExpectedRow] = field(default_factory=list)
    measures: list[ExpectedRow] = field(default_factory=list)
    done: int = 0
    drawn: int = 0


async def forecast(experiment: Experiment, how: How) -> Forecast:
    """Calls, tokens and cost of everything that is not done; missing stories count with their likely length.

    Raises:
        UsageError: a run's folder contains another brief or other settings than the file does now, or an evaluator
            cannot take that many stories.
    """
    check_measures(experiment)
    index = CellIndex(experiment.folder, keeps=False)
    check_folders(experiment, index)
    options = Options(environ=how.environ, person=how.person)
    lines = {contender.label: ExpectedRow(contender.label) for contender in experiment.contenders}
    alike: dict[tuple[str, str], DryRun] = {}
    trials = missing(experiment, index, retry=how.retry)
    walked, new = _walked(trials), Counter[str]()
    for stated in trials:
        label = stated.contender.label
        if stated.brief_id not in walked[label] and not (experiment.project(stated) / "brief.md").exists():
            new[label] += 1
            continue
        trial = ready(stated, index)
        if trial.after and trial is stated and (leader := alike.get((trial.brief_id, trial.contender.after))):
            took = amount(leader.tokens, len(leader.planned), leader.cost, trial.contender.by)
            trial = with_amount(trial, took) if took else trial
        lines[label].add(await _dry_run_of(experiment, trial, options, alike))
    for label, runs in new.items():
        lines[label].add_like(replace(lines[label]), runs)
    drawn = max((len(walked[label]) for label in new), default=0)
    found = Forecast(list(lines.values()), done=len(experiment.trials) - len(trials), drawn=drawn)
    if plans := experiment.plans_missing():
        found.measures.append(await _dry_run_of_plans(plans, options))
    stories = len(_with_story(experiment, index, trials)) + len(experiment.given)
    asks = any(measure.evaluator.roles for measure in experiment.measures)
    items = _items(experiment, index, trials) if asks else []
    for measure in experiment.measures if stories else ():
        line = ExpectedRow(measure.label)
        if measure.evaluator.roles:
            task = EvaluationTask(measure.evaluator, items, measure.config, experiment.evaluation(measure))
            line.add(await dry_run_evaluation(task, measure.settings, options))
        line.runs = stories
        found.measures.append(line)
    return found


def _walked(trials: list[Trial]) -> dict[str, set[str]]:
    """All briefs of each contender or, if there are very many, some at equal distances."""
    briefs: dict[str, dict[str, None]] = {}
    for trial in trials:
        briefs.setdefault(trial.contender.label, {})[trial.brief_id] = None
    return {label: set([*found][:: ceil(len(found) / _MOST_WALKED)]) for label, found in briefs.items()}


async def _dry_run_of_plans(plans: Mapping[str, PlanToRead], options: Options) -> ExpectedRow:
    """The calls for extracting plans from stories, each in a temporary folder."""
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
    """The dry run of a trial; trials that differ only in the seed and have not begun count as alike."""
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
    """The stories that there will be: those that are written, and placeholders for the others."""
    there = {item.id: item for item in items_of(experiment, index)}
    return [
        *(
            there.get(trial.id) or experiment.item(trial, _stand_in(trial))
            for trial in _with_story(experiment, index, trials)
        ),
        *experiment.given,
    ]


def _with_story(experiment: Experiment, index: CellIndex, trials: list[Trial]) -> list[Trial]:
    """The runs that will have stories: those of `trials`, and those that are already written."""
    coming = {trial.id for trial in trials}
    return [one for one in experiment.trials if one.id in coming or index.of(one.id).outcome.state == "done"]


def _stand_in(trial: Trial) -> Story:
    asked = str(trial.settings.config.get("words", ""))
    want = parse_range(asked) if asked else read_range(trial.brief.text)
    words = _USUAL_WORDS if want is None else want.target
    return Story(trial.brief.title, (Scene("Story", placeholder(words, trial.id)),))
