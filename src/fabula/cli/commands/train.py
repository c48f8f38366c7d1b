"""`fabula train`: the group, and `sft`, supervised fine-tuning of an adapter for each agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.training_examples import ExamplesAsked, prepare, prepare_sweep, sweep, train_all
from fabula.base.errors import UsageError
from fabula.cli.commands.train_dpo import dpo
from fabula.cli.commands.train_summariser import summariser
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.training import (
    GB,
    Training,
    TrainingProgress,
    cuts,
    fail_if_not_finite,
    finished_before,
    interruptible,
    licences,
    machine_line,
    outcome_data,
    plan_data,
    say_fresh,
    settings_table,
    steps_line,
    stop_if_interrupted,
    work_data,
)
from fabula.stats.estimate import Estimate, figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.training_examples import Prepared, Trained
    from fabula.cli.terminal import Terminal
    from fabula.training.report import Difference

_HELP: Final = "Fine-tune adapters of a local model on data of `fabula data`."
train = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


train.command("dpo")(dpo)
train.command("summariser")(summariser)


@train.command("sft")
@bundled
def _sft(
    common: Output,
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
    names = tuple(name.strip() for name in agents.split(",") if name.strip())
    asked = ExamplesAsked(**training.given, agents=names, shared=shared)
    progress = TrainingProgress(terminal)
    listener = progress.listener
    if tried:
        _sweep(terminal, progress, asked, tried, dry_run=training.dry_run)
        return
    prepared = prepare(asked, os.environ, listener)
    licences(terminal, prepared.data.sources, prepared.base)
    if training.dry_run:
        say_fresh(terminal, asked.out, fresh=training.fresh)
        terminal.say(_announced(prepared))
        terminal.document(_plan_data(prepared))
        return
    with interruptible(progress):
        trained = train_all(prepared, listener)
    _stop_if_interrupted(trained, asked)
    terminal.say(_told([found for one in trained for found in one.differences]))
    _advise(terminal, prepared, trained)
    terminal.document(_data(prepared, trained))
    fail_if_not_finite(terminal, {one.part.name: (one.part, one.outcome) for one in trained}, "best")


# what is said ---------------------------------------------------------------------------------------------------------


def _announced(prepared: Prepared) -> str:
    """A dry run: settings, and what each adapter takes."""
    return "\n".join((settings_table(prepared.config), "", _works(prepared)))


def _works(prepared: Prepared) -> str:
    """What each adapter takes, and on what it is computed."""
    parts = []
    for part in prepared.parts:
        counts = part.counts()
        parts.append(
            f"{near(part.folder)}: {counted(counts['examples'], 'example')} + {counts['development examples']}, "
            f"{steps_line(part, counts)}, {counts['tokens learnt']:,} tokens learnt; "
            f"about {part.bytes_needed / GB:.1f} GB"
        )
        parts += [f"  {line}" for line in cuts(counts)]
    parts.append(f"\n{machine_line(prepared.parts[0].machine)}")
    return "\n".join(parts)


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


def _sweep(terminal: Terminal, progress: TrainingProgress, asked: ExamplesAsked, said: str, *, dry_run: bool) -> None:
    """Train with each value of a setting, and show what came of each; in a dry run, say what each takes."""
    name, _, listed = said.partition("=")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not values:
        raise UsageError(f"--sweep {said}: write it as FIELD=VALUE,VALUE, as --sweep learning_rate=1e-4,3e-4.")
    prepared = prepare_sweep(asked, name.strip(), values, os.environ, progress.listener)
    first = prepared[values[0]]
    licences(terminal, first.data.sources, first.base)
    if dry_run:
        say_fresh(terminal, asked.out, fresh=asked.fresh)
        terminal.say(settings_table(first.config))
        for value, one in prepared.items():
            terminal.say(f"\n{name.strip()} = {value}\n{_works(one)}")
        terminal.document({"setting": name.strip(), "values": [_plan_data(one) for one in prepared.values()]})
        return
    with interruptible(progress):
        found = sweep(name.strip(), prepared, progress.listener)
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
                | {"difference": row.fell.as_data()}
                for row in rows
            ],
            "lowest": best.agent,
        }
    )


def _advise(terminal: Terminal, prepared: Prepared, trained: Sequence[Trained]) -> None:
    if all(one.outcome is None for one in trained):
        finished_before(terminal, prepared.asked.out)
    terminal.advise(f"Each folder below {near(prepared.asked.out)} has a model card, README.md, with samples.")
    if prepared.base.gguf is not None:
        terminal.advise(f"Next: `fabula write BRIEF --adapter {near(prepared.asked.out)}` writes with them.")


def _stop_if_interrupted(trained: Sequence[Trained], asked: ExamplesAsked) -> None:
    if trained:
        stop_if_interrupted(trained[-1].outcome, trained[-1].part.name, asked.out)


def _plan_data(prepared: Prepared) -> dict[str, Any]:
    adapters = [
        {"name": part.name, "agents": list(part.agents), **work_data(part, part.folder)} for part in prepared.parts
    ]
    return plan_data(prepared, adapters=adapters)


def _data(prepared: Prepared, trained: Sequence[Trained]) -> dict[str, Any]:
    return {
        "out": str(prepared.asked.out),
        "adapters": [
            {
                "name": one.part.name,
                **outcome_data(one.part.folder, one.outcome),
                "agents": [
                    {
                        "agent": found.agent,
                        "base": found.base,
                        "tuned": found.tuned,
                        "difference": found.fell.as_data(),
                        "verdict": found.verdict,
                    }
                    for found in one.differences
                ],
            }
            for one in trained
        ],
    }
