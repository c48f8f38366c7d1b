"""`fabula train summariser`: a summary model from dialogues."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fabula.app.training_summaries import (
    SummariesAsked,
    ended_of,
    prepare_summaries,
    train_summariser,
)
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.stories import folder_of
from fabula.cli.terminal import table
from fabula.cli.training import (
    GB,
    TrainingProgress,
    cuts,
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
    from fabula.app.training_summaries import SummaryWork, TrainedSummariser


@bundled
def summariser(
    common: Common,
    data: Annotated[str, typer.Argument(metavar="DATA", help="dialogsum, or a folder of dialogues with summaries.")],
    base: Annotated[str, typer.Option(metavar="MODEL", help="Folder of an encoder-decoder, or hf:OWNER/NAME.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the tuned model.")],
    preset: Annotated[Literal["faithful", "improved"], typer.Option(help="The authors' values, or ours.")] = "improved",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="A setting. Repeatable.")] = (
        None
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew where a training is in the folder.")] = False,  # noqa: FBT002 - typer's form of a flag
    dry_run: Annotated[  # noqa: FBT002 - typer's form of a flag
        bool, typer.Option("--dry-run", help="Say every setting, steps and memory, and train nothing.")
    ] = False,
) -> None:
    """Train a summary model for SNAP, as BART, on dialogues with their summaries."""
    terminal = terminal_of(common)
    asked = SummariesAsked(folder_of(terminal, data), base, Path(out), preset, values_of(set_ or ()), fresh)
    progress = TrainingProgress(terminal)
    work = prepare_summaries(asked, os.environ, progress.listener)
    licences(terminal, work.data.sources, work.base)
    if dry_run:
        terminal.say(_announced(work))
        terminal.document(_plan_data(work))
        return
    try:
        trained = train_summariser(work, progress.listener)
    finally:
        progress.close()
    stop_if_interrupted(trained.outcome, work.name, asked.out)
    rows = [(name, *estimate_cells(scored)) for name, scored in {**trained.rouge, **trained.loss}.items()]
    terminal.say(table([("development dialogues", "", "95 % interval", "n"), *rows], right=(1, 2, 3)))
    if trained.outcome is None:
        terminal.message(f"{near(asked.out)} was finished already, so nothing was trained. --fresh begins anew.")
    terminal.advise(f"{near(asked.out)} has a model card, README.md, with samples.")
    terminal.advise(f"Next: `fabula write BRIEF --system snap --model summariser=seq2seq:{near(asked.out)}`.")
    terminal.document(_data(trained))
    if trained.outcome is not None and trained.outcome.ended == "not finite":
        terminal.message(f"fabula: {ended_of(work, trained.outcome)}")
        terminal.advise("A lower rate helps most often: --set learning_rate=1e-5 --fresh.")
        raise typer.Exit(1)


def _announced(work: SummaryWork) -> str:
    """A dry run: settings, and what the training takes."""
    counts = work.counts()
    takes = (
        f"{near(work.asked.out)}: {sizes(counts)}, {counted(work.schedule.steps, 'step')} of {work.schedule.batch} "
        f"({work.machine.micro_batch} at once), longest {counts['longest in tokens']:,} tokens; "
        f"about {work.bytes_needed / GB:.1f} GB"
    )
    lines = (f"  {line}" for line in cuts(counts))
    return "\n".join((settings_table(work.config), "", takes, *lines, "", machine_line(work.machine)))


def _plan_data(work: SummaryWork) -> dict[str, Any]:
    return {
        "preset": work.asked.preset,
        "base": work.base.name,
        "settings": {setting.name: setting.value for setting in settings_of(work.config)},
        "folder": str(work.asked.out),
        "steps": work.schedule.steps,
        "bytes": work.bytes_needed,
        "machine": asdict(work.machine),
        "counts": work.counts(),
    }


def _data(trained: TrainedSummariser) -> dict[str, Any]:
    outcome = trained.outcome
    return {
        "folder": str(trained.work.asked.out),
        "ended": outcome.ended if outcome else "before",
        "step": outcome.step if outcome else None,
        "best": outcome.best if outcome else None,
        "rouge": {name: scored.as_data() for name, scored in trained.rouge.items()},
        "loss": {name: scored.as_data() for name, scored in trained.loss.items()},
    }
