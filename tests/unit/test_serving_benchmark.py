"""The benchmark of the server runs with tiny sizes; no time is asserted, since machines differ."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import serving as benchmark


def test_sessions_are_answered_without_an_error_beside_the_echo() -> None:
    table = benchmark.bench(benchmark.Sizes(sessions=4, turns=2, pause=0.02, rounds=1))
    assert [(row.target, row.met) for row in table.rows if row.what == "errors"] == [("at most 0.000", True)]
    assert [row.what for row in table.rows if row.target][1:] == ["4 sessions at their pace: p99, fabula adds"]
    assert all(math.isfinite(value) for row in table.rows for value in row.values)
