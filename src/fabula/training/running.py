"""Training so that nothing is lost: checkpoints, continuing after a kill, an early stop, and the losses on the way.

What is trained (examples, pairs, summaries) is a `transformers.Trainer` of the caller's, made with `arguments`; `run`
does the rest. A folder in training holds

    training.json   what is trained, with everything that another run must have in common to continue
    checkpoints/    the last two checkpoints and the best one; a checkpoint is whole once it has its `whole.json`

A kill at any instant leaves the checkpoint before it whole, and the next run continues from there with the same
examples in the same order.
"""

from __future__ import annotations

import json
import math
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.data.reading import json_object
from fabula.engine.methods import Presets, values_of
from fabula.project.settings import changes_said
from fabula.training.libraries import library

if TYPE_CHECKING:
    from types import FrameType

    from fabula.training.presets import Decay


VERSION: Final = 1
RECORD: Final = "training.json"
CHECKPOINTS: Final = "checkpoints"
_PREFIX: Final = "checkpoint-"
_WHOLE: Final = "whole.json"
_STATE: Final = "trainer_state.json"

Ended: TypeAlias = Literal["steps", "early", "not finite", "interrupted"]
"""How training ended: after all steps; early, since the development loss did not fall; at a loss that is not a
number; by a signal."""


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """The length, speed and order of a training.

    Attributes:
        steps: in all.
        batch: examples in one.
        learning_rate: the highest.
        decay: how it goes down.
        warmup: steps in which it rises.
        evaluate_every: steps between measurements of the development loss, each with a checkpoint.
        patience: measurements without a lower loss after which training ends; 0: never.
        weight_decay: of AdamW.
        clip: the longest gradient.
        seed: of weights, order and dropout.
    """

    steps: int
    batch: int
    learning_rate: float
    decay: Decay
    warmup: int
    evaluate_every: int
    patience: int
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 0


def schedule_of(config: Presets, examples: int) -> TrainingSchedule:
    """How long, how fast and in which order is trained on so many examples, pairs or dialogues."""
    values = values_of(config)
    by_epochs = max(1, values["epochs"]) * math.ceil(examples / values["batch"])
    steps = values.get("steps") or by_epochs
    return TrainingSchedule(
        steps=steps,
        batch=values["batch"],
        learning_rate=values["learning_rate"],
        decay=values["decay"],
        warmup=min(values["warmup"], steps - 1),
        evaluate_every=min(max(1, values["evaluate_every"]), steps),
        patience=values["patience"],
        weight_decay=values["weight_decay"],
        clip=values["clip"],
        seed=values["seed"],
    )


@dataclass(frozen=True, slots=True)
class Machine:
    """The device and how it computes. This changes times and memory, and results only by rounding.

    Attributes:
        device: "cpu", "cuda" or "mps".
        bfloat16: whether matrices are multiplied in bfloat16.
        micro_batch: examples at once; divides the batch.
        checkpointing: whether activations are computed twice.
    """

    device: str
    bfloat16: bool
    micro_batch: int
    checkpointing: bool


@dataclass(frozen=True, slots=True)
class Point:
    """The losses at a step: of its batch, of the development examples where they were measured; and its rate."""

    step: int
    train: float | None = None
    development: float | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """How training ended.

    Attributes:
        ended: why.
        step: the last one.
        taken: the step whose weights are: that of the lowest development loss, unless its caller takes the last one; 0
            where none was measured.
        checkpoint: the folder with the weights of that step; `None` where there is none.
        points: the losses.
        seconds: that training took, over all runs.
        signal: that interrupted it.
        tried: measured checkpoints that the one taken was chosen among; 1 where the last one is taken.
    """

    ended: Ended
    step: int
    taken: int
    checkpoint: Path | None
    points: tuple[Point, ...]
    seconds: float = 0.0
    signal: int = 0
    tried: int = 1


class NotFiniteError(Exception):
    """A loss is not a finite number; ends the library's own loop."""


class MeasuringStoppedError(Exception):
    """A signal came while development losses were measured; ends the library's own loop."""


# what a folder holds --------------------------------------------------------------------------------------------------


def begin(folder: Path, identity: Mapping[str, Any], *, fresh: bool = False) -> dict[str, Any]:
    """The record of a training in `folder`, new or as an earlier run left it.

    Args:
        folder: where the adapter will be.
        identity: what must be the same for a run to continue: digests of base and data, settings.
        fresh: whether what is there is removed.

    Raises:
        UsageError: another training is there; says what differs.
        ProjectError: the folder cannot be written.
    """
    path = folder / RECORD
    if fresh and folder.is_dir():
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        path.unlink(missing_ok=True)
    if path.is_file():
        return _same(path, identity)
    make_folder(folder)
    record = {"version": VERSION, "identity": dict(identity), "state": "running"}
    write_record(folder, record)
    return record


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write `training.json`.

    Raises:
        ProjectError: it cannot be written.
    """
    write_atomically(folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _same(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    record = json_object(path)
    if record.integer("version") > VERSION:
        raise UsageError(
            f"{path} has version {record.integer('version')}, and this fabula reads {VERSION}. Update fabula."
        )
    if differ := changes_said(record.record("identity").fields, json.loads(json.dumps(identity))):
        raise UsageError(
            f"{path.parent} holds a training with other data or settings: {differ}. Give them as they were "
            "to continue, another --out, or --fresh to start over."
        )
    return dict(record.fields)


def checkpoints_in(folder: Path) -> dict[int, Path]:
    """The whole checkpoints of a training, by step; what a kill left half-written is removed."""
    found: dict[int, Path] = {}
    for path in sorted((folder / CHECKPOINTS).glob(f"{_PREFIX}*")):
        if _is_whole(path):
            found[int(path.name.removeprefix(_PREFIX))] = path
        else:
            shutil.rmtree(path, ignore_errors=True)
    return dict(sorted(found.items()))


def _is_whole(checkpoint: Path) -> bool:
    """Whether every file is there with the size that it had."""
    try:
        sizes = json.loads((checkpoint / _WHOLE).read_text(encoding="utf-8"))
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def _set_whole(checkpoint: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in checkpoint.iterdir() if path.is_file() and path.name != _WHOLE}
    write_atomically(checkpoint / _WHOLE, json.dumps(sizes))


def points_of(history: Sequence[Mapping[str, Any]]) -> tuple[Point, ...]:
    """The losses that a trainer's own log holds, in the order of steps; a step that was done twice counts once."""
    train = {int(row["step"]): row for row in history if "loss" in row}
    measured = {int(row["step"]): float(row["eval_loss"]) for row in history if "eval_loss" in row}
    return tuple(
        Point(
            step,
            float(train[step]["loss"]) if step in train else None,
            measured.get(step),
            float(train[step]["learning_rate"]) if "learning_rate" in train.get(step, {}) else None,
        )
        for step in sorted({*train, *measured})
    )


def best_of(points: Sequence[Point], steps: Sequence[int] | None = None) -> int:
    """The step with the lowest development loss, the first of several; 0 where none was measured."""
    measured = [
        (point.development, point.step)
        for point in points
        if point.development is not None and math.isfinite(point.development) and (steps is None or point.step in steps)
    ]
    return min(measured)[1] if measured else 0


# the loop -------------------------------------------------------------------------------------------------------------


def arguments(folder: Path, schedule: TrainingSchedule, machine: Machine) -> dict[str, Any]:
    """What the library's arguments are made with; the same for examples, pairs and summaries."""
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": schedule.steps,
        "per_device_train_batch_size": machine.micro_batch,
        "gradient_accumulation_steps": schedule.batch // machine.micro_batch,
        # One at a time, so that the loss is the mean over examples of each one's mean over its tokens.
        "per_device_eval_batch_size": 1,
        "learning_rate": schedule.learning_rate,
        "lr_scheduler_type": schedule.decay,
        "warmup_steps": schedule.warmup,
        "weight_decay": schedule.weight_decay,
        "max_grad_norm": schedule.clip,
        "optim": "adamw_torch",
        "seed": schedule.seed,
        "data_seed": schedule.seed,
        "use_cpu": machine.device == "cpu",
        "bf16": machine.bfloat16,
        _checkpointing(): machine.checkpointing,
        "eval_strategy": "steps",
        "eval_steps": schedule.evaluate_every,
        "save_strategy": "steps",
        "save_steps": schedule.evaluate_every,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # it would hide a loss that is no number
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": machine.device == "cuda",
    }


def _checkpointing() -> str:
    """What the library calls it: it was renamed within the versions that fabula takes."""
    known = library("transformers").TrainingArguments.__dataclass_fields__
    return "activation_checkpointing" if "activation_checkpointing" in known else "gradient_checkpointing"


def run(
    trainer: Any,  # noqa: ANN401 - the library's own type
    folder: Path,
    schedule: TrainingSchedule,
    hear: Callable[[Point], None],
    stopping: Callable[[], object] = lambda: None,
) -> TrainingOutcome:
    """Train from the last whole checkpoint in `folder`, or from the beginning.

    A first SIGINT or SIGTERM ends it after the step it is at, with a checkpoint; a second one at once. A measurement
    stops where it is, and is made when training continues. A loss that is not a number ends it with the checkpoints
    before.

    Args:
        trainer: made with `arguments`; not yet started.
        folder: of the adapter.
        schedule: what `arguments` was given.
        hear: gets the losses of each step, and of each measurement.
        stopping: is called at once where a signal came, before the step ends.

    Raises:
        ProjectError: a checkpoint cannot be written; those before are whole.
    """
    last = max(checkpoints_in(folder).items(), default=(0, None))[1]
    watch = _Watch(folder, schedule, hear, stopping)
    transformers = library("transformers")
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(type("Watching", (_Callback, transformers.TrainerCallback), {"watch": watch})())
    ended: Ended = "steps"
    if last is not None and not _is_measured(_history(last), schedule):
        ended = _watched(watch, trainer, lambda: _measure(trainer, last))
    history = _history(last)
    going_on = ended == "steps" and history.get("global_step", 0) < schedule.steps
    if going_on and not watch.measured(points_of(history.get("log_history", ()))):
        ended = _watched(watch, trainer, lambda: trainer.train(resume_from_checkpoint=str(last) if last else None))
        history = {"global_step": trainer.state.global_step, "log_history": trainer.state.log_history}
    if ended == "steps" and watch.early:
        ended = "early"
    elif ended == "steps" and watch.signal and history["global_step"] < schedule.steps:
        ended = "interrupted"
    points = points_of(history["log_history"])
    there = checkpoints_in(folder)
    best = best_of(points, list(there))
    tried = sum(point.development is not None for point in points)
    return TrainingOutcome(
        ended, history["global_step"], best, there.get(best), points, signal=watch.signal, tried=max(tried, 1)
    )


def _watched(watch: _Watch, trainer: Any, work: Callable[[], object]) -> Ended:  # noqa: ANN401 - the library's own type
    """How the library's work ended; a checkpoint that a signal kept from being measured is written first."""
    with _heeding(watch):
        try:
            try:
                work()
            except MeasuringStoppedError:
                step = trainer.state.global_step
                if step not in checkpoints_in(watch.folder):
                    trainer._save_checkpoint(trainer.model, None)  # noqa: SLF001 - nothing public writes one
                    watch.saved(step, points_of(trainer.state.log_history))
                return "interrupted"
        except NotFiniteError:
            return "not finite"
        except (OSError, RuntimeError, library("safetensors").SafetensorError) as error:
            raise _failed(watch.folder, error) from error
    return "steps"


def _is_measured(history: Mapping[str, Any], schedule: TrainingSchedule) -> bool:
    """Whether a checkpoint has its development loss, where its step is one that is measured."""
    step = history["global_step"]
    due = step % schedule.evaluate_every == 0 or step == schedule.steps
    return not due or any(row["step"] == step and "eval_loss" in row for row in history["log_history"])


def _measure(trainer: Any, checkpoint: Path) -> None:  # noqa: ANN401 - the library's own type
    """Measure a checkpoint that was not measured when it was written; its own record then says so."""
    trainer._load_from_checkpoint(str(checkpoint))  # noqa: SLF001 - nothing public does
    trainer.state = library("transformers").TrainerState.load_from_json(str(checkpoint / _STATE))
    trainer.evaluate()
    trainer.state.save_to_json(str(checkpoint / _STATE))
    _set_whole(checkpoint)


def _history(checkpoint: Path | None) -> dict[str, Any]:
    """What the trainer's own record in a checkpoint says; empty without one."""
    return {} if checkpoint is None else dict(json_object(checkpoint / _STATE).fields)


def _failed(folder: Path, error: Exception) -> Exception:
    """`error`, as one about the checkpoint that was being written, where one was."""
    broken = [path for path in (folder / CHECKPOINTS).glob(f"{_PREFIX}*") if not _is_whole(path)]
    if not broken:
        return error
    there = checkpoints_in(folder)  # this removes the broken one
    kept = f"The one of step {max(there)} is complete" if there else "There is no earlier one"
    why = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())[:200]
    return ProjectError(
        f"The checkpoint {broken[-1].name} could not be written ({why}). {kept}. Free some space and give the same "
        "command again to continue."
    )


@dataclass
class _Watch:
    """What goes on in the library's loop, and whether it has to end."""

    folder: Path
    schedule: TrainingSchedule
    hear: Callable[[Point], None]
    stopping: Callable[[], object] = lambda: None
    signal: int = 0
    early: bool = False
    _heard: set[tuple[int, bool]] = field(default_factory=set)

    def logged(self, step: int, logs: Mapping[str, float]) -> None:
        """Pass the losses on; a loss that is not a number ends the loop.

        Raises:
            NotFiniteError: there is one.
        """
        for name, kind in (("loss", "train"), ("eval_loss", "development")):
            if name in logs:
                self.hear(Point(step, **{kind: float(logs[name])}, rate=logs.get("learning_rate")))
                if not math.isfinite(logs[name]):
                    raise NotFiniteError

    def measured(self, points: Sequence[Point]) -> bool:
        """Whether the development loss has not fallen for long enough."""
        tried = [point.step for point in points if point.development is not None]
        since = sum(step > best_of(points) for step in tried)
        self.early = bool(self.schedule.patience) and since >= self.schedule.patience
        return self.early

    def saved(self, step: int, points: Sequence[Point]) -> None:
        """Call the new checkpoint whole, and remove those that are neither the best nor one of the last two."""
        _set_whole(self.folder / CHECKPOINTS / f"{_PREFIX}{step}")
        there = checkpoints_in(self.folder)
        kept = {*list(there)[-2:], best_of(points, list(there))}
        for at, path in there.items():
            if at not in kept:
                shutil.rmtree(path, ignore_errors=True)


class _Callback:
    """The library's events, passed on to the watch."""

    watch: _Watch

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> Any:  # noqa: ANN401, ARG002 - as the library calls it
        """Losses are there."""
        self.watch.logged(state.global_step, logs or {})
        return control

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - as above
        """A step is done: a signal is heeded now."""
        if self.watch.signal:
            control.should_training_stop = control.should_save = True
        return control

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - as above
        """One development example is measured: a signal is heeded now."""
        if self.watch.signal:
            raise MeasuringStoppedError
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - as above
        """The development loss is there."""
        if self.watch.measured(points_of(state.log_history)):
            control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - as above
        """All files of a checkpoint are written."""
        self.watch.saved(state.global_step, points_of(state.log_history))
        return control


@contextmanager
def _heeding(watch: _Watch) -> Iterator[None]:
    """While this is open, a first signal lets the step end; where this is not the main thread, signals are others'."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heed(number: int, frame: FrameType | None) -> None:
        if watch.signal and callable(earlier := before[signal.Signals(number)]):
            earlier(number, frame)
        if watch.signal:
            raise KeyboardInterrupt
        watch.signal = number
        watch.stopping()

    before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# beside the adapter ---------------------------------------------------------------------------------------------------


def losses_csv(points: Sequence[Point]) -> str:
    """A table of the losses; digits are enough to compare two runs."""
    rows = (
        ",".join("" if value is None else repr(value) for value in (p.step, p.train, p.development, p.rate))
        for p in points
    )
    return "\n".join(("step,train,development,rate", *rows)) + "\n"
