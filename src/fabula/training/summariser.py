"""Training a summary model: an encoder-decoder, such as BART, on dialogues and their summaries (SNAP, 3.2, 4.6).

Every weight is trained. Of a dialogue that is longer than the limit the beginning is read, and of a longer summary the
beginning is learnt; both are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.tokens import tokeniser as tokeniser_named
from fabula.evaluators.rouge.scoring import scores
from fabula.stats.estimate import Scored, estimate_cells
from fabula.stats.intervals import mean_of
from fabula.training.batches import Row, batch_of
from fabula.training.examples import LEAST
from fabula.training.libraries import library
from fabula.training.report import difference_of, escaped, table_of
from fabula.training.running import Machine, TrainingSchedule, arguments

if TYPE_CHECKING:
    from fabula.data.dialogsum import Dialogue
    from fabula.models.seq2seq import Rooms
    from fabula.training.presets import Summariser
    from fabula.training.scoring import Native


VARIANTS: Final = ("rouge1", "rouge2", "rougeL")
_TOKENS: Final = "rouge"
_TURNS: Final = 3


@dataclass(frozen=True, slots=True)
class EncodedDialogue:
    """A dialogue and its summary as tokens.

    Attributes:
        dialogue: what it was made of.
        source: tokens that are read.
        target: tokens that are learnt.
        source_cut: tokens of the dialogue that are not read.
        target_cut: tokens of the summary that are not learnt.
    """

    dialogue: Dialogue
    source: tuple[int, ...]
    target: tuple[int, ...]
    source_cut: int
    target_cut: int

    @property
    def row(self) -> Row:
        """The tokens as a trainer reads them."""
        return {"input_ids": list(self.source), "labels": list(self.target)}


def check_enough(train: int, development: int, where: Path) -> None:
    """See that there are dialogues enough to learn from, and to see whether it helps.

    Raises:
        UsageError: there are not.
    """
    if train < LEAST:
        raise UsageError(
            f"{where} has {train} dialogues to train on, but at least {LEAST} are needed. Add more dialogues."
        )
    if not development:
        raise UsageError(
            f"{where} has no dialogues for development, so nothing would show whether training helps. Put some in "
            "development.jsonl."
        )


def encode(tokeniser: Native, dialogue: Dialogue, settings: Summariser, rooms: Rooms) -> EncodedDialogue:
    """A dialogue and its summary as tokens, cut where they are too long."""
    paper = settings.paper
    source, source_cut = _within(tokeniser, dialogue.dialogue, min(paper.dialogue_tokens, rooms.text or math.inf))
    target, target_cut = _within(tokeniser, dialogue.summary, min(paper.summary_tokens, rooms.reply or math.inf))
    return EncodedDialogue(dialogue, source, target, source_cut, target_cut)


def _within(tokeniser: Native, text: str, most: float) -> tuple[tuple[int, ...], int]:
    """The tokens of a text with the model's marks around them, and how many did not fit."""
    ids = tuple(tokeniser(text, verbose=False)["input_ids"])
    if len(ids) <= most:
        return ids, 0
    kept = int(most)
    marks = len(tokeniser("", verbose=False)["input_ids"])
    last = ids[len(ids) - 1 :] if marks else ()  # the end mark, which a model has to learn to write
    return ids[: kept - len(last)] + last, len(ids) - kept


# the trainer ----------------------------------------------------------------------------------------------------------


def load_model(folder: Path) -> Native:
    """The model in a folder; only safetensors are read, and no code of the folder's is run.

    Raises:
        UsageError: it cannot be loaded, or what training needs is not installed.
    """
    torch = library("torch")
    return _loaded("AutoModelForSeq2SeqLM", folder, dtype=torch.float32, use_safetensors=True)


def load_tokeniser(folder: Path) -> Native:
    """The tokeniser in a model's folder.

    Raises:
        UsageError: it cannot be loaded, or what training needs is not installed.
    """
    return _loaded("AutoTokenizer", folder)


def _loaded(kind: str, folder: Path, **how: object) -> Native:
    transformers = library("transformers")
    try:
        opener = getattr(transformers, kind)
        return opener.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False, **how)
    except (OSError, ValueError, RuntimeError, LookupError, ImportError) as error:
        why = " ".join(str(error).split())[:300]
        raise UsageError(
            f"The model in {folder} cannot be loaded ({why}). Give the folder of an encoder-decoder, such as BART, "
            f"with its "
            "tokeniser and weights as safetensors."
        ) from error


def trainer_of(
    model: Native,
    folder: Path,
    schedule: TrainingSchedule,
    machine: Machine,
    train: Sequence[EncodedDialogue],
    development: Sequence[EncodedDialogue],
) -> Native:
    """The library's trainer of the model, not yet started."""
    transformers = library("transformers")
    pad = model.config.pad_token_id or 0
    transformers.set_seed(schedule.seed)
    return transformers.Seq2SeqTrainer(
        model,
        transformers.Seq2SeqTrainingArguments(**arguments(folder, schedule, machine)),
        train_dataset=[one.row for one in train],
        eval_dataset=[one.row for one in development],
        data_collator=lambda rows: batch_of(rows, pad),
    )


# what it gained -------------------------------------------------------------------------------------------------------


def summaries_of(
    model: Native,
    tokeniser: Native,
    encoded: Sequence[EncodedDialogue],
    settings: Summariser,
    hear: Callable[[int], None] = lambda _done: None,
) -> dict[str, str]:
    """What the model writes for each dialogue: its likeliest summary, by the search that the settings name."""
    torch = library("torch")
    model.eval()
    found = {}
    for number, one in enumerate(encoded, 1):
        ids = torch.tensor([[*one.source]], device=model.device)
        with torch.no_grad():
            made = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=settings.ours.beams,
                do_sample=False,
                max_new_tokens=settings.paper.summary_tokens,
                min_length=0,
            )
        found[one.dialogue.id] = tokeniser.decode(made[0], skip_special_tokens=True).strip()
        hear(number)
    return found


def lead(dialogue: Dialogue) -> str:
    """The trivial summary: the first three turns."""
    return " ".join(dialogue.dialogue.split("\n")[:_TURNS])


def rouge_rows(
    dialogues: Sequence[Dialogue], base: Mapping[str, str], tuned: Mapping[str, str], tried: int = 1
) -> dict[str, Scored]:
    """Mean ROUGE (F) of base, tuned model and trivial summary, and how far the tuned one is above both.

    Of several references the best counts, as is usual. The tuned model is the best of `tried` checkpoints.
    """
    texts = {
        "base": [base[one.id] for one in dialogues],
        "tuned": [tuned[one.id] for one in dialogues],
        "first three turns": [lead(one) for one in dialogues],
    }
    found: dict[str, Scored] = {}
    for variant in VARIANTS:
        values = {
            name: [_rouge(one, text, variant) for one, text in zip(dialogues, own, strict=True)]
            for name, own in texts.items()
        }
        for name, own in values.items():
            method = f"{variant}, F1, {_TOKENS} tokens, mean over dialogues"
            found[f"{variant}, {name}"] = mean_of(own, method=method, limits=(0.0, 1.0))
        for name in ("base", "first three turns"):
            apart = [a - b for a, b in zip(values["tuned"], values[name], strict=True)]
            method = f"difference of {variant}, mean over dialogues"
            found[f"{variant}, tuned less {name}"] = difference_of(apart, None, method, tried, limits=(-1.0, 1.0))
    return found


def _rouge(dialogue: Dialogue, text: str, variant: str) -> float:
    words = tokeniser_named(_TOKENS)
    return max(scores(reference, text, words, (variant,))[variant].f for reference in dialogue.references)


def results(rouge: Mapping[str, Scored], loss: Mapping[str, Scored]) -> str:
    """The section of a model card that says what was gained."""
    rows = [[escaped(cell) for cell in (name, *estimate_cells(scored))] for name, scored in {**rouge, **loss}.items()]
    return "\n\n".join(("## Development dialogues", _MEASURED, table_of(("", "value", "95 % interval", "n"), rows)))


_MEASURED: Final = """\
ROUGE of summaries that the model wrote, and the loss of a token of people's summaries (in nats; lower is better), on
dialogues that it was not trained on. The first three turns of a dialogue are the summary that reads nothing."""

LIMITS: Final = """## Limits

- ROUGE counts words in common with people's summaries. It does not say that a summary is true.
- It may repeat the dialogues that it was trained on."""
