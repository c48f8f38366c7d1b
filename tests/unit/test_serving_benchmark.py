"""The benchmark of the server runs with tiny sizes; no time is asserted, since machines differ."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import hostile
from benchmarks import serving as benchmark


def test_conversations_are_answered_without_an_error_beside_the_echo() -> None:
    table = benchmark.bench(benchmark.Sizes(conversations=4, turns=2, pause=0.02, rounds=1))
    assert [(row.target, row.met) for row in table.rows if row.what == "errors"] == [("at most 0.000", True)]
    assert [row.what for row in table.rows if row.target][1:] == ["4 conversations at their pace: p99, fabula adds"]
    assert all(math.isfinite(value) for row in table.rows for value in row.values)


def test_a_session_is_answered_beside_whatever_one_client_sends() -> None:
    table = hostile.bench(hostile.Sizes(turns=2, pause=0.01, rounds=1, kinds=3))
    assert table.rows[-1].what == "turns of the conversation that failed"
    assert table.rows[-1].met
    assert len(table.rows) == 2 * (1 + 3) + 1
