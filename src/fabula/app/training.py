"""What every kind of training shares: what it tells, how it runs, and what stands beside what was trained.

`training_examples`, `training_pairs` and `training_summaries` are the kinds.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

from fabula.base.errors import UsageError
from fabula.base.files import held, make_folder, write_atomically
from fabula.base.version import __version__
from fabula.engine.methods import values_of
from fabula.models.adapters import CONFIG, GGUF, WEIGHTS, AdapterRecord, write_adapter
from fabula.models.lora import peft_to_gguf
from fabula.training.libraries import library, quiet
from fabula.training.report import CardFacts, evaluation_lines, losses_svg, model_card
from fabula.training.running import CHECKPOINTS, Machine, checkpoints_in, losses_csv, run, write_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabula.engine.methods import Preset, Presets
    from fabula.stats.estimate import Scored
    from fabula.training.base import Base
    from fabula.training.examples import DataCard
    from fabula.training.held_out import HeldOutResult
    from fabula.training.presets import Keep
    from fabula.training.report import LossDifference, MeasuredExample, Sample
    from fabula.training.running import Point, TrainingOutcome, TrainingSchedule
    from fabula.training.scoring import Native

Config = TypeVar("Config", bound="Presets")
Side = TypeVar("Side")
_PACKAGES: Final = ("torch", "transformers", "peft", "trl")
EVALUATION: Final = "evaluation.jsonl"
_OF_THE_MACHINE: Final = frozenset(("device", "precision", "micro_batch", "checkpointing", "samples", "sample_tokens"))
"""Settings that change how something is computed or shown, and not what is learnt."""


class Work(Protocol):
    """One training, of whatever kind."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def schedule(self) -> TrainingSchedule:
        """For how long."""

    @property
    def machine(self) -> Machine:
        """On what."""

    def counts(self) -> dict[str, int]:
        """What it is trained on, and what was cut."""


@dataclass(frozen=True, slots=True)
class TrainingAsked:
    """What is to be trained.

    Attributes:
        data: its folder.
        base: as `open_base` takes it; of a summary model, the folder of an encoder-decoder, or `hf:OWNER/NAME`.
        out: where it goes.
        preset: of the settings.
        values: settings on top of it.
        fresh: begin anew where a training is there.
        gguf: the base as a GGUF file, where it is a folder.
    """

    data: Path
    base: str
    out: Path
    preset: Preset = "improved"
    values: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False
    gguf: Path | None = None


class Job(Protocol):
    """What one training, or several of a room, is made of."""

    @property
    def asked(self) -> TrainingAsked:
        """What was asked for."""

    @property
    def base(self) -> Base:
        """The model that is tuned."""

    @property
    def data(self) -> DataCard:
        """What the data is."""

    @property
    def config(self) -> Presets:
        """The settings."""


@dataclass(frozen=True, slots=True)
class OneWork(Generic[Config, Side]):
    """A training of one model: everything that is known before it starts.

    Attributes:
        asked: what was asked for.
        base: the model that is tuned.
        data: what the data is.
        config: the settings.
        train: what is learnt.
        development: what is measured.
        schedule: for how long.
        machine: on what.
        bytes_needed: of memory.
        seconds_needed: about; `None` where nothing tells.
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
        """What it is called: its folder's name."""
        return self.asked.out.name


@dataclass(frozen=True, slots=True)
class TrainedOne:
    """What came of the training of one model.

    Attributes:
        work: that was done.
        outcome: how it ended; `None` where an earlier run had finished it.
        found: what was measured on the development data, by name: of base and tuned model, and the differences.
        verdict: of pairs, whether the tuned model is shown to be better, and why not.
    """

    work: OneWork[Any, Any]
    outcome: TrainingOutcome | None
    found: Mapping[str, Mapping[str, Scored]] = field(default_factory=dict)
    verdict: HeldOutResult | None = None


@dataclass
class Listener:
    """What a training tells while it goes on; each does nothing unless it is set."""

    says: Callable[[str], None] = lambda _sentence: None
    begins: Callable[[Work], None] = lambda _work: None
    measures: Callable[[Work, int, int], None] = lambda _work, _done, _all: None
    steps: Callable[[Work, Point], None] = lambda _work, _point: None
    ends: Callable[[Work, TrainingOutcome | None], None] = lambda _work, _outcome: None


@contextmanager
def in_training(folder: Path) -> Iterator[None]:
    """While this is open, nobody else trains in the folder, which is made, and the libraries are quiet.

    Raises:
        ProjectError: somebody does, or it cannot be made.
    """
    make_folder(folder)
    with held(folder / ".training", f"The training in {folder}"), quiet():
        yield


# how it runs ----------------------------------------------------------------------------------------------------------


def identity_of(kind: str, job: Job, data_digest: str, agents: Sequence[str] = ()) -> dict[str, Any]:
    """What has to be the same for another run to go on."""
    return {
        "kind": kind,
        "agents": list(agents),
        "base_digest": job.base.digest,
        "data_digest": data_digest,
        "settings": {name: value for name, value in values_of(job.config).items() if name not in _OF_THE_MACHINE},
    }


def same_machine(work: Work, record: dict[str, Any]) -> Machine:
    """As an earlier run computed, so that the losses stay the same; else as was found to fit. The record keeps it."""
    machine = Machine(**record["machine"]) if record.get("machine") else work.machine
    machine = machine if machine.device == work.machine.device else work.machine
    record["machine"] = asdict(machine)
    return machine


def weights_type(machine: Machine) -> Literal["float32", "bfloat16"]:
    """In which numbers the base's own weights are held."""
    return "bfloat16" if machine.bfloat16 and machine.device == "cuda" else "float32"


def carried_out(
    trainer: Native,
    work: Work,
    folder: Path,
    record: dict[str, Any],
    listener: Listener,
    *,
    since: float,
    keep: Keep = "best",
) -> TrainingOutcome:
    """Train to the end or to a signal, with the checkpoint that is taken.

    Args:
        trainer: the library's, not yet started.
        work: that is done.
        folder: of what is trained.
        record: of the training; gets the seconds, and is written where a signal came.
        listener: hears the losses.
        since: when this run began.
        keep: which checkpoint is taken: the last one, or that of the lowest development loss.

    Raises:
        UsageError: a loss was no number, and there is no checkpoint before it.
        ProjectError: a checkpoint cannot be written.
    """
    outcome = run(
        trainer,
        folder,
        work.schedule,
        lambda point: listener.steps(work, point),
        lambda: listener.says("Stopping after this step, with a checkpoint. Ctrl-C again stops at once."),
    )
    record["seconds"] = float(record.get("seconds", 0.0)) + time.monotonic() - since
    outcome = replace(outcome, seconds=record["seconds"])
    if outcome.ended == "interrupted":
        write_record(folder, record)
        return outcome
    if keep == "last" and (there := checkpoints_in(folder)):
        outcome = replace(outcome, taken=max(there), checkpoint=there[max(there)], tried=1)
    if outcome.checkpoint is None:
        raise UsageError(
            f"The loss of {work.name} is no number at step {outcome.step}, and no checkpoint was written before. "
            f"Nothing is kept. {lower_rate(work)}"
        )
    return outcome


def lower_rate(work: Work) -> str:
    """What helps most often where a loss is no number."""
    return f"Train with a lower rate: --set learning_rate={work.schedule.learning_rate / 10:g} --fresh."


def ended_sentence(work: Work, outcome: TrainingOutcome, keep: Keep = "best") -> str:
    """How a training ended and which checkpoint was taken."""
    taken = f"The checkpoint of step {outcome.taken} has the lowest development loss and is the one here."
    if keep == "last":
        taken = f"The checkpoint of step {outcome.taken} is the last one and the one here."
    if outcome.ended == "not finite":
        return (
            f"The loss became no number at step {outcome.step} of {work.schedule.steps}, and training stopped. {taken}"
        )
    if outcome.ended == "early":
        return (
            f"Training ended at step {outcome.step} of {work.schedule.steps}, since the development loss had "
            f"not fallen {work.schedule.patience} times. {taken}"
        )
    return f"Training took {outcome.step} steps. {taken}"


# what stands beside it ------------------------------------------------------------------------------------------------


def take_adapter(checkpoint: Path, folder: Path, base: Base, model: Native) -> None:
    """Put a checkpoint's adapter into its folder, also for the embedded engine, and into the model.

    Its settings name the base as a user does, and no path of this machine.
    """
    settings = json.loads((checkpoint / CONFIG).read_text(encoding="utf-8"))
    write_atomically(folder / CONFIG, json.dumps(settings | {"base_model_name_or_path": base.name}, indent=2) + "\n")
    write_atomically(folder / WEIGHTS, (checkpoint / WEIGHTS).read_bytes())
    if base.gguf is not None:
        peft_to_gguf(folder, folder / GGUF, base=base.gguf)
    peft, safetensors = library("peft"), library("safetensors.torch")
    peft.set_peft_model_state_dict(model, safetensors.load_file(folder / WEIGHTS))


def write_losses(folder: Path, rows: Sequence[MeasuredExample], outcome: TrainingOutcome, title: str) -> None:
    """Write the losses of a training: of each development example, and by step, as a table and a picture."""
    base = sum(row.base for row in rows) / len(rows)
    write_atomically(folder / EVALUATION, evaluation_lines(rows))
    write_atomically(folder / "losses.csv", losses_csv(outcome.points))
    write_atomically(folder / "losses.svg", losses_svg(outcome.points, base, outcome.taken, title))


def card_facts(
    job: Job,
    work: Work,
    record: Mapping[str, Any],
    *,
    agents: Sequence[str],
    ended: str,
    samples: Sequence[Sample],
    differences: Sequence[LossDifference] = (),
) -> CardFacts:
    """What the model card says of any training."""
    return CardFacts(
        agents=agents,
        base=job.base.name,
        base_digest=job.base.digest,
        licence=job.base.licence,
        data=job.data,
        data_digest=record["identity"]["data_digest"],
        counts=work.counts(),
        preset=job.asked.preset,
        settings=values_of(job.config),
        machine=record["machine"] | _hardware(record["machine"]["device"]),
        minutes=record["seconds"] / 60,
        ended=ended,
        differences=differences,
        samples=samples,
        engine=job.base.gguf is not None,
    )


def _hardware(device: str) -> dict[str, str]:
    """What a training was computed on, and with which versions."""
    torch = library("torch")
    there = [name for name in _PACKAGES if find_spec(name) is not None]
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {
        "hardware": f"{name}, {os.cpu_count()} processors, {torch.get_num_threads()} threads",
        "versions": ", ".join((f"fabula {__version__}", *(f"{name} {version(name)}" for name in there))),
    }


def finish(folder: Path, facts: CardFacts, record: Mapping[str, Any], outcome: TrainingOutcome) -> None:
    """Write the model card and the record of a training that has ended; its checkpoints go."""
    kind = record["identity"]["kind"]
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
