"""A training that changes nothing is seldom called better on the stories that chose its checkpoint; simulated.

`difference_of` widens the interval by the number of checkpoints. Simulated are losses of stories under each checkpoint,
no training. The quick part runs few rounds; `make simulate` as many as the table in design 0033 rests on.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.stats.estimate import Estimate
from fabula.training.report import difference_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATIENCE = 3
MOST = {"walk": 0.035, "one way": 0.035, "half alike": 0.04, "skewed walk": 0.05}
CASES = [*product(MOST, (8, 12, 24), (4, 12))]


def moves(world: str, stories: int, checkpoints: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How far the loss of each story is from the base's, at each checkpoint; 0 on average."""
    if world == "walk":
        walked: NDArray[np.float64] = rng.standard_normal((stories, checkpoints)).cumsum(axis=1)
        return walked
    if world == "skewed walk":
        skewed: NDArray[np.float64] = (rng.gamma(4, size=(stories, checkpoints)) - 4).cumsum(axis=1)
        return skewed
    alike = 0.8 if world == "one way" else 0.5
    own = rng.standard_normal((stories, checkpoints)) * math.sqrt(1 - alike)
    return own + rng.standard_normal((stories, 1)) * math.sqrt(alike)


def chosen(moved: NDArray[np.float64]) -> tuple[int, int]:
    """The checkpoint with the lowest mean, and how many were measured until training ended."""
    means, best = moved.mean(axis=0), 0
    for at, mean in enumerate(means):
        best = at if mean < means[best] else best
        if at - best >= PATIENCE:
            return best, at + 1
    return best, len(means)


def called_better(case: tuple[str, int, int], rounds: int, *, widened: bool) -> float:
    """The share of rounds in which nothing was learned, and the interval is below 0."""
    rng, count = np.random.default_rng(17), 0
    for _ in range(rounds):
        moved = moves(*case, rng)
        best, tried = chosen(moved)
        found = difference_of(moved[:, best].tolist(), None, "difference", tried if widened else 1)
        count += isinstance(found, Estimate) and found.high is not None and found.high < 0
    return count / rounds


@pytest.mark.simulation
@pytest.mark.parametrize("case", CASES)
def test_better_is_said_seldom_enough(case: tuple[str, int, int]) -> None:
    assert called_better(case, 2000, widened=True) <= MOST[case[0]]


def test_the_choice_makes_false_better_likelier_and_the_wider_interval_does_not() -> None:
    case = ("half alike", 12, 12)
    before, after = (called_better(case, 600, widened=widened) for widened in (False, True))
    assert after <= 0.04 < before
