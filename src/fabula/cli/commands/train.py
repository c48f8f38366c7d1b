"""`fabula train`: `sft`, supervised fine-tuning of an adapter for each agent."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import typer

from fabula.app.training import Asked, Listener, ended_sentence, prepare, sweep, train_all
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

    from fabula.app.training import Prepared, Trained, Work
    from fabula.cli.terminal import Terminal
    from fabula.training.report import Difference
    from fabula.training.running import Outcome, Point

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
    tried: Annotated[
        str,
        typer.Option(
            "--sweep", metavar="FIELD=A,B,...", help="Train with each of these values, and compare; makes no room."
        ),
    ] = "",
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
    if tried:
        _sweep(terminal, progress, asked, tried)
        return
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
    terminal.say(_told([found for one in trained for found in one.differences]))
    _advise(terminal, prepared, trained)
    terminal.document(_data(prepared, trained))
    _fail_if_not_finite(terminal, trained)


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
        self._show(f"{work.name}: {_sizes(counts)}, {counted(work.schedule.steps, 'step')} of {work.schedule.batch}")
        for line in _cuts(counts):
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

    def _ends(self, trained: Trained) -> None:
        self._stop()
        if trained.outcome is None:
            self._show("  finished by an earlier run; nothing to do")
        elif trained.outcome.ended not in {"interrupted", "not finite"}:  # the command says these itself
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


def _sizes(counts: Mapping[str, int]) -> str:
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


def _cuts(counts: Mapping[str, int]) -> list[str]:
    """Sentences about what was cut or left out; none where nothing was."""
    found = []
    for noun, place in _CUTS.items():
        plural = "summaries" if noun == "summary" else f"{noun}s"
        if count := counts.get(f"{plural} cut", 0):
            tokens = counted(counts[f"tokens cut from {plural}"], "token")
            found.append(f"{counted(count, noun, plural)} longer than the limit lost {tokens} from {place}")
    return found + [f"{count} {name}" for name, count in counts.items() if name.startswith("left out")]


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


def _told(found: Sequence[Difference], head: str = "agent") -> str:
    """The report: development losses under base and tuned model."""
    rows = [(head, "base", "tuned", "difference", "95 % interval", "n", "")]
    for one in found:
        interval, n = "none", ""
        if isinstance(one.fell, Estimate):
            n = str(one.fell.n)
            if one.fell.low is not None and one.fell.high is not None:
                interval = f"{one.fell.low:.4f} to {one.fell.high:.4f}"
        difference = f"{one.tuned - one.base:.4f}"
        rows.append((one.agent, figures(one.base), figures(one.tuned), difference, interval, n, one.verdict))
    return (
        "Loss of a token on stories that were not trained on:\n\n"
        + table(rows, right=(1, 2, 3, 4, 5))
        + "\n\nn counts examples; intervals are over stories."
    )


def _sweep(terminal: Terminal, progress: TrainingProgress, asked: Asked, said: str) -> None:
    """Train with each value of a setting, and show what came of each."""
    name, _, listed = said.partition("=")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not values:
        raise UsageError(f"--sweep {said}: write it as FIELD=VALUE,VALUE, as --sweep learning_rate=1e-4,3e-4.")
    try:
        found = sweep(asked, name.strip(), values, os.environ, progress.listener)
    finally:
        progress.close()
    _stop_if_interrupted(found[-1].trained, asked)
    rows = [one.difference for one in found]
    best = min(rows, key=lambda row: row.tuned)
    terminal.say(_told(rows, name.strip()))
    terminal.say(f"\nThe lowest loss is that of {name.strip()} = {best.agent} ({best.verdict} than the base).")
    terminal.document(
        {
            "setting": name.strip(),
            "values": [
                {"value": row.agent, "base": row.base, "tuned": row.tuned, "verdict": row.verdict}
                | {"difference": cast("Any", row.fell).as_data()}
                for row in rows
            ],
            "lowest": best.agent,
        }
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


def _fail_if_not_finite(terminal: Terminal, trained: Sequence[Trained]) -> None:
    broken = [one for one in trained if one.outcome is not None and one.outcome.ended == "not finite"]
    for one in broken:
        terminal.message(f"fabula: {one.part.name}: {ended_sentence(one.part, cast('Outcome', one.outcome))}")
    if broken:
        terminal.advise("A lower rate helps most often: --set learning_rate=1e-5 --fresh.")
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
