"""`fabula lab experiment`."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from fabula.app.bills import Bill, dollars
from fabula.app.experiment.dry import forecast
from fabula.app.experiment.grid import ALWAYS, read_experiment
from fabula.app.experiment.index import CellIndex
from fabula.app.experiment.published import HEAD, NOTE, RIGHT, beside_papers
from fabula.app.experiment.reporting import Experimented, ReportFormat, write_report
from fabula.app.experiment.shards import merge_parts, shard_of
from fabula.app.experiment.tables import NEARNESS, complete, failures
from fabula.app.experiment.terms import cost_rows
from fabula.app.experiment.working import How, changed_since, is_reported, mark_reported, run_experiment
from fabula.base.errors import FabulaError
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.people import People
from fabula.cli.progress import LivePicture, counted, duration
from fabula.cli.reports import differences_table, rows_tables
from fabula.cli.session import near
from fabula.cli.spreading import Spreading  # noqa: TC001 - typer reads it
from fabula.cli.stopping import stoppable
from fabula.cli.terminal import table
from fabula.engine.events import CallFinished, CallRetried, RunFinished, RunStarted
from fabula.stats.estimate import estimate_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.app.experiment.cell import CellOutcome
    from fabula.app.experiment.dry import ExpectedRow, Forecast
    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.app.experiment.results import Results
    from fabula.cli.terminal import Terminal
    from fabula.engine.events import Event

_MOST: Final = 6
_MANY: Final = 1000  # runs of which a report is not written again while nothing has changed


@dataclass(frozen=True, slots=True)
class Running:
    """How to run the experiment."""

    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the experiment; default: the folder in the file, or the file's name.",
        ),
    ] = ""
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="Number of parallel runs; default: the number in the file."),
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Retry failed runs.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what is left to do and what it costs, without changing anything.")
    ] = False
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Maximum tokens, earlier sessions included.")
    ] = None
    budget_usd: Annotated[float | None, typer.Option(min=0, metavar="X", help="Maximum cost in US dollars.")] = None
    parquet: Annotated[bool, typer.Option("--parquet", help="Also write the numbers as Parquet.")] = False
    logs: Annotated[bool, typer.Option("--eval", help="Also write logs for `inspect view`.")] = False
    model: Annotated[
        str,
        typer.Option(metavar="NAME", help="To test the file: replace all writers and judges with this model."),
    ] = ""
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="To test the file: use at most N briefs of each entry.")
    ] = None

    @property
    def also(self) -> list[ReportFormat]:
        """Return the additional report formats that the options request."""
        wanted: list[tuple[ReportFormat, bool]] = [("parquet", self.parquet), ("eval", self.logs)]
        return [name for name, asked in wanted if asked]


@bundled
def experiment(
    common: Output,
    running: Running,
    spreading: Spreading,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)],
) -> None:
    """Run systems on briefs, models and seeds, then run evaluators, or continue after an interruption."""
    terminal = terminal_of(common)
    environ = terminal.environ
    out = Path(running.out) if running.out else None
    found = read_experiment(Path(file), environ, out, running.model, running.limit)
    part = spreading.part
    if spreading.shard:
        found = shard_of(found, part)
    for notice in found.data:
        terminal.message(f"Data: {notice}")
    index = CellIndex(found.folder, keeps=False)
    if changed := changed_since(found, index):
        terminal.message(changed)
    asked_for_more = running.dry_run or running.also or terminal.json
    if len(found.trials) > _MANY and not asked_for_more and is_reported(found, index):
        terminal.say(
            f"There is nothing to do. All {len(found.trials):,} runs are finished and measured, and the report is "
            "unchanged:"
        )
        terminal.say(near(found.folder / "report.html"))
        return
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
        spread=spreading.spread,
        part=part,
    )
    if running.dry_run:
        _show_forecast(terminal, found, asyncio.run(forecast(found, how)), _typed(file, running.out))
        return
    if not (terminal.quiet or terminal.json):
        watch.begin(asyncio.run(forecast(found, how)), found)
    terminal.aside = watch.aside
    typed = _typed(file, running.out)
    again = f"`fabula lab experiment {typed}{f' --shard {spreading.shard}' if spreading.shard else ''}`"
    with watch.alive():
        results = asyncio.run(stoppable(run_experiment(found, how), again))
    written = write_report(results, running.also)
    mark_reported(results)
    _show(terminal, results, watch, written)
    if spreading.shard and complete(results):
        terminal.advise(f"When all {part.of} parts have finished, run `fabula lab merge {typed}`.")
    if results.stopped:
        raise FabulaError(results.stopped)
    if any(True for _ in failures(results)):
        raise typer.Exit(1)


# what is shown --------------------------------------------------------------------------------------------------------


def _typed(file: str, out: str) -> str:
    """The file, and the folder that was given with it, as a next command needs them."""
    return shlex.join([file, *(["-o", out] if out else [])])


def _show_forecast(terminal: Terminal, found: Experiment, expected: Forecast, typed: str) -> None:
    rows: list[tuple[str, ...]] = [("", "runs", "calls", "prompt", "reply", "cost")]
    lines = [*expected.contenders, *expected.measures]
    rows += [_forecast_row(line) for line in lines]
    costs = [line.cost for line in lines]
    total = None if None in costs else sum(cost for cost in costs if cost is not None)
    sums = [f"{sum(getattr(line, name) for line in lines):,}" for name in ("calls", "prompt", "reply")]
    rows.append(("all", f"{sum(line.runs for line in expected.contenders):,}", *sums, dollars(total)))
    terminal.say(table(rows, right=(1, 2, 3, 4, 5)))
    if expected.done:
        terminal.say(f"Already finished: {counted(expected.done, 'run')} of {len(found.trials)}.")
    drawn = (
        f" Each contender was estimated on {expected.drawn} briefs, and the other briefs are assumed to cost the same."
        if expected.drawn
        else ""
    )
    terminal.advise(
        f"This is an estimate. It assumes that an unwritten story has the length in its brief.{drawn} No model was "
        f"called. Next: `fabula lab experiment {typed}`."
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


def _forecast_row(line: ExpectedRow) -> tuple[str, ...]:
    figures = (f"{number:,}" for number in (line.runs, line.calls, line.prompt, line.reply))
    return (line.of, *figures, dollars(line.cost))


def _forecast_data(line: ExpectedRow) -> dict[str, Any]:
    names = ("of", "runs", "calls", "prompt", "reply", "cost", "replayed")
    return {name: getattr(line, name) for name in names}


def _show(terminal: Terminal, results: Results, watch: Watch, written: dict[str, Path]) -> None:
    """Print the tables, the failures, the paths of the reports, and the JSON document."""
    rows: list[tuple[str, ...]] = [("", "stories", "words", "tokens", "model seconds", "cost")]
    for contender in results.experiment.contenders:
        runs = results.of(contender)
        done = sum(run.outcome.state == "done" for run in runs)
        each = {row.what: str(row.scored) for row in results.rows(contender)}
        shown = (each["words"], each["tokens"], each["model seconds"], each["US dollars"])
        rows.append((contender.label, f"{done} of {len(runs)}", *shown))
    terminal.say("Means of the finished stories, with 95 % intervals over briefs:\n\n" + table(rows))
    for label, report in results.reports.items():
        terminal.say(f"\n{label}\n{rows_tables(results.measured(report))}")
        if label != ALWAYS and (apart := differences_table(results.named(report.rows))):
            terminal.say(f"\n{apart}")
    if near_by := [row for row in results.named(cost_rows(results)) if not row.is_difference]:
        shares = [(row.of, row.what, *estimate_cells(row.scored)) for row in near_by]
        terminal.say("\n" + table([NEARNESS, *shares], right=(2, 4)))
    if printed := beside_papers(results):
        lines = [line.cells for line in printed]
        terminal.say(
            f"\nCompared with published values\n{table([HEAD, *lines], right=RIGHT)}\n\n{terminal.wrapped(NOTE)}"
        )
    wrong = list(failures(results))
    if wrong:
        terminal.say("\nFailed (--retry tries runs again):\n" + "\n".join(f"  {line}" for line in wrong))
    if not results.stopped and (waiting := results.of_state("unfinished")):
        names = ", ".join(run.trial.id for run in waiting)
        terminal.say(
            "\nNot finished. To continue, run the same command again. It measures the stories when all runs "
            f"have ended: {names}"
        )
    if watch.bill.replayed:
        terminal.say(f"\nReplayed from the journals at no cost: {counted(watch.bill.replayed, 'call')}.")
    terminal.say(f"\n{near(written['html'])}")
    terminal.advise(f"Next: open {near(written['html'])}. report.csv, .json, .md and .tex contain the same numbers.")
    terminal.document(Experimented(results, written, watch.bill).to_dict())


@bundled
def merge(
    common: Output,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)],
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR]...", help="Folders of parts; default: the ones next to the experiment's folder."),
    ] = None,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the experiment; default: the folder in the file."),
    ] = "",
) -> None:
    """Merge the parts of an experiment run with --shard; merge again after a part has continued."""
    terminal = terminal_of(common)
    found = read_experiment(Path(file), terminal.environ, Path(out) if out else None)
    merged = merge_parts(found, [Path(part) for part in parts or ()])
    for part, count in merged.parts.items():
        terminal.say(f"{part}: {counted(count, 'run')} merged")
    left = merged.total - merged.over
    terminal.say(f"{merged.over:,} of {counted(merged.total, 'run')} ended, in {near(found.folder)}")
    terminal.advise(
        f"Next: `fabula lab experiment {_typed(file, out)}` " + ("does the rest." if left else "measures them.")
    )
    terminal.document(asdict(merged))


@dataclass
class Watch(LivePicture):
    """A display of the progress of an experiment.

    Attributes:
        total: the number of runs in the experiment.
        clock: returns seconds.
        over: the number of runs that have ended, now or earlier.
    """

    refreshes: ClassVar[int] = 4

    terminal: Terminal
    total: int
    clock: Callable[[], float]
    bill: Bill = field(default_factory=Bill)
    over: int = 0
    _began: dict[str, float] = field(default_factory=dict, init=False)
    _calls: Counter[str] = field(default_factory=Counter, init=False)
    _busy: dict[str, None] = field(default_factory=dict, init=False)
    _live: Live | None = field(default=None, init=False)

    def begin(self, expected: Forecast, found: Experiment) -> None:
        """Announce the work."""
        self.over = expected.done
        left = sum(line.runs for line in expected.contenders)
        calls = sum(line.calls for line in (*expected.contenders, *expected.measures))
        what = f"{counted(left, 'run')} of {self.total} to do, about {counted(calls, 'call')}"
        shown = what if left or calls else "no calls to make"
        self.terminal.advise(f"{found.title}, in {near(found.folder)}: {shown}")

    # hearing --------------------------------------------------------------------------------------------------------

    def hear(self, where: str, event: Event) -> None:
        """Handle an event of a run or an evaluator."""
        self.bill(event)
        if isinstance(event, RunStarted):
            self._began[where] = self.clock()
            self._busy[where] = None
        elif isinstance(event, CallFinished):
            self._calls[where] += not event.replayed
        elif isinstance(event, CallRetried):
            self._show(f"  {event.model} failed ({event.reason}); try {event.attempt + 1} in {duration(event.wait)}")
        elif isinstance(event, RunFinished):
            self._busy.pop(where, None)
            if "/" not in where:  # an evaluator; `ended` says how a run ended
                self._show(f"  {where}: {event.error or 'measured'}{self._took(where)}")

    def ended(self, trial: Trial, outcome: CellOutcome) -> None:
        """Record that a run has ended."""
        self.over += outcome.state != "unfinished"
        place = f"[{self.over:>{len(str(self.total))}}/{self.total}]"
        said = "" if outcome.state == "done" else f"  {outcome.state}: {outcome.error}"
        self._show(f"  {place} {trial.id}{self._took(trial.id)}{said}")

    def _took(self, where: str) -> str:
        seconds = duration(self.clock() - self._began.get(where, self.clock()))
        return f"  {counted(self._calls[where], 'call')}, {seconds}"

    # showing --------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """Return lines that show the work in progress and the overall progress."""
        busy = [f"▸ {where}{self._took(where)}" for where in list(self._busy)[:_MOST]]
        more = f", {len(self._busy)} at work" if len(self._busy) > _MOST else ""
        calls = counted(sum(self.bill.calls.values()), "call")
        return [
            *busy,
            f"  {self.over} of {counted(self.total, 'run')} finished{more} · {calls}, {self.bill.tokens:,} tokens",
        ]

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Show progress live within this context if the terminal supports it."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    def _picture(self) -> RenderableType:
        from rich.console import Group  # noqa: PLC0415 - only where progress is live
        from rich.text import Text  # noqa: PLC0415 - only where progress is live

        return Group(*(Text(self.terminal.shown(line), no_wrap=True, overflow="ellipsis") for line in self.lines()))
