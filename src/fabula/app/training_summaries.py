"""Training a summary model on dialogues: what a dry run says, the training itself, and what stands beside it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.training import (
    OneWork,
    TrainedOne,
    card_facts,
    carried_out,
    ended_sentence,
    finish,
    identity_of,
    in_training,
    same_machine,
    write_losses,
)
from fabula.base.errors import UsageError
from fabula.models.seq2seq import rooms_of
from fabula.training.base import open_base
from fabula.training.batches import losses_of
from fabula.training.dialogues import dialogue_source, read_dialogues
from fabula.training.examples import CARD, DataCard, data_digest, read_card
from fabula.training.libraries import quiet, require_libraries
from fabula.training.memory import Load, fitting, needed, shape_of
from fabula.training.presets import Summariser, computing_of, config_of
from fabula.training.report import MeasuredExample, Sample, differences
from fabula.training.running import begin, schedule_of, write_record
from fabula.training.summariser import (
    LIMITS,
    check_enough,
    encode,
    load_model,
    load_tokeniser,
    results,
    rouge_rows,
    summaries_of,
    trainer_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.training import Listener, TrainingAsked
    from fabula.stats.estimate import Scored
    from fabula.training.scoring import Native
    from fabula.training.summariser import EncodedDialogue

ROLE: Final = "summariser"
_PACKAGES: Final = ("torch", "transformers")
_HUB: Final = "hf:"


class SummaryWork(OneWork["Summariser", "tuple[EncodedDialogue, ...]"]):
    """The training of a summary model: everything that is known before it starts."""

    @property
    def measured(self) -> tuple[EncodedDialogue, ...]:
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


# before ---------------------------------------------------------------------------------------------------------------


def prepare_summaries(asked: TrainingAsked, environ: Mapping[str, str], listener: Listener) -> SummaryWork:
    """Read dialogues and base, and find out what will be done; nothing is trained and no folder made.

    Raises:
        UsageError: something is missing or does not fit; says what.
        ModelUnavailableError: the base is no encoder-decoder.
    """
    require_libraries(_PACKAGES)
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
    base = open_base(asked.base, environ, chat=False, report=listener.says)
    with quiet():
        rooms = rooms_of(base.folder, base.name)
        tokeniser = load_tokeniser(base.folder)
        sides = [tuple(encode(tokeniser, one, config, rooms) for one in side) for side in (train, development)]
    schedule = schedule_of(config, len(train))
    shape = shape_of(base.folder, base.parameters)
    shape = replace(shape, layers=2 * shape.layers)  # those of the decoder, too
    size = Load(0, max(len(one.source) for side in sides for one in side), whole=True)
    machine = fitting(shape, size, schedule.batch, computing_of(config))
    card = DataCard("dialogues", {}, (dialogue_source(asked.data, len(train)),))
    return SummaryWork(asked, base, card, config, sides[0], sides[1], schedule, machine, needed(shape, size, machine))


# training -------------------------------------------------------------------------------------------------------------


def train_summariser(work: SummaryWork, listener: Listener) -> TrainedOne:
    """Train the summary model, or go on with it; a signal ends it with a checkpoint.

    Raises:
        UsageError: another training is in the folder; says what differs.
        ProjectError: something cannot be written.
    """
    folder = work.asked.out
    with in_training(folder):
        digest = data_digest(one.dialogue for one in (*work.train, *work.development))
        record = begin(folder, identity_of("summariser", work, digest, [ROLE]), fresh=work.asked.fresh)
        listener.begins(work)
        if record["state"] != "running":
            return TrainedOne(work, None, _gained(work, record, record.get("tried", 1)))
        return _trained(work, record, listener)


def _trained(work: SummaryWork, record: dict[str, Any], listener: Listener) -> TrainedOne:
    folder, since = work.asked.out, time.monotonic()
    machine = same_machine(work, record)
    tokeniser = load_tokeniser(work.base.folder)
    model = load_model(work.base.folder).to(machine.device)
    rows = {one.dialogue.id: one.row for one in work.development}
    if "base" not in record:
        record["base"] = losses_of(model, rows, machine)
        record["base_summaries"] = _summaries(work, model, tokeniser, listener)
        write_record(folder, record)
    trainer = trainer_of(model, folder, work.schedule, machine, work.train, work.development)
    keep = work.config.ours.keep
    outcome = carried_out(trainer, work, folder, record, listener, since=since, keep=keep)
    if outcome.ended == "interrupted":
        return TrainedOne(work, outcome)
    assert outcome.checkpoint is not None  # noqa: S101 - `carried_out` says so
    model = _taken(work, outcome.checkpoint, tokeniser).to(machine.device)
    record["tuned"] = losses_of(model, rows, machine)
    record["tuned_summaries"] = _summaries(work, model, tokeniser, listener)
    found = _gained(work, record, outcome.tried)
    write_losses(folder, _measured(work, record), outcome, "Losses")
    ended = ended_sentence(work, outcome, keep)
    facts = card_facts(work, work, record, agents=(ROLE,), ended=ended, samples=_samples(work, record))
    finish(folder, replace(facts, how=_HOW, results=results(**found), use=_USE, limits=LIMITS), record, outcome)
    return TrainedOne(work, outcome, found)


def _summaries(work: SummaryWork, model: Native, tokeniser: Native, listener: Listener) -> dict[str, str]:
    measured = work.measured
    return summaries_of(
        model, tokeniser, measured, work.config, lambda done: listener.measures(work, done, len(measured))
    )


def _gained(work: SummaryWork, record: Mapping[str, Any], tried: int) -> dict[str, dict[str, Scored]]:
    """ROUGE and loss, as the record of a finished training has them; the best of `tried` checkpoints was taken."""
    dialogues = [one.dialogue for one in work.measured]
    rouge = rouge_rows(dialogues, record["base_summaries"], record["tuned_summaries"], tried)
    found = differences(_measured(work, record), tried)
    return {"rouge": rouge, "loss": {"loss, tuned less base": found[0].fell}}


def _measured(work: SummaryWork, record: Mapping[str, Any]) -> list[MeasuredExample]:
    return [
        MeasuredExample(
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


def _taken(work: SummaryWork, checkpoint: Path, tokeniser: Native) -> Native:
    """The model of a checkpoint, saved in the folder of what is trained as the engine reads it."""
    folder = work.asked.out
    model = load_model(checkpoint)  # read as a whole, so that weights that are shared are shared again
    model.generation_config.update(
        num_beams=work.config.ours.beams, max_new_tokens=work.config.paper.summary_tokens, max_length=None, min_length=0
    )
    model.save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return model


_HOW: Final = "A summary model, trained with fabula on dialogues with their summaries; every weight was trained."
_USE: Final = """## Use

    fabula write BRIEF --system snap --model summariser=seq2seq:THIS_FOLDER"""


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
