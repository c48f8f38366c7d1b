"""Training a summary model on dialogues: what a dry run says, the training itself, and what stands beside it."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.training import Listener, ended_sentence, hardware, quiet
from fabula.base.errors import UsageError
from fabula.base.extras import require
from fabula.base.files import held, make_folder, write_atomically
from fabula.engine.methods import settings_of
from fabula.models.seq2seq import rooms_of
from fabula.training.base import open_base
from fabula.training.dialogues import dialogue_source, read_dialogues
from fabula.training.examples import CARD, DataCard, read_card
from fabula.training.memory import Load, fitting, needed, shape_of
from fabula.training.presets import Ours, Summariser, config_of
from fabula.training.report import CardFacts, Measured, Sample, differences, evaluation_lines, losses_svg, model_card
from fabula.training.running import (
    CHECKPOINTS,
    EXTRA,
    WHAT,
    Machine,
    begin,
    checkpoints_in,
    losses_csv,
    run,
    write_record,
)
from fabula.training.summariser import (
    LIMITS,
    check_enough,
    digest_of,
    encode,
    load_model,
    load_tokeniser,
    losses_of,
    results,
    rouge_rows,
    schedule_of,
    summaries_of,
    trainer_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.methods import Preset
    from fabula.stats.estimate import Scored
    from fabula.training.base import Base
    from fabula.training.running import Outcome, Schedule
    from fabula.training.scoring import Native
    from fabula.training.summariser import Encoded

ROLE: Final = "summariser"
_PACKAGES: Final = ("torch", "transformers")
_HUB: Final = "hf:"
_OF_THE_MACHINE: Final = frozenset(("device", "precision", "micro_batch", "checkpointing", "samples"))


@dataclass(frozen=True, slots=True)
class SummariesAsked:
    """What is to be trained.

    Attributes:
        data: folder of dialogues, as DialogSum.
        base: the folder of an encoder-decoder, or `hf:OWNER/NAME`.
        out: folder of the tuned model.
        preset: of the settings.
        values: settings on top of it.
        fresh: begin anew where a training is there.
    """

    data: Path
    base: str
    out: Path
    preset: Preset = "improved"
    values: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class SummaryWork:
    """The training of a summary model: everything that is known before it starts.

    Attributes:
        asked: what was asked for.
        base: the model that is tuned.
        data: what the data is.
        config: the settings.
        train: what is learnt.
        development: what is measured.
        schedule: for how long.
        machine: on what.
        bytes_needed: of memory.
    """

    asked: SummariesAsked
    base: Base
    data: DataCard
    config: Summariser
    train: tuple[Encoded, ...]
    development: tuple[Encoded, ...]
    schedule: Schedule
    machine: Machine
    bytes_needed: int

    @property
    def name(self) -> str:
        """What it is called: its folder's name."""
        return self.asked.out.name

    @property
    def measured(self) -> tuple[Encoded, ...]:
        """The development dialogues whose summaries are written."""
        return self.development[: self.config.ours.measured or len(self.development)]

    def counts(self) -> dict[str, int]:
        """Dialogues, tokens, and what was cut."""
        both = (*self.train, *self.development)
        return {
            "dialogues": len(self.train),
            "development dialogues": len(self.development),
            "development dialogues whose summaries are compared": len(self.measured),
            "longest in tokens": max(len(one.source) for one in both),
            "dialogues cut": sum(one.source_cut > 0 for one in both),
            "tokens cut from dialogues": sum(one.source_cut for one in both),
            "summaries cut": sum(one.target_cut > 0 for one in both),
            "tokens cut from summaries": sum(one.target_cut for one in both),
        }


@dataclass(frozen=True, slots=True)
class TrainedSummariser:
    """What came of the training of a summary model.

    Attributes:
        work: that was done.
        outcome: how it ended; `None` where an earlier run had finished it.
        rouge: of base, tuned model and trivial summary, and the differences.
        loss: the difference of development losses.
    """

    work: SummaryWork
    outcome: Outcome | None
    rouge: Mapping[str, Scored] = field(default_factory=dict)
    loss: Mapping[str, Scored] = field(default_factory=dict)


# before ---------------------------------------------------------------------------------------------------------------


def prepare_summaries(asked: SummariesAsked, environ: Mapping[str, str], listener: Listener) -> SummaryWork:
    """Read dialogues and base, and find out what will be done; nothing is trained and no folder made.

    Raises:
        UsageError: something is missing or does not fit; says what.
        ModelUnavailableError: the base is no encoder-decoder.
    """
    for package in _PACKAGES:
        require(package, EXTRA, WHAT)
    config = config_of(Summariser, asked.preset, asked.values)
    if (asked.data / CARD).is_file() and (kind := read_card(asked.data).kind) != "dialogues":
        raise UsageError(f"{asked.data} holds {kind}, and dialogues are needed here.")
    train, development = (read_dialogues(asked.data, split) for split in ("train", "development"))
    check_enough(len(train), len(development), asked.data)
    if not asked.base.startswith(_HUB) and not Path(asked.base).expanduser().is_dir():
        raise UsageError(
            f"There is no folder {asked.base}. Give the folder of an encoder-decoder, as BART, or its name on the hub "
            "(hf:OWNER/NAME)."
        )
    with quiet():
        base = open_base(asked.base, environ, chat=False, report=listener.says)
        rooms = rooms_of(base.folder, base.name)
        tokeniser = load_tokeniser(base.folder)
        sides = [tuple(encode(tokeniser, one, config, rooms) for one in side) for side in (train, development)]
    schedule = schedule_of(config, len(train))
    shape = shape_of(base.folder, base.parameters)
    shape = replace(shape, layers=2 * shape.layers)  # those of the decoder, too
    size = Load(0, max(len(one.source) for side in sides for one in side), whole=True)
    ours = config.ours
    machine = fitting(
        shape,
        size,
        schedule.batch,
        replace(
            Ours(),
            device=ours.device,
            precision=ours.precision,
            micro_batch=ours.micro_batch,
            checkpointing=ours.checkpointing,
        ),
    )
    card = DataCard("dialogues", {}, (dialogue_source(asked.data, len(train)),))
    return SummaryWork(asked, base, card, config, sides[0], sides[1], schedule, machine, needed(shape, size, machine))


# training -------------------------------------------------------------------------------------------------------------


def train_summariser(work: SummaryWork, listener: Listener) -> TrainedSummariser:
    """Train the summary model, or go on with it; a signal ends it with a checkpoint.

    Raises:
        UsageError: another training is in the folder; says what differs.
        ProjectError: something cannot be written.
    """
    folder = work.asked.out
    make_folder(folder)
    with held(folder / ".training", f"The training in {folder}"), quiet():
        record = begin(folder, _identity(work), fresh=work.asked.fresh)
        listener.begins(work)
        if record["state"] != "running":
            return TrainedSummariser(work, None, *_gained(work, record))
        return _trained(work, record, listener)


def _trained(work: SummaryWork, record: dict[str, Any], listener: Listener) -> TrainedSummariser:
    folder = work.asked.out
    began = time.monotonic() - float(record.get("seconds", 0.0))
    machine = Machine(**record["machine"]) if record.get("machine") else work.machine
    machine = machine if machine.device == work.machine.device else work.machine
    record["machine"] = asdict(machine)
    tokeniser = load_tokeniser(work.base.folder)
    model = load_model(work.base.folder).to(machine.device)
    if "base" not in record:
        record["base"] = losses_of(model, work.development, machine)
        record["base_summaries"] = _summaries(work, model, tokeniser, listener)
        write_record(folder, record)
    trainer = trainer_of(model, folder, work.schedule, machine, work.train, work.development)
    outcome = run(trainer, folder, work.schedule, lambda point: listener.steps(work, point))
    record["seconds"] = time.monotonic() - began
    outcome = replace(outcome, seconds=record["seconds"])
    if outcome.ended == "interrupted":
        write_record(folder, record)
        return TrainedSummariser(work, outcome)
    if work.config.ours.keep == "last" and (there := checkpoints_in(folder)):
        outcome = replace(outcome, best=max(there), checkpoint=there[max(there)])
    if outcome.checkpoint is None:
        raise UsageError(
            f"The loss is no number at step {outcome.step}, and no checkpoint was written before. Nothing is kept. "
            "Take a lower rate (--set learning_rate=1e-5) and --fresh."
        )
    return _finish(work, record, outcome, machine, listener)


def _identity(work: SummaryWork) -> dict[str, Any]:
    """What has to be the same for another run to go on."""
    return {
        "kind": "summariser",
        "base": work.base.name,
        "base_digest": work.base.digest,
        "data_digest": digest_of([one.dialogue for one in (*work.train, *work.development)]),
        "settings": {f.name: f.value for f in settings_of(work.config) if f.name not in _OF_THE_MACHINE},
    }


def _summaries(work: SummaryWork, model: Native, tokeniser: Native, listener: Listener) -> dict[str, str]:
    measured = work.measured
    return summaries_of(
        model, tokeniser, measured, work.config, lambda done: listener.measures(work, done, len(measured))
    )


def _gained(work: SummaryWork, record: Mapping[str, Any]) -> tuple[dict[str, Scored], dict[str, Scored]]:
    """ROUGE and loss, as the record of a finished training has them."""
    rouge = rouge_rows([one.dialogue for one in work.measured], record["base_summaries"], record["tuned_summaries"])
    found = differences(_measured(work, record))
    return rouge, {"loss, tuned less base": found[0].fell}


def _measured(work: SummaryWork, record: Mapping[str, Any]) -> list[Measured]:
    return [
        Measured(
            one.dialogue.id,
            ROLE,
            one.dialogue.id,
            len(one.target),
            record["base"][one.dialogue.id],
            record["tuned"][one.dialogue.id],
        )
        for one in work.development
    ]


# after ----------------------------------------------------------------------------------------------------------------


def _finish(
    work: SummaryWork, record: dict[str, Any], outcome: Outcome, machine: Machine, listener: Listener
) -> TrainedSummariser:
    """Take the chosen checkpoint, measure it, and write the model with what stands beside it."""
    folder = work.asked.out
    assert outcome.checkpoint is not None  # noqa: S101 - seen by the caller
    tokeniser = load_tokeniser(work.base.folder)
    model = load_model(outcome.checkpoint)  # read as a whole, so that weights that are shared are shared again
    model.generation_config.update(
        num_beams=work.config.ours.beams, max_new_tokens=work.config.paper.summary_tokens, max_length=None, min_length=0
    )
    model.save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    model = model.to(machine.device)
    record["tuned"] = losses_of(model, work.development, machine)
    record["tuned_summaries"] = _summaries(work, model, tokeniser, listener)
    rouge, loss = _gained(work, record)
    rows = _measured(work, record)
    settings = {setting.name: setting.value for setting in settings_of(work.config)}
    base_loss = sum(row.base for row in rows) / len(rows)
    write_atomically(folder / "evaluation.jsonl", evaluation_lines(rows))
    write_atomically(folder / "losses.csv", losses_csv(outcome.points))
    write_atomically(folder / "losses.svg", losses_svg(outcome.points, base_loss, outcome.best, "Losses"))
    facts = CardFacts(
        agents=(ROLE,),
        base=work.base.name,
        base_digest=work.base.digest,
        licence=work.base.licence,
        data=work.data,
        data_digest=record["identity"]["data_digest"],
        counts=work.counts(),
        preset=work.asked.preset,
        settings=settings,
        machine=asdict(machine) | hardware(machine),
        minutes=record["seconds"] / 60,
        ended=ended_of(work, outcome),
        differences=(),
        samples=_samples(work, record),
        engine=False,
        how="A summary model, trained with fabula on dialogues with their summaries; every weight was trained.",
        results=results(rouge, loss),
        use=_USE,
        limits=LIMITS,
    )
    write_atomically(folder / "README.md", model_card(facts))
    write_record(folder, record | {"state": outcome.ended, "best": outcome.best, "step": outcome.step})
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return TrainedSummariser(work, outcome, rouge, loss)


_USE: Final = """## Use

    fabula write BRIEF --system snap --model summariser=seq2seq:THIS_FOLDER"""


def ended_of(work: SummaryWork, outcome: Outcome) -> str:
    """How a training ended and which checkpoint was taken."""
    if work.config.ours.keep == "best":
        return ended_sentence(work, outcome)
    if outcome.ended == "not finite":
        return (
            f"The loss became no number at step {outcome.step} of {work.schedule.steps}, and training stopped. The "
            f"checkpoint of step {outcome.best} is the last one before, and the one here."
        )
    return f"Training took {outcome.step} steps. The weights are those of the last step."


def _samples(work: SummaryWork, record: Mapping[str, Any]) -> list[Sample]:
    """Summaries by base and tuned model of the first development dialogues."""
    return [
        Sample(
            ROLE,
            one.dialogue.dialogue,
            record["base_summaries"][one.dialogue.id],
            record["tuned_summaries"][one.dialogue.id],
        )
        for one in work.measured[: work.config.ours.samples]
    ]
