"""The benchmark of the rankings runs with tiny sizes, with its peers and without."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # `pytest`, unlike `python -m pytest`, does not find what lies there

from typing import TYPE_CHECKING

from benchmarks import statistics

if TYPE_CHECKING:
    import pytest

SIZES = statistics.Sizes(systems=5, verdicts=2000, ranked=3, prompts=6, rounds=2)


def test_it_measures_fits_and_a_ranking() -> None:
    table = statistics.bench(SIZES)
    assert {row.target for row in table.rows} >= {"at most 0.050 s", "at most 2.00 s"}
    for row in table.rows:
        assert len(row.values) == (1 if row.unit == "points" else 2)
        assert all(math.isfinite(value) and value >= 0 for value in row.values)
    apart = [row for row in table.rows if row.what.startswith("largest difference")]
    assert all(row.met for row in apart)


def test_it_runs_without_peers_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evalica", None)
    monkeypatch.setitem(sys.modules, "choix", None)
    table = statistics.bench(SIZES)
    timed = [row.what for row in table.rows if row.unit != "points"]
    assert timed == ["fit: ours, from the matrix", "ranking, with all intervals"]
    assert table.notes[-2:] == ("choix is not installed.", "evalica is not installed.")
