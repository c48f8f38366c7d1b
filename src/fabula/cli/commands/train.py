"""`fabula train`: `sft`, supervised fine-tuning of an adapter for each agent."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import typer

from fabula.app.training import Asked, Listener, ended_sentence, prepare, train_all
from fabula.base.errors import UsageError
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.progress import LivePicture, counted, duration
from fabula.cli.session import StoppedError, near
from fabula.cli.terminal import table
from fabula.engine.methods import settings_of
from fabula.stats.estimate import Estimate, figures
from fabula.training.presets import Sft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.app.training import Part, Prepared, Trained
    from fabula.cli.terminal import Terminal
    from fabula.training.running import Point

_HELP: Final = "Fine-tune adapters of a local model on data of `fabula data`."
_GB: Final = 1e9
train = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


@dataclass(frozen=True, slots=True)
class Training:
    """What every kind of training takes."""

    data: Annotated[str, typer.Argument(metavar="DATA", help="Folder of training data.")]
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for what is trained.")]
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


@train.callback()
def _group() -> None:
    """A group, also while it has one command."""


@train.command("sft")
@bundled
def _sft(
    common: Common,
    training: Training,
    agents: Annotated[
        str, typer.Option(metavar="NAME,...", help="Agents to train.", show_default="all in the data")
    ] = "",
    shared: Annotated[bool, typer.Option("--shared", help="One adapter for all agents.")] = False,  # noqa: FBT002 - typer's form of a flag
) -> None:
    """Train an adapter for each agent on examples of what it should say; the loss is on the reply alone."""
    terminal = terminal_of(common)
    asked = Asked(
        data=Path(training.data),
        base=training.base,
        out=Path(training.out),
        preset=training.preset,
        values=values_of(training.set_ or ()),
        agents=tuple(name.strip() for name in agents.split(",") if name.strip()),
        shared=shared,
        fresh=training.fresh,
        gguf=Path(training.gguf) if training.gguf else None,
    )
    progress = TrainingProgress(terminal)
    listener = progress.listener
    prepared = prepare(asked, os.environ, listener)
    licences(terminal, prepared)
    if training.dry_run:
        terminal.say(_announced(prepared))
        terminal.document(_plan_data(prepared))
        return
    try:
        trained = train_all(prepared, listener)
    finally:
        progress.close()
    _stop_if_interrupted(trained, asked)
    terminal.say(_told(trained))
    _advise(terminal, prepared, trained)
    terminal.document(_data(prepared, trained))
    _fail_if_not_finite(trained)


def values_of(said: Sequence[str]) -> dict[str, str]:
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


def licences(terminal: Terminal, prepared: Prepared) -> None:
    """Say under which licences data and base are."""
    for source in prepared.data.sources:
        terminal.advise(f"Data: {source.title or source.name}. Licence: {source.licence or 'not stated'}.")
    terminal.advise(f"Base: {prepared.base.name}. Licence: {prepared.base.licence}.")


# progress -------------------------------------------------------------------------------------------------------------


@dataclass
class TrainingProgress(LivePicture):
    """Shows on a terminal how a training goes on: a line for each measurement, and below them a bar."""

    terminal: Terminal
    part: Part | None = None
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

    def _begins(self, part: Part) -> None:
        self.part, self.step, self.loss, self._first, self.doing = part, 0, None, None, "loading"
        counts = part.counts()
        stories = counted(counts["stories"], "story", "stories")
        self._show(
            f"{part.name}: {counted(counts['examples'], 'example')} of {stories}, "
            f"{counted(counts['development examples'], 'development example')}, "
            f"{counted(part.schedule.steps, 'step')} of {part.schedule.batch}"
        )
        for line in _cuts(counts):
            self._show(f"  {line}")
        self._start()

    def _measures(self, part: Part, done: int, whole: int) -> None:
        del part
        self.doing = f"measuring {done} of {whole}"

    def _steps(self, part: Part, point: Point) -> None:
        self.step, self.doing = point.step, ""
        self._first = self._first or (point.step, time.monotonic())
        if point.train is not None:
            self.loss = point.train
        if point.development is not None:
            train = "" if self.loss is None else f"   train {self.loss:.4f}"
            self._show(f"  step {point.step:>4} of {part.schedule.steps}{train}   development {point.development:.4f}")

    def _ends(self, trained: Trained) -> None:
        self._stop()
        if trained.outcome is None:
            self._show("  finished by an earlier run; nothing to do")
        elif trained.outcome.ended != "interrupted":
            self._show(f"  {ended_sentence(trained.part, trained.outcome)}")

    def _picture(self) -> RenderableType:
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - only where progress is live
        from rich.table import Table  # noqa: PLC0415 - only where progress is live

        steps = self.part.schedule.steps if self.part else 1
        row = Table.grid(padding=(0, 1))
        row.add_row(
            f"  {self.part.name if self.part else ''}", ProgressBar(steps, self.step, width=30), self._rest(steps)
        )
        return row

    def _rest(self, steps: int) -> str:
        parts = [f"step {self.step} of {steps}"]
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4f}")
        if self.doing:
            parts.append(self.doing)
        if self._first is not None and self.step > self._first[0]:
            pace = (time.monotonic() - self._first[1]) / (self.step - self._first[0])
            parts.append(f"about {duration(pace * (steps - self.step))} to go")
        return " · ".join(parts)


def _cuts(counts: Mapping[str, int]) -> list[str]:
    """Sentences about what was cut; none where nothing was."""
    found = []
    if counts["prompts cut"]:
        found.append(
            f"{counted(counts['prompts cut'], 'prompt')} longer than the limit lost "
            f"{counted(counts['tokens cut from prompts'], 'token')} from the middle"
        )
    if counts["completions cut"]:
        found.append(
            f"{counted(counts['completions cut'], 'completion')} longer than the limit lost "
            f"{counted(counts['tokens cut from completions'], 'token')} at the end, after a whole sentence"
        )
    return found


# what is said ---------------------------------------------------------------------------------------------------------


def _announced(prepared: Prepared) -> str:
    """A dry run: settings, and what each adapter takes."""
    paper = {setting.name: setting.value for setting in settings_of(Sft())}
    rows = [("setting", "value", "the paper's", "")]
    for setting in settings_of(prepared.config):
        said = paper[setting.name]
        its = "" if setting.group != "paper" else "the same" if said == setting.value else _text(said)
        rows.append((setting.name, _text(setting.value), its, "" if setting.group == "paper" else "not in the paper"))
    parts = [table(rows), ""]
    for part in prepared.parts:
        counts = part.counts()
        parts.append(
            f"{near(part.folder)}: {counted(counts['examples'], 'example')} + {counts['development examples']}, "
            f"{counted(part.schedule.steps, 'step')} of {part.schedule.batch} "
            f"({part.machine.micro_batch} at once), longest {counts['longest in tokens']:,} tokens, "
            f"{counts['tokens learnt']:,} tokens learnt; about {part.bytes_needed / _GB:.1f} GB"
        )
        parts += [f"  {line}" for line in _cuts(counts)]
    machine = prepared.parts[0].machine
    twice = ", activations computed twice" if machine.checkpointing else ""
    parts.append(f"\nOn {machine.device}, in {'bfloat16' if machine.bfloat16 else 'float32'}{twice}.")
    return "\n".join(parts)


def _text(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _told(trained: Sequence[Trained]) -> str:
    """The report: each agent's development loss under base and tuned model."""
    rows = [("agent", "base", "tuned", "difference", "95 % interval", "n", "")]
    for one in trained:
        for found in one.differences:
            interval, n = "none", ""
            if isinstance(found.fell, Estimate):
                n = str(found.fell.n)
                if found.fell.low is not None and found.fell.high is not None:
                    interval = f"{found.fell.low:.4f} to {found.fell.high:.4f}"
            rows.append(
                (
                    found.agent,
                    figures(found.base),
                    figures(found.tuned),
                    f"{found.tuned - found.base:.4f}",
                    interval,
                    n,
                    found.verdict,
                )
            )
    return (
        "Loss of a token on stories that were not trained on:\n\n"
        + table(rows, right=(1, 2, 3, 4, 5))
        + "\n\nIntervals are over stories."
    )


def _advise(terminal: Terminal, prepared: Prepared, trained: Sequence[Trained]) -> None:
    if all(one.outcome is None for one in trained):
        terminal.message(
            f"{near(prepared.asked.out)} was finished already, so nothing was trained. --fresh begins anew."
        )
    terminal.advise(f"Each folder below {near(prepared.asked.out)} has a model card, README.md, with samples.")
    if prepared.base.gguf is not None:
        terminal.advise(f"Next: `fabula write BRIEF --room {near(prepared.asked.out)}` writes with them.")


def _stop_if_interrupted(trained: Sequence[Trained], asked: Asked) -> None:
    last = trained[-1].outcome if trained else None
    if last is not None and last.ended == "interrupted":
        raise StoppedError(
            f"Stopped at step {last.step} of {trained[-1].part.name}, with a checkpoint in {near(asked.out)}. The same "
            "command goes on from there.",
            last.signal,
        )


def _fail_if_not_finite(trained: Sequence[Trained]) -> None:
    broken = [one.part.name for one in trained if one.outcome is not None and one.outcome.ended == "not finite"]
    if broken:
        raise typer.Exit(1)


def _plan_data(prepared: Prepared) -> dict[str, Any]:
    return {
        "preset": prepared.asked.preset,
        "base": prepared.base.name,
        "settings": {setting.name: setting.value for setting in settings_of(prepared.config)},
        "adapters": [
            {
                "name": part.name,
                "agents": list(part.agents),
                "folder": str(part.folder),
                "steps": part.schedule.steps,
                "bytes": part.bytes_needed,
                "machine": {
                    "device": part.machine.device,
                    "bfloat16": part.machine.bfloat16,
                    "micro_batch": part.machine.micro_batch,
                    "checkpointing": part.machine.checkpointing,
                },
                "counts": part.counts(),
            }
            for part in prepared.parts
        ],
    }


def _data(prepared: Prepared, trained: Sequence[Trained]) -> dict[str, Any]:
    return {
        "out": str(prepared.asked.out),
        "adapters": [
            {
                "name": one.part.name,
                "folder": str(one.part.folder),
                "ended": one.outcome.ended if one.outcome else "before",
                "step": one.outcome.step if one.outcome else None,
                "best": one.outcome.best if one.outcome else None,
                "agents": [
                    {
                        "agent": found.agent,
                        "base": found.base,
                        "tuned": found.tuned,
                        "difference": cast("Any", found.fell).as_data(),
                        "verdict": found.verdict,
                    }
                    for found in one.differences
                ],
            }
            for one in trained
        ],
    }
