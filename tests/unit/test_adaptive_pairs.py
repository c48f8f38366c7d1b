"""Which pairs a side-by-side judge is shown: those of one seed, so many, or as many as the intervals need."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fabula.base.errors import ConfigError
from fabula.evaluators import find
from fabula.evaluators.pairwise.algorithm import pairs_of
from fabula.evaluators.pairwise.config import Config, Ours, Paper
from fabula.evaluators.pairwise.improved import LEAST, PairsToJudge
from fabula.measure.items import Item
from fabula.measure.ratings import Rating
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of
from fabula.story import Story

PAIRWISE = find("pairwise")


def stories(systems: str, prompts: int, seeds: int) -> list[Item]:
    return [
        Item(f"p{prompt:02}/{system}-{seed}", Story(), system, f"p{prompt:02}")
        for prompt, system, seed in product(range(prompts), systems, range(seeds))
    ]


def ids(pairs: tuple[tuple[Item, Item], ...]) -> list[tuple[str, str]]:
    return [(one.id.partition("/")[2], other.id.partition("/")[2]) for one, other in pairs]


def test_a_number_bounds_the_pairs_on_a_prompt_those_of_one_seed_first() -> None:
    items = stories("ab", 1, 3)
    assert ids(pairs_of(items)) == [("a-0", "b-0"), ("a-1", "b-1"), ("a-2", "b-2")]
    assert ids(pairs_of(items, 2)) == [("a-0", "b-0"), ("a-1", "b-1")]
    assert ids(pairs_of(items, 4)) == [*ids(pairs_of(items)), ("a-0", "b-1")]
    assert len(set(ids(pairs_of(items, 100)))) == 9
    uneven = [*stories("a", 1, 2), *stories("b", 1, 3)]
    assert ids(pairs_of(uneven)) == [("a-0", "b-0"), ("a-1", "b-1"), ("a-0", "b-2")]
    assert len(set(ids(pairs_of(uneven, 100)))) == len(ids(pairs_of(uneven, 100))) == 6


def verdict(pair: tuple[Item, Item], won: Item) -> list[Rating]:
    """The ratings of a pair in both orders, which agree."""
    return [
        Rating(
            rater="judge",
            kind="model",
            items=(one.id, other.id),
            systems=(one.system, other.system),
            prompt=one.prompt,
            question="overall",
            answer=won.id,
        )
        for one, other in (pair, pair[::-1])
    ]


def config(width: float) -> Config:
    return Config(Paper(ties="half"), Ours(pairs="adaptive", width=width))


def adaptively(chance: float, seed: int, width: float = 0.2) -> tuple[int, Estimate]:
    """How many of 200 pairs were judged, and the share that was found, where the first system wins with a chance."""
    rng = np.random.default_rng(seed)
    to_judge, found = PairsToJudge(pairs_of(stories("ab", 200, 1)), config(width)), list[list[Rating]]()
    while batch := to_judge.next(found):
        found += [verdict(pair, pair[rng.random() > chance]) for pair in batch]
    wins = [float(str(one[0].answer).endswith("a-0")) for one in found]
    share = share_of(wins, [one[0].prompt for one in found])
    assert isinstance(share, Estimate)
    return len(found), share


def test_what_is_plain_takes_fewer_verdicts_than_what_is_close() -> None:
    plain, close = (np.mean([adaptively(chance, seed)[0] for seed in range(6)]) for chance in (0.97, 0.5))
    assert LEAST <= plain < close / 2
    assert close < 120
    for seed in range(6):
        count, share = adaptively(0.5, seed)
        assert share.low is not None
        assert share.high is not None
        assert share.high - share.low <= 0.2 + 1e-9 or count == 200


@pytest.mark.parametrize("chance", [0.5, 0.7, 0.9])
def test_to_end_by_the_width_leaves_the_interval_true(chance: float) -> None:
    rounds, held = 60, 0
    for seed in range(rounds):
        _, share = adaptively(chance, seed, width=0.3)
        assert share.low is not None
        assert share.high is not None
        held += share.low <= chance <= share.high
    assert held / rounds >= 0.95 - 3 * (0.05 * 0.95 / rounds) ** 0.5


def test_only_systems_that_are_not_known_well_enough_are_judged_further() -> None:
    rng = np.random.default_rng(1)
    to_judge, found = PairsToJudge(pairs_of(stories("abc", 60, 1)), config(0.35)), list[list[Rating]]()
    while batch := to_judge.next(found):
        for pair in batch:
            other = pair[1]
            best = other if other.system == "c" else pair[int(rng.random() > 0.5)]
            found.append(verdict(pair, best))
    counts = dict.fromkeys(("ab", "ac", "bc"), 0)
    for each in found:
        counts["".join(sorted(each[0].systems))] += 1
    assert counts["ac"] == counts["bc"] < counts["ab"] <= 60


def test_an_estimate_counts_all_that_may_be_judged() -> None:
    to_judge = PairsToJudge(pairs_of(stories("ab", 30, 2)), config(0.2))
    assert len(to_judge.next([], whole=True)) == 60
    assert not to_judge.next([], whole=True)


@pytest.mark.parametrize("pairs", ["all", "0", "-1", "2.5", ""])
def test_any_other_choice_of_pairs_is_refused(pairs: str) -> None:
    with pytest.raises(ConfigError, match='pairs is "same-seed", "adaptive" or a number from 1'):
        PAIRWISE.config("improved", {"pairs": pairs})
    assert PAIRWISE.config("improved", {"pairs": 3}).ours.pairs == "3"
