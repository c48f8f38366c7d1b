"""One evaluator run from the command line: settings in force, progress, stops, bill."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fabula.app.bills import Bill
from fabula.app.evaluating import Task, dry_run_evaluation, evaluate_in
from fabula.app.writing import Options, check_prices
from fabula.base.errors import ConfigError
from fabula.cli.asked import evaluator_config, performers_of, say_default
from fabula.cli.bill import say_bill, say_dry_run
from fabula.cli.options import refuse
from fabula.cli.people import People
from fabula.cli.progress import Progress, counted
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.project.casting import Environment, open_cast
from fabula.project.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.options import Judges, Limits
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.models.base import Request


@dataclass
class Evaluating:
    """An evaluator as the options want it, and the person at the terminal.

    Raises:
        FabulaError: an option is wrong; found before anything is asked or made.
    """

    terminal: Terminal
    evaluator: Evaluator
    judges: Judges
    limits: Limits
    bill: Bill = field(default_factory=Bill)

    def __post_init__(self) -> None:
        if not self.evaluator.roles:
            kept = ("out", "set_", "preset", "seed", "dry_run")
            refuse(f"{self.evaluator.name} asks no model", self.judges, self.limits, but=kept)
        self.budget = self.limits.budget
        self.settings = Settings().with_(performers_of(self.judges, Settings()))
        self.settings = self.settings.with_costs_of(Path(self.judges.out) / "fabula.toml")
        self.config: Any = evaluator_config(self.judges, self.settings, self.evaluator)
        if self.settings.prompts and not Path(self.settings.prompts).is_dir():
            raise ConfigError(f"--prompts {self.settings.prompts} is not a folder. Give a folder of .jinja files.")
        open_cast(self.settings, self.evaluator.roles, Environment(self.terminal.environ, person=_nobody))

    @property
    def folder(self) -> Path:
        """Where calls, verdicts and report are kept."""
        return Path(self.judges.out)

    def check(self, items: Sequence[Item]) -> None:
        """See that the evaluator can take these stories.

        Raises:
            UsageError: it cannot.
        """
        self.evaluator.check(items, self.config)

    def expected(self, items: Sequence[Item]) -> DryRun:
        """What `run` would ask and cost."""
        return asyncio.run(dry_run_evaluation(self._task(items), self.settings, self._options(None)))

    def run(self, items: Sequence[Item]) -> Report:
        """The evaluator's report on `items`; a dry run ends the command.

        Raises:
            FabulaError: any of its kinds; all finished calls are kept.
            Exit: it was a dry run.
        """
        terminal, settings = self.terminal, self.settings
        if self.limits.dry_run:
            say_default(terminal, self.judges)
            expected = self.expected(items)
            say_dry_run(terminal, expected)
            for one in expected.shortfalls:
                terminal.say(one)
            raise typer.Exit
        planned = None
        if self.evaluator.roles and not (terminal.quiet or self.limits.frozen):
            planned = self.expected(items)
            calls = f"about {counted(len(planned.planned), 'call')} to make" if planned.planned else "nothing to ask"
            kept = f", {counted(planned.replayed, 'call')} in the journal" if planned.replayed else ""
            say_default(terminal, self.judges)
            terminal.advise(f"{self.evaluator.name}, {settings.model}, in {near(self.folder)}: {calls}{kept}")
            check_prices(planned, settings, self.limits.budget_usd)
        progress = Progress(terminal, time.monotonic, planned.planned if planned else ())
        terminal.aside = progress.aside
        work = evaluate_in(self._task(items), settings, self._options(progress))
        report = asyncio.run(stoppable(work, "the same command")).report
        self.bill.remember(settings)
        return report

    def _task(self, items: Sequence[Item]) -> Task:
        return Task(self.evaluator, items, self.config, self.folder)

    def _options(self, progress: Progress | None) -> Options:
        return Options(
            whole=self.budget,
            listeners=() if progress is None else (progress, self.bill),
            person=People(self.terminal, self.folder).answer,
            environ=self.terminal.environ,
            frozen=self.limits.frozen,
        )

    def show_bill(self) -> None:
        """Say what was asked and what came from the journal."""
        say_bill(self.terminal, self.bill)


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at
