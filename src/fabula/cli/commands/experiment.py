"""`fabula experiment`."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.app.experiment.dry import forecast
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.pages import as_page
from fabula.app.experiment.tables import as_csv, as_data, failures
from fabula.app.experiment.working import How, run_experiment
from fabula.base.errors import BudgetError
from fabula.base.files import write_atomically
from fabula.cli.bill import dollars, usage_data
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.people import People
from fabula.cli.progress import counted
from fabula.cli.session import near, stoppable
from fabula.cli.terminal import table
from fabula.cli.watch import Watch

if TYPE_CHECKING:
    from fabula.app.experiment.dry import Expected, Forecast
    from fabula.app.experiment.grid import Experiment
    from fabula.app.experiment.results import Results
    from fabula.cli.terminal import Terminal

_ROWS = 12  # of an evaluator, in the terminal; the report has all


@dataclass(frozen=True, slots=True)
class Running:
    """How the experiment is done."""

    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the experiment; default: as the file says, else its name.")
    ] = ""
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="N", help="Runs side by side; default: as the file says.")
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Try runs again that failed.")] = False
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what is left to do and its cost; ask nobody, write nothing.")
    ] = False
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most tokens of the experiment, earlier sessions included.")
    ] = None
    budget_usd: Annotated[float | None, typer.Option(min=0, metavar="X", help="The same in US dollars.")] = None


@bundled
def experiment(
    common: Common,
    running: Running,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)],
) -> None:
    """Run briefs x systems x models x seeds, then evaluators; go on where it stopped."""
    terminal = terminal_of(common)
    environ = terminal.environ
    found = read_experiment(Path(file), environ, Path(running.out) if running.out else None)
    watch = Watch(terminal, len(found.trials), time.monotonic)
    how = How(
        environ=environ,
        workers=running.workers,
        retry=running.retry,
        budget_tokens=running.budget_tokens,
        budget_usd=running.budget_usd,
        person=People(terminal, found.folder).answer,
        hear=watch.hear,
        ended=watch.ended,
    )
    if running.estimate:
        _show_forecast(terminal, found, asyncio.run(forecast(found, how)), file)
        return
    if not (terminal.quiet or terminal.json):
        watch.begin(asyncio.run(forecast(found, how)), found)
    terminal.aside = watch.aside
    with watch.alive():
        results = asyncio.run(stoppable(run_experiment(found, how), f"`fabula experiment {file}`"))
    written = _write(results)
    _show(terminal, results, watch, written)
    if results.stopped:
        raise BudgetError(results.stopped)
    if any(True for _ in failures(results)):
        raise typer.Exit(1)


def _write(results: Results) -> dict[str, Path]:
    """Write the reports; their files by kind."""
    folder = results.experiment.folder
    data = json.dumps(as_data(results), indent=2, ensure_ascii=False, allow_nan=False)
    texts = {"html": as_page(results), "json": data + "\n", "csv": as_csv(results)}
    files = {kind: folder / f"report.{kind}" for kind in texts}
    for kind, file in files.items():
        write_atomically(file, texts[kind])
    return files


# what is shown --------------------------------------------------------------------------------------------------------


def _show_forecast(terminal: Terminal, found: Experiment, expected: Forecast, file: str) -> None:
    rows: list[tuple[str, ...]] = [("", "runs", "calls", "prompt", "reply", "cost")]
    lines = [*expected.contenders, *expected.measures]
    rows += [_forecast_row(line) for line in lines]
    costs = [line.cost for line in lines]
    total = None if None in costs else sum(cost for cost in costs if cost is not None)
    sums = [f"{sum(getattr(line, name) for line in lines):,}" for name in ("calls", "prompt", "reply")]
    rows.append(("all", f"{sum(line.runs for line in expected.contenders):,}", *sums, dollars(total)))
    terminal.say(table(rows, right=(1, 2, 3, 4, 5)))
    if expected.done:
        terminal.say(f"Over already: {counted(expected.done, 'run')} of {len(found.trials)}.")
    terminal.advise(
        "An estimate: stories that are not written yet count with the length their brief asks for. Nothing was asked. "
        f"Next: `fabula experiment {file}`."
    )
    terminal.document(
        {
            "experiment": found.title,
            "folder": str(found.folder),
            "done": expected.done,
            "contenders": [_forecast_data(line) for line in expected.contenders],
            "evaluators": [_forecast_data(line) for line in expected.measures],
            "cost": total,
        }
    )


def _forecast_row(line: Expected) -> tuple[str, ...]:
    figures = (f"{number:,}" for number in (line.runs, line.calls, line.prompt, line.reply))
    return (line.of, *figures, dollars(line.cost))


def _forecast_data(line: Expected) -> dict[str, Any]:
    names = ("of", "runs", "calls", "prompt", "reply", "cost", "replayed")
    return {name: getattr(line, name) for name in names}


def _show(terminal: Terminal, results: Results, watch: Watch, written: dict[str, Path]) -> None:
    """The tables, what failed, where the reports are, and the JSON document."""
    rows: list[tuple[str, ...]] = [("", "stories", "words", "tokens", "model seconds", "cost")]
    for contender in results.experiment.contenders:
        runs = results.of(contender)
        done = sum(run.outcome.state == "done" for run in runs)
        each = {row.what: str(row.scored) for row in results.rows(contender)}
        shown = (each["words"], each["tokens"], each["model seconds"], each["US dollars"])
        rows.append((contender.label, f"{done} of {len(runs)}", *shown))
    terminal.say("Means over finished stories, with 95 % intervals by brief:\n\n" + table(rows))
    for label, report in results.reports.items():
        measured = results.measured(report)
        lines = [(row.of, row.what, str(row.scored)) for row in measured[:_ROWS]]
        more = f"\n… {len(measured) - _ROWS} more in {near(written['html'])}" if len(measured) > _ROWS else ""
        terminal.say(f"\n{label}\n" + table(lines) + more)
    wrong = list(failures(results))
    if wrong:
        terminal.say("\nFailed (--retry tries runs again):\n" + "\n".join(f"  {line}" for line in wrong))
    if not results.stopped and (waiting := results.of_state("unfinished")):
        names = ", ".join(run.trial.id for run in waiting)
        terminal.say(f"\nNot finished; the same command goes on, and measures when no run is left: {names}")
    if watch.bill.replayed:
        terminal.say(f"\nFrom the journals, at no cost: {counted(watch.bill.replayed, 'call')}.")
    terminal.say(f"\n{near(written['html'])}")
    terminal.advise(f"Next: open {near(written['html'])}; the same numbers are in report.csv and report.json.")
    terminal.document(
        as_data(results)
        | {
            "files": {kind: str(file) for kind, file in written.items()},
            "asked": sum(watch.bill.calls.values()),
            "replayed": watch.bill.replayed,
            "bill": {role: usage_data(usage) for role, usage in watch.bill.roles.items()},
        }
    )
