"""The model calls of a command in its own folder: performers, announcement, progress, interruption and the bill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from fabula.app.bills import Bill, amount
from fabula.app.writing import Options, check_prices
from fabula.base.errors import ConfigError
from fabula.cli.asked import say_default
from fabula.cli.bill import say_dry_run
from fabula.cli.people import People
from fabula.cli.progress import ProgressDisplay, counted
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.project.casting import Environment, open_cast

if TYPE_CHECKING:
    from fabula.cli.options import Performers, SpendingLimits
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.engine.methods import Method
    from fabula.models.base import Request
    from fabula.models.budget import Budget
    from fabula.project.settings import Settings


T = TypeVar("T")


@dataclass
class Asking:
    """The performers of a method and the person at the terminal; calls are recorded in `folder`.

    Raises:
        FabulaError: an option is invalid; raised before any call is made or file is created.
    """

    terminal: Terminal
    method: Method
    performers: Performers
    settings: Settings
    limits: SpendingLimits
    folder: Path
    bill: Bill = field(default_factory=Bill)
    of_small: str = ""
    """What is said before a small model makes all calls."""
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.limits.budget
        if self.settings.prompts and not Path(self.settings.prompts).is_dir():
            raise ConfigError(f"--prompts {self.settings.prompts} is not a folder. Specify a folder of .jinja files.")
        open_cast(self.settings, self.method.roles, Environment(self.terminal.environ, person=_nobody))

    def expected(self, look: Callable[[Options], Coroutine[Any, Any, DryRun]]) -> DryRun:
        """Return the result of a dry run."""
        return asyncio.run(look(self._options()))

    def run(
        self,
        about: str,
        look: Callable[[Options], Coroutine[Any, Any, DryRun]],
        work: Callable[[Options], Coroutine[Any, Any, T]],
    ) -> T:
        """Announce the calls and return the result of `work`; a dry run stops after the announcement.

        Raises:
            FabulaError: any error; all finished calls are kept.
            Exit: after a dry run.
        """
        terminal = self.terminal
        planned = None
        if self.limits.dry_run or not (terminal.quiet or self.limits.frozen or not self.method.roles):
            planned = self.expected(look)
            say_default(terminal, self.performers)
        if planned is not None and self.limits.dry_run:
            say_dry_run(terminal, planned)
            for one in planned.shortfalls:
                terminal.say(one)
            raise typer.Exit
        if planned is not None:
            kept = f", {counted(planned.replayed, 'call')} in the journal" if planned.replayed else ""
            terminal.advise(f"{about}, {self.settings.model}, in {near(self.folder)}: {amount(planned)}{kept}")
            for one in planned.shortfalls:
                terminal.advise(one)
            if self.of_small and planned.planned and all(one.aids for one in planned.planned):
                terminal.advise(self.of_small)
            check_prices(planned, self.settings, self.limits.budget_usd)
        progress = ProgressDisplay(terminal, time.monotonic, planned.planned if planned else ())
        terminal.aside = progress.aside
        made = asyncio.run(stoppable(work(self._options(progress, self.bill)), "the same command"))
        self.bill.remember(self.settings)
        return made

    def _options(self, *listeners: Any) -> Options:  # noqa: ANN401 - whatever hears events
        return Options(
            whole=self.budget,
            listeners=listeners,
            person=People(self.terminal, self.folder).answer,
            environ=self.terminal.environ,
            frozen=self.limits.frozen,
        )


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at
