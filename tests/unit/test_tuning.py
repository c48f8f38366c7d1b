"""How many threads the engine takes: chosen from speeds that the tests invent, on machines that they invent."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.models.child import ChildEndedError
from fabula.models.tuning import (
    LONG,
    SHORT,
    EngineSetting,
    ReplySpeed,
    Tuner,
    candidates,
    fastest,
    shape_of,
    usable_cores,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fabula.models.tuning import Trial

# Tokens a second of a 135 M model, measured on four idle cores; on a busy machine long spins stand still.
IDLE: dict[tuple[int, int | None], float] = {
    (1, SHORT): 74.0,
    (2, SHORT): 76.0,
    (3, SHORT): 88.0,
    (4, SHORT): 26.0,
    (2, LONG): 95.0,
    (3, LONG): 110.0,
}
IDLE[4, LONG] = 125.0
BUSY: dict[tuple[int, int | None], float] = {
    (1, SHORT): 40.0,
    (2, SHORT): 60.0,
    (3, SHORT): 30.0,
    (4, SHORT): 12.0,
    (2, LONG): 61.0,
    (3, LONG): 9.0,
    (4, LONG): 1.0,
}
SHAPE: dict[str, str | float] = {
    "general.architecture": "llama",
    "general.file_type": 3,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.block_count": 30,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
}


@dataclass
class Machine:
    """A machine of made-up speeds, whose clock goes on while something is tried; it counts how often it is probed."""

    speeds: dict[tuple[int, int | None], float] = field(default_factory=lambda: dict(IDLE))
    others: float = 0.0
    now: float = 0.0
    probed: int = 0
    broken: bool = False
    tried: list[EngineSetting] = field(default_factory=list)

    @contextmanager
    def probe(self, _weights: Path, _spins: Iterable[int | None]) -> Iterator[Trial]:
        self.probed += 1
        if self.broken:
            raise ChildEndedError("no such function")
        yield self.trial

    def trial(self, setting: EngineSetting) -> float:
        self.tried.append(setting)
        self.now += 0.004
        return 1 / self.speeds[setting.threads, setting.spin]

    def clock(self) -> float:
        return self.now

    def tuner(
        self, weights: Path, cache: Path | None, asked: int | None = None, environ: tuple[str, ...] = ()
    ) -> Tuner:
        return Tuner(
            weights,
            asked=asked,
            cache=cache,
            environ=dict.fromkeys(environ, "7"),
            probe=self.probe,
            cores=lambda: 4,
            others=lambda: self.others,
            clock=self.clock,
        )


@pytest.fixture(autouse=True)
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF one model")
    return path


def test_the_fastest_threads_and_spin_are_chosen_together(weights: Path) -> None:
    machine = Machine()
    assert machine.tuner(weights, None).choose() == EngineSetting(4, LONG, 4)
    machine.speeds[4, LONG] = machine.speeds[3, LONG] = 20.0
    assert machine.tuner(weights, None).choose() == EngineSetting(2, LONG, 4)
    assert machine.now < 2 * 0.5, "a measurement takes half a second at most"


def test_of_settings_as_good_the_one_that_takes_least(weights: Path) -> None:
    machine = Machine(dict.fromkeys(IDLE, 50.0))
    assert machine.tuner(weights, None).choose() == EngineSetting(1, SHORT, 4)


def test_one_disturbed_trial_decides_nothing() -> None:
    def clock() -> float:
        return float(len(seen)) / 100

    def trial(setting: EngineSetting) -> float:
        seen.append(setting)
        taken = {1: 0.010, 2: 0.006, 3: 0.005}[setting.threads]
        return taken * (9 if setting.threads == 3 and len(seen) % 4 == 0 else 1)

    seen: list[EngineSetting] = []
    tried = candidates(3, 3, (SHORT,))
    assert fastest(tried, trial, clock, 0.3) == EngineSetting(3, SHORT, 3)


def test_what_is_far_behind_is_not_tried_with_more_threads() -> None:
    machine = Machine({(1, SHORT): 40.0, (2, SHORT): 60.0, (3, SHORT): 8.0, (2, LONG): 1.0})
    assert fastest(candidates(4, 4, (SHORT, LONG)), machine.trial, machine.clock, 0.3) == EngineSetting(2, SHORT, 4)
    assert machine.tried.count(EngineSetting(3, SHORT, 4)) == machine.tried.count(EngineSetting(2, LONG, 4)) == 2


def test_a_measurement_that_takes_long_ends_with_what_it_has() -> None:
    machine = Machine()
    machine.trial(EngineSetting(1, SHORT, 1))
    assert fastest(candidates(4, 4, (SHORT, LONG)), machine.trial, machine.clock, seconds=0.001).threads == 1


@pytest.mark.parametrize(
    ("cores", "free", "short", "long"),
    [
        (1, 1, [1], []),
        (4, 4, [1, 2, 3, 4], [2, 3, 4]),
        (4, 2, [1, 2, 3, 4], [2]),
        (4, 1, [1, 2, 3, 4], []),
        (12, 12, [1, 2, 3, 4, 6, 8, 11, 12], [2, 3, 4, 6, 8, 11, 12]),
    ],
)
def test_no_more_threads_spin_long_than_there_are_free_cores(
    cores: int, free: int, short: list[int], long: list[int]
) -> None:
    tried = candidates(cores, free, (SHORT, LONG))
    assert [setting.threads for setting in tried if setting.spin == SHORT] == short
    assert [setting.threads for setting in tried if setting.spin == LONG] == long
    assert all(setting.reading == max(setting.threads, free) for setting in tried)


def test_the_choice_is_kept_for_this_model_and_for_as_many_free_cores(weights: Path, tmp_path: Path) -> None:
    machine, cache = Machine(), tmp_path / "cache"
    chosen = machine.tuner(weights, cache).choose()
    assert machine.tuner(weights, cache).choose() == chosen
    assert machine.probed == 1
    machine.others, machine.speeds = 2.1, dict(BUSY)
    assert machine.tuner(weights, cache).choose() == EngineSetting(2, SHORT, 2)
    assert machine.probed == 2
    machine.others = 0.0
    assert machine.tuner(weights, cache).choose() == chosen
    assert machine.probed == 2
    weights.write_bytes(b"GGUF another model")
    assert machine.tuner(weights, cache).choose() == EngineSetting(2, SHORT, 4)
    assert machine.probed == 3


@pytest.mark.parametrize(
    "written", ["", "[1]", "null", '{"threads": 0, "spin": 1, "reading": 1, "speed": 1}', "[" * 9999]
)
def test_what_is_kept_and_cannot_be_read_is_measured_again(weights: Path, tmp_path: Path, written: str) -> None:
    machine = Machine()
    chosen = machine.tuner(weights, tmp_path).choose()
    (file,) = (tmp_path / "threads").iterdir()
    file.write_text(written)
    assert machine.tuner(weights, tmp_path).choose() == chosen
    assert machine.probed == 2
    assert json.loads(file.read_text())["threads"] == chosen.threads


def test_a_cache_that_cannot_be_written_costs_only_the_next_measurement(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    machine = Machine()
    for _ in range(2):
        assert machine.tuner(weights, tmp_path / "file").choose() == EngineSetting(4, LONG, 4)
    assert machine.probed == 2


def test_the_choice_is_taken_again_when_the_speed_falls_by_half(weights: Path, tmp_path: Path) -> None:
    machine = Machine()
    tuner = machine.tuner(weights, tmp_path)
    assert tuner.choose() == EngineSetting(4, LONG, 4)
    for seconds in (2.0, 1.8, 3.0):
        tuner.heard(200, seconds)
        assert not tuner.due()
    machine.others, machine.speeds = 2.0, dict(BUSY)
    tuner.heard(200, 4.0)
    assert tuner.due()
    assert tuner.choose() == EngineSetting(2, SHORT, 2)
    assert not tuner.due()
    tuner.heard(200, 4.0)
    tuner.heard(200, 40.0)
    assert not tuner.due(), "not more than once a minute"
    machine.now += 60
    assert tuner.due()


def test_the_speed_of_the_last_run_is_what_this_one_is_measured_by(weights: Path, tmp_path: Path) -> None:
    machine = Machine()
    first = machine.tuner(weights, tmp_path)
    first.choose()
    first.heard(200, 2.0)
    second = machine.tuner(weights, tmp_path)
    second.choose()
    assert machine.probed == 1
    second.heard(10, 9.0)
    assert not second.due(), "a few pieces say nothing"
    second.heard(200, 4.5)
    assert second.due()
    machine.speeds = {**IDLE, (4, LONG): 30.0}
    assert second.choose() == EngineSetting(3, LONG, 4)
    assert machine.tuner(weights, tmp_path).choose() == EngineSetting(3, LONG, 4)
    assert machine.probed == 2


def test_a_reply_is_not_waited_for_where_others_have_taken_the_cores(weights: Path) -> None:
    machine = Machine()
    tuner = machine.tuner(weights, None)
    tuner.choose()
    slow = ReplySpeed(machine.clock)
    for _ in range(10):
        machine.now += 0.4
        slow.piece()
    assert not tuner.collapsed(slow), "nothing is known of this engine's speed"
    tuner.heard(200, 2.0)
    machine.others = 4.0
    assert not tuner.collapsed(slow), "these four threads are the engine's own: a long context, or a hard constraint"
    machine.others = 6.0
    assert tuner.collapsed(slow)
    assert tuner.due()


def test_an_engine_that_found_a_busy_machine_looks_again(weights: Path) -> None:
    machine = Machine(dict(BUSY), others=2.0)
    tuner = machine.tuner(weights, None)
    assert tuner.choose() == EngineSetting(2, SHORT, 2)
    machine.now += 200
    assert not tuner.due()
    machine.now += 200
    assert tuner.due()
    machine.others, machine.speeds = 0.0, dict(IDLE)
    assert tuner.choose() == EngineSetting(4, LONG, 4)
    machine.now += 400
    assert not tuner.due()


def test_threads_that_somebody_chose_are_taken(weights: Path, tmp_path: Path) -> None:
    machine = Machine()
    assert machine.tuner(weights, tmp_path, asked=3).choose() == EngineSetting(3, LONG, 3)
    machine.probed = 0
    single = machine.tuner(weights, tmp_path, asked=1)
    assert single.choose() == EngineSetting(1, SHORT, 1)
    single.heard(200, 2.0)
    single.heard(200, 9.0)
    assert (machine.probed, single.due()) == (0, False)
    machine.others = 2.0
    assert machine.tuner(weights, tmp_path, asked=3).choose() == EngineSetting(3, SHORT, 3)


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_a_spin_in_the_environment_is_left_as_it_is(weights: Path, name: str) -> None:
    machine = Machine({(n, None): IDLE[n, SHORT] for n in (1, 2, 3, 4)})
    assert machine.tuner(weights, None, environ=(name,)).choose() == EngineSetting(3, None, 4)


@pytest.mark.parametrize("asked", [None, 2])
def test_what_cannot_be_measured_is_guessed(weights: Path, tmp_path: Path, asked: int | None) -> None:
    machine = Machine(broken=True)
    tuner = machine.tuner(weights, tmp_path, asked)
    assert tuner.choose() == EngineSetting(asked or 3, SHORT, asked or 4)
    assert not (tmp_path / "threads").exists()


def test_a_pace_is_of_the_last_pieces_and_no_judgement_of_the_first_seconds() -> None:
    now = 0.0
    pace = ReplySpeed(lambda: now)

    def comes(after: float, pieces: int) -> None:
        nonlocal now
        for _ in range(pieces):
            now += after
            pace.piece()

    comes(0.3, 6)
    assert not pace.below(50.0)
    comes(0.01, 100)
    assert not pace.below(50.0)
    comes(0.2, 7)
    assert pace.below(50.0)
    assert not pace.below(4.0)
    assert not pace.below(0.0)
    assert pace.pieces == 112


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_containers_share_of_the_cores_is_kept_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int | None
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == (cores or 16)


def test_a_pass_has_the_models_shape_and_a_bounded_size() -> None:
    shape = shape_of(SHAPE, 98_362_432)
    assert (shape["width"], shape["hidden"], shape["keys"], shape["kind"]) == (576, 1536, 192, 3)
    assert 0 < shape["layers"] <= 15
    assert shape["bytes"] < 70e6
    large = {**SHAPE, "llama.embedding_length": 8192, "llama.feed_forward_length": 28672, "general.file_type": 15}
    assert shape_of(large, 40_000_000_000)["bytes"] < 120e6
    odd = shape_of({**SHAPE, "general.file_type": 15}, 98_362_432)
    assert odd["kind"] == 1, "the engine has no blocks of 256 in a row of 576"


@pytest.mark.parametrize(
    "wrong",
    [
        {"llama.embedding_length": 1 << 40},
        {"llama.block_count": 0},
        {"llama.attention.head_count": 0},
        {"llama.feed_forward_length": "wide"},
        {"general.architecture": "mamba"},
    ],
)
def test_a_shape_that_cannot_be_is_refused(wrong: dict[str, str | int]) -> None:
    with pytest.raises(UsageError, match="This model's file"):
        shape_of({**SHAPE, **wrong}, 98_362_432)
