"""Training adapters on examples: the dry run, the training itself, and the files next to each adapter."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.app.training import (
    Listener,
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
    write_losses,
)
from fabula.base.errors import UnknownNameError, UsageError
from fabula.models.adapters import AdapterFolder, write_room
from fabula.training.base import Base, load, open_base, tokeniser_of
from fabula.training.batches import losses_of
from fabula.training.examples import Example, check_apart, data_digest, read_card, read_examples
from fabula.training.libraries import quiet, require_libraries
from fabula.training.memory import Load, shape_of
from fabula.training.presets import Sft, config_of
from fabula.training.report import LossDifference, MeasuredExample, Sample, differences
from fabula.training.running import Machine, TrainingOutcome, begin, write_record
from fabula.training.sft import EncodedExample, TokenLimits, answers, check_enough, encode, trainer_of, with_adapter

if TYPE_CHECKING:
    from fabula.training.scoring import Native


Encoded: TypeAlias = "tuple[EncodedExample, ...]"
SHARED: Final = "shared"
_NAME: Final = re.compile(r"[^\W_][\w -]{0,63}")  # of an agent and its folder, without a dot
_PACKAGES: Final = ("torch", "transformers", "peft")


@dataclass(frozen=True, slots=True)
class ExamplesAsked(TrainingAsked):
    """A request to train on examples.

    Attributes:
        agents: the agents to train; all agents in the data if none is named.
        shared: whether one adapter is trained for all of them.
    """

    agents: tuple[str, ...] = ()
    shared: bool = False


@dataclass(frozen=True, slots=True)
class AgentWork(Work[Sft, Encoded]):
    """The training of one adapter on examples.

    Attributes:
        agents: the agents that the adapter is for.
    """

    agents: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """The numbers of examples and tokens, and how much was cut."""
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
class TrainedAgent:
    """The result of training one adapter.

    Attributes:
        work: the training that was done.
        outcome: how it ended; `None` if an earlier run had finished it.
        rows: the losses of base and tuned model on the development examples.
        tried: the number of checkpoints from which these examples chose the best.
    """

    work: AgentWork
    outcome: TrainingOutcome | None
    rows: tuple[MeasuredExample, ...] = ()
    tried: int = 1

    @property
    def differences(self) -> tuple[LossDifference, ...]:
        """The fall of the development loss for each agent."""
        return differences(self.rows, self.tried)


# before ---------------------------------------------------------------------------------------------------------------


def prepare(asked: ExamplesAsked, environ: Mapping[str, str], listener: Listener) -> tuple[AgentWork, ...]:
    """Read data and base, and return the work to be done. Nothing is trained, and no folder is made.

    Raises:
        UsageError: something is missing or not valid; the error names it.
    """
    require_libraries(_PACKAGES)
    config = config_of(Sft, asked.preset, asked.values)
    card = read_card(asked.data)
    sides = train, development = [read_examples(asked.data, split) for split in ("train", "development")]
    check_apart(train, development, asked.data)
    groups = _groups(asked, train, development)
    base = open_base(asked.base, environ, gguf=asked.gguf, report=listener.says)
    found: list[AgentWork] = []
    with quiet():
        tokeniser, shape = tokeniser_of(base.folder), shape_of(base.folder, base.parameters)
        limits = TokenLimits(max(config.paper.prompt_tokens), _completion_limit(config, base), base.context)
        for name, agents in groups.items():
            own, aside = (
                tuple(encode(tokeniser, one, limits) for one in side if one.agent in agents) for side in sides
            )
            lengths = [[len(one.ids) for one in side] for side in (own, aside)]
            size = Load(config.paper.rank, max(*lengths[0], *lengths[1]))
            planned = plan_of(config, shape, size, lengths)
            here = replace(asked, out=asked.out / name)
            found.append(AgentWork(here, base, card, config, own, aside, *planned, agents=agents))
    return tuple(found)


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
        if not _NAME.fullmatch(name):
            raise UsageError(f"An agent is called {name!r}, which is not a valid folder name. Correct the data.")
        check_enough(
            f"The agent {name}" if name in members else "The data",
            sum(one.agent in members for one in train),
            sum(one.agent in members for one in development),
        )
    return groups


def _completion_limit(config: Sft, base: Base) -> int:
    """The longest completion: the limit in the settings, but at most half of the base's context."""
    most = config.paper.completion_tokens
    return min(most, base.context // 2) if base.context else most


# training -------------------------------------------------------------------------------------------------------------


def train_all(works: Sequence[AgentWork], listener: Listener) -> tuple[TrainedAgent, ...]:
    """Train every unfinished adapter of a room. The room is written when the last adapter is finished.

    A signal stops the training with a checkpoint; the same call continues from there.

    Raises:
        UsageError: a folder contains another training; the error says what differs.
        ProjectError: a file cannot be written.
    """
    room, base = works[0].asked.out.parent, works[0].base
    found: list[TrainedAgent] = []
    with in_training(room):
        for work in works:
            listener.begins(work)
            found.append(_train(work, listener))
            listener.ends(work, found[-1].outcome)
            if (outcome := found[-1].outcome) is not None and outcome.ended == "interrupted":
                return tuple(found)
        adapters = {agent: work.name for work in works for agent in work.agents}
        write_room(room, AdapterFolder(base=base.name, base_digest=base.digest, adapters=adapters))
    return tuple(found)


def _train(work: AgentWork, listener: Listener) -> TrainedAgent:
    """Train one adapter, or continue its training."""
    examples = [one.example for one in (*work.train, *work.development)]
    identity = identity_of("sft", work, data_digest(examples), work.agents)
    folder = work.asked.out
    record = begin(folder, identity, fresh=work.asked.fresh)
    if record["state"] != "running":
        return TrainedAgent(work, None, _measured(work, record["base"], record["tuned"]), record.get("tried", 1))
    since = time.monotonic()
    machine = same_machine(work, record)
    model, tokeniser = load(work.base, weights_type(machine))
    model = with_adapter(model.to(machine.device), work.config)
    if "base" not in record:
        record["base"] = _losses(work, model, machine, listener)
        write_record(folder, record)
    trainer = trainer_of(model, folder, work.schedule, machine, work.train, work.development, tokeniser.pad_token_id)
    outcome = carried_out(trainer, work, record, listener, since=since)
    if outcome.ended == "interrupted":
        return TrainedAgent(work, outcome)
    assert outcome.checkpoint is not None  # noqa: S101 - `carried_out` says so
    take_adapter(outcome.checkpoint, work, model)
    record["tuned"] = _losses(work, model, machine, listener)
    rows = _measured(work, record["base"], record["tuned"])
    write_losses(work, rows, outcome)
    samples, found = _samples(work, model, tokeniser), differences(rows, outcome.tried)
    facts = card_facts(work, record, outcome, agents=work.agents, samples=samples, differences=found)
    finish(work, facts, record, outcome)
    return TrainedAgent(work, outcome, rows, outcome.tried)


def _losses(work: AgentWork, model: Native, machine: Machine, listener: Listener) -> dict[str, float]:
    """The development losses of the model in its current state."""
    rows = {one.example.id: one.row for one in work.development}
    return losses_of(model, rows, machine, lambda done: listener.measures(work, done, len(rows)))


def _measured(work: AgentWork, base: Mapping[str, float], tuned: Mapping[str, float]) -> tuple[MeasuredExample, ...]:
    return tuple(
        MeasuredExample(
            one.example.id,
            one.example.agent,
            one.example.group,
            one.completion,
            base[one.example.id],
            tuned[one.example.id],
        )
        for one in work.development
    )


# after ----------------------------------------------------------------------------------------------------------------


def _samples(work: AgentWork, model: Native, tokeniser: Native) -> list[Sample]:
    """Answers of base and tuned model to the shortest development prompts, of different agents if possible."""
    ours = work.config.ours
    by_length = sorted(work.development, key=lambda one: one.prompt)
    firsts = {one.example.agent: one for one in reversed(by_length)}.values()
    chosen = sorted(by_length, key=lambda one: one not in firsts)[: ours.samples]
    found = []
    for one in chosen:
        prompt = one.ids[: one.prompt]
        said = answers(model, tokeniser, prompt, ours.sample_tokens, ours.seed)
        found.append(Sample(one.example.agent, one.example.messages[-1].content, *said))
    return found
