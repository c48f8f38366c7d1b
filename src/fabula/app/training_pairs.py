"""Training an adapter on preferences: the dry run, the training itself, and the files next to the adapter."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.training import (
    EVALUATION,
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
    take_adapter,
    weights_type,
)
from fabula.base.files import write_atomically
from fabula.training.base import load, open_base, tokeniser_of
from fabula.training.dpo import PreparedPairs, check_enough, curves, history_csv, pair_card, prepared_pairs, trainer_of
from fabula.training.examples import check_apart, data_digest, read_card, read_pairs
from fabula.training.held_out import HeldOutResult, Margins, compared
from fabula.training.libraries import quiet, require_libraries
from fabula.training.memory import Load, shape_of
from fabula.training.presets import Dpo, config_of
from fabula.training.report import Sample
from fabula.training.running import begin, write_record
from fabula.training.scoring import Native, ScoredPair, accuracies, gains, read_scores, score_pairs
from fabula.training.sft import answers

if TYPE_CHECKING:
    from fabula.stats.estimate import Scored


_PACKAGES: Final = ("torch", "transformers", "peft", "trl", "datasets")


class PairWork(Work["Dpo", "PreparedPairs"]):
    """The training of an adapter on pairs, with everything that is known before it starts."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The roles whose replies were compared."""
        return tuple(dict.fromkeys(pair.agent for pair in self.train.pairs))

    def counts(self) -> dict[str, int]:
        """The numbers of pairs and tokens, and how much was cut or left out."""
        both = (self.train, self.development)
        rows = [row for part in both for row in part.rows]
        return {
            "pairs": len(self.train.pairs),
            "development pairs": len(self.development.pairs),
            "groups": len({pair.group for pair in self.train.pairs}),
            "development groups": len({pair.group for pair in self.development.pairs}),
            "longest in tokens": max(row.longest for row in rows),
            "prompts cut": sum(row.unread > 0 for row in rows),
            "tokens cut from prompts": sum(row.unread for row in rows),
            **{f"left out: {reason}": count for reason, count in _reasons(both).items()},
        }


def _reasons(parts: Sequence[PreparedPairs]) -> dict[str, int]:
    reasons = [reason for part in parts for reason in part.left_out.values()]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


# before ---------------------------------------------------------------------------------------------------------------


def prepare_pairs(asked: TrainingAsked, environ: Mapping[str, str], listener: Listener) -> PairWork:
    """Read pairs and base, and return the work to be done. Nothing is trained, and no folder is made.

    Raises:
        UsageError: something is missing or not valid; the error names it.
    """
    require_libraries(_PACKAGES)
    config = config_of(Dpo, asked.preset, asked.values)
    card = read_card(asked.data)
    pairs = [read_pairs(asked.data, split) for split in ("train", "development")]
    check_apart(pairs[0], pairs[1], asked.data)
    base = open_base(asked.base, environ, gguf=asked.gguf, report=listener.says)
    with quiet():
        tokeniser = tokeniser_of(base.folder)
        train, development = (prepared_pairs(tokeniser, side, config, base.context) for side in pairs)
    check_enough(train, development, asked.data)
    longest = max(row.longest for row in (*train.rows, *development.rows))
    size = Load(config.paper.rank, longest, sequences=2)
    lengths = [
        [2 * len(row.prompt) + len(row.chosen) + len(row.rejected) for row in side.rows]
        for side in (train, development)
    ]
    planned = plan_of(config, shape_of(base.folder, base.parameters), size, lengths, beside=True)
    return PairWork(asked, base, card, config, train, development, *planned)


# training -------------------------------------------------------------------------------------------------------------


def train_pairs(work: PairWork, listener: Listener) -> Trained:
    """Train the adapter, or continue its training. A signal stops it with a checkpoint.

    Raises:
        UsageError: the folder contains another training; the error says what differs.
        ProjectError: a file cannot be written.
    """
    folder = work.asked.out
    with in_training(folder):
        identity = identity_of("dpo", work, data_digest((*work.train.pairs, *work.development.pairs)), work.agents)
        record = begin(folder, identity, fresh=work.asked.fresh)
        listener.begins(work)
        if record["state"] != "running":
            scored = read_scores(folder / EVALUATION, work.development.pairs)
            return Trained(work, None, *_gained(scored, record.get("tried", 1)))
        return _trained(work, record, listener)


def _trained(work: PairWork, record: dict[str, Any], listener: Listener) -> Trained:
    folder, since = work.asked.out, time.monotonic()
    machine = same_machine(work, record)
    write_record(folder, record)
    model, tokeniser = load(work.base, weights_type(machine))
    trainer = trainer_of(model, tokeniser, work.train, work.development, work.config, folder, machine)
    outcome = carried_out(trainer, work, record, listener, since=since)
    if outcome.ended == "interrupted":
        return Trained(work, outcome)
    assert outcome.checkpoint is not None  # noqa: S101 - `carried_out` says so
    take_adapter(outcome.checkpoint, work, trainer.model)
    listener.measures(work, 0, len(work.development.pairs))
    scored = score_pairs(trainer.model, work.development.pairs, work.development.rows, bf16=machine.bfloat16)
    found, verdict = _gained(scored, outcome.tried)
    _write(folder, scored, trainer.state.log_history, outcome.taken)
    facts = card_facts(work, record, outcome, agents=work.agents, samples=_samples(work, trainer.model, tokeniser))
    finish(work, pair_card(facts, found["accuracies"], found["gains"], verdict), record, outcome)
    return Trained(work, outcome, found, verdict)


def _gained(scored: Sequence[ScoredPair], tried: int) -> tuple[dict[str, dict[str, Scored]], HeldOutResult]:
    """The results on the development pairs, which chose the best of `tried` checkpoints."""
    verdict = compared([Margins(one.pair, one.pair.group, *one.token_margins) for one in scored], tried)
    return {"accuracies": accuracies(scored), "gains": gains(scored, tried)}, verdict


def _write(folder: Path, scored: Sequence[ScoredPair], history: Sequence[Mapping[str, Any]], best: int) -> None:
    """Write the likelihoods of the development pairs, and the losses, margins and accuracies by step."""
    write_atomically(folder / EVALUATION, "".join(json.dumps(one.record()) + "\n" for one in scored))
    write_atomically(folder / "losses.csv", history_csv(history))
    for name, picture in curves(history, best).items():
        write_atomically(folder / f"{name}.svg", picture)


def _samples(work: PairWork, model: Native, tokeniser: Native) -> list[Sample]:
    """Answers of base and tuned model to the first development prompts."""
    ours, seed = work.config.ours, work.config.paper.seed
    shown = list(zip(work.development.pairs, work.development.rows, strict=True))[: ours.samples]
    return [
        Sample(pair.agent, pair.messages[-1].content, *answers(model, tokeniser, row.prompt, ours.sample_tokens, seed))
        for pair, row in shown
    ]
