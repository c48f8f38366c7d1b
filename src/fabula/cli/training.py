"""Show the progress of training on the terminal of `fabula train` and `fabula learn`."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.app.training import Listener, ended_sentence
from fabula.base.errors import UsageError
from fabula.cli.progress import LivePicture, counted, duration
from fabula.cli.stopping import StoppedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.app.training import AnyWork
    from fabula.cli.terminal import Terminal
    from fabula.training.running import Point, TrainingOutcome


def given_values(said: Sequence[str]) -> dict[str, str]:
    """`FIELD=VALUE` texts as fields.

    Raises:
        UsageError: a text does not have that form.
    """
    found: dict[str, str] = {}
    for one in said:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {one} does not have the form FIELD=VALUE, such as --set rank=8.")
        found[name.strip()] = value.strip()
    return found


# progress -------------------------------------------------------------------------------------------------------------


@dataclass
class TrainingProgress(LivePicture):
    """A display of training progress on a terminal: a line for each measurement, and a bar below."""

    terminal: Terminal
    part: AnyWork | None = None
    step: int = 0
    loss: float | None = None
    doing: str = ""
    _first: tuple[int, float] | None = None
    _live: Live | None = field(default=None, init=False)

    @property
    def listener(self) -> Listener:
        """Return the listener for the training."""
        return Listener(self._says, self._begins, self._measures, self._steps, self._ends)

    def close(self) -> None:
        """Remove the bar."""
        self._stop()

    def _says(self, sentence: str) -> None:
        self._show(f"{sentence} ...")

    def _begins(self, work: AnyWork) -> None:
        self.part, self.step, self.loss, self._first, self.doing = work, 0, None, None, "loading"
        counts = work.counts()
        self._show(f"{work.name}: {sizes(counts)}, {counted(work.schedule.steps, 'step')} of {work.schedule.batch}")
        for line in cuts(counts):
            self._show(f"  {line}")
        self._start()

    def _measures(self, work: AnyWork, done: int, whole: int) -> None:
        del work
        self.doing = f"measuring {done} of {whole}"

    def _steps(self, work: AnyWork, point: Point) -> None:
        self.step, self.doing = point.step, ""
        self._first = self._first or (point.step, time.monotonic())
        if point.train is not None:
            self.loss = point.train
        if point.development is not None:
            train = "" if self.loss is None else f"   train {self.loss:.4f}"
            self._show(f"  step {point.step:>4} of {work.schedule.steps}{train}   development {point.development:.4f}")

    def _ends(self, work: AnyWork, outcome: TrainingOutcome | None) -> None:
        self._stop()
        if outcome is None:
            self._show("  finished by an earlier run; nothing to do")
        elif outcome.ended not in {"interrupted", "not finite"}:  # the command says these itself
            self._show(f"  {ended_sentence(work, outcome)}")

    def _picture(self) -> RenderableType:
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - only where progress is live
        from rich.table import Table  # noqa: PLC0415 - only where progress is live
        from rich.text import Text  # noqa: PLC0415 - only where progress is live

        steps = self.part.schedule.steps if self.part else 1
        row = Table.grid(padding=(0, 1))
        name, rest = (Text(self.terminal.shown(said), no_wrap=True) for said in (self._name(), self._rest(steps)))
        row.add_row(name, ProgressBar(steps, self.step, width=30), rest)
        return row

    def _name(self) -> str:
        return f"  {self.part.name if self.part else ''}"

    def _rest(self, steps: int) -> str:
        parts = [f"step {self.step} of {steps}"]
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4f}")
        if self.doing:
            parts.append(self.doing)
        elif self._first is not None and self.step > self._first[0]:
            pace = (time.monotonic() - self._first[1]) / (self.step - self._first[0])
            parts.append(f"about {duration(pace * (steps - self.step))} to go")
        return " · ".join(parts)


def sizes(counts: Mapping[str, int]) -> str:
    """Return a phrase with the amounts of training and development data."""
    noun = next(noun for noun in ("example", "pair", "dialogue") if f"{noun}s" in counts)
    of = next((f" of {counted(counts[name], one, name)}" for name, one in _UNITS.items() if name in counts), "")
    aside = counted(counts[f"development {noun}s"], f"development {noun}")
    return f"{counted(counts[f'{noun}s'], noun)}{of}, {aside}"


_UNITS: Final = {"stories": "story", "groups": "group"}
_CUTS: Final = {
    "prompt": "the middle",
    "completion": "the end, after a whole sentence",
    "dialogue": "the end",
    "summary": "the end",
}


def cuts(counts: Mapping[str, int]) -> list[str]:
    """Return sentences about what was shortened or omitted; empty if nothing was."""
    found = []
    for noun, place in _CUTS.items():
        plural = "summaries" if noun == "summary" else f"{noun}s"
        if count := counts.get(f"{plural} cut", 0):
            tokens = counted(counts[f"tokens cut from {plural}"], "token")
            found.append(f"{counted(count, noun, plural)} longer than the limit lost {tokens} from {place}")
    return found + [f"{count} {name}" for name, count in counts.items() if name.startswith("left out")]


@contextmanager
def interruptible(progress: TrainingProgress) -> Iterator[None]:
    """Remove the bar at the end; if Ctrl-C arrives between steps, print how to continue."""
    try:
        yield
    except KeyboardInterrupt as error:
        sentence = "Stopped. All finished work is kept. To continue, run the same command again."
        raise StoppedError(sentence, signal.SIGINT) from error
    finally:
        progress.close()
