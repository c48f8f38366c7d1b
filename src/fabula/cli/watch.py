"""What a person sees of many runs side by side: a line for each that is over and, live, those that are at work."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from fabula.cli.bill import Bill
from fabula.cli.live import LivePicture
from fabula.cli.progress import counted, duration
from fabula.cli.session import near
from fabula.engine.events import CallFinished, CallRetried, RunFinished, RunStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.app.experiment.dry import Forecast
    from fabula.app.experiment.grid import Experiment, Trial
    from fabula.app.experiment.results import Outcome
    from fabula.cli.terminal import Terminal
    from fabula.engine.events import Event

_MOST: Final = 6


@dataclass
class Watch(LivePicture):
    """Shows how an experiment goes on.

    Attributes:
        total: runs of the experiment.
        clock: gives seconds.
        over: runs that have ended, now or earlier.
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
        """Say what is to be done."""
        self.over = expected.done
        left = sum(line.runs for line in expected.contenders)
        calls = sum(line.calls for line in (*expected.contenders, *expected.measures))
        what = f"{counted(left, 'run')} of {self.total} to do, about {counted(calls, 'call')}"
        shown = what if left or calls else "nothing to ask"
        self.terminal.advise(f"{found.title}, in {near(found.folder)}: {shown}")

    # hearing --------------------------------------------------------------------------------------------------------

    def hear(self, where: str, event: Event) -> None:
        """Take an event of a run or an evaluator in."""
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

    def ended(self, trial: Trial, outcome: Outcome) -> None:
        """A run is over."""
        self.over += outcome.state != "unfinished"
        place = f"[{self.over:>{len(str(self.total))}}/{self.total}]"
        said = "" if outcome.state == "done" else f"  {outcome.state}: {outcome.error}"
        self._show(f"  {place} {trial.id}{self._took(trial.id)}{said}")

    def _took(self, where: str) -> str:
        seconds = duration(self.clock() - self._began.get(where, self.clock()))
        return f"  {counted(self._calls[where], 'call')}, {seconds}"

    # showing --------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """What is at work now, and how far all of it is."""
        busy = [f"▸ {where}{self._took(where)}" for where in list(self._busy)[:_MOST]]
        more = f", {len(self._busy)} at work" if len(self._busy) > _MOST else ""
        calls = counted(sum(self.bill.calls.values()), "call")
        return [
            *busy,
            f"  {self.over} of {counted(self.total, 'run')} over{more} · {calls}, {self.bill.tokens:,} tokens",
        ]

    @contextmanager
    def alive(self) -> Iterator[None]:
        """While this is open, what is at work is shown live on a terminal that can."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    def _picture(self) -> RenderableType:
        from rich.console import Group  # noqa: PLC0415 - only where progress is live
        from rich.text import Text  # noqa: PLC0415 - only where progress is live

        return Group(*(Text(self.terminal.shown(line), no_wrap=True, overflow="ellipsis") for line in self.lines()))
