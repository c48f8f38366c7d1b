"""`fabula train dpo`: an adapter from preferences."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fabula.app.training import TrainingAsked
from fabula.app.training_pairs import prepare_pairs, train_pairs
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.training import (
    Training,
    TrainingProgress,
    announced,
    fail_if_not_finite,
    finished_before,
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
    from fabula.app.training_pairs import TrainedPairs
    from fabula.cli.terminal import Terminal


@bundled
def dpo(common: Output, training: Training) -> None:
    """Train an adapter on pairs of replies of which one was preferred (DPO); the base is the reference."""
    terminal = terminal_of(common)
    asked = TrainingAsked(**training.given)
    progress = TrainingProgress(terminal)
    work = prepare_pairs(asked, os.environ, progress.listener)
    licences(terminal, work.data.sources, work.base)
    if training.dry_run:
        say_fresh(terminal, asked.out, fresh=training.fresh)
        terminal.say(announced(work))
        terminal.document(plan_data(work, agents=list(work.agents), **work_data(work, asked.out)))
        return
    with interruptible(progress):
        trained = train_pairs(work, progress.listener)
    stop_if_interrupted(trained.outcome, work.name, asked.out)
    terminal.say(_told(trained))
    _advise(terminal, trained)
    terminal.document(_data(trained))
    fail_if_not_finite(terminal, {work.name: (work, trained.outcome)}, work.config.ours.keep)


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
        finished_before(terminal, work.asked.out)
    terminal.advise(f"{folder} has a model card, README.md, with samples.")
    if work.base.gguf is not None:
        roles = " ".join(f"--adapter {agent}={folder}" for agent in work.agents)
        terminal.advise(f"Next: `fabula write BRIEF {roles}` writes with it.")


def _data(trained: TrainedPairs) -> dict[str, Any]:
    return outcome_data(trained.work.asked.out, trained.outcome) | {
        "accuracies": {name: scored.as_data() for name, scored in trained.accuracies.items()},
        "gains": {name: scored.as_data() for name, scored in trained.gains.items()},
    }
