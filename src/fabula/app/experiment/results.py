"""What an experiment has so far: how each run ended, its calls and costs, and numbers for each contender."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.item_files import MAX_STORY_BYTES, RUN_RECORD
from fabula.base.files import read_text, write_atomically
from fabula.engine.events import CallFinished
from fabula.engine.journal import Journal
from fabula.measure.report import Row
from fabula.models.base import NOTHING_USED, Usage
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import mean_of
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabula.app.experiment.grid import Contender, Experiment, Trial
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.models.budget import Budget
    from fabula.stats.estimate import Scored

FORMAT: Final = 1
_JOURNAL: Final = ".fabula/journal.db"
_MAX_RECORD: Final = 1_000_000
State: TypeAlias = Literal["done", "failed", "unfinished"]


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """How a run ended: "done", "failed" with its error, or "unfinished" (not begun, stopped, killed, waiting)."""

    state: State
    kind: str = ""
    error: str = ""
    ended: str = ""


@dataclass(frozen=True)
class RunResult:
    """One run: its outcome, the story's length, and its calls.

    Attributes:
        words: of the story; 0 where there is none.
        changed: artefacts that a person decided about, so that the story is not the system's alone.
    """

    trial: Trial
    folder: Path
    outcome: CellOutcome
    words: int = 0
    calls: tuple[CallFinished, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        """All calls together; the cost is `None` where one is not known."""
        return sum((call.usage for call in self.calls), NOTHING_USED)

    @property
    def tokens(self) -> int:
        """Prompt and reply tokens."""
        return self.usage.prompt + self.usage.reply


@dataclass(frozen=True)
class Results:
    """All that an experiment has found so far.

    Attributes:
        runs: in the order of the experiment.
        reports: of the evaluators, by label; empty before all runs are over.
        failures: errors of evaluators, by label.
        judging: calls of the evaluators, by label.
        stopped: why it ended before its end; empty where it did not.
    """

    experiment: Experiment
    runs: tuple[RunResult, ...]
    reports: Mapping[str, Report] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    judging: Mapping[str, tuple[CallFinished, ...]] = field(default_factory=dict)
    stopped: str = ""

    def of_state(self, state: State) -> list[RunResult]:
        """The runs that ended so."""
        return [run for run in self.runs if run.outcome.state == state]

    def of(self, contender: Contender) -> list[RunResult]:
        """The runs of a contender."""
        return [run for run in self.runs if run.trial.contender is contender]

    def rows(self, contender: Contender) -> tuple[Row, ...]:
        """Words, calls, tokens, model time and cost of a contender's finished stories, as means with intervals."""
        done = [run for run in self.of(contender) if run.outcome.state == "done"]
        return tuple(Row(contender.label, what, _mean(done, what, number)) for what, number in _MEASURES.items())

    def measured(self, report: Report) -> tuple[Row, ...]:
        """A report's numbers by contender: what it says of systems itself, else the means of its numbers of stories.

        Intervals of those means are by brief; what could not be scored is counted in `method`.
        """
        given = self.experiment.given
        briefs = {run.trial.id: run.trial.brief_id for run in self.runs} | {item.id: item.prompt for item in given}
        homes = {run.trial.id: run.trial.contender.label for run in self.runs} | {
            item.id: item.system for item in given
        }
        labels = list(dict.fromkeys(homes.values()))
        rows = [row for row in report.rows if row.of in labels]
        groups: dict[tuple[str, str, bool], list[Row]] = {}
        for row in report.rows if not rows else ():
            if row.of in homes:
                groups.setdefault((row.what, homes[row.of], row.baseline), []).append(row)
        for (what, label, baseline), members in groups.items():
            rows.append(Row(label, what, _mean_of(members, [briefs[row.of] for row in members]), baseline))
        order = list(dict.fromkeys(row.what for row in rows))
        return tuple(sorted(rows, key=lambda row: (order.index(row.what), labels.index(row.of))))


_MEASURES: Final[Mapping[str, Callable[[RunResult], float | None]]] = {
    "words": lambda run: run.words,
    "calls": lambda run: len(run.calls),
    "tokens": lambda run: run.tokens,
    "model seconds": lambda run: run.usage.seconds,
    "US dollars": lambda run: run.usage.cost,
}


def _mean(runs: Sequence[RunResult], what: str, number: Callable[[RunResult], float | None]) -> Scored:
    values = [number(run) for run in runs]
    if not runs:
        return Unscored("no story is finished")
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Unscored(f"the {what} of {len(values) - len(known)} of {len(values)} stories are not known", len(values))
    return mean_of(
        known, [run.trial.brief_id for run in runs], method="mean over stories, by brief", limits=(0.0, math.inf)
    )


def _mean_of(rows: Sequence[Row], briefs: Sequence[str]) -> Scored:
    scored = [(row.scored, brief) for row, brief in zip(rows, briefs, strict=True) if isinstance(row.scored, Estimate)]
    missing = len(rows) - len(scored)
    if not scored:
        reasons = dict.fromkeys(row.scored.reason for row in rows if isinstance(row.scored, Unscored))
        return Unscored("; ".join(reasons), len(rows))
    found = mean_of(
        [estimate.value for estimate, _ in scored],
        [brief for _, brief in scored],
        method="mean over stories, by brief" + (f"; {missing} not scored" if missing else ""),
    )
    shown = scored[0][0].method
    return replace(found, method=f"{found.method}; each: {shown}") if isinstance(found, Estimate) and shown else found


# records --------------------------------------------------------------------------------------------------------------


def outcome_of(folder: Path) -> CellOutcome:
    """How the run in a project folder ended; a record that cannot be read counts as none: the journal has it all."""
    file = folder / RUN_RECORD
    if not file.exists():
        return CellOutcome("unfinished")
    try:
        data = json.loads(read_text(file, _MAX_RECORD))
        outcome = CellOutcome(data["state"], data["kind"], data["error"], data["ended"])
    except (ValueError, KeyError, TypeError):
        return CellOutcome("unfinished")
    if outcome.state == "done" and not (folder / "story.md").is_file():
        return CellOutcome("unfinished")
    return outcome if outcome.state in {"done", "failed"} else CellOutcome("unfinished")


def record_outcome(folder: Path, outcome: CellOutcome) -> None:
    """Write how a run ended into its folder, which is made where the run did not get that far.

    Raises:
        ProjectError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown = json.dumps({"format": FORMAT, **asdict(outcome)}, indent=2, ensure_ascii=False)
    write_atomically(folder / RUN_RECORD, shown + "\n")


# reading --------------------------------------------------------------------------------------------------------------


def read_results(
    experiment: Experiment, reports: Mapping[str, Report], failures: Mapping[str, str], stopped: str = ""
) -> Results:
    """What lies in the experiment's folder, with what its evaluators found."""
    runs = tuple(_run_result(experiment, trial) for trial in experiment.trials)
    judging = {m.label: _calls(experiment.evaluation(m) / _JOURNAL)[0] for m in experiment.measures}
    return Results(experiment, runs, reports, failures, judging, stopped)


def items_of(experiment: Experiment) -> tuple[Item, ...]:
    """The finished stories, and those that were there, as evaluators take them; nothing where no run is finished."""
    found = tuple(
        experiment.item(trial, _story(experiment.project(trial)))
        for trial in experiment.trials
        if outcome_of(experiment.project(trial)).state == "done"
    )
    return (*found, *experiment.given) if found or not experiment.trials else ()


def _story(folder: Path) -> Story:
    return Story.parse(read_text(folder / "story.md", MAX_STORY_BYTES))


def _run_result(experiment: Experiment, trial: Trial) -> RunResult:
    folder = experiment.project(trial)
    outcome = outcome_of(folder)
    calls, changed = _calls(folder / _JOURNAL)
    words = _story(folder).words if outcome.state == "done" else 0
    return RunResult(trial, folder, outcome, words, calls, changed)


def _calls(file: Path) -> tuple[tuple[CallFinished, ...], tuple[str, ...]]:
    """The calls of a journal, and the artefacts that a person decided about."""
    if not file.exists():
        return (), ()
    with Journal(file) as journal:
        calls = tuple(
            CallFinished(c.path, c.role, c.performer, c.reply.usage, replayed=False)
            for c in journal.calls.find(prompts=True)
        )
        return calls, tuple(dict.fromkeys(one.path for one in journal.decisions.find() if one.kind != "pin-all"))


def spent_in(folder: Path) -> Iterator[Usage]:
    """What has been used in an experiment's folder, also by runs that its file does not name any more."""
    for file in [
        path for part in ("runs/*/*", "evaluation/*", "plans/*") for path in folder.glob(f"{part}/{_JOURNAL}")
    ]:
        with Journal(file) as journal:
            yield from [one.usage for one in journal.calls.payments()]


def charge(budget: Budget, bill: Iterable[Usage]) -> None:
    """Put what was used before on a budget; of unknown costs nothing is counted."""
    for usage in bill:
        budget.charge(usage)


def usage_data(usage: Usage) -> dict[str, Any]:
    """Usage as JSON data; an unknown cost is null."""
    return {name: value for name, value in asdict(usage).items() if name != "first"}
