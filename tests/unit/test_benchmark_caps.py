"""The benchmark of caps runs with its shortest stories; its targets are for sixty of each kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import caps


@pytest.mark.parametrize("temper", ["even", "chatty"])
async def test_a_story_is_finished_under_a_cap_of_a_tenth_more_than_was_announced(temper: str) -> None:
    ended = await caps.capped("end-to-end", temper, 500, 4)
    assert ended.finished
    assert ended.paid <= ended.cap
    assert ended.left_out == ()
    short = await caps.capped("end-to-end", temper, 500, 4, cap=0.5)
    assert not short.finished
    assert "Stopped before the budget" in short.said


@pytest.mark.parametrize("way", caps.WAYS)
async def test_no_cap_is_passed_without_a_word_whatever_a_provider_does(way: caps.Way) -> None:
    for seed, cap in enumerate((0.3, 1.0)):
        ended = await caps.capped("agents-room", "even", 500, seed, way, cap)
        assert not ended.unsaid
        assert ended.paid > 0


@pytest.mark.parametrize(("system", "temper", "seed"), [("end-to-end", "mixed", 8), ("agents-room", "mixed", 11)])
async def test_under_a_tight_cap_the_story_is_finished_without_what_it_can_do_without(
    system: str, temper: str, seed: int
) -> None:
    """Both were stopped: a text was made longer, or read once more, and the rest found no room."""
    ended = await caps.capped(system, temper, 500, seed)
    assert ended.finished
    assert ended.paid <= ended.cap
    assert ended.left_out
    ample = await caps.capped(system, temper, 500, seed, cap=3.0)
    assert ample.finished
    assert ample.left_out == ()
