"""What every command of `fabula train` takes, and how it shows that it goes on."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.training import Listener, ended_sentence
from fabula.base.errors import UsageError
from fabula.cli.progress import LivePicture, counted, duration
from fabula.cli.session import near
from fabula.cli.stopping import StoppedError
from fabula.cli.terminal import table
from fabula.engine.methods import settings_of, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.app.training import Job, Work
    from fabula.app.training_examples import Part
    from fabula.app.training_pairs import PairWork
    from fabula.app.training_summaries import SummaryWork
    from fabula.cli.terminal import Terminal
    from fabula.engine.methods import Presets
    from fabula.training.base import Base
    from fabula.training.examples import Source
    from fabula.training.presets import Keep
    from fabula.training.running import Machine, Outcome, Point

GB: Final = 1e9


@dataclass(frozen=True, slots=True)
class Training:
    """What every kind of training takes."""

    data: Annotated[str, typer.Argument(metavar="DATA", help="Folder of training data.")]
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for what is trained.")]
    base: Annotated[
        str, typer.Option(metavar="MODEL", help="A known model, embedded:FILE.gguf, a folder, or hf:OWNER/NAME.")
    ] = "smollm2"
    gguf: Annotated[
        str, typer.Option(metavar="FILE", help="The base as a GGUF file, where --base is a folder or of the hub.")
    ] = ""
    preset: Annotated[
        Literal["faithful", "improved"], typer.Option(help="The paper's values, or ours for small data.")
    ] = "improved"
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="A setting. Repeatable.")] = (
        None
    )
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew where a training is in the folder.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say every setting, steps and memory, and train nothing.")
    ] = False

    @property
    def given(self) -> dict[str, Any]:
        """The same by the names of `TrainingAsked`."""
        return {
            "data": Path(self.data),
            "base": self.base,
            "out": Path(self.out),
            "preset": self.preset,
            "values": given_values(self.set_ or ()),
            "fresh": self.fresh,
            "gguf": Path(self.gguf) if self.gguf else None,
        }


def say_fresh(terminal: Terminal, out: Path, *, fresh: bool) -> None:
    """Say in a dry run what `--fresh` would do."""
    if fresh:
        terminal.advise(f"With --fresh, what an earlier training left in {near(out)} would be removed first.")


def given_values(said: Sequence[str]) -> dict[str, str]:
    """`FIELD=VALUE` texts as fields.

    Raises:
        UsageError: one is not of that form.
    """
    found: dict[str, str] = {}
    for one in said:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {one}: write it as FIELD=VALUE, as --set rank=8.")
        found[name.strip()] = value.strip()
    return found


def licences(terminal: Terminal, sources: Sequence[Source], base: Base) -> None:
    """Say under which licences data and base are."""
    for source in sources:
        terminal.advise(f"Data: {source.title or source.name}. Licence: {source.licence or 'not stated'}.")
    terminal.advise(f"Base: {base.name}. Licence: {base.licence}.")


# progress -------------------------------------------------------------------------------------------------------------


@dataclass
class TrainingProgress(LivePicture):
    """Shows on a terminal how a training goes on: a line for each measurement, and below them a bar."""

    terminal: Terminal
    part: Work | None = None
    step: int = 0
    loss: float | None = None
    doing: str = ""
    _first: tuple[int, float] | None = None
    _live: Live | None = field(default=None, init=False)

    @property
    def listener(self) -> Listener:
        """What is handed to the training."""
        return Listener(self._says, self._begins, self._measures, self._steps, self._ends)

    def close(self) -> None:
        """Take the bar away."""
        self._stop()

    def _says(self, sentence: str) -> None:
        self._show(f"{sentence} ...")

    def _begins(self, work: Work) -> None:
        self.part, self.step, self.loss, self._first, self.doing = work, 0, None, None, "loading"
        counts = work.counts()
        self._show(f"{work.name}: {sizes(counts)}, {counted(work.schedule.steps, 'step')} of {work.schedule.batch}")
        for line in cuts(counts):
            self._show(f"  {line}")
        self._start()

    def _measures(self, work: Work, done: int, whole: int) -> None:
        del work
        self.doing = f"measuring {done} of {whole}"

    def _steps(self, work: Work, point: Point) -> None:
        self.step, self.doing = point.step, ""
        self._first = self._first or (point.step, time.monotonic())
        if point.train is not None:
            self.loss = point.train
        if point.development is not None:
            train = "" if self.loss is None else f"   train {self.loss:.4f}"
            self._show(f"  step {point.step:>4} of {work.schedule.steps}{train}   development {point.development:.4f}")

    def _ends(self, work: Work, outcome: Outcome | None) -> None:
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
    """What a training has to learn from, and what it is measured on."""
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
    """Sentences about what was cut or left out; none where nothing was."""
    found = []
    for noun, place in _CUTS.items():
        plural = "summaries" if noun == "summary" else f"{noun}s"
        if count := counts.get(f"{plural} cut", 0):
            tokens = counted(counts[f"tokens cut from {plural}"], "token")
            found.append(f"{counted(count, noun, plural)} longer than the limit lost {tokens} from {place}")
    return found + [f"{count} {name}" for name, count in counts.items() if name.startswith("left out")]


# what is said ---------------------------------------------------------------------------------------------------------


def settings_table(config: Presets) -> str:
    """Every setting of a training beside the paper's."""
    paper = values_of(type(config).faithful())
    rows = [("setting", "value", "the paper's", "")]
    for setting in settings_of(config):
        said = paper[setting.name]
        its = "" if setting.group != "paper" else "the same" if said == setting.value else _text(said)
        rows.append((setting.name, _text(setting.value), its, "" if setting.group == "paper" else "not in the paper"))
    return table(rows)


def _text(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def machine_line(machine: Machine) -> str:
    """What is computed on."""
    twice = ", activations computed twice" if machine.checkpointing else ""
    return f"On {machine.device}, in {'bfloat16' if machine.bfloat16 else 'float32'}{twice}."


def announced(work: PairWork | SummaryWork) -> str:
    """A dry run of one training: settings, and what it takes."""
    counts = work.counts()
    lines = (f"  {line}" for line in cuts(counts))
    takes = (
        f"{near(work.asked.out)}: {sizes(counts)}, {steps_line(work, counts)}; about {work.bytes_needed / GB:.1f} GB"
    )
    return "\n".join((settings_table(work.config), "", takes, *lines, "", machine_line(work.machine)))


def steps_line(work: Work, counts: Mapping[str, int]) -> str:
    """How long a training is, in words."""
    steps = f"{counted(work.schedule.steps, 'step')} of {work.schedule.batch} ({work.machine.micro_batch} at once)"
    return f"{steps}, longest {counts['longest in tokens']:,} tokens"


def plan_data(job: Job, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A dry run for JSON."""
    return {"preset": job.asked.preset, "base": job.base.name, "settings": values_of(job.config), **more}


def work_data(work: Part | PairWork | SummaryWork, folder: Path) -> dict[str, Any]:
    """What one training takes, for JSON."""
    return {
        "folder": str(folder),
        "steps": work.schedule.steps,
        "bytes": work.bytes_needed,
        "machine": asdict(work.machine),
        "counts": work.counts(),
    }


def outcome_data(folder: Path, outcome: Outcome | None) -> dict[str, Any]:
    """How a training ended, for JSON."""
    return {
        "folder": str(folder),
        "ended": outcome.ended if outcome else "before",
        "step": outcome.step if outcome else None,
        "taken": outcome.taken if outcome else None,
    }


def finished_before(terminal: Terminal, out: Path) -> None:
    """Say that there was nothing to train."""
    terminal.message(f"{near(out)} was finished already, so nothing was trained. --fresh begins anew.")


def fail_if_not_finite(terminal: Terminal, ended: Mapping[str, tuple[Work, Outcome | None]], keep: Keep) -> None:
    """End the command with 1 where a loss was no number, and say so of each training, by its name.

    Raises:
        Exit: one was.
    """
    broken = {name: (work, end) for name, (work, end) in ended.items() if end is not None and end.ended == "not finite"}
    for name, (work, outcome) in broken.items():
        terminal.message(f"fabula: {name}: {ended_sentence(work, outcome, keep)}")
    if broken:
        terminal.advise("A lower rate helps most often: --set learning_rate=1e-5 --fresh.")
        raise typer.Exit(1)


@contextmanager
def interruptible(progress: TrainingProgress) -> Iterator[None]:
    """Take the bar away at the end, and say how to go on where Ctrl-C came while no step was at work."""
    try:
        yield
    except KeyboardInterrupt as error:
        sentence = "Stopped. What is finished is kept; the same command goes on."
        raise StoppedError(sentence, signal.SIGINT) from error
    finally:
        progress.close()


def stop_if_interrupted(outcome: Outcome | None, name: str, out: Path) -> None:
    """End the command where a signal ended the training.

    Raises:
        StoppedError: it did.
    """
    if outcome is not None and outcome.ended == "interrupted":
        raise StoppedError(
            f"Stopped at step {outcome.step} of {name}, with a checkpoint in {near(out)}. The same command goes on "
            "from there.",
            outcome.signal,
        )
