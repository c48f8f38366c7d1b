"""`fabula train dpo`: an adapter from preferences."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fabula.app.training_pairs import PairsAsked, ended_of, prepare_pairs, train_pairs
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.training import (
    GB,
    Training,
    TrainingProgress,
    cuts,
    interruptible,
    licences,
    machine_line,
    settings_table,
    sizes,
    stop_if_interrupted,
    values_of,
)
from fabula.engine.methods import settings_of
from fabula.measure.report.page import estimate_cells

if TYPE_CHECKING:
    from fabula.app.training_pairs import PairWork, TrainedPairs
    from fabula.cli.terminal import Terminal


@bundled
def dpo(common: Common, training: Training) -> None:
    """Train an adapter on pairs of replies of which one was preferred (DPO); the base is the reference."""
    terminal = terminal_of(common)
    asked = PairsAsked(
        data=Path(training.data),
        base=training.base,
        out=Path(training.out),
        preset=training.preset,
        values=values_of(training.set_ or ()),
        fresh=training.fresh,
        gguf=Path(training.gguf) if training.gguf else None,
    )
    progress = TrainingProgress(terminal)
    work = prepare_pairs(asked, os.environ, progress.listener)
    licences(terminal, work.data.sources, work.base)
    if training.dry_run:
        terminal.say(_announced(work))
        terminal.document(_plan_data(work))
        return
    with interruptible(progress):
        trained = train_pairs(work, progress.listener)
    stop_if_interrupted(trained.outcome, work.name, asked.out)
    terminal.say(_told(trained))
    _advise(terminal, trained)
    terminal.document(_data(trained))
    if trained.outcome is not None and trained.outcome.ended == "not finite":
        terminal.message(f"fabula: {ended_of(work, trained.outcome)}")
        terminal.advise("A lower rate helps most often: --set learning_rate=1e-5 --fresh.")
        raise typer.Exit(1)


def _announced(work: PairWork) -> str:
    """A dry run: settings, and what the adapter takes."""
    counts = work.counts()
    takes = (
        f"{near(work.asked.out)}: {sizes(counts)}, {counted(work.schedule.steps, 'step')} of {work.schedule.batch} "
        f"({work.machine.micro_batch} at once), longest {counts['longest in tokens']:,} tokens; "
        f"about {work.bytes_needed / GB:.1f} GB"
    )
    lines = (f"  {line}" for line in cuts(counts))
    return "\n".join((settings_table(work.config), "", takes, *lines, "", machine_line(work.machine)))


def _told(trained: TrainedPairs) -> str:
    """The report: how often each way of choosing prefers the preferred reply, and the differences."""
    head = ("development pairs: prefers by", "accuracy", "95 % interval", "n")
    right = [(name, *estimate_cells(scored)) for name, scored in trained.accuracies.items()]
    apart = [(name, *estimate_cells(scored)) for name, scored in trained.gains.items()]
    return "\n\n".join(
        (
            table([head, *right], right=(1, 2, 3)),
            table([("differences", "", "95 % interval", "n"), *apart], right=(1, 2, 3)),
            "A tie is a half. Intervals are over groups.",
        )
    )


def _advise(terminal: Terminal, trained: TrainedPairs) -> None:
    work = trained.work
    folder = near(work.asked.out)
    if trained.outcome is None:
        terminal.message(f"{folder} was finished already, so nothing was trained. --fresh begins anew.")
    terminal.advise(f"{folder} has a model card, README.md, with samples.")
    if work.base.gguf is not None:
        roles = " ".join(f"--adapter {agent}={folder}" for agent in work.agents)
        terminal.advise(f"Next: `fabula write BRIEF {roles}` writes with it.")


def _plan_data(work: PairWork) -> dict[str, Any]:
    return {
        "preset": work.asked.preset,
        "base": work.base.name,
        "settings": {setting.name: setting.value for setting in settings_of(work.config)},
        "folder": str(work.asked.out),
        "agents": list(work.agents),
        "steps": work.schedule.steps,
        "bytes": work.bytes_needed,
        "machine": {
            "device": work.machine.device,
            "bfloat16": work.machine.bfloat16,
            "micro_batch": work.machine.micro_batch,
            "checkpointing": work.machine.checkpointing,
        },
        "counts": work.counts(),
    }


def _data(trained: TrainedPairs) -> dict[str, Any]:
    outcome = trained.outcome
    return {
        "folder": str(trained.work.asked.out),
        "ended": outcome.ended if outcome else "before",
        "step": outcome.step if outcome else None,
        "best": outcome.best if outcome else None,
        "accuracies": {name: scored.as_data() for name, scored in trained.accuracies.items()},
        "gains": {name: scored.as_data() for name, scored in trained.gains.items()},
    }
