"""Training an agent's adapter on examples: what a dry run says, the training itself, and what stands beside it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.extras import extra, require
from fabula.base.files import held, make_folder, write_atomically
from fabula.base.version import __version__
from fabula.engine.methods import settings_of
from fabula.models.adapters import CONFIG, GGUF, WEIGHTS, AdapterRecord, Room, write_adapter, write_room
from fabula.models.lora import peft_to_gguf
from fabula.training.base import load, open_base, tokenizer_of
from fabula.training.examples import check_apart, read_card, read_examples
from fabula.training.memory import Load, Shape, fitting, needed, shape_of
from fabula.training.presets import Sft, config_of
from fabula.training.report import (
    CardFacts,
    Measured,
    Sample,
    differences,
    evaluation_lines,
    losses_svg,
    model_card,
)
from fabula.training.running import (
    CHECKPOINTS,
    EXTRA,
    WHAT,
    Machine,
    begin,
    losses_csv,
    run,
    write_record,
)
from fabula.training.sft import (
    Limits,
    answer,
    check_enough,
    digest_of,
    encode,
    losses_of,
    schedule_of,
    trainer_of,
    with_adapter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.training.base import Base
    from fabula.training.examples import DataCard, Example
    from fabula.training.report import Difference
    from fabula.training.running import Outcome, Point, Schedule
    from fabula.training.sft import Encoded

SHARED: Final = "shared"
_NAME: Final = re.compile(r"[^\W_][\w -]{0,63}")  # of an agent and its folder; none that begins with a dot, or has one
_PACKAGES: Final = ("torch", "transformers", "peft")
# Settings that change how something is computed, and not what.
_OF_THE_MACHINE: Final = frozenset(("device", "precision", "micro_batch", "checkpointing", "samples", "sample_tokens"))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be trained.

    Attributes:
        data: folder of training data.
        base: as `open_base` takes it.
        out: where the adapters go.
        preset: of the settings.
        values: settings on top of it.
        agents: those to train; all in the data where none is named.
        shared: one adapter for all of them.
        fresh: begin anew where a training is there.
        gguf: the base as a GGUF file, where it is a folder.
    """

    data: Path
    base: str
    out: Path
    preset: Preset = "improved"
    values: Mapping[str, Any] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    shared: bool = False
    fresh: bool = False
    gguf: Path | None = None


class Work(Protocol):
    """One training, of whatever kind."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def schedule(self) -> Schedule:
        """For how long."""

    def counts(self) -> dict[str, int]:
        """What it is trained on, and what was cut."""


@dataclass(frozen=True, slots=True)
class Part:
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
    """

    name: str
    agents: tuple[str, ...]
    folder: Path
    train: tuple[Encoded, ...]
    development: tuple[Encoded, ...]
    schedule: Schedule
    machine: Machine
    bytes_needed: int

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
class Prepared:
    """Everything that is known before training starts; a dry run says it."""

    asked: Asked
    base: Base
    data: DataCard
    config: Sft
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of the training of one adapter.

    Attributes:
        part: that was trained.
        outcome: how it ended; `None` where an earlier run had finished it.
        rows: the development examples under base and tuned model.
    """

    part: Part
    outcome: Outcome | None
    rows: tuple[Measured, ...] = ()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """How far the development loss of each agent fell."""
        return differences(self.rows)


@dataclass
class Listener:
    """What a training tells while it goes on; each does nothing unless it is set."""

    says: Callable[[str], None] = lambda _sentence: None
    begins: Callable[[Work], None] = lambda _work: None
    measures: Callable[[Work, int, int], None] = lambda _work, _done, _all: None
    steps: Callable[[Work, Point], None] = lambda _work, _point: None
    ends: Callable[[Trained], None] = lambda _trained: None


@dataclass(frozen=True, slots=True)
class Tried:
    """A value of a sweep, and what came of it over all agents."""

    value: str
    trained: tuple[Trained, ...]

    @property
    def difference(self) -> Difference:
        """How far the development loss fell, all agents together."""
        rows = [replace(row, agent=self.value) for one in self.trained for row in one.rows]
        return differences(rows)[0]


# before ---------------------------------------------------------------------------------------------------------------


def prepare(asked: Asked, environ: Mapping[str, str], listener: Listener) -> Prepared:
    """Read data and base, and find out what will be done; nothing is trained and no folder made.

    Raises:
        UsageError: something is missing or does not fit; says what.
    """
    for package in _PACKAGES:
        require(package, EXTRA, WHAT)
    config = config_of(Sft, asked.preset, asked.values)
    card = read_card(asked.data)
    train, development = (read_examples(asked.data, split) for split in ("train", "development"))
    check_apart(train, development, asked.data)
    groups = _groups(asked, train, development)
    base = open_base(asked.base, environ, gguf=asked.gguf, report=listener.says)
    with quiet():
        tokenizer = tokenizer_of(base.folder)
        shape = shape_of(base.folder, base.parameters)
        parts = tuple(
            _part(name, agents, asked.out / name, (train, development), config, base, tokenizer, shape)
            for name, agents in groups.items()
        )
    return Prepared(asked, base, card, config, parts)


def _groups(asked: Asked, train: Sequence[Example], development: Sequence[Example]) -> dict[str, tuple[str, ...]]:
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
    tokenizer: Any,  # noqa: ANN401 - the library's own type
    shape: Shape,
) -> Part:
    if not _NAME.fullmatch(name):
        raise UsageError(f"An agent is called {name!r}, which cannot name a folder. Correct the data.")
    most = max(config.paper.prompt_tokens)
    limits = Limits(most, _completion_limit(config, base), base.context)
    train, development = (tuple(encode(tokenizer, one, limits) for one in side if one.agent in agents) for side in data)
    schedule = schedule_of(config, len(train))
    longest = Load(config.paper.rank, max(len(one.ids) for one in (*train, *development)))
    machine = fitting(shape, longest, schedule.batch, config.ours)
    return Part(name, agents, folder, train, development, schedule, machine, needed(shape, longest, machine))


def _completion_limit(config: Sft, base: Base) -> int:
    """The longest completion: that of the settings, and at most half of what the base was made for."""
    most = config.paper.completion_tokens
    return min(most, base.context // 2) if base.context else most


# training -------------------------------------------------------------------------------------------------------------


def train_all(prepared: Prepared, listener: Listener) -> tuple[Trained, ...]:
    """Train every adapter that is not finished; the room is written when the last one is.

    A signal ends it with a checkpoint; the same call goes on from there.

    Raises:
        UsageError: another training is in a folder; says what differs.
        ProjectError: something cannot be written.
    """
    asked = prepared.asked
    make_folder(asked.out)
    found: list[Trained] = []
    with held(asked.out / ".training", f"The training in {asked.out}"), quiet():
        for part in prepared.parts:
            listener.begins(part)
            found.append(_train(prepared, part, listener))
            listener.ends(found[-1])
            if (outcome := found[-1].outcome) is not None and outcome.ended == "interrupted":
                return tuple(found)
        adapters = {agent: part.name for part in prepared.parts for agent in part.agents}
        write_room(asked.out, Room(base=prepared.base.name, base_digest=prepared.base.digest, adapters=adapters))
    return tuple(found)


def prepare_sweep(
    asked: Asked, name: str, values: Sequence[str], environ: Mapping[str, str], listener: Listener
) -> dict[str, Prepared]:
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


def sweep(name: str, prepared: Mapping[str, Prepared], listener: Listener) -> list[Tried]:
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


def _train(prepared: Prepared, part: Part, listener: Listener) -> Trained:
    """Train one adapter, or go on with it."""
    identity = _identity(prepared, part)
    record = begin(part.folder, identity, fresh=prepared.asked.fresh)
    if record["state"] != "running":
        return Trained(part, None, _measured(part, record["base"], record["tuned"]))
    began = time.monotonic() - float(record.get("seconds", 0.0))
    machine = _machine(part, record)
    record["machine"] = asdict(machine)
    model, tokenizer = load(prepared.base, "bfloat16" if machine.bfloat16 and machine.device == "cuda" else "float32")
    model = with_adapter(model.to(machine.device), prepared.config)
    if "base" not in record:
        record["base"] = losses_of(
            model, part.development, machine, lambda done: listener.measures(part, done, len(part.development))
        )
        write_record(part.folder, record)
    trainer = trainer_of(
        model, part.folder, part.schedule, machine, part.train, part.development, tokenizer.pad_token_id
    )
    outcome = run(trainer, part.folder, part.schedule, lambda point: listener.steps(part, point))
    record["seconds"] = time.monotonic() - began
    outcome = replace(outcome, seconds=record["seconds"])
    if outcome.ended == "interrupted":
        write_record(part.folder, record)
        return Trained(part, outcome)
    if outcome.checkpoint is None:
        raise UsageError(
            f"The loss of {part.name} is no number at step {outcome.step}, and no checkpoint was written before. "
            "Nothing is kept. Take a lower rate (--set learning_rate=1e-5) and --fresh."
        )
    return _finish(prepared, part, record, outcome, model, tokenizer, listener)


def _identity(prepared: Prepared, part: Part) -> dict[str, Any]:
    """What has to be the same for another run to go on."""
    settings = {
        setting.name: setting.value for setting in settings_of(prepared.config) if setting.name not in _OF_THE_MACHINE
    }
    return {
        "kind": "sft",
        "agents": list(part.agents),
        "base_digest": prepared.base.digest,
        "data_digest": digest_of([one.example for one in (*part.train, *part.development)]),
        "settings": settings,
    }


def _machine(part: Part, record: Mapping[str, Any]) -> Machine:
    """As an earlier run computed, so that the losses stay the same; else as was found to fit."""
    known = record.get("machine")
    machine = Machine(**known) if known else part.machine
    return machine if machine.device == part.machine.device else part.machine


def _measured(part: Part, base: Mapping[str, float], tuned: Mapping[str, float]) -> tuple[Measured, ...]:
    return tuple(
        Measured(
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


def _finish(
    prepared: Prepared,
    part: Part,
    record: dict[str, Any],
    outcome: Outcome,
    model: Any,  # noqa: ANN401 - the library's own type
    tokenizer: Any,  # noqa: ANN401 - as above
    listener: Listener,
) -> Trained:
    """Take the best checkpoint, measure it, and write what stands beside an adapter."""
    base, folder = prepared.base, part.folder
    assert outcome.checkpoint is not None  # noqa: S101 - seen by the caller
    copy_adapter(outcome.checkpoint, folder, base.name)
    if base.gguf is not None:
        peft_to_gguf(folder, folder / GGUF, base=base.gguf)
    peft, safetensors = extra("peft", EXTRA, WHAT), extra("safetensors.torch", EXTRA, WHAT)
    peft.set_peft_model_state_dict(model, safetensors.load_file(folder / WEIGHTS))
    machine = _machine(part, record)
    record["tuned"] = losses_of(
        model, part.development, machine, lambda done: listener.measures(part, done, len(part.development))
    )
    rows = _measured(part, record["base"], record["tuned"])
    base_loss = sum(row.base for row in rows) / len(rows)
    settings = {setting.name: setting.value for setting in settings_of(prepared.config)}
    write_atomically(folder / "evaluation.jsonl", evaluation_lines(rows))
    write_atomically(folder / "losses.csv", losses_csv(outcome.points))
    write_atomically(
        folder / "losses.svg", losses_svg(outcome.points, base_loss, outcome.best, f"Losses of {part.name}")
    )
    facts = CardFacts(
        agents=part.agents,
        base=base.name,
        base_digest=base.digest,
        licence=base.licence,
        data=prepared.data,
        data_digest=record["identity"]["data_digest"],
        counts=part.counts(),
        preset=prepared.asked.preset,
        settings=settings,
        machine=asdict(machine) | hardware(machine),
        minutes=record["seconds"] / 60,
        ended=ended_sentence(part, outcome),
        differences=differences(rows),
        samples=_samples(prepared, part, model, tokenizer),
        engine=base.gguf is not None,
    )
    write_atomically(folder / "README.md", model_card(facts))
    write_adapter(
        folder,
        AdapterRecord(
            kind="sft",
            agents=part.agents,
            base=base.name,
            base_digest=base.digest,
            data_digest=facts.data_digest,
            preset=prepared.asked.preset,
            settings=settings,
        ),
    )
    write_record(folder, record | {"state": outcome.ended, "best": outcome.best, "step": outcome.step})
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return Trained(part, outcome, rows)


def ended_sentence(part: Work, outcome: Outcome) -> str:
    """How a training ended and which checkpoint was taken."""
    taken = f"The checkpoint of step {outcome.best} has the lowest development loss and is the one here."
    if outcome.ended == "not finite":
        return (
            f"The loss became no number at step {outcome.step} of {part.schedule.steps}, and training stopped. {taken}"
        )
    if outcome.ended == "early":
        return (
            f"Training ended at step {outcome.step} of {part.schedule.steps}, since the development loss had "
            f"not fallen {part.schedule.patience} times. {taken}"
        )
    return f"Training took {outcome.step} steps. {taken}"


def copy_adapter(checkpoint: Path, folder: Path, base: str) -> None:
    """Adapter and settings of a checkpoint; the settings name the base as a user does, and no path of this machine."""
    settings = json.loads((checkpoint / CONFIG).read_text(encoding="utf-8"))
    write_atomically(folder / CONFIG, json.dumps(settings | {"base_model_name_or_path": base}, indent=2) + "\n")
    write_atomically(folder / WEIGHTS, (checkpoint / WEIGHTS).read_bytes())


def _samples(prepared: Prepared, part: Part, model: Any, tokenizer: Any) -> list[Sample]:  # noqa: ANN401 - the library's own types
    """Answers of base and tuned model to the shortest development prompts, of different agents as far as there are."""
    ours = prepared.config.ours
    by_length = sorted(part.development, key=lambda one: one.prompt)
    firsts = {one.example.agent: one for one in reversed(by_length)}.values()
    chosen = sorted(by_length, key=lambda one: one not in firsts)[: ours.samples]
    found = []
    for one in chosen:
        prompt = one.ids[: one.prompt]
        with model.disable_adapter():
            base = answer(model, tokenizer, prompt, ours.sample_tokens, ours.seed)
        tuned = answer(model, tokenizer, prompt, ours.sample_tokens, ours.seed)
        found.append(Sample(one.example.agent, one.example.messages[-1].content, base, tuned))
    return found


def hardware(machine: Machine) -> dict[str, str]:
    """What a training was computed on, and with which versions."""
    torch = extra("torch", EXTRA, WHAT)
    name = torch.cuda.get_device_name() if machine.device == "cuda" else platform.machine()
    return {
        "hardware": f"{name}, {os.cpu_count()} processors, {torch.get_num_threads()} threads",
        "versions": f"fabula {__version__}, torch {torch.__version__}, peft {extra('peft', EXTRA, WHAT).__version__}",
    }


@contextmanager
def quiet() -> Iterator[None]:
    """While this is open, the training libraries keep their remarks about each other to themselves."""
    logging = extra("transformers", EXTRA, WHAT).utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
