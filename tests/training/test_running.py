"""Training in the library's loop: checkpoints, resume, ends of every kind."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ProjectError, UsageError
from fabula.training.running import (
    Machine,
    Point,
    TrainingOutcome,
    TrainingSchedule,
    arguments,
    begin,
    best_of,
    checkpoints_in,
    run,
)

safetensors = pytest.importorskip("safetensors")
torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEDULE = TrainingSchedule(
    steps=60, batch=4, learning_rate=1e-2, decay="cosine", warmup=3, evaluate_every=10, patience=0, seed=3
)
CPU = Machine("cpu", bfloat16=False, micro_batch=2, checkpointing=False)
ROWS = [
    {"input_ids": ids, "labels": ids, "attention_mask": [1] * 12}
    for ids in ([3 + (7 * n + 5 * i) % 90 for i in range(12)] for n in range(26))
]


@dataclass
class Heard:
    """Listens, and does something at a step."""

    at: int = 0
    act: Callable[[], None] = lambda: None
    points: list[Point] = field(default_factory=list)

    def __call__(self, point: Point) -> None:
        self.points.append(point)
        if point.step == self.at and point.train is not None:
            self.act()


def trainer_of(base: Path, folder: Path, schedule: TrainingSchedule = SCHEDULE) -> Any:  # noqa: ANN401 - the library's type
    transformers.set_seed(schedule.seed)
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    made = transformers.TrainingArguments(**arguments(folder, schedule, CPU))
    return transformers.Trainer(model, made, train_dataset=ROWS[:20], eval_dataset=ROWS[20:])


def trained(
    base: Path, folder: Path, heard: Heard | None = None, schedule: TrainingSchedule = SCHEDULE
) -> TrainingOutcome:
    begin(folder, {"data": "same"})
    return run(trainer_of(base, folder, schedule), folder, schedule, heard or Heard())


class KilledError(BaseException):
    """Stands for SIGKILL in this process: nothing handles it."""


def killed() -> None:
    raise KilledError


def test_killed_at_every_tenth_step_it_ends_as_if_unbroken(tiny_llama: Path, tmp_path: Path) -> None:
    whole = trained(tiny_llama, tmp_path / "whole")
    assert whole.ended == "steps"
    assert whole.step == 60
    broken = tmp_path / "broken"
    for at in (5, 15, 25, 35, 45, 55):
        with pytest.raises(KilledError):
            trained(tiny_llama, broken, Heard(at, killed))
    resumed = trained(tiny_llama, broken)
    assert [point.step for point in resumed.points] == [point.step for point in whole.points] == list(range(1, 61))
    for one, other in zip(resumed.points, whole.points, strict=True):
        assert one.train == pytest.approx(other.train, abs=1e-6)
        assert one.development == pytest.approx(other.development, abs=1e-6)
    assert resumed.taken == whole.taken


def test_killed_after_the_last_step_nothing_is_trained_again(tiny_llama: Path, tmp_path: Path) -> None:
    whole = trained(tiny_llama, tmp_path)
    heard = Heard()
    again = trained(tiny_llama, tmp_path, heard)
    assert (again.ended, again.points, again.taken, heard.points) == ("steps", whole.points, whole.taken, [])
    early = replace(SCHEDULE, learning_rate=0.0, patience=2, evaluate_every=5)
    before = trained(tiny_llama, tmp_path / "early", schedule=early)
    assert trained(tiny_llama, tmp_path / "early", heard, early) == before
    assert heard.points == []


def test_a_signal_ends_it_after_the_step_with_a_checkpoint(tiny_llama: Path, tmp_path: Path) -> None:
    outcome = trained(tiny_llama, tmp_path, Heard(13, lambda: os.kill(os.getpid(), signal.SIGINT)))
    assert (outcome.ended, outcome.signal) == ("interrupted", signal.SIGINT)
    assert max(checkpoints_in(tmp_path)) == outcome.step in {13, 14}
    assert trained(tiny_llama, tmp_path).points[-1].step == 60


@pytest.mark.parametrize("step", [20, 60])
def test_a_signal_in_a_measurement_ends_it_there_and_the_measurement_is_made_later(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    whole = trained(tiny_llama, tmp_path / "whole")
    read: list[int] = []
    measure = transformers.Trainer.prediction_step

    def interrupted(self: Any, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - as the library calls it
        if self.state.global_step == step:
            read.append(step)
            if len(read) == 2 or (len(read) == 3 and step == 60):  # the second time while it is made up for
                os.kill(os.getpid(), signal.SIGINT)
        return measure(self, *args, **more)

    monkeypatch.setattr(transformers.Trainer, "prediction_step", interrupted)
    folder = tmp_path / "broken"
    ends: list[str] = []
    while not ends or ends[-1] == "interrupted":
        outcome = trained(tiny_llama, folder)
        ends.append(outcome.ended)
        assert max(checkpoints_in(folder)) == (step if outcome.ended == "interrupted" else 60)
    assert ends == ["interrupted", "steps"] if step == 20 else ["interrupted", "interrupted", "steps"]
    assert len(read) == 2 + 6 + (step == 60)  # six development examples: stopped after two, once more after one
    assert [point.step for point in outcome.points] == list(range(1, 61))
    for one, other in zip(outcome.points, whole.points, strict=True):
        assert one.train == pytest.approx(other.train, abs=1e-6)
        assert one.development == pytest.approx(other.development, abs=1e-6)
    assert outcome.taken == whole.taken


def test_a_checkpoint_that_was_half_written_does_not_count(tiny_llama: Path, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        trained(tiny_llama, tmp_path, Heard(25, killed))
    assert list(checkpoints_in(tmp_path)) == [10, 20]
    weights = tmp_path / "checkpoints/checkpoint-20/optimizer.pt"
    weights.write_bytes(weights.read_bytes()[:100])
    assert list(checkpoints_in(tmp_path)) == [10]
    assert not (tmp_path / "checkpoints/checkpoint-20").exists()
    assert trained(tiny_llama, tmp_path).points[-1].step == 60


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), safetensors.SafetensorError("No space left on device")],
    ids=["state", "weights"],
)
def test_a_full_disk_keeps_the_checkpoint_before(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    begin(tmp_path, {})
    trainer = trainer_of(tiny_llama, tmp_path)
    write = type(trainer)._save_optimizer_and_scheduler

    def full(self: object, folder: str) -> None:
        if folder.endswith("-20"):
            raise error
        write(self, folder)

    monkeypatch.setattr(type(trainer), "_save_optimizer_and_scheduler", full)
    with pytest.raises(ProjectError) as caught:
        run(trainer, tmp_path, SCHEDULE, Heard())
    assert str(caught.value) == (
        "The checkpoint checkpoint-20 could not be written (No space left on device). That of step 10 is whole. Free "
        "some space and give the same command again to continue."
    )
    assert list(checkpoints_in(tmp_path)) == [10]


def test_a_loss_that_is_no_number_ends_it_and_keeps_the_best(tiny_llama: Path, tmp_path: Path) -> None:
    begin(tmp_path, {})
    trainer = trainer_of(tiny_llama, tmp_path)

    def spoil() -> None:
        for name, weight in trainer.model.named_parameters():
            if "lora_B" in name:
                weight.data.fill_(math.nan)

    outcome = run(trainer, tmp_path, SCHEDULE, Heard(24, spoil))
    assert (outcome.ended, outcome.step) == ("not finite", 25)
    assert outcome.taken in {10, 20}
    assert outcome.checkpoint is not None
    assert outcome.checkpoint.is_dir()


def test_it_ends_early_where_the_development_loss_does_not_fall(tiny_llama: Path, tmp_path: Path) -> None:
    schedule = replace(SCHEDULE, learning_rate=0.0, patience=2, evaluate_every=5)
    outcome = trained(tiny_llama, tmp_path, schedule=schedule)
    assert outcome.ended == "early"
    assert (outcome.taken, outcome.step) == (5, 15)
    assert list(checkpoints_in(tmp_path)) == [5, 10, 15]
    assert best_of(outcome.points) == 5


def test_another_training_in_the_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    begin(tmp_path, {"data": "ab", "settings": {"rank": 4, "batch": 16}})
    with pytest.raises(UsageError) as caught:
        begin(tmp_path, {"data": "ab", "settings": {"rank": 8, "batch": 16}})
    assert str(caught.value) == (
        f"{tmp_path} holds a training with other data or settings: settings.rank was 4, now 8. Give them as they were "
        "to continue, another --out, or --fresh to start over."
    )
    assert begin(tmp_path, {"data": "xy"}, fresh=True)["identity"] == {"data": "xy"}


def test_a_newer_record_is_refused(tmp_path: Path) -> None:
    begin(tmp_path, {})
    (tmp_path / "training.json").write_text(json.dumps({"version": 9, "identity": {}}))
    with pytest.raises(UsageError, match=r"is of version 9; this fabula reads 1\. Update fabula\."):
        begin(tmp_path, {})
