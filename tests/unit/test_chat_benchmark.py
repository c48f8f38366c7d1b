"""The benchmark of conversations runs with tiny sizes; no time is asserted, since machines differ."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.models.base import Sampling
from fabula.models.gguf import write_gguf

if TYPE_CHECKING:
    from fabula.models.gguf import Value

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import chat


def test_chat_measures_growth_without_weights(tmp_path: Path) -> None:
    table = chat.bench(chat.Sizes(cells=(1, 4), turns=2, rounds=1, weights=tmp_path / "none.gguf"))
    assert [row.what for row in table.rows if row.target] == ["tokens a turn, 4 cells to 1"]
    assert all(math.isfinite(value) and value > 0 for row in table.rows for value in row.values)
    assert "were not measured" in table.notes[-1]


def test_chat_measures_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp", reason="The embedded engine is not installed: `pip install xllamacpp`.")

    def roomy(path: Path, metadata: dict[str, Value], tensors: dict[str, tinygguf.Array]) -> None:
        write_gguf(path, metadata | {"llama.context_length": 8192}, tensors)

    monkeypatch.setattr(tinygguf, "write_gguf", roomy)
    weights = tinygguf.write_model(tmp_path / "tiny.gguf", tinygguf.weights())
    greedy = Sampling(temperature=0.0, max_tokens=12)
    sizes = chat.Sizes(cells=(1,), turns=1, rounds=1, engine_turns=2, weights=weights, base=greedy, threads=1)
    table = chat.bench(sizes)
    assert {row.target for row in table.rows if row.target} == {"at least 80.00%", "at most 1.30 x", "at most 3.00 x"}
    assert all(math.isfinite(value) and value >= 0 for row in table.rows for value in row.values)
