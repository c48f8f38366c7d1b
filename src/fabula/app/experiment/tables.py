"""An experiment's results as JSON and CSV: every number with its n, interval and method."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from fabula.app.experiment.published import beside_papers
from fabula.app.experiment.results import usage_data
from fabula.app.experiment.terms import cost_rows
from fabula.base.version import __version__
from fabula.measure.report import plain_cells
from fabula.models.base import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.app.experiment.grid import Contender
    from fabula.app.experiment.results import Results, RunResult
    from fabula.measure.report import Row

FORMAT: Final = 1
COLUMNS: Final = (
    "contender", "system", "preset", "model", "evaluator", "of", "what", "value", "low", "high", "level", "n", "p",
    "method", "unscored", "baseline",
)  # fmt: skip


def as_data(results: Results) -> dict[str, Any]:
    """Everything, as JSON data; files are named relative to the experiment's folder."""
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
    return shown | {"by_contender": by_contender, "report": report.as_data()}


def as_csv(results: Results) -> str:
    """All numbers in one table, one a line: of the runs' own measures, and of every evaluator's."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    experiment = results.experiment
    homes = {trial.id: trial.contender for trial in experiment.trials}
    labels = {contender.label: contender for contender in experiment.contenders}
    homes |= labels
    for contender in experiment.contenders:
        writer.writerows(_line(homes, "", row) for row in results.rows(contender))
    writer.writerows(_line(homes, "", row) for row in cost_rows(results))
    for label, report in results.reports.items():
        single = [row for row in report.rows if row.of not in experiment.labels]
        writer.writerows(_line(homes, label, row) for row in (*results.measured(report), *single))
    return out.getvalue()


def _line(homes: Mapping[str, Contender], evaluator: str, row: Row) -> Mapping[str, Any]:
    contender = homes.get(row.of)
    data = row.as_data()
    shown: dict[str, Any] = {name: data.get(name, "") for name in COLUMNS if name in data and data[name] is not None}
    shown |= {"evaluator": evaluator, "baseline": int(row.baseline)}
    if contender is None:
        return plain_cells(shown)
    settings = contender.settings
    return plain_cells(
        shown
        | {
            "contender": contender.label,
            "system": settings.system,
            "preset": settings.preset,
            "model": settings.model,
        }
    )


def failures(results: Results) -> Iterator[str]:
    """A line for each run and evaluator that failed."""
    for run in results.of_state("failed"):
        yield f"{run.trial.id}: {run.outcome.error}"
    for label, error in results.failures.items():
        yield f"{label}: {error}"
