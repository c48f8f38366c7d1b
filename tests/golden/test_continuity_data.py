"""The detectors on annotated and on natural stories; the numbers that issue 5 asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ground_truth import data_folder

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import continuity


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    for part in ("atlas_scripts", "constory_silver.jsonl.gz", "magnet_stories.jsonl.gz"):
        data_folder(part)


def test_22_of_29_gold_errors_are_covered_by_few_candidates() -> None:
    covered, made = continuity.scripts(data_folder())
    assert covered.middle >= 22
    assert made.middle <= 130


def test_naming_errors_are_found_among_few_candidates() -> None:
    found, rate = continuity.names(data_folder())
    assert found.middle >= 4
    assert rate.middle <= 2


def test_injected_names_numbers_and_colours_are_precise() -> None:
    texts = continuity.stories(data_folder())[::3]
    rows = list(continuity.injected(texts, continuity.Sizes(seeds=(771,))))
    precise = {row.what: row.middle for row in rows if "precision" in row.what}
    assert len(precise) == 3
    assert min(precise.values()) >= 0.6, precise


def test_40_000_words_take_less_than_30_seconds() -> None:
    assert continuity.speed(continuity.stories(data_folder()), 40_000, rounds=1).met
