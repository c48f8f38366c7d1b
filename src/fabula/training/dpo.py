"""Training on preferences: direct preference optimisation with LoRA (Rafailov et al., 2024; MAGNET, section 4.1).

The reference is the base: the model with its adapter switched off. Prompts and replies are made into tokens here and
not by the library, so that nothing is cut or left out that is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.measure.report.pictures import curve_svg
from fabula.stats.estimate import Estimate, Scored, estimate_cells
from fabula.training.examples import LEAST, PreferencePair
from fabula.training.libraries import library
from fabula.training.report import CardFacts, escaped, table_of
from fabula.training.running import Machine, arguments, schedule_of
from fabula.training.scoring import Native, PairTokens, pair_tokens
from fabula.training.sft import lora_of

if TYPE_CHECKING:
    from fabula.training.held_out import HeldOutResult
    from fabula.training.presets import Dpo


RIGHTLY: Final = "as was preferred"
_ALIKE: Final = "both replies are the same"
_LONG: Final = "prompt and reply are longer than {} tokens"


@dataclass(frozen=True, slots=True)
class PreparedPairs:
    """The pairs of one split as they are trained on.

    Attributes:
        pairs: those that are.
        rows: their tokens.
        left_out: why others are not trained on, by id.
    """

    pairs: tuple[PreferencePair, ...]
    rows: tuple[PairTokens, ...]
    left_out: dict[str, str]


def prepared_pairs(
    tokeniser: Native, pairs: Sequence[PreferencePair], settings: Dpo, context: int = 0
) -> PreparedPairs:
    """The pairs as tokens; a prompt that is too long loses its middle, a pair that cannot be learnt is left out.

    Args:
        tokeniser: the base's.
        pairs: of one split.
        settings: with the limits.
        context: tokens that the base was made for; 0 where nobody knows.
    """
    most = min(settings.paper.sequence_tokens, context or settings.paper.sequence_tokens)
    kept: list[tuple[PreferencePair, PairTokens]] = []
    left_out: dict[str, str] = {}
    for pair in pairs:
        if pair.chosen.strip() == pair.rejected.strip():
            left_out[pair.id] = _ALIKE
            continue
        row = pair_tokens(tokeniser, pair, min(settings.paper.prompt_tokens, most))
        if row.longest > most:
            left_out[pair.id] = _LONG.format(f"{most:,}")
        else:
            kept.append((pair, row))
    return PreparedPairs(tuple(pair for pair, _ in kept), tuple(row for _, row in kept), left_out)


def check_enough(train: PreparedPairs, development: PreparedPairs, where: Path) -> None:
    """See that there are pairs enough to learn from, and to see whether it helps.

    Raises:
        UsageError: there are not; says how many of them are left out, and why.
    """
    reasons = [*train.left_out.values()]
    why = "".join(f"; {reasons.count(reason)} left out, since {reason}" for reason in dict.fromkeys(reasons))
    if len(train.pairs) < LEAST:
        raise UsageError(
            f"{where} has {len(train.pairs)} pairs to train on{why}. Training needs at least {LEAST}, and hundreds to "
            "learn a preference. Make more with `fabula data preferences`."
        )
    if not development.pairs:
        raise UsageError(
            f"{where} has no development pairs, so nothing would show whether training helps. Make the data with a "
            "larger share for development, or from more stories."
        )


def trainer_of(
    model: Native,
    tokeniser: Native,
    train: PreparedPairs,
    development: PreparedPairs,
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
    trl, datasets = library("trl"), library("datasets")
    schedule = schedule_of(settings, len(train.pairs))
    own = {"_prepare_dataset": lambda _, dataset, *__: dataset, "create_model_card": lambda *_, **__: None}
    kind: Any = type("PairTrainer", (trl.DPOTrainer,), own)
    made = trl.DPOConfig(**arguments(folder, schedule, machine), beta=settings.paper.beta, max_length=None)
    sets = [datasets.Dataset.from_list([row.record() for row in part.rows]) for part in (train, development)]
    trainer = kind(
        model,
        args=made,
        train_dataset=sets[0],
        eval_dataset=sets[1],
        processing_class=tokeniser,
        peft_config=lora_of(settings),
    )
    if (len(trainer.train_dataset), len(trainer.eval_dataset)) != (len(train.pairs), len(development.pairs)):
        raise AssertionError("The training library has dropped some pairs.")
    return trainer


# what is told of it ---------------------------------------------------------------------------------------------------

_COLUMNS: Final = {
    "train": "loss",
    "development": "eval_loss",
    "rate": "learning_rate",
    "margin": "rewards/margins",
    "accuracy": "rewards/accuracies",
    "development_margin": "eval_rewards/margins",
    "development_accuracy": "eval_rewards/accuracies",
}
_PICTURES: Final = {
    "losses": ("Losses", "loss of the step", "loss", "development loss", "eval_loss", math.log(2)),
    "margins": ("Margins", "margin of the step", "rewards/margins", "development", "eval_rewards/margins", 0.0),
    "accuracy": (
        "Accuracy",
        "accuracy of the step",
        "rewards/accuracies",
        "development",
        "eval_rewards/accuracies",
        0.5,
    ),
}
"""Title, name and key of both lines, and what an adapter that changes nothing has."""


def history_csv(history: Sequence[Mapping[str, Any]]) -> str:
    """A table of losses, margins (beta times the implicit reward's) and accuracies by step, from a trainer's log."""
    steps: dict[int, dict[str, Any]] = {}
    for row in history:
        steps.setdefault(int(row["step"]), {}).update(row)
    lines = [
        ",".join([str(step), *("" if row.get(key) is None else repr(float(row[key])) for key in _COLUMNS.values())])
        for step, row in sorted(steps.items())
        if "loss" in row or "eval_loss" in row
    ]
    return "\n".join((",".join(("step", *_COLUMNS)), *lines)) + "\n"


def curves(history: Sequence[Mapping[str, Any]], best: int) -> dict[str, str]:
    """Pictures of losses, margins and accuracies, by name; `best` is the step whose weights are taken."""
    found = {}
    for name, (title, thin, of_step, thick, measured, at_first) in _PICTURES.items():
        lines = {
            key: [(float(row["step"]), float(row[key])) for row in history if key in row and math.isfinite(row[key])]
            for key in (of_step, measured)
        }
        own = [(0.0, at_first), *lines[measured]]
        taken = next((point for point in own if point[0] == best and best), None)
        found[name] = curve_svg((thin, lines[of_step]), (thick, own), title=title, across="step", best=taken)
    return found


def pair_card(
    facts: CardFacts, right: Mapping[str, Scored], apart: Mapping[str, Scored], verdict: HeldOutResult
) -> CardFacts:
    """The facts with what is said of a training on pairs."""
    agents = ", ".join(escaped(agent) for agent in facts.agents)
    method = next((one.method for one in right.values() if isinstance(one, Estimate)), "")
    results = (
        "## Development pairs",
        " ".join(verdict.sentences(RIGHTLY)),
        _HOW_OFTEN,
        table_of(("prefers by", "accuracy", "95 % interval", "n"), [_cells(*row) for row in right.items()]),
        "Differences, pair by pair:",
        table_of(("", "difference", "95 % interval", "n"), [_cells(*row) for row in apart.items()]),
        f"Intervals: {escaped(method.partition('; ')[2] or method)}.",
        "![margins](margins.svg)\n\n![accuracy](accuracy.svg)",
    )
    how = f"Trained with fabula on pairs of replies by {agents}, one of which was preferred (DPO, LoRA)."
    return replace(facts, how=how, results="\n\n".join(results), limits=_LIMITS)


def _cells(name: str, scored: Scored) -> list[str]:
    return [escaped(cell) for cell in (name, *estimate_cells(scored))]


_HOW_OFTEN: Final = """\
How often each prefers the reply that was preferred, on pairs of which none was trained on; a tie is a half. The
implicit reward is by how much training raised a reply's log-probability."""


_LIMITS: Final = """## Limits

- The numbers show how well the adapter predicts preferences like those it was trained on. They do not show that its
  stories are better: let a judge or people compare them (`fabula evaluate pairwise`, `fabula evaluate snap-ratings`).
- Pairs may teach length or position: compare with the rules above.
- It works only with this base. With another base its output has no meaning."""
