"""The benchmark of the world runs with tiny sizes; no time is asserted, since machines differ."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import world


def test_world_measures_loading_and_questions() -> None:
    table = world.bench(world.Sizes(facts=120, scenes=6, entities=10, slots=3, rounds=2, asked=3, values=(40, 60)))
    assert [row.what for row in table.rows if row.target] == ["load", "conflicts of a scene", "snapshot at a scene"]
    assert all(math.isfinite(value) and value > 0 for row in table.rows for value in row.values)
