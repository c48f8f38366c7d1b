"""Training on preferences: direct preference optimisation with LoRA (Rafailov et al., 2024; MAGNET, section 4.1).

The reference is the base: the model with its adapter switched off. Prompts and replies are made into tokens here and
not by the library, so that nothing is cut or left out that is not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.training.base import EXTRA
from fabula.training.running import WHAT, Schedule, arguments
from fabula.training.scoring import PairTokens, pair_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.training.examples import Pair
    from fabula.training.presets import Dpo
    from fabula.training.running import Machine
    from fabula.training.scoring import Native

FEWEST: Final = 8
"""Pairs below which nothing is trained."""
_ALIKE: Final = "both replies are the same"
_LONG: Final = "prompt and reply are longer than {} tokens"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The pairs of one split as they are trained on.

    Attributes:
        pairs: those that are.
        rows: their tokens.
        shortened: ids of those whose prompts lost their middle.
        left_out: why others are not trained on, by id.
    """

    pairs: tuple[Pair, ...]
    rows: tuple[PairTokens, ...]
    shortened: tuple[str, ...]
    left_out: dict[str, str]


def prepared(tokeniser: Native, pairs: Sequence[Pair], settings: Dpo) -> Prepared:
    """The pairs as tokens; a prompt that is too long loses its middle, a pair that cannot be learnt is left out."""
    paper = settings.paper
    kept: list[tuple[Pair, PairTokens]] = []
    left_out: dict[str, str] = {}
    for pair in pairs:
        row = pair_tokens(tokeniser, pair, paper.prompt_tokens)
        if pair.chosen.strip() == pair.rejected.strip():
            left_out[pair.id] = _ALIKE
        elif len(row.prompt) + max(len(row.chosen), len(row.rejected)) > paper.sequence_tokens:
            left_out[pair.id] = _LONG.format(f"{paper.sequence_tokens:,}")
        else:
            kept.append((pair, row))
    return Prepared(
        tuple(pair for pair, _ in kept),
        tuple(row for _, row in kept),
        tuple(pair.id for pair, row in kept if row.unread),
        left_out,
    )


def check_enough(train: Prepared, where: Path) -> None:
    """See that there are pairs enough to learn from.

    Raises:
        UsageError: there are not; says how many of them are left out, and why.
    """
    if len(train.pairs) >= FEWEST:
        return
    reasons = {reason: list(train.left_out.values()).count(reason) for reason in dict.fromkeys(train.left_out.values())}
    why = "".join(f"; {count} left out since {reason}" for reason, count in reasons.items())
    raise UsageError(
        f"{where} has {len(train.pairs)} pairs to train on{why}. It takes {FEWEST} at least, and some hundreds to "
        "learn a preference: make more with `fabula data preferences`."
    )


def schedule_of(settings: Dpo, pairs: int) -> Schedule:
    """How long, how fast and in which order is trained on so many pairs."""
    paper, ours = settings.paper, settings.ours
    return Schedule(
        steps=paper.epochs * math.ceil(pairs / paper.batch),
        batch=paper.batch,
        learning_rate=paper.learning_rate,
        decay=paper.decay,
        warmup=paper.warmup,
        evaluate_every=ours.evaluate_every,
        patience=ours.patience,
        weight_decay=ours.weight_decay,
        clip=ours.clip,
        seed=paper.seed,
    )


def trainer_of(
    model: Native,
    tokeniser: Native,
    train: Prepared,
    development: Prepared,
    settings: Dpo,
    folder: Path,
    machine: Machine,
) -> Native:
    """The library's trainer of these pairs, not yet started; its model is the base with a new adapter.

    Args:
        model: the base; it is changed.
        tokeniser: the base's.
        train: what is learnt.
        development: what is measured.
        settings: of DPO.
        folder: of the adapter.
        machine: what is computed on.
    """
    library, peft, datasets = (extra(name, EXTRA, WHAT) for name in ("trl", "peft", "datasets"))
    schedule, paper = schedule_of(settings, len(train.pairs)), settings.paper
    own = {"_prepare_dataset": lambda _, dataset, *__: dataset, "create_model_card": lambda *_, **__: None}
    kind: Any = type("PairTrainer", (library.DPOTrainer,), own)
    made = library.DPOConfig(**arguments(folder, schedule, machine), beta=paper.beta, max_length=None)
    lora = peft.LoraConfig(
        r=paper.rank,
        lora_alpha=paper.alpha,
        lora_dropout=paper.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    sets = [datasets.Dataset.from_list([row.record() for row in part.rows]) for part in (train, development)]
    trainer = kind(
        model, args=made, train_dataset=sets[0], eval_dataset=sets[1], processing_class=tokeniser, peft_config=lora
    )
    if (len(trainer.train_dataset), len(trainer.eval_dataset)) != (len(train.pairs), len(development.pairs)):
        raise AssertionError("The library has left out pairs.")
    return trainer
