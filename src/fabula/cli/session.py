"""One run of a project from the command line: settings in force, progress, stops and retakes, and the report."""

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
    """A path as one would type it here, quoted where a shell would take it for several words."""
    try:
        shown = os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd()) else str(path)
    except (OSError, ValueError):
        shown = str(path)
    return shown if _ONE_WORD.fullmatch(shown) else shlex.quote(shown)


@dataclass
class _Seen:
    """Has a studio see this command from its first call on: what is only replayed is over before anybody looks."""

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
        """What a run would ask now, and the changed files it would take over."""
        return asyncio.run(dry_run_in(self.project, self.settings, self.looking))

    def too_little(self, expected: DryRun) -> str:
        """What a cap of this run or its project would have to be at least, in a sentence; empty where it suffices."""
        with self.project.journal as journal:
            return too_little(expected, replace(self.limits.budget, whole=project_budget(self.settings, journal)))

    @property
    def looking(self) -> Options:
        """Options of a run that asks nobody."""
        person = People(self.terminal, self.project.folder).answer
        return Options(environ=self.terminal.environ, person=person, fit=self.fit)

    def written_again(self, expected: DryRun) -> str:
        """Which texts that stand the run would write again, as a sentence; empty if none."""
        with self.project.journal as journal:
            known = set(journal.artefacts.paths())
        titles = self._titles(path for path in expected.stale if path in known.difference(self.fit))
        return f"To be written again: {', '.join(titles)}." if titles else ""

    def restored(self, expected: DryRun) -> str:
        """Which texts the run would have again as the journal makes them, as a sentence; empty if none."""
        titles = self._titles(expected.restored)
        return f"Earlier texts come back from the journal: {', '.join(titles)}." if titles else ""

    def _titles(self, paths: Iterable[str]) -> list[str]:
        with self.project.journal as journal:
            titles = Titles.in_(journal)
        return list(dict.fromkeys(titles(path) for path in sorted(paths, key=lambda one: titles.files.get(one, one))))

    def run(self, expected: DryRun | None = None, announced: Callable[[], Announced] | None = None) -> Story:
        """The story, written; before more is asked than was `announced`, the person is.

        Raises:
            FabulaError: any of its kinds; all finished calls are kept.
        """
        again = f"`fabula write {near(self.project.folder)}`"

        def work(options: Options) -> Coroutine[Any, Any, WriteOutcome]:
            return write_in(self.project, self.settings, replace(options, announced=announced() if announced else None))

        return self.finish(work, again, expected).story

    def announced(self, expected: DryRun, again: str, *, exact: bool = False) -> Announced:
        """What was announced to the person, who is asked before the run asks for more; `again` goes on without that.

        Where nothing costs money, an estimate that is passed is only said.
        """
        free = not exact and all(self._is_free(call) for call in expected.planned)

        async def go_on(announced: Announced) -> bool:
            with self.terminal.aside():
                if free:
                    self.terminal.message(f"This takes more calls than the {expected.calls[1]:,} announced.")
                    return True
                if self.terminal.json or not self.terminal.interactive:
                    return False
                self.terminal.message(announced.sentence)
                still = await self._still_to_come(announced.expected)
                if still is not None:
                    self.terminal.message(f"Still to come: {amount(still)}.")
                    announced.renew(still)
                return await self.terminal.choice("Go on? [y]es or [n]o: ", "yn") == "y"

        return Announced(expected, exact=exact, go_on=go_on, again=again)

    async def _still_to_come(self, expected: DryRun) -> DryRun | None:
        """What a dry run finds now; `None` where that would keep the person waiting."""
        if len(expected.planned) + expected.replayed > _QUICK:
            return None
        return (await dry_run_in(self.project, self.settings, self.looking))[0]

    def _is_free(self, call: PlannedCall) -> bool:
        """Whether a call costs nothing: its price is 0, or its model has none and runs on this machine or beside it."""
        if call.cost is None and (table := self.settings.models.get(call.performer)) is not None:
            return all(map(is_near, table.addresses))
        return call.cost == 0

    def finish(self, work: Callable[[Options], Coroutine[Any, Any, T]], again: str, expected: DryRun | None) -> T:
        """What `work` gives, with progress and bill; begun anew where a person wants a retake. `again` goes on with it.

        Raises:
            FabulaError: any of its kinds; all finished calls are kept.
        """
        if expected is not None:
            check_prices(expected, self.settings, self.limits.budget_usd)
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
                self.terminal.advise(f"Until here: {self.spent}.")
            raise
        finally:
            seen.end(error)

    @property
    def spent(self) -> str:
        """Calls, tokens, time and cost so far, in words."""
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
        """Say where the story is, what it took, and what to try next."""
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
                f"Next: edit {file}, then `fabula update {folder}`; or `fabula export {folder} --format epub`."
            )
        terminal.document(written.to_dict())
