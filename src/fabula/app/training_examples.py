"""Training adapters on examples: what a dry run says, the training itself, and what stands beside each."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from fabula.app.training import (
    TrainingAsked,
    card_facts,
    carried_out,
    ended_sentence,
    finish,
    identity_of,
    in_training,
    same_machine,
    take_adapter,
    weights_type,
    write_losses,
)
from fabula.base.errors import UnknownNameError, UsageError
from fabula.models.adapters import AdapterFolder, write_room
from fabula.training.base import load, open_base, tokeniser_of
from fabula.training.batches import losses_of
from fabula.training.examples import check_apart, data_digest, read_card, read_examples
from fabula.training.libraries import quiet, require_libraries
from fabula.training.memory import Load, Shape, fitting, needed, seconds_needed, shape_of, tokens_of
from fabula.training.presets import Sft, computing_of, config_of
from fabula.training.report import MeasuredExample, Sample, differences
from fabula.training.running import begin, schedule_of, write_record
from fabula.training.sft import TokenLimits, answer, check_enough, encode, trainer_of, with_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.app.training import Listener
    from fabula.training.base import Base
    from fabula.training.examples import DataCard, Example
    from fabula.training.report import LossDifference
    from fabula.training.running import Machine, TrainingOutcome, TrainingSchedule
    from fabula.training.scoring import Native
    from fabula.training.sft import EncodedExample

SHARED: Final = "shared"
_NAME: Final = re.compile(r"[^\W_][\w -]{0,63}")  # of an agent and its folder, without a dot
_PACKAGES: Final = ("torch", "transformers", "peft")


@dataclass(frozen=True, slots=True)
class ExamplesAsked(TrainingAsked):
    """What is to be trained on examples.

    Attributes:
        agents: those to train; all in the data where none is named.
        shared: one adapter for all of them.
    """

    agents: tuple[str, ...] = ()
    shared: bool = False


@dataclass(frozen=True, slots=True)
class AdapterTraining:
    """The training of one adapter.

    Attributes:
        name: of its folder: the agent, or "shared".
        agents: that it is for.
        folder: where it goes.
        train: what it is trained on.
        development: what it is measured on.
        schedule: for how long.
        machine: on what.
        bytes_needed: of memory.
        seconds_needed: about; `None` where nothing tells.
    """

    name: str
    agents: tuple[str, ...]
    folder: Path
    train: tuple[EncodedExample, ...]
    development: tuple[EncodedExample, ...]
    schedule: TrainingSchedule
    machine: Machine
    bytes_needed: int
    seconds_needed: float | None

    def counts(self) -> dict[str, int]:
        """Examples, tokens, and what was cut."""
        both = (*self.train, *self.development)
        return {
            "examples": len(self.train),
            "development examples": len(self.development),
            "stories": len({one.example.group for one in self.train}),
            "development stories": len({one.example.group for one in self.development}),
            "tokens learnt": sum(one.completion for one in self.train),
            "longest in tokens": max(len(one.ids) for one in both),
            "prompts cut": sum(one.prompt_cut > 0 for one in both),
            "tokens cut from prompts": sum(one.prompt_cut for one in both),
            "completions cut": sum(one.completion_cut > 0 for one in both),
            "tokens cut from completions": sum(one.completion_cut for one in both),
        }


@dataclass(frozen=True, slots=True)
class PreparedTraining:
    """Everything that is known before training starts; a dry run says it."""

    asked: ExamplesAsked
    base: Base
    data: DataCard
    config: Sft
    parts: tuple[AdapterTraining, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of the training of one adapter.

    Attributes:
        part: that was trained.
        outcome: how it ended; `None` where an earlier run had finished it.
        rows: the development examples under base and tuned model.
        tried: checkpoints of which these examples chose the best.
    """

    part: AdapterTraining
    outcome: TrainingOutcome | None
    rows: tuple[MeasuredExample, ...] = ()
    tried: int = 1

    @property
    def differences(self) -> tuple[LossDifference, ...]:
        """How far the development loss of each agent fell."""
        return differences(self.rows, self.tried)


@dataclass(frozen=True, slots=True)
class Tried:
    """A value of a sweep, and what came of it over all agents."""

    value: str
    trained: tuple[Trained, ...]

    @property
    def tried(self) -> int:
        """Checkpoints of which the best was taken."""
        return max(one.tried for one in self.trained)

    def difference(self, tried: int) -> LossDifference:
        """How far the development loss fell, all agents together; the best is of `tried` checkpoints of all values."""
        rows = [replace(row, agent=self.value) for one in self.trained for row in one.rows]
        return differences(rows, tried)[0]


# before ---------------------------------------------------------------------------------------------------------------


def prepare(asked: ExamplesAsked, environ: Mapping[str, str], listener: Listener) -> PreparedTraining:
    """Read data and base, and find out what will be done; nothing is trained and no folder made.

    Raises:
        UsageError: something is missing or does not fit; says what.
    """
    require_libraries(_PACKAGES)
    config = config_of(Sft, asked.preset, asked.values)
    card = read_card(asked.data)
    train, development = (read_examples(asked.data, split) for split in ("train", "development"))
    check_apart(train, development, asked.data)
    groups = _groups(asked, train, development)
    base = open_base(asked.base, environ, gguf=asked.gguf, report=listener.says)
    with quiet():
        tokeniser = tokeniser_of(base.folder)
        shape = shape_of(base.folder, base.parameters)
        parts = tuple(
            _part(name, agents, asked.out / name, (train, development), config, base, tokeniser, shape)
            for name, agents in groups.items()
        )
    return PreparedTraining(asked, base, card, config, parts)


def _groups(
    asked: ExamplesAsked, train: Sequence[Example], development: Sequence[Example]
) -> dict[str, tuple[str, ...]]:
    """The agents of each adapter, by the name of its folder."""
    known = tuple(dict.fromkeys(one.agent for one in (*train, *development)))
    for agent in asked.agents:
        if agent not in known:
            raise UnknownNameError("agent in this data", agent, known)
    agents = asked.agents or known
    groups: dict[str, tuple[str, ...]] = {SHARED: agents} if asked.shared else {agent: (agent,) for agent in agents}
    if not agents:
        check_enough("The data", 0, 0)
    for name, members in groups.items():
        check_enough(
            f"The agent {name}" if name in members else "The data",
            sum(one.agent in members for one in train),
            sum(one.agent in members for one in development),
        )
    return groups


def _part(
    name: str,
    agents: tuple[str, ...],
    folder: Path,
    data: tuple[Sequence[Example], Sequence[Example]],
    config: Sft,
    base: Base,
    tokeniser: Native,
    shape: Shape,
) -> AdapterTraining:
    if not _NAME.fullmatch(name):
        raise UsageError(f"An agent is called {name!r}, which cannot name a folder. Correct the data.")
    most = max(config.paper.prompt_tokens)
    limits = TokenLimits(most, _completion_limit(config, base), base.context)
    train, development = (tuple(encode(tokeniser, one, limits) for one in side if one.agent in agents) for side in data)
    schedule = schedule_of(config, len(train))
    longest = Load(config.paper.rank, max(len(one.ids) for one in (*train, *development)))
    machine = fitting(shape, longest, schedule.batch, computing_of(config))
    lengths = [[len(one.ids) for one in side] for side in (train, development)]
    written = 2 * config.ours.samples * config.ours.sample_tokens
    tokens = tokens_of(schedule, fmean(lengths[0]), sum(lengths[1]), written, beside=False)
    memory, seconds = needed(shape, longest, machine), seconds_needed(shape, tokens, machine)
    return AdapterTraining(name, agents, folder, train, development, schedule, machine, memory, seconds)


def _completion_limit(config: Sft, base: Base) -> int:
    """The longest completion: that of the settings, and at most half of what the base was made for."""
    most = config.paper.completion_tokens
    return min(most, base.context // 2) if base.context else most


# training -------------------------------------------------------------------------------------------------------------


def train_all(prepared: PreparedTraining, listener: Listener) -> tuple[Trained, ...]:
    """Train every adapter that is not finished; the room is written when the last one is.

    A signal ends it with a checkpoint; the same call goes on from there.

    Raises:
        UsageError: another training is in a folder; says what differs.
        ProjectError: something cannot be written.
    """
    asked = prepared.asked
    found: list[Trained] = []
    with in_training(asked.out):
        for part in prepared.parts:
            listener.begins(part)
            found.append(_train(prepared, part, listener))
            listener.ends(part, found[-1].outcome)
            if (outcome := found[-1].outcome) is not None and outcome.ended == "interrupted":
                return tuple(found)
        adapters = {agent: part.name for part in prepared.parts for agent in part.agents}
        write_room(
            asked.out, AdapterFolder(base=prepared.base.name, base_digest=prepared.base.digest, adapters=adapters)
        )
    return tuple(found)


def prepare_sweep(
    asked: ExamplesAsked, name: str, values: Sequence[str], environ: Mapping[str, str], listener: Listener
) -> dict[str, PreparedTraining]:
    """What is trained with each value of a setting, each in a folder of its own below `sweep/`; nothing is trained.

    Raises:
        UsageError: a value does not fit, or something is missing; before anything is trained.
    """
    shown = {value: asked.out / "sweep" / f"{name}-{value}" for value in values}
    if any(folder.parent != asked.out / "sweep" for folder in shown.values()):
        raise UsageError(f"--sweep {name}={','.join(values)}: a value holds a slash. Give numbers or words.")
    return {
        value: prepare(
            replace(asked, out=folder, values={**asked.values, "samples": 0, name: value}), environ, listener
        )
        for value, folder in shown.items()
    }


def sweep(name: str, prepared: Mapping[str, PreparedTraining], listener: Listener) -> list[Tried]:
    """Train the same with each value of a setting.

    Runs that are finished stay. A signal ends it; the same call goes on.
    """
    found: list[Tried] = []
    for value, one in prepared.items():
        listener.says(f"{name} = {value}")
        found.append(Tried(value, train_all(one, listener)))
        if (outcome := found[-1].trained[-1].outcome) is not None and outcome.ended == "interrupted":
            break
    return found


def _train(prepared: PreparedTraining, part: AdapterTraining, listener: Listener) -> Trained:
    """Train one adapter, or go on with it."""
    examples = [one.example for one in (*part.train, *part.development)]
    identity = identity_of("sft", prepared, data_digest(examples), part.agents)
    record = begin(part.folder, identity, fresh=prepared.asked.fresh)
    if record["state"] != "running":
        return Trained(part, None, _measured(part, record["base"], record["tuned"]), record.get("tried", 1))
    since = time.monotonic()
    machine = same_machine(part, record)
    model, tokeniser = load(prepared.base, weights_type(machine))
    model = with_adapter(model.to(machine.device), prepared.config)
    if "base" not in record:
        record["base"] = _losses(part, model, machine, listener)
        write_record(part.folder, record)
    trainer = trainer_of(
        model, part.folder, part.schedule, machine, part.train, part.development, tokeniser.pad_token_id
    )
    outcome = carried_out(trainer, part, part.folder, record, listener, since=since)
    if outcome.ended == "interrupted":
        return Trained(part, outcome)
    assert outcome.checkpoint is not None  # noqa: S101 - `carried_out` says so
    take_adapter(outcome.checkpoint, part.folder, prepared.base, model)
    record["tuned"] = _losses(part, model, machine, listener)
    rows = _measured(part, record["base"], record["tuned"])
    write_losses(part.folder, rows, outcome, f"Losses of {part.name}")
    facts = card_facts(
        prepared,
        part,
        record,
        agents=part.agents,
        ended=ended_sentence(part, outcome),
        samples=_samples(prepared, part, model, tokeniser),
        differences=differences(rows, outcome.tried),
    )
    finish(part.folder, facts, record, outcome)
    return Trained(part, outcome, rows, outcome.tried)


def _losses(part: AdapterTraining, model: Native, machine: Machine, listener: Listener) -> dict[str, float]:
    """The development losses under the model as it stands."""
    rows = {one.example.id: one.row for one in part.development}
    return losses_of(model, rows, machine, lambda done: listener.measures(part, done, len(rows)))


def _measured(
    part: AdapterTraining, base: Mapping[str, float], tuned: Mapping[str, float]
) -> tuple[MeasuredExample, ...]:
    return tuple(
        MeasuredExample(
            one.example.id,
            one.example.agent,
            one.example.group,
            one.completion,
            base[one.example.id],
            tuned[one.example.id],
        )
        for one in part.development
    )


# after ----------------------------------------------------------------------------------------------------------------


def _samples(prepared: PreparedTraining, part: AdapterTraining, model: Native, tokeniser: Native) -> list[Sample]:
    """Answers of base and tuned model to the shortest development prompts, of different agents as far as there are."""
    ours = prepared.config.ours
    by_length = sorted(part.development, key=lambda one: one.prompt)
    firsts = {one.example.agent: one for one in reversed(by_length)}.values()
    chosen = sorted(by_length, key=lambda one: one not in firsts)[: ours.samples]
    found = []
    for one in chosen:
        prompt = one.ids[: one.prompt]
        with model.disable_adapter():
            base = answer(model, tokeniser, prompt, ours.sample_tokens, ours.seed)
        tuned = answer(model, tokeniser, prompt, ours.sample_tokens, ours.seed)
        found.append(Sample(one.example.agent, one.example.messages[-1].content, base, tuned))
    return found
