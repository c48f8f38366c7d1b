"""Run a project from the command line: settings in force, progress, interruptions, retakes and the report."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.app.bills import Bill, amount, cost_of
from fabula.app.titles import Titles
from fabula.app.writing import Options, Written, check_prices, dry_run_in, project_budget, too_little, write_in
from fabula.base.addresses import is_near
from fabula.base.errors import FabulaError
from fabula.cli.bill import project_line, say_bill
from fabula.cli.people import AnotherTakeError, People
from fabula.cli.progress import ProgressDisplay, counted, duration
from fabula.cli.stopping import stoppable
from fabula.engine.announced import Announced
from fabula.engine.events import CallStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from fabula.app.writing import WriteOutcome
    from fabula.cli.options import SpendingLimits
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun, PlannedCall
    from fabula.engine.events import Event
    from fabula.models.budget import Budget
    from fabula.project.folder import FileChange, ProjectFolder
    from fabula.project.settings import Settings
    from fabula.server.runs.terminal import OwnRun
    from fabula.story import Story

T = TypeVar("T")

_ONE_WORD: Final = re.compile(r"[\w@%+=:,./-]+")  # what a shell leaves as it is
_QUICK: Final = 2_000  # calls that a dry run walks through while a person waits


def near(path: Path) -> str:
    """Return a path as you would type it here, quoted if the shell requires it."""
    try:
        shown = os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd()) else str(path)
    except (OSError, ValueError):
        shown = str(path)
    return shown if _ONE_WORD.fullmatch(shown) else shlex.quote(shown)


@dataclass
class _Seen:
    """Shows this command in the studio from its first call: a mere replay ends before anyone could look."""

    session: Session
    _run: OwnRun | None = None

    def __call__(self, event: Event) -> None:
        if self._run is None and isinstance(event, CallStarted):
            from fabula.server.runs.terminal import OwnRun  # noqa: PLC0415 - slow, and few commands ask a model

            project, settings = self.session.project, self.session.settings
            model = settings.model if settings.model != project.settings.model else ""
            self._run = OwnRun(project.folder, self.session.verb, model, self.session.terminal.environ)
            self._run.begin()
        if self._run is not None:
            self._run.hear(event)

    def end(self, error: BaseException | None) -> None:
        """Record how the command ended."""
        if self._run is not None:
            self._run.end(error)


@dataclass
class Session:
    """A project, the settings in force, and the person at the terminal."""

    terminal: Terminal
    project: ProjectFolder
    settings: Settings
    limits: SpendingLimits
    verb: str = "write"
    bill: Bill = field(default_factory=Bill)
    fit: Sequence[str] = ()  # artefacts whose old texts are to be revised to fit
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.limits.budget

    def dry_run(self) -> tuple[DryRun, list[FileChange]]:
        """Return the calls that a run would make now, and the changed files that it would apply."""
        return asyncio.run(dry_run_in(self.project, self.settings, self.looking))

    def too_little(self, expected: DryRun) -> str:
        """Return a sentence with the lowest sufficient cap for this run or its project; empty if the caps suffice."""
        with self.project.journal as journal:
            return too_little(expected, replace(self.limits.budget, whole=project_budget(self.settings, journal)))

    @property
    def looking(self) -> Options:
        """Return the options of a run that does not call a model."""
        person = People(self.terminal, self.project.folder).answer
        return Options(environ=self.terminal.environ, person=person, fit=self.fit)

    def written_again(self, expected: DryRun) -> str:
        """Return a sentence that lists the existing texts that the run would rewrite; empty if there are none."""
        with self.project.journal as journal:
            known = set(journal.artefacts.paths())
        titles = self._titles(path for path in expected.stale if path in known.difference(self.fit))
        return f"To be rewritten: {', '.join(titles)}." if titles else ""

    def restored(self, expected: DryRun) -> str:
        """Return a sentence that lists the texts that the run would restore from the journal; "" if there are none."""
        titles = self._titles(expected.restored)
        return f"Earlier texts restored from the journal: {', '.join(titles)}." if titles else ""

    def _titles(self, paths: Iterable[str]) -> list[str]:
        with self.project.journal as journal:
            titles = Titles.in_(journal)
        return list(dict.fromkeys(titles(path) for path in sorted(paths, key=lambda one: titles.files.get(one, one))))

    def run(self, expected: DryRun | None = None, announced: Callable[[], Announced] | None = None) -> Story:
        """Write the story and return it; ask the person before the run makes more calls than `announced`.

        Raises:
            FabulaError: any error; all finished calls are kept.
        """
        again = f"`fabula write {near(self.project.folder)}`"

        def work(options: Options) -> Coroutine[Any, Any, WriteOutcome]:
            return write_in(self.project, self.settings, replace(options, announced=announced() if announced else None))

        return self.finish(work, again, expected).story

    def announced(self, expected: DryRun, again: str, *, exact: bool = False) -> Announced:
        """Return the announced calls; the run asks before making more, and `again` continues without asking.

        If no call costs money, the person is only informed.
        """
        free = not exact and all(self._is_free(call) for call in expected.planned)

        async def go_on(announced: Announced) -> bool:
            with self.terminal.aside():
                if free:
                    self.terminal.message(f"This run needs more calls than the {expected.calls[1]:,} announced.")
                    return True
                if self.terminal.json or not self.terminal.interactive:
                    return False
                self.terminal.message(announced.sentence)
                still = await self._still_to_come(announced.expected)
                if still is not None:
                    self.terminal.message(f"Still to come: {amount(still)}.")
                    announced.renew(still)
                return await self.terminal.choice("Continue? [y]es or [n]o: ", "yn") == "y"

        return Announced(expected, exact=exact, go_on=go_on, again=again)

    async def _still_to_come(self, expected: DryRun) -> DryRun | None:
        """The result of a dry run now; `None` if it would take too long."""
        if len(expected.planned) + expected.replayed > _QUICK:
            return None
        return (await dry_run_in(self.project, self.settings, self.looking))[0]

    def _is_free(self, call: PlannedCall) -> bool:
        """Whether a call is free: its price is 0, or its model has no price and runs on this machine or network."""
        if call.cost is None and (table := self.settings.models.get(call.performer)) is not None:
            return all(map(is_near, table.addresses))
        return call.cost == 0

    def finish(self, work: Callable[[Options], Coroutine[Any, Any, T]], again: str, expected: DryRun | None) -> T:
        """Return the result of `work`, with progress and bill; restart the run if a person wants a retake.

        `again` continues it.

        Raises:
            FabulaError: any error; all finished calls are kept.
        """
        if expected is not None:
            check_prices(expected, self.settings, self.limits.budget_usd)
            self.budget.announced = (expected.range[1], expected.cost or 0.0)
            if said := self.too_little(expected):
                self.terminal.advise(said)
        progress = ProgressDisplay(self.terminal, time.monotonic, expected.planned if expected else ())
        self.terminal.aside = progress.aside
        seen = _Seen(self)
        error: BaseException | None = None
        try:
            while True:
                try:
                    made = asyncio.run(stoppable(work(self._options(progress, seen)), again))
                except AnotherTakeError as wanted:
                    with self.project.lock(), self.project.journal as journal:
                        journal.decisions.add(wanted.path, "retake")
                else:
                    self.bill.remember(self.settings)
                    return made
        except BaseException as failed:
            error = failed
            if self.bill.roles and isinstance(failed, FabulaError):
                self.terminal.advise(f"So far: {self.spent}.")
            raise
        finally:
            seen.end(error)

    @property
    def spent(self) -> str:
        """Return the calls, tokens, time and cost so far, in words."""
        total, calls = self.bill.total, counted(sum(self.bill.calls.values()), "call")
        return f"{calls}, {self.bill.tokens:,} tokens, {duration(total.seconds)}, {cost_of(total.cost)}"

    def _options(self, progress: ProgressDisplay, seen: _Seen) -> Options:
        people = People(self.terminal, self.project.folder, self.limits.waits_for)
        fit, self.fit = self.fit, ()  # it is recorded when a run begins; one that starts over finds it there
        return Options(
            whole=self.budget,  # a run that starts over after a retake has what the ones before it left
            listeners=(progress, self.bill, seen),
            approve=people.approve if self.limits.waits_for else None,
            person=people.answer,
            environ=self.terminal.environ,
            frozen=self.limits.frozen,
            fit=fit,
        )

    def report(self, story: Story) -> None:
        """Print where the story is, what it cost, and what to try next."""
        terminal, folder = self.terminal, near(self.project.folder)
        file = near(self.project.story_file)
        written = Written.in_(self.project, self.settings, story, self.bill)
        terminal.say(f"{file}: {story.words:,} words")
        say_bill(terminal, self.bill)
        if said := project_line(written.data.budget):
            terminal.say(said)
        if written.not_as_asked:
            terminal.say("Not as asked:\n" + "\n".join(f"  {sentence}" for sentence in written.not_as_asked))
        plans = [name for name in written.to_dict()["files"].values() if name.startswith("plan/")]
        example = next((name for name in plans if "character" in name), plans[0] if plans else "")
        if example:
            terminal.advise(f"Next: edit {folder}/{example}, then `fabula update {folder}`.")
        else:
            terminal.advise(
                f"Next: edit {file} and run `fabula update {folder}`, or run `fabula export {folder} --format epub`."
            )
        terminal.document(written.to_dict())
