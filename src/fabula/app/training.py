"""The common parts of every kind of training: its messages, how it runs, and the files next to the trained model.

The modules `training_examples`, `training_pairs` and `training_summaries` contain the kinds.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from fabula.base.errors import UsageError
from fabula.base.files import held, make_folder, write_atomically
from fabula.base.version import __version__
from fabula.engine.methods import Preset, Presets, values_of
from fabula.models.adapters import CONFIG, GGUF, WEIGHTS, AdapterRecord, write_adapter
from fabula.models.lora import peft_to_gguf
from fabula.training.libraries import library, quiet
from fabula.training.memory import Load, Shape, fitting, needed, seconds_needed, tokens_of
from fabula.training.presets import Keep, computing_of
from fabula.training.report import (
    CardFacts,
    LossDifference,
    MeasuredExample,
    Sample,
    evaluation_lines,
    losses_svg,
    model_card,
)
from fabula.training.running import (
    CHECKPOINTS,
    Machine,
    Point,
    TrainingOutcome,
    TrainingSchedule,
    checkpoints_in,
    losses_csv,
    run,
    schedule_of,
    write_record,
)

if TYPE_CHECKING:
    from fabula.stats.estimate import Scored
    from fabula.training.base import Base
    from fabula.training.examples import DataCard
    from fabula.training.held_out import HeldOutResult
    from fabula.training.scoring import Native


Config = TypeVar("Config", bound="Presets")
Side = TypeVar("Side")
_PACKAGES: Final = ("torch", "transformers", "peft", "trl")
EVALUATION: Final = "evaluation.jsonl"
_OF_THE_MACHINE: Final = frozenset(("device", "precision", "micro_batch", "checkpointing", "samples", "sample_tokens"))
"""Settings that affect how something is computed or shown, but not what is learnt."""


@dataclass(frozen=True, slots=True)
class TrainingAsked:
    """A request for training.

    Attributes:
        data: the folder of the data.
        base: as in `open_base`; for a summary model, the folder of an encoder-decoder, or `hf:OWNER/NAME`.
        out: the folder for the result.
        preset: the preset of the settings.
        values: settings that replace those of the preset.
        fresh: whether to begin again if there is a training.
        gguf: the base as a GGUF file, if the base is a folder.
    """

    data: Path
    base: str
    out: Path
    preset: Preset = "improved"
    values: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False
    gguf: Path | None = None


@dataclass(frozen=True, slots=True)
class Work(ABC, Generic[Config, Side]):
    """The training of one model, with everything that is known before it starts.

    Attributes:
        asked: the request; its folder is that of this model.
        base: the model that is tuned.
        data: a description of the data.
        config: the settings.
        train: the training examples.
        development: the development examples.
        schedule: the number of steps and similar settings.
        machine: how it is computed.
        bytes_needed: the memory that it needs.
        seconds_needed: the approximate time; `None` if it is not known.
    """

    asked: TrainingAsked
    base: Base
    data: DataCard
    config: Config
    train: Side
    development: Side
    schedule: TrainingSchedule
    machine: Machine
    bytes_needed: int
    seconds_needed: float | None = None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.asked.out.name

    @property
    def keep(self) -> Keep:
        """The rule that chooses a checkpoint: the last one, or the one with the lowest development loss."""
        keep: Keep = values_of(self.config).get("keep", "best")
        return keep

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """The size of the training data, and how much was cut."""


AnyWork: TypeAlias = "Work[Any, Any]"


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of training one model.

    Attributes:
        work: the training that was done.
        outcome: how it ended; `None` if an earlier run had finished it.
        found: measurements on the development data, by name: for the base, the tuned model, and their differences.
        verdict: for pairs, whether the tuned model is shown to be better, and if not, why.
    """

    work: AnyWork
    outcome: TrainingOutcome | None
    found: Mapping[str, Mapping[str, Scored]] = field(default_factory=dict)
    verdict: HeldOutResult | None = None


@dataclass
class Listener:
    """The functions that a training calls to report progress; each does nothing unless it is set."""

    says: Callable[[str], None] = lambda _sentence: None
    begins: Callable[[AnyWork], None] = lambda _work: None
    measures: Callable[[AnyWork, int, int], None] = lambda _work, _done, _all: None
    steps: Callable[[AnyWork, Point], None] = lambda _work, _point: None
    ends: Callable[[AnyWork, TrainingOutcome | None], None] = lambda _work, _outcome: None


@contextmanager
def in_training(folder: Path) -> Iterator[None]:
    """Make the folder, and while this is open, allow no other training in it and keep the libraries quiet.

    Raises:
        ProjectError: another training uses the folder, or it cannot be made.
    """
    make_folder(folder)
    with held(folder / ".training", f"The training in {folder}"), quiet():
        yield


def plan_of(
    config: Presets, shape: Shape, size: Load, lengths: Sequence[Sequence[int]], *, beside: bool = False
) -> tuple[TrainingSchedule, Machine, int, float | None]:
    """The schedule and machine of a training, the bytes that it needs and, for an adapter, about how many seconds.

    Args:
        config: the settings.
        shape: the shape of the base.
        size: the size of what is trained and of its longest text.
        lengths: tokens of each example, on both sides.
        beside: whether the base reads everything that the tuned model reads.

    Raises:
        UsageError: the memory is too small for any setting.
    """
    own, aside = lengths
    schedule, values = schedule_of(config, len(own)), values_of(config)
    machine, seconds = fitting(shape, size, schedule.batch, computing_of(config)), None
    if not size.whole:
        written = 2 * values["samples"] * values["sample_tokens"]
        tokens = tokens_of(schedule, sum(own) / len(own), sum(aside), written, beside=beside)
        seconds = seconds_needed(shape, tokens, machine)
    return schedule, machine, needed(shape, size, machine), seconds


# how it runs ----------------------------------------------------------------------------------------------------------


def identity_of(kind: str, work: AnyWork, data_digest: str, agents: Sequence[str] = ()) -> dict[str, Any]:
    """The values that must be the same for another run to continue."""
    return {
        "kind": kind,
        "agents": list(agents),
        "base_digest": work.base.digest,
        "data_digest": data_digest,
        "settings": {name: value for name, value in values_of(work.config).items() if name not in _OF_THE_MACHINE},
    }


def same_machine(work: AnyWork, record: dict[str, Any]) -> Machine:
    """The machine of an earlier run, so that losses stay the same, or the one found to fit. The record keeps it."""
    machine = Machine(**record["machine"]) if record.get("machine") else work.machine
    machine = machine if machine.device == work.machine.device else work.machine
    record["machine"] = asdict(machine)
    return machine


def weights_type(machine: Machine) -> Literal["float32", "bfloat16"]:
    """The number type of the base's own weights."""
    return "bfloat16" if machine.bfloat16 and machine.device == "cuda" else "float32"


def carried_out(
    trainer: Native, work: AnyWork, record: dict[str, Any], listener: Listener, *, since: float
) -> TrainingOutcome:
    """Train to the end or until a signal, and return the outcome with the chosen checkpoint.

    Args:
        trainer: the library's trainer, not yet started.
        work: the training.
        record: the record of the training; the seconds are added, and it is written if a signal comes.
        listener: receives the losses.
        since: the start time of this run.

    Raises:
        UsageError: a loss is not a number, and there is no earlier checkpoint.
        ProjectError: a checkpoint cannot be written.
    """
    folder = work.asked.out
    outcome = run(
        trainer,
        folder,
        work.schedule,
        lambda point: listener.steps(work, point),
        lambda: listener.says(
            "Training stops after this step, with a checkpoint. Press Ctrl-C again to stop immediately."
        ),
    )
    record["seconds"] = float(record.get("seconds", 0.0)) + time.monotonic() - since
    outcome = replace(outcome, seconds=record["seconds"])
    if outcome.ended == "interrupted":
        write_record(folder, record)
        return outcome
    if work.keep == "last" and (there := checkpoints_in(folder)):
        outcome = replace(outcome, taken=max(there), checkpoint=there[max(there)], tried=1)
    if outcome.checkpoint is None:
        raise UsageError(
            f"The loss of {work.name} is not a number at step {outcome.step}, and there is no earlier checkpoint. "
            f"Nothing is kept. {lower_rate(work)}"
        )
    return outcome


def lower_rate(work: AnyWork) -> str:
    """The advice that helps most often if a loss is not a number."""
    return f"Train with a lower learning rate: --set learning_rate={work.schedule.learning_rate / 10:g} --fresh."


def ended_sentence(work: AnyWork, outcome: TrainingOutcome) -> str:
    """A sentence on how a training ended and which checkpoint was chosen."""
    taken = f"The checkpoint at step {outcome.taken} has the lowest development loss and was chosen."
    if work.keep == "last":
        taken = f"The checkpoint at step {outcome.taken} is the last one and was chosen."
    if outcome.ended == "not finite":
        return (
            f"The loss was not a number at step {outcome.step} of {work.schedule.steps}, and training stopped. {taken}"
        )
    if outcome.ended == "early":
        return (
            f"Training ended at step {outcome.step} of {work.schedule.steps}, because the development loss had "
            f"not fallen {work.schedule.patience} times. {taken}"
        )
    return f"Training took {outcome.step} steps. {taken}"


# what stands beside it ------------------------------------------------------------------------------------------------


def take_adapter(checkpoint: Path, work: AnyWork, model: Native) -> None:
    """Copy a checkpoint's adapter into its folder, for the embedded engine as well, and load it into the model.

    Its settings name the base as a user does and contain no path of this machine.
    """
    folder, base = work.asked.out, work.base
    settings = json.loads((checkpoint / CONFIG).read_text(encoding="utf-8"))
    write_atomically(folder / CONFIG, json.dumps(settings | {"base_model_name_or_path": base.name}, indent=2) + "\n")
    write_atomically(folder / WEIGHTS, (checkpoint / WEIGHTS).read_bytes())
    if base.gguf is not None:
        peft_to_gguf(folder, folder / GGUF, base=base.gguf)
    peft, safetensors = library("peft"), library("safetensors.torch")
    peft.set_peft_model_state_dict(model, safetensors.load_file(folder / WEIGHTS))


def write_losses(work: AnyWork, rows: Sequence[MeasuredExample], outcome: TrainingOutcome) -> None:
    """Write the losses of a training, for each development example and by step, as a table and a picture."""
    folder, base = work.asked.out, sum(row.base for row in rows) / len(rows)
    write_atomically(folder / EVALUATION, evaluation_lines(rows))
    write_atomically(folder / "losses.csv", losses_csv(outcome.points))
    write_atomically(folder / "losses.svg", losses_svg(outcome.points, base, outcome.taken, f"Losses of {work.name}"))


def card_facts(
    work: AnyWork,
    record: Mapping[str, Any],
    outcome: TrainingOutcome,
    *,
    agents: Sequence[str],
    samples: Sequence[Sample],
    differences: Sequence[LossDifference] = (),
) -> CardFacts:
    """The facts for the model card of any training."""
    return CardFacts(
        agents=agents,
        base=work.base.name,
        base_digest=work.base.digest,
        licence=work.base.licence,
        data=work.data,
        data_digest=record["identity"]["data_digest"],
        counts=work.counts(),
        preset=work.asked.preset,
        settings=values_of(work.config),
        machine=record["machine"] | _hardware(record["machine"]["device"]),
        minutes=record["seconds"] / 60,
        ended=ended_sentence(work, outcome),
        differences=differences,
        samples=samples,
        engine=work.base.gguf is not None,
    )


def _hardware(device: str) -> dict[str, str]:
    """The hardware and the versions used for a training."""
    torch = library("torch")
    there = [name for name in _PACKAGES if find_spec(name) is not None]
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {
        "hardware": f"{name}, {os.cpu_count()} processors, {torch.get_num_threads()} threads",
        "versions": ", ".join((f"fabula {__version__}", *(f"{name} {version(name)}" for name in there))),
    }


def finish(work: AnyWork, facts: CardFacts, record: Mapping[str, Any], outcome: TrainingOutcome) -> None:
    """Write the model card and the record of a finished training, and delete its checkpoints."""
    folder, kind = work.asked.out, record["identity"]["kind"]
    write_atomically(folder / "README.md", model_card(facts))
    if kind != "summariser":
        write_adapter(
            folder,
            AdapterRecord(
                kind=kind,
                agents=tuple(facts.agents),
                base=facts.base,
                base_digest=facts.base_digest,
                data_digest=facts.data_digest,
                preset=facts.preset,
                settings=dict(facts.settings),
            ),
        )
    write_record(
        folder, {**record, "state": outcome.ended, "taken": outcome.taken, "step": outcome.step, "tried": outcome.tried}
    )
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
