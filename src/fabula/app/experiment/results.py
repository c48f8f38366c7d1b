"""The results of an experiment so far: how each run ended, its calls and costs, and numbers for each contender."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.app.experiment.cell import CellOutcome, CellRecord, State, story_of
from fabula.engine.events import CallFinished
from fabula.engine.journal import Journal
from fabula.measure.report import Report, Row
from fabula.project.packed import JOURNAL
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import mean_of

if TYPE_CHECKING:
    from fabula.app.experiment.grid import Contender, Experiment, Trial
    from fabula.app.experiment.index import CellIndex
    from fabula.measure.items import Item
    from fabula.models.base import Usage
    from fabula.models.budget import Budget


T = TypeVar("T")
TOOK: Final = "took of "  # and the contender that another one is matched with


@dataclass(frozen=True)
class RunResult:
    """One run, its folder, and what is recorded of it."""

    trial: Trial
    folder: Path
    record: CellRecord

    @property
    def outcome(self) -> CellOutcome:
        """How the run ended."""
        return self.record.outcome

    @property
    def words(self) -> int:
        """The words of the story; 0 if there is none."""
        return self.record.words if self.outcome.state == "done" else 0

    @property
    def changed(self) -> tuple[str, ...]:
        """Artefacts that a person decided about, so that the story is not only the system's."""
        return self.record.changed

    @property
    def usage(self) -> Usage:
        """The usage of all calls; the cost is `None` if that of any call is unknown."""
        return self.record.usage

    @property
    def tokens(self) -> int:
        """The total of prompt and reply tokens."""
        return self.usage.prompt + self.usage.reply

    @cached_property
    def calls(self) -> tuple[CallFinished, ...]:
        """Every call, read from the journal; the record has their number."""
        return calls_in(self.folder / JOURNAL)


@dataclass(frozen=True, repr=False)  # asyncio shows what a task gave
class Results:
    """All results of an experiment so far.

    Attributes:
        runs: the runs in the order of the experiment.
        reports: the reports of the evaluators, by label; empty before all runs are over.
        failures: errors of evaluators, by label.
        judging: calls of the evaluators, by label.
        stopped: why it stopped early; empty if it did not.
    """

    experiment: Experiment
    runs: tuple[RunResult, ...]
    reports: Mapping[str, Report] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    judging: Mapping[str, tuple[CallFinished, ...]] = field(default_factory=dict)
    stopped: str = ""
    _known: dict[int, tuple[object, Any]] = field(default_factory=dict, init=False, compare=False)

    def once(self, about: object, found: Callable[[], T]) -> T:
        """The result of `found` for something, computed once for all tables and pages that contain it."""
        if id(about) not in self._known:
            self._known[id(about)] = about, found()  # with what it is about, so that no other has its id
        known: T = self._known[id(about)][1]
        return known

    def named(self, rows: Iterable[Row]) -> list[Row]:
        """The rows, named without preset and model if all contenders share them; whole-story rows come first."""
        contenders, rows = self.experiment.contenders, sorted(rows, key=lambda row: not row.what.endswith("/overall"))
        if len({contender.label.removeprefix(contender.called) for contender in contenders}) > 1:
            return rows
        short = {contender.label: contender.called for contender in contenders}
        return [
            replace(
                row, of=" - ".join(short.get(name, name) for name in row.of.split(" - ")), what=_what(row.what, short)
            )
            for row in rows
        ]

    def of_state(self, state: State) -> list[RunResult]:
        """The runs that ended in that state."""
        return [run for run in self.runs if run.outcome.state == state]

    def of(self, contender: Contender) -> list[RunResult]:
        """The runs of a contender."""
        return [run for run in self.runs if run.trial.contender is contender]

    def rows(self, contender: Contender) -> tuple[Row, ...]:
        """Words, calls, tokens, model time and cost of a contender's finished stories, as means with intervals."""
        done = [run for run in self.of(contender) if run.outcome.state == "done"]
        return tuple(Row(contender.label, what, _mean(done, what, number)) for what, number in _MEASURES.items())

    def measured(self, report: Report) -> tuple[Row, ...]:
        """A report's numbers by contender: its own numbers for systems, or else the means of those for stories.

        Intervals of those means are by brief; `method` counts what could not be scored.
        """
        return self.once(report, lambda: self._measured(report))

    def _measured(self, report: Report) -> tuple[Row, ...]:
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
    "calls": lambda run: run.record.calls,
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


def _what(what: str, short: Mapping[str, str]) -> str:
    """A measure's name, which may contain the contender that a run was matched with."""
    return TOOK + short.get(what.removeprefix(TOOK), "") if what.startswith(TOOK) else what


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


# reading --------------------------------------------------------------------------------------------------------------


def read_results(
    experiment: Experiment,
    index: CellIndex,
    reports: Mapping[str, Report],
    failures: Mapping[str, str],
    stopped: str = "",
) -> Results:
    """What is in the experiment's folder, including the results of its evaluators."""
    runs = tuple(RunResult(trial, experiment.project(trial), index.of(trial.id)) for trial in experiment.trials)
    judging = {m.label: calls_in(experiment.evaluation(m) / JOURNAL) for m in experiment.measures}
    return Results(experiment, runs, reports, failures, judging, stopped)


def items_of(experiment: Experiment, index: CellIndex) -> tuple[Item, ...]:
    """The finished stories and the given ones, in the form that evaluators take; nothing if no run is finished."""
    found = tuple(
        experiment.item(trial, story_of(experiment.project(trial)))
        for trial in experiment.trials
        if index.of(trial.id).outcome.state == "done"
    )
    return (*found, *experiment.given) if found or not experiment.trials else ()


def calls_in(file: Path) -> tuple[CallFinished, ...]:
    """The calls of a journal."""
    if not file.exists():
        return ()
    with Journal(file) as journal:
        return tuple(
            CallFinished(c.path, c.role, c.performer, c.reply.usage, replayed=False) for c in journal.calls.find()
        )


def spent_in(folder: Path, index: CellIndex) -> Iterator[Usage]:
    """What has been used in an experiment's folder, including runs that its file no longer names."""
    for file in folder.glob(f"runs/*/*/{JOURNAL}"):
        yield from index.of("/".join(file.parent.parent.parts[-2:])).paid
    for file in [*folder.glob(f"evaluation/*/{JOURNAL}"), *folder.glob(f"plans/*/{JOURNAL}")]:
        with Journal(file) as journal:
            yield from [one.usage for one in journal.calls.payments()]


def charge(budget: Budget, bill: Iterable[Usage]) -> None:
    """Charge earlier use to a budget; unknown costs count as nothing."""
    for usage in bill:
        budget.charge(usage)


def usage_data(usage: Usage) -> dict[str, Any]:
    """Usage as JSON data; an unknown cost is null."""
    return {name: value for name, value in asdict(usage).items() if name != "first"}
