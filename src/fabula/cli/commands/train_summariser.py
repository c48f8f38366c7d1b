"""`fabula train summariser`: a summary model from dialogues."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fabula.app.training import TrainingAsked
from fabula.app.training_summaries import prepare_summaries, train_summariser
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import folder_of
from fabula.cli.terminal import table
from fabula.cli.training import (
    TrainingProgress,
    announced,
    fail_if_not_finite,
    finished_before,
    given_values,
    interruptible,
    licences,
    outcome_data,
    plan_data,
    say_fresh,
    stop_if_interrupted,
    work_data,
)
from fabula.stats.estimate import estimate_cells

if TYPE_CHECKING:
    from fabula.app.training_summaries import TrainedSummariser


@bundled
def summariser(
    common: Output,
    data: Annotated[str, typer.Argument(metavar="DATA", help="dialogsum, or a folder of dialogues with summaries.")],
    base: Annotated[str, typer.Option(metavar="MODEL", help="Folder of an encoder-decoder, or hf:OWNER/NAME.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the tuned model.")],
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
    asked = TrainingAsked(folder_of(terminal, data), base, Path(out), preset, given_values(set_ or ()), fresh)
    progress = TrainingProgress(terminal)
    work = prepare_summaries(asked, os.environ, progress.listener)
    licences(terminal, work.data.sources, work.base)
    if dry_run:
        say_fresh(terminal, asked.out, fresh=fresh)
        terminal.say(announced(work))
        terminal.document(plan_data(work, **work_data(work, asked.out)))
        return
    with interruptible(progress):
        trained = train_summariser(work, progress.listener)
    stop_if_interrupted(trained.outcome, work.name, asked.out)
    rows = [(name, *estimate_cells(scored)) for name, scored in {**trained.rouge, **trained.loss}.items()]
    terminal.say(table([("development dialogues", "", "95 % interval", "n"), *rows], right=(1, 2, 3)))
    if trained.outcome is None:
        finished_before(terminal, asked.out)
    terminal.advise(f"{near(asked.out)} has a model card, README.md, with samples.")
    terminal.advise(f"Next: `fabula write BRIEF --system snap --model summariser=seq2seq:{near(asked.out)}`.")
    terminal.document(_data(trained))
    fail_if_not_finite(terminal, {work.name: (work, trained.outcome)}, work.config.ours.keep)


def _data(trained: TrainedSummariser) -> dict[str, Any]:
    return outcome_data(trained.work.asked.out, trained.outcome) | {
        "rouge": {name: scored.as_data() for name, scored in trained.rouge.items()},
        "loss": {name: scored.as_data() for name, scored in trained.loss.items()},
    }
