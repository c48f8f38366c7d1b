"""After an edit, an update asks what it announced, or stops: every system, edits of every file of a project.

`python -m benchmarks announced` does it with 300 edits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fabula.systems import systems

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import announced


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("system", systems())
def test_what_is_announced_is_asked_or_the_run_stops(system: str, seed: int) -> None:
    tried = announced.tried(system, seed)
    if tried is not None:
        assert tried.ended in {"equal", "stopped", "fewer"}, tried
        assert tried.ended != "equal" or tried.asked == tried.announced


def test_most_edits_end_as_announced() -> None:
    table = announced.bench(edits=6, names=("end-to-end", "dramatron", "agents-room"))
    found = {row.what: row.middle for row in table.rows}
    assert found["asked exactly what was announced"] >= 80
    assert found["asked something else without stopping"] == 0
    assert found["asked for the very texts that were announced"] >= 80
