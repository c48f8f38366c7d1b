"""An experiment's results as data and as tables: every number with its n, interval and method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from fabula.app.experiment.grid import ALWAYS, Contender
from fabula.app.experiment.published import HEAD, NOTE, RIGHT, beside_papers
from fabula.app.experiment.results import Results, RunResult, usage_data
from fabula.app.experiment.terms import cost_rows
from fabula.base.version import __version__
from fabula.measure.report import Row, csv_lines
from fabula.measure.report.formats import PaperTable, parquet_of
from fabula.measure.report.page import difference_cells
from fabula.models.base import NOTHING_USED
from fabula.stats.estimate import estimate_cells

FORMAT: Final = 1
NEARNESS: Final = ("contender", "share", "value", "95 % interval", "n")
COLUMNS: Final = (
    "evaluator", "contender", "against", "system", "preset", "model", "brief", "seed", "of", "what", "value", "low",
    "high", "level", "n", "p", "method", "unscored", "baseline",
)  # fmt: skip


def as_data(results: Results) -> dict[str, Any]:
    """All results as JSON data; files are named relative to the experiment's folder."""
    experiment = results.experiment
    return {
        "format": FORMAT,
        "fabula": __version__,
        "experiment": experiment.title,
        "complete": complete(results),
        "stopped": results.stopped,
        "briefs": list(dict.fromkeys(trial.brief_id for trial in experiment.trials)),
        "data": list(experiment.data),
        "contenders": [_contender(results, contender) for contender in experiment.contenders],
        "costs": [row.as_data() for row in cost_rows(results)],
        "runs": [_run(run) for run in results.runs],
        "evaluations": [_evaluation(results, measure.label) for measure in experiment.measures],
        "published": [line.as_data() for line in beside_papers(results)],
    }


def complete(results: Results) -> bool:
    """Whether every run is over and every evaluator has measured; failed runs are over."""
    return not (
        results.stopped
        or results.failures
        or results.of_state("unfinished")
        or (results.of_state("done") and len(results.reports) < len(results.experiment.measures))
    )


def _contender(results: Results, contender: Contender) -> dict[str, Any]:
    runs, settings = results.of(contender), contender.settings
    return {
        "contender": contender.label,
        "system": settings.system,
        "preset": settings.preset,
        "model": settings.model,
        "config": settings.config,
        "baseline": contender.baseline,
        "runs": len(runs),
        "done": sum(run.outcome.state == "done" for run in runs),
        "failed": sum(run.outcome.state == "failed" for run in runs),
        "each": [row.as_data() for row in results.rows(contender)],
        "total": {"calls": sum(run.record.calls for run in runs)}
        | usage_data(sum((run.usage for run in runs), NOTHING_USED)),
    }


def _run(run: RunResult) -> dict[str, Any]:
    return {
        "run": run.trial.id,
        "folder": f"runs/{run.trial.id}",
        "contender": run.trial.contender.label,
        "brief": run.trial.brief_id,
        "seed": run.trial.seed,
        "state": run.outcome.state,
        "error": run.outcome.error,
        "words": run.words,
        "changed_by_hand": list(run.changed),
        "calls": run.record.calls,
        **usage_data(run.usage),
    }


def _evaluation(results: Results, label: str) -> dict[str, Any]:
    report = results.reports.get(label)
    shown: dict[str, Any] = {"evaluation": label, "folder": f"evaluation/{label}"}
    if report is None:
        return shown | {"error": results.failures.get(label, "not measured yet")}
    by_contender = [row.as_data() for row in results.measured(report)]
    known = results.experiment.trial_of
    rows = [row.as_data() for row in report.rows if row.of not in known]  # those of stories lie in the folder
    return shown | {"by_contender": by_contender, "report": replace(report, rows=()).as_data() | {"rows": rows}}


def lines(results: Results) -> list[dict[str, Any]]:
    """All numbers, one dictionary for each: the runs' own measures, and those of every evaluator."""
    contenders = {contender.label: contender for contender in results.experiment.contenders}
    found = [_line(results, "", row) for contender in contenders.values() for row in results.rows(contender)]
    found += [_line(results, "", row) for row in cost_rows(results)]
    compared = set(results.experiment.labels)
    for label, report in results.reports.items():
        single = [row for row in report.rows if row.of not in compared]
        found += [_line(results, label, row) for row in (*results.measured(report), *single)]
    return found


def _line(results: Results, evaluator: str, row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = dict.fromkeys(COLUMNS) | {"evaluator": evaluator, "baseline": row.baseline} | row.tidy()
    contender = results.experiment.contender_of.get(shown["of"])
    trial = results.experiment.trial_of.get(row.of)
    if trial is not None:
        contender = trial.contender
        shown |= {"brief": trial.brief_id, "seed": trial.seed}
    if contender is not None:
        settings = contender.settings
        shown |= {"contender": contender.label, "system": settings.system, "preset": settings.preset}
        shown["model"] = settings.model
    return shown


def as_csv(results: Results) -> str:
    """All numbers, one per line; system, measure, brief and seed have their own columns."""
    return csv_lines(lines(results), COLUMNS)


def as_parquet(results: Results) -> bytes:
    """All numbers as Parquet.

    Raises:
        UsageError: pyarrow is not installed.
    """
    return parquet_of(lines(results), COLUMNS)


def paper_tables(results: Results) -> Iterator[PaperTable]:
    """The tables for a paper: differences, then length and costs, then each evaluator's numbers for contenders."""
    for label, report in sorted(results.reports.items(), key=lambda one: one[0] == ALWAYS):
        rows = results.named(report.rows)
        yield from _differences(f"{label}: differences between systems, paired by brief", rows)
    took = results.named(cost_rows(results))
    yield from _differences("What systems used: differences paired by brief", took)
    if near := [(row.of, row.what, *estimate_cells(row.scored)) for row in took if not row.is_difference]:
        yield PaperTable("How close matched systems came to their limits", NEARNESS, near, names=2)
    labels = results.experiment.labels
    rows = [row for contender in results.experiment.contenders for row in results.rows(contender)]
    yield _by_contender("Means over finished stories, with 95 % intervals by brief", labels, rows)
    for label, report in results.reports.items():
        if measured := results.measured(report):
            yield _by_contender(label, labels, measured)
    if printed := beside_papers(results):
        yield PaperTable(
            f"Compared with published values. {NOTE}", HEAD, [line.cells for line in printed], names=min(RIGHT)
        )


def _differences(caption: str, rows: Sequence[Row]) -> Iterator[PaperTable]:
    apart = [difference_cells(row) for row in rows if row.is_difference]
    if apart:
        head = ("difference", "measure", "value", "95 %, all at once", "n", "p, corrected")
        yield PaperTable(caption, head, apart, names=2)


def _by_contender(caption: str, labels: Sequence[str], rows: Sequence[Row]) -> PaperTable:
    """A line for each contender, a column for each measure."""
    whats = list(dict.fromkeys(row.what for row in rows))
    known = {(row.of, row.what): str(row.scored) for row in rows}
    lines_of = [(label, *(known.get((label, what), "") for what in whats)) for label in labels]
    return PaperTable(caption, ("contender", *whats), lines_of)


def failures(results: Results) -> Iterator[str]:
    """A line for each run and evaluator that failed."""
    for run in results.of_state("failed"):
        yield f"{run.trial.id}: {run.outcome.error}"
    for label, error in results.failures.items():
        yield f"{label}: {error}"
