"""Training a summary model on dialogues: the dry run, the training itself, and the files next to the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.training import (
    Listener,
    Trained,
    TrainingAsked,
    Work,
    card_facts,
    carried_out,
    finish,
    identity_of,
    in_training,
    plan_of,
    same_machine,
    write_losses,
)
from fabula.base.errors import UsageError
from fabula.data import dialogsum
from fabula.data.sets import SETS
from fabula.models.seq2seq import rooms_of
from fabula.training.base import open_base
from fabula.training.batches import losses_of
from fabula.training.examples import CARD, DataCard, ExampleSource, data_digest, held_aside, read_card
from fabula.training.libraries import quiet, require_libraries
from fabula.training.memory import Load, shape_of
from fabula.training.presets import Summariser, config_of
from fabula.training.report import MeasuredExample, Sample, differences
from fabula.training.running import begin, write_record
from fabula.training.summariser import (
    LIMITS,
    EncodedDialogue,
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
    from fabula.data.dialogsum import Dialogue, Split
    from fabula.stats.estimate import Scored
    from fabula.training.scoring import Native


ROLE: Final = "summariser"
_PACKAGES: Final = ("torch", "transformers")
_HUB: Final = "hf:"


class SummaryWork(Work["Summariser", "tuple[EncodedDialogue, ...]"]):
    """The training of a summary model, with everything that is known before it starts."""

    @property
    def measured(self) -> tuple[EncodedDialogue, ...]:
        """The development dialogues whose summaries are written."""
        return self.development[: self.config.ours.measured or len(self.development)]

    def counts(self) -> dict[str, int]:
        """The numbers of dialogues and tokens, and how much was cut."""
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
    """Read dialogues and base, and return the work to be done. Nothing is trained, and no folder is made.

    Raises:
        UsageError: something is missing or not valid; the error names it.
        ModelUnavailableError: the base is not an encoder-decoder.
    """
    require_libraries(_PACKAGES)
    config = config_of(Summariser, asked.preset, asked.values)
    if (asked.data / CARD).is_file() and (kind := read_card(asked.data).kind) != "dialogues":
        raise UsageError(f"{asked.data} contains {kind}, but dialogues are required here.")
    train, development = (read_dialogues(asked.data, split) for split in ("train", "development"))
    check_enough(len(train), len(development), asked.data)
    if not asked.base.startswith(_HUB) and not Path(asked.base).expanduser().is_dir():
        raise UsageError(
            f"There is no folder {asked.base}. Specify the folder of an encoder-decoder, such as BART, or its "
            "name on the hub (hf:OWNER/NAME)."
        )
    base = open_base(asked.base, environ, chat=False, report=listener.says)
    with quiet():
        rooms = rooms_of(base.folder, base.name)
        tokeniser = load_tokeniser(base.folder)
        sides = [tuple(encode(tokeniser, one, config, rooms) for one in side) for side in (train, development)]
    shape = shape_of(base.folder, base.parameters)
    shape = replace(shape, layers=2 * shape.layers)  # those of the decoder, too
    size = Load(0, max(len(one.source) for side in sides for one in side), whole=True)
    lengths = [[len(one.source) + len(one.target) for one in side] for side in sides]
    card = DataCard("dialogues", {}, (dialogue_source(asked.data, len(train)),))
    return SummaryWork(asked, base, card, config, sides[0], sides[1], *plan_of(config, shape, size, lengths))


# training -------------------------------------------------------------------------------------------------------------


def train_summariser(work: SummaryWork, listener: Listener) -> Trained:
    """Train the summary model, or continue its training. A signal stops it with a checkpoint.

    Raises:
        UsageError: the folder contains another training; the error says what differs.
        ProjectError: a file cannot be written.
    """
    folder = work.asked.out
    with in_training(folder):
        digest = data_digest(one.dialogue for one in (*work.train, *work.development))
        record = begin(folder, identity_of("summariser", work, digest, [ROLE]), fresh=work.asked.fresh)
        listener.begins(work)
        if record["state"] != "running":
            return Trained(work, None, _gained(work, record, record.get("tried", 1)))
        return _trained(work, record, listener)


def _trained(work: SummaryWork, record: dict[str, Any], listener: Listener) -> Trained:
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
    outcome = carried_out(trainer, work, record, listener, since=since)
    if outcome.ended == "interrupted":
        return Trained(work, outcome)
    assert outcome.checkpoint is not None  # noqa: S101 - `carried_out` says so
    model = _taken(work, outcome.checkpoint, tokeniser).to(machine.device)
    record["tuned"] = losses_of(model, rows, machine)
    record["tuned_summaries"] = _summaries(work, model, tokeniser, listener)
    found = _gained(work, record, outcome.tried)
    write_losses(work, _measured(work, record), outcome)
    # the first development dialogues, summarised by the base and by the tuned model
    shown = [(one.dialogue.id, one.dialogue.dialogue) for one in work.measured[: work.config.ours.samples]]
    samples = [Sample(ROLE, text, record["base_summaries"][n], record["tuned_summaries"][n]) for n, text in shown]
    facts = card_facts(work, record, outcome, agents=(ROLE,), samples=samples)
    finish(work, replace(facts, how=_HOW, results=results(**found), use=_USE, limits=LIMITS), record, outcome)
    return Trained(work, outcome, found)


def _summaries(work: SummaryWork, model: Native, tokeniser: Native, listener: Listener) -> dict[str, str]:
    measured = work.measured
    return summaries_of(
        model, tokeniser, measured, work.config, lambda done: listener.measures(work, done, len(measured))
    )


def _gained(work: SummaryWork, record: Mapping[str, Any], tried: int) -> dict[str, dict[str, Scored]]:
    """ROUGE and loss from the record of a finished training, in which the best of `tried` checkpoints was chosen."""
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
    """The model of a checkpoint, saved in the folder of the training in the format that the engine reads."""
    folder = work.asked.out
    model = load_model(checkpoint)  # read as a whole, so that weights that are shared are shared again
    model.generation_config.update(
        num_beams=work.config.ours.beams, max_new_tokens=work.config.paper.summary_tokens, max_length=None, min_length=0
    )
    model.save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return model


# dialogues with their summaries: DialogSum, or one's own in the same form --------------------------------------------

_SHARE: Final = 0.05  # of the dialogues, held aside where there is no split for development


def read_dialogues(folder: Path, split: Split) -> tuple[Dialogue, ...]:
    """The dialogues of a split: "train", "development" (DialogSum's dev) or "test" (with three references each).

    The forms are those of `data.dialogsum.dialogues`. Where a folder has dialogues to train on and none for
    development, a twentieth of them stands aside, the same ones in every run.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: there are none, a line is no dialogue, or a dialogue of one split stands in the other, too.
    """
    if split == "test" or "development" in dialogsum.splits(folder):
        found = dialogsum.dialogues(folder, split)
        if split == "train":
            _apart(found, dialogsum.dialogues(folder, "development"), folder)
        return found
    whole = dialogsum.dialogues(folder, "train")
    aside = held_aside((one.dialogue for one in whole), _SHARE)
    return tuple(one for one in whole if (one.dialogue in aside) == (split == "development"))


def dialogue_source(folder: Path, count: int) -> ExampleSource:
    """Where the dialogues of a folder are from, with the licence, for cards."""
    known = SETS["dialogsum"]
    published = folder.name == known.name or any(folder.glob("dialogsum.*")) or any(folder.glob("DialogSum_Data*"))
    if published:
        return ExampleSource(known.name, known.title, known.licence, count)
    return ExampleSource(folder.name, "dialogues of one's own", "not stated", count)


def _apart(train: tuple[Dialogue, ...], development: tuple[Dialogue, ...], folder: Path) -> None:
    """See that no dialogue stands on both sides."""
    held = {one.dialogue: one.id for one in development}
    for one in train:
        if one.dialogue in held:
            raise UsageError(
                f"{folder}: the dialogue {one.id} of the training split is {held[one.dialogue]} of the development "
                "split. Remove one of them, or its loss means nothing."
            )


_HOW: Final = "A summary model that fabula trained on dialogues and their summaries; all weights were trained."
_USE: Final = """## Use

    fabula write BRIEF --system snap --model summariser=seq2seq:THIS_FOLDER"""
