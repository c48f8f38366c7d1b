"""The benchmark of long stories runs with tiny sizes; its targets are for the real ones."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import long


@pytest.fixture(scope="module")
def rows() -> dict[str, float]:
    """What was measured, by what it is."""
    table = long.bench(long.Sizes(pages=(2, 4), people=5, depth_pages=1, rounds=1))
    assert all(math.isfinite(value) and value > 0 for row in table.rows for value in row.values)
    assert all(row.target for row in table.rows if "4 pages / 2" in row.what or "estimated" in row.what)
    return {row.what: row.middle for row in table.rows}


def test_a_story_has_its_pages_and_the_estimate_says_what_it_takes(rows: dict[str, float]) -> None:
    assert 1440 <= rows["4 pages: words"] <= 1760
    assert 75 < rows["4 pages: tokens estimated / used"] < 125


def test_characters_side_by_side_are_not_as_deep(rows: dict[str, float]) -> None:
    depths = {what: share for what, share in rows.items() if "depth" in what}
    assert len(depths) == 3
    assert all(share < 70 for what, share in depths.items() if "faithful" in what)


def test_replies_are_fixed_by_seed_and_path() -> None:
    first, second = long.written(1, 2, 1), long.written(1, 2, 1)
    assert (first.roles.prompt, first.words) == (second.roles.prompt, second.words)
    assert first.roles.prompt != long.written(1, 2, 2).roles.prompt
