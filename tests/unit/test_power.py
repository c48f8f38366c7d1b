"""Power and required n against fresh experiments, wins at equal length, and where variance comes from."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from fabula.stats.comparisons import Comparison
from fabula.stats.equal_length import at_equal_length
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import mean_of
from fabula.stats.power import least_shown, power, prompts_needed, variance_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

WORLDS: Final[dict[str, Callable[[Generator, int], np.ndarray]]] = {
    "normal": lambda rng, n: rng.normal(0, 0.2, n),
    "shares of four verdicts": lambda rng, n: rng.binomial(4, 0.5, n) / 4 - 0.5,
    "yes or no": lambda rng, n: rng.integers(0, 2, n) - 0.5,
    "skewed": lambda rng, n: rng.exponential(0.2, n) - 0.2,
    "mostly ties": lambda rng, n: rng.choice([-0.5, 0, 0, 0, 0, 0.5], n),
    "prompts that differ": lambda rng, n: rng.normal(0, 0.15, n) + rng.binomial(6, 0.5, n) / 6 - 0.5,
}


@pytest.mark.parametrize("world", WORLDS)
def test_power_is_that_of_fresh_experiments(world: str) -> None:
    """From a large pilot, whose variance is the world's; `python -m benchmarks statistics` has 1,000 for each."""
    draw, rng, n = WORLDS[world], np.random.default_rng(4), 28
    pilot = draw(rng, 4000).tolist()
    least = least_shown(pilot, n)
    assert least is not None
    said = power(pilot, n, least)
    assert said is not None
    assert said >= 0.8  # more where shares can only be of some values
    rounds = 300
    shown = 0
    for _ in range(rounds):
        found = mean_of((draw(rng, n) + least).tolist())
        shown += isinstance(found, Estimate) and found.low is not None and found.low > 0
    assert shown / rounds == pytest.approx(said, abs=0.03 + 3 * (0.16 / rounds) ** 0.5)


def test_the_prompts_needed_are_the_fewest_that_show_the_difference() -> None:
    pilot = np.random.default_rng(2).normal(0.05, 0.2, 28).tolist()
    needed = prompts_needed(pilot, 0.08)
    assert needed is not None
    assert (least_shown(pilot, needed) or 1) <= 0.08 < (least_shown(pilot, needed - 1) or 1)
    more = prompts_needed(pilot, 0.08, tests=10)
    assert more is not None
    assert more > needed
    assert 3.5 * needed < (prompts_needed(pilot, 0.04) or 0) < 4.5 * needed
    assert prompts_needed(pilot, 0.0) is None


def test_a_pilot_that_says_nothing_of_its_variance_gives_no_power() -> None:
    assert least_shown([0.1, 0.2], 28) is None
    assert least_shown([0.5] * 12, 28) is None
    assert power([0.1] * 5, 28, 0.1) is None
    assert least_shown([0.0, 0.0, 0.5], 3) is None  # most draws of three are alike and have no interval


# equal length ---------------------------------------------------------------------------------------------------------


def matches(rng: Generator, strengths: dict[str, float], love: float, prompts: int) -> list[Comparison]:
    """Verdicts of a judge that likes length: the second system of each name writes longer."""
    found = []
    for prompt in range(prompts):
        for one, other in combinations(strengths, 2):
            for _ in range(4):
                longer = rng.normal(150.0 * (one > other) - 150.0 * (one < other), 120)
                odds = strengths[one] - strengths[other] + love * longer / 190
                found.append(
                    Comparison(f"p{prompt}", one, other, float(rng.random() < 1 / (1 + np.exp(-odds))), longer=longer)
                )
    return found


def test_a_judge_that_likes_length_alone_prefers_nobody_at_equal_length() -> None:
    rng, held, rounds = np.random.default_rng(3), 0, 60
    for _ in range(rounds):
        found = at_equal_length(["a", "b"], matches(rng, {"a": 0.0, "b": 0.0}, 1.2, 25))
        wins = found.wins[0]
        assert isinstance(wins, Estimate)
        assert isinstance(found.length, Estimate)
        assert wins.low is not None
        assert wins.high is not None
        held += wins.low <= 0.5 <= wins.high
        assert found.length.value > 0.3
    assert held / rounds >= 0.95 - 3 * (0.05 * 0.95 / rounds) ** 0.5


def test_strengths_of_three_systems_come_through_the_length() -> None:
    found = at_equal_length(
        ["a", "b", "c"], matches(np.random.default_rng(5), {"a": 1.0, "b": 0.0, "c": -1.0}, 0.8, 400)
    )
    values = [one.value for one in found.wins if isinstance(one, Estimate)]
    true = [np.mean([1 / (1 + np.exp(t - s)) for t in (1, 0, -1) if t != s]) for s in (1, 0, -1)]
    assert values == pytest.approx(true, abs=0.03)
    assert sum(values) == pytest.approx(1.5)


def test_without_lengths_or_a_finite_fit_there_is_no_win_rate() -> None:
    alone = at_equal_length(["a", "b"], [Comparison(f"p{n}", "a", "b", n % 2) for n in range(9)])
    assert alone.wins[0] == Unscored("no verdict is on stories that are known to differ in length", 0)
    always = at_equal_length(["a", "b"], [Comparison(f"p{n}", "a", "b", 1, longer=n - 4.0) for n in range(9)])
    assert isinstance(always.wins[0], Unscored)
    assert always.wins[0].reason == "the wins have no finite strengths at equal length"


# where variance comes from --------------------------------------------------------------------------------------------


def test_the_parts_of_the_variance_are_found_again() -> None:
    rng = np.random.default_rng(7)
    values, prompts, stories = [], [], []
    for prompt in range(300):
        of_prompt = rng.normal(0, 0.3)
        for seed in range(2 + prompt % 3):
            of_story = of_prompt + rng.normal(0, 0.2)
            for _ in range(2 + (prompt + seed) % 3):
                values.append(of_story + rng.normal(0, 0.4))
                prompts.append(f"p{prompt}")
                stories.append(f"p{prompt}/{seed}")
    found = variance_parts(values, prompts, stories)
    assert found is not None
    assert np.sqrt(found) == pytest.approx([0.3, 0.2, 0.4], abs=0.04)


def test_a_level_with_nothing_to_vary_has_no_parts() -> None:
    assert variance_parts([1, 0, 1], ["a", "b", "c"], ["1", "2", "3"]) is None
