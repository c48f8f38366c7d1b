"""`fabula train`: train adapters on examples or pairs, or a summary model on dialogues, depending on the data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.training import AnyWork, Trained, ended_sentence, lower_rate
from fabula.app.training_examples import AgentWork, ExamplesAsked, TrainedAgent, prepare, train_all
from fabula.app.training_pairs import PairWork, prepare_pairs, train_pairs
from fabula.app.training_summaries import SummaryWork, prepare_summaries, train_summariser
from fabula.base.errors import UsageError
from fabula.base.files import no_file
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled, refuse
from fabula.cli.progress import counted, duration
from fabula.cli.session import near
from fabula.cli.stopping import StoppedError
from fabula.cli.stories import folder_of
from fabula.cli.terminal import Terminal, table
from fabula.cli.training import TrainingProgress, cuts, given_values, interruptible, sizes
from fabula.data.dialogsum import splits
from fabula.engine.methods import settings_of, values_of
from fabula.stats.estimate import Estimate, estimate_cells, figures
from fabula.training.dpo import RIGHTLY
from fabula.training.examples import CARD, Kind, read_card

if TYPE_CHECKING:
    from fabula.training.report import LossDifference
    from fabula.training.running import TrainingOutcome


_GB: Final = 1e9
_BASE: Final = "smollm2"
_HEADS: Final = {
    "accuracies": "development pairs: prefers by",
    "gains": "differences",
    "rouge": "development dialogues",
    "loss": "differences",
}


@dataclass(frozen=True, slots=True)
class Training:
    """The options for every kind of training."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Examples or pairs (folders that `fabula data` made), or dialogues (dialogsum)."
        ),
    ]
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for what is trained.")]
    base: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A known model, embedded:FILE.gguf, a folder or hf:OWNER/NAME; for dialogues, an encoder-decoder.",
            show_default=_BASE,
        ),
    ] = ""
    preset: Annotated[
        Literal["faithful", "improved"], typer.Option(help="Use the paper's values, or ours for small data sets.")
    ] = "improved"
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="A setting. Repeatable.")] = (
        None
    )
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again even if the folder contains an earlier training.")
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the settings, steps, time and memory without training.")
    ] = False


@dataclass(frozen=True, slots=True)
class OfAdapters:
    """Options for adapters only."""

    gguf: Annotated[
        str, typer.Option(metavar="FILE", help="The base model as a GGUF file, if --base is a folder or a hub model.")
    ] = ""


@dataclass(frozen=True, slots=True)
class OfExamples:
    """The options for training on examples only."""

    agents: Annotated[
        str, typer.Option(metavar="NAME,...", help="Examples: agents to train.", show_default="all in the data")
    ] = ""
    shared: Annotated[bool, typer.Option("--shared", help="For examples: train one adapter for all agents.")] = False


@bundled
def train(common: Output, training: Training, adapters: OfAdapters, examples: OfExamples) -> None:
    """Fine-tune a local model: adapters on examples or preference pairs, or a summary model on dialogues."""
    terminal = terminal_of(common)
    data = folder_of(terminal, training.data)
    if not data.exists():
        raise UsageError(no_file(data, "Specify a folder that `fabula data` made.", "folder"))
    kind = _kind_of(data)
    if kind != "examples":
        refuse(f"{training.data} holds {kind}", examples)
    if kind == "dialogues":
        refuse("a summary model is trained as a whole", adapters)
        if not training.base:
            raise UsageError("Dialogues train a summary model. Specify an encoder-decoder, such as BART, with --base.")
    asked = ExamplesAsked(
        data,
        training.base or _BASE,
        Path(training.out),
        training.preset,
        given_values(training.set_ or ()),
        training.fresh,
        Path(adapters.gguf) if adapters.gguf else None,
        agents=tuple(name.strip() for name in examples.agents.split(",") if name.strip()),
        shared=examples.shared,
    )
    if kind != "examples":
        _train_one(terminal, asked, kind, dry_run=training.dry_run)
    else:
        _train_agents(terminal, asked, dry_run=training.dry_run)


def _kind_of(data: Path) -> Kind:
    """The kind of data in a folder, by its card; dialogues need no card. Missing data count as examples."""
    if (data / CARD).is_file():
        return read_card(data).kind
    return "dialogues" if data.is_dir() and splits(data) else "examples"


# one model, on pairs or dialogues -------------------------------------------------------------------------------------


def _train_one(terminal: Terminal, asked: ExamplesAsked, kind: Kind, *, dry_run: bool) -> None:
    progress = TrainingProgress(terminal)
    work: PairWork | SummaryWork
    if kind == "pairs":
        work = pairs = prepare_pairs(asked, os.environ, progress.listener)
        more: dict[str, Any] = {"agents": list(pairs.agents)}
    else:
        work = dialogues = prepare_summaries(asked, os.environ, progress.listener)
        more = {}
    _licences(terminal, work)
    if dry_run:
        _say_fresh(terminal, asked)
        takes = f"{near(asked.out)}: {sizes(work.counts())}, {_takes(work)}"
        lines = [takes, *(f"  {line}" for line in cuts(work.counts())), "", _machine_line(work)]
        terminal.say("\n".join([_settings_table(work), "", *lines]))
        terminal.document(_plan_data(work, **more, **_work_data(work)))
        return
    with interruptible(progress):
        done = (
            train_pairs(pairs, progress.listener) if kind == "pairs" else train_summariser(dialogues, progress.listener)
        )
    _stop_if_interrupted(done.outcome, work.name, asked.out)
    for name, found in done.found.items():
        rows = [(what, *estimate_cells(scored)) for what, scored in found.items()]
        terminal.say(table([(_HEADS[name], "", "95 % interval", "n"), *rows], right=(1, 2, 3)) + "\n")
    if kind == "pairs":
        terminal.say("A tie counts as half a win. Intervals are over groups.")
    if done.verdict is not None:
        terminal.say("\n".join(("", *done.verdict.sentences(RIGHTLY))))
    _advise_one(terminal, done, [f"--adapter {agent}={near(asked.out)}" for agent in more.get("agents", ())])
    measured = {name: {what: scored.as_data() for what, scored in found.items()} for name, found in done.found.items()}
    if done.verdict is not None:
        measured["verdict"] = done.verdict.as_data()
    terminal.document(_outcome_data(asked.out, done.outcome) | measured)
    _fail_if_not_finite(terminal, {work.name: (work, done.outcome)})


def _advise_one(terminal: Terminal, done: Trained, adapters: Sequence[str]) -> None:
    folder = near(done.work.asked.out)
    if done.outcome is None:
        _say_finished(terminal, done.work.asked.out)
    terminal.advise(f"{folder} contains README.md, a model card with samples.")
    if not adapters:
        terminal.advise(f"Next: `fabula write BRIEF --system snap --model summariser=seq2seq:{folder}`.")
    elif done.work.base.gguf is not None:
        terminal.advise(f"Next: run `fabula write BRIEF {' '.join(adapters)}` to write with it.")


# an adapter for each agent, on examples -------------------------------------------------------------------------------


def _train_agents(terminal: Terminal, asked: ExamplesAsked, *, dry_run: bool) -> None:
    progress = TrainingProgress(terminal)
    prepared = prepare(asked, os.environ, progress.listener)
    _licences(terminal, prepared[0])
    if dry_run:
        _say_fresh(terminal, asked)
        terminal.say(f"{_settings_table(prepared[0])}\n\n{_works(prepared)}")
        terminal.document(_adapters_data(prepared))
        return
    with interruptible(progress):
        trained = train_all(prepared, progress.listener)
    if trained:
        _stop_if_interrupted(trained[-1].outcome, trained[-1].work.name, asked.out)
    terminal.say(_losses_table([found for one in trained for found in one.differences]))
    if all(one.outcome is None for one in trained):
        _say_finished(terminal, asked.out)
    terminal.advise(f"Each folder below {near(asked.out)} contains README.md, a model card with samples.")
    if prepared[0].base.gguf is not None:
        terminal.advise(f"Next: run `fabula write BRIEF --adapter {near(asked.out)}` to write with them.")
    terminal.document({"out": str(asked.out), "adapters": [_trained_data(one) for one in trained]})
    _fail_if_not_finite(terminal, {one.work.name: (one.work, one.outcome) for one in trained})


def _works(works: Sequence[AgentWork]) -> str:
    """What each adapter needs, and on which device it is trained."""
    lines = []
    for work in works:
        counts = work.counts()
        examples = f"{counted(counts['examples'], 'example')} + {counts['development examples']}"
        lines.append(f"{near(work.asked.out)}: {examples}, {counts['tokens learnt']:,} tokens learnt, {_takes(work)}")
        lines += [f"  {line}" for line in cuts(counts)]
    return "\n".join([*lines, "", _machine_line(works[0])])


def _losses_table(found: Sequence[LossDifference]) -> str:
    """Development losses of the base and the tuned model."""
    rows = [("agent", "base", "tuned", "difference", "95 % interval", "n", "")]
    for one in found:
        interval, n = "none", ""
        if isinstance(one.fell, Estimate):
            n = str(one.fell.n)
            if one.fell.low is not None and one.fell.high is not None:
                interval = f"{one.fell.low:.4f} to {one.fell.high:.4f}"
        difference = f"{one.tuned - one.base:.4f}"
        rows.append((one.agent, figures(one.base), figures(one.tuned), difference, interval, n, one.verdict))
    return (
        "Loss per token on stories outside the training data:\n\n"
        + table(rows, right=(1, 2, 3, 4, 5))
        + "\n\nn counts stories; the intervals are over stories."
    )


def _adapters_data(works: Sequence[AgentWork]) -> dict[str, Any]:
    adapters = [{"name": work.name, "agents": list(work.agents), **_work_data(work)} for work in works]
    return _plan_data(works[0], adapters=adapters)


def _trained_data(one: TrainedAgent) -> dict[str, Any]:
    agents = [_difference_data(found) for found in one.differences]
    return {"name": one.work.name, **_outcome_data(one.work.asked.out, one.outcome), "agents": agents}


def _difference_data(row: LossDifference) -> dict[str, Any]:
    data = {"agent": row.agent, "base": row.base, "tuned": row.tuned, "verdict": row.verdict}
    return data | {"difference": row.fell.as_data()}


# what is said of any training -----------------------------------------------------------------------------------------


def _licences(terminal: Terminal, work: AnyWork) -> None:
    for source in work.data.sources:
        terminal.advise(f"Data: {source.title or source.name}. Licence: {source.licence or 'not stated'}.")
    terminal.advise(f"Base: {work.base.name}. Licence: {work.base.licence}.")


def _say_fresh(terminal: Terminal, asked: ExamplesAsked) -> None:
    if asked.fresh:
        terminal.advise(f"--fresh would first remove the files of an earlier training in {near(asked.out)}.")


def _say_finished(terminal: Terminal, out: Path) -> None:
    terminal.message(f"{near(out)} was already finished, so nothing was trained. To start again, use --fresh.")


def _settings_table(work: AnyWork) -> str:
    """Every setting of a training next to the paper's."""
    paper = values_of(type(work.config).faithful())
    rows = [("setting", "value", "the paper's", "")]
    for setting in settings_of(work.config):
        said = paper[setting.name]
        its = "" if setting.group != "paper" else "the same" if said == setting.value else _text(said)
        rows.append((setting.name, _text(setting.value), its, "" if setting.group == "paper" else "not in the paper"))
    return table(rows)


def _text(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _takes(work: AnyWork) -> str:
    """The steps, time and memory that a training needs."""
    about = "" if work.seconds_needed is None else f"{duration(work.seconds_needed)} and "
    steps = f"{counted(work.schedule.steps, 'step')} of {work.schedule.batch} ({work.machine.micro_batch} at once)"
    return (
        f"{steps}, longest {work.counts()['longest in tokens']:,} tokens; about {about}{work.bytes_needed / _GB:.1f} GB"
    )


def _machine_line(work: AnyWork) -> str:
    machine = work.machine
    twice = ", activations computed twice" if machine.checkpointing else ""
    return f"On {machine.device}, in {'bfloat16' if machine.bfloat16 else 'float32'}{twice}."


def _plan_data(work: AnyWork, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"preset": work.asked.preset, "base": work.base.name, "settings": values_of(work.config), **more}


def _work_data(work: AnyWork) -> dict[str, Any]:
    return {
        "folder": str(work.asked.out),
        "steps": work.schedule.steps,
        "bytes": work.bytes_needed,
        "seconds": work.seconds_needed,
        "machine": asdict(work.machine),
        "counts": work.counts(),
    }


def _outcome_data(folder: Path, outcome: TrainingOutcome | None) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "ended": outcome.ended if outcome else "before",
        "step": outcome.step if outcome else None,
        "taken": outcome.taken if outcome else None,
    }


def _fail_if_not_finite(terminal: Terminal, ended: Mapping[str, tuple[AnyWork, TrainingOutcome | None]]) -> None:
    """End the command with 1 if a loss was not a number, and name each training with such a loss.

    Raises:
        Exit: a loss was not a number.
    """
    broken = {name: (work, end) for name, (work, end) in ended.items() if end is not None and end.ended == "not finite"}
    for name, (work, outcome) in broken.items():
        terminal.message(f"fabula: {name}: {ended_sentence(work, outcome)}\n{lower_rate(work)}")
    if broken:
        raise typer.Exit(1)


def _stop_if_interrupted(outcome: TrainingOutcome | None, name: str, out: Path) -> None:
    """End the command if a signal ended the training.

    Raises:
        StoppedError: a signal ended it.
    """
    if outcome is not None and outcome.ended == "interrupted":
        raise StoppedError(
            f"Stopped at step {outcome.step} of {name}. The checkpoint is in {near(out)}. To continue, run the same "
            "command again.",
            outcome.signal,
        )
