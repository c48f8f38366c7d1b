"""`fabula train sft` on a tiny model: from a folder of data to adapters, a room, and what stands beside them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.training import Asked, Listener, prepare, train_all
from fabula.base.errors import UsageError
from fabula.cli.main import main
from fabula.models.adapters import read_adapter, read_room
from fabula.models.base import Message
from fabula.training.examples import DataCard, Example, Source, write_data

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORDS = ("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "night")
QUICK = ("--set", "micro_batch=4", "--set", "precision=float32", "--set", "sample_tokens=5", "--set", "samples=1")


def example(agent: str, story: int) -> Example:
    notes = "\n".join(f"The {WORDS[(story + i) % 11]} and the {WORDS[(story * i) % 11]}." for i in range(4))
    return Example(
        id=f"{agent}-{story}",
        agent=agent,
        group=f"story-{story}",
        messages=(Message("system", f"You are the {agent}."), Message("user", f"{notes}\n\nWrite the {agent}.")),
        completion=f"The {agent} of the {WORDS[story % 11]} comes at last. It ends well.",
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def made(folder: Path, agents: Sequence[str] = ("plot", "climax"), train: int = 12, development: int = 5) -> Path:
    card = DataCard("examples", {"system": "agents-room"}, (Source("own", "Own stories", "CC0-1.0", 17),))
    write_data(
        folder,
        card,
        {
            "train": [example(agent, n) for agent in agents for n in range(train)],
            "development": [example(agent, 100 + n) for agent in agents for n in range(development)],
        },
    )
    return folder


def test_a_room_is_trained_and_says_what_it_gained(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "room"
    command = ["train", "sft", str(data), "--base", str(tiny_llama), "--out", str(out), "--json", *QUICK]
    assert main(command) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert [one["name"] for one in document["adapters"]] == ["plot", "climax"]
    assert "Licence: CC0-1.0." not in said.err  # advice is for people
    room, folders = read_room(out)
    assert room.base == tiny_llama.name
    assert set(folders) == {"plot", "climax"}
    for one in document["adapters"]:
        folder = out / one["name"]
        record = read_adapter(folder)
        assert record is not None
        assert (record.kind, record.agents, record.base_digest) == ("sft", (one["name"],), room.base_digest)
        found = one["agents"][0]
        assert found["tuned"] < found["base"]
        assert found["verdict"] == "better"
        rows = [json.loads(line) for line in (folder / "evaluation.jsonl").read_text().splitlines()]
        assert len(rows) == 5
        assert sum(row["tuned"] for row in rows) / 5 == pytest.approx(found["tuned"])
        best = next(row for row in csv.DictReader((folder / "losses.csv").open()) if int(row["step"]) == one["best"])
        assert float(best["development"]) == pytest.approx(found["tuned"], abs=1e-4)
        assert "CC0-1.0" in (folder / "README.md").read_text()
        assert not (folder / "checkpoints").exists()
        assert str(tmp_path) not in (folder / "adapter_config.json").read_text()

    assert main(command) == 0
    again = capsys.readouterr()
    assert [one["ended"] for one in json.loads(again.out)["adapters"]] == ["before", "before"]
    assert "was finished already, so nothing was trained. --fresh begins anew." in again.err
