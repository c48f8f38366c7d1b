"""Run an evaluator from the command line, with its settings in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.app.bills import Bill
from fabula.app.evaluating import EvaluationTask, dry_run_evaluation, evaluate_in
from fabula.cli.asked import evaluator_config, performers_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.options import Judges, SpendingLimits, refuse
from fabula.project.settings import Settings

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass
class Evaluating:
    """An evaluator with its options, and the person at the terminal.

    Raises:
        FabulaError: an option is invalid; raised before any call is made or file is created.
    """

    terminal: Terminal
    evaluator: Evaluator
    judges: Judges
    limits: SpendingLimits
    bill: Bill = field(default_factory=Bill)
    of_small: str = ""
    """What is said before a small model makes all calls."""

    def __post_init__(self) -> None:
        if not self.evaluator.roles:
            kept = ("out", "set_", "preset", "seed", "dry_run")
            refuse(f"{self.evaluator.name} calls no model", self.judges, self.limits, but=kept)
        settings = Settings().with_(performers_of(self.judges, Settings()))
        self.settings = settings.with_costs_of(self.folder / "fabula.toml")
        self.config: Any = evaluator_config(self.judges, self.settings, self.evaluator)
        self.asking = Asking(
            self.terminal,
            self.evaluator,
            self.judges,
            self.settings,
            self.limits,
            self.folder,
            self.bill,
            self.of_small,
        )

    @property
    def folder(self) -> Path:
        """Return the folder for calls, verdicts and report."""
        return Path(self.judges.out)

    def check(self, items: Sequence[Item]) -> None:
        """Check that the evaluator can measure these stories.

        Raises:
            UsageError: the evaluator cannot measure them.
        """
        self.evaluator.check(items, self.config)

    def expected(self, items: Sequence[Item]) -> DryRun:
        """Return the calls and cost of `run`."""
        task = self._task(items)
        return self.asking.expected(lambda options: dry_run_evaluation(task, self.settings, options))

    def run(self, items: Sequence[Item]) -> Report:
        """Return the evaluator's report on `items`; a dry run exits instead.

        Raises:
            FabulaError: any error; all finished calls are kept.
            Exit: after a dry run.
        """
        task = self._task(items)
        return self.asking.run(
            self.evaluator.name,
            lambda options: dry_run_evaluation(task, self.settings, options),
            lambda options: evaluate_in(task, self.settings, options),
        ).report

    def _task(self, items: Sequence[Item]) -> EvaluationTask:
        return EvaluationTask(self.evaluator, items, self.config, self.folder)

    def show_bill(self) -> None:
        """Print the calls that were made, and the number of calls replayed from the journal."""
        say_bill(self.terminal, self.bill)
