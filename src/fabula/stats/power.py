"""What a number of prompts can show: the least difference, and the prompts that one needs, by a pilot's variance.

Experiments are simulated: prompts are drawn from those of the pilot, whose differences are centred and freed from what
their own mean takes out of their spread, and the interval of `fabula.stats.intervals.mean_of` is made of each. The true
difference only moves that interval, so one set of draws answers for every difference. Draws have a fixed seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.extras import extra
from fabula.base.lazily import Module
from fabula.base.remembering import remembered
from fabula.stats.intervals import FEWEST, LEVEL
from fabula.stats.verdicts import grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
else:
    np = Module("numpy")

WANTED: Final = 0.8
_ROUNDS: Final = 2000
_MOST: Final = 100_000  # prompts
_ENOUGH: Final = 400  # prompts, from which on a draw of more has the same shape
_FARTHEST: Final = 2.0
_ROUNDING: Final = 1e-12


def least_shown(pilot: Sequence[float], prompts: int, tests: int = 1, wanted: float = WANTED) -> float | None:
    """The least difference that so many prompts show with a chance of `wanted`; `None` where they show none.

    Args:
        pilot: the difference on each prompt.
        prompts: of the experiment.
        tests: differences that are corrected for together.
        wanted: chance that a true difference is shown.
    """
    if (draws := _needed(pilot, prompts, tests)) is None:
        return None
    found = float(np.quantile(draws, wanted, method="higher"))
    return found if math.isfinite(found) else None


def power(pilot: Sequence[float], prompts: int, apart: float, tests: int = 1) -> float | None:
    """The chance that so many prompts show a true difference; `None` where the pilot says nothing of it."""
    draws = _needed(pilot, prompts, tests)
    return None if draws is None else float((draws <= abs(apart) + _ROUNDING).mean())


def prompts_needed(pilot: Sequence[float], apart: float, tests: int = 1, wanted: float = WANTED) -> int | None:
    """How many prompts show a true difference with a chance of `wanted`; `None` where 100,000 do not."""

    def shows(prompts: int) -> bool:
        least = least_shown(pilot, prompts, tests, wanted)
        return least is not None and least <= abs(apart)

    low, high = FEWEST - 1, 2 * FEWEST
    while not shows(high):
        low, high = high, 2 * high
        if high > _MOST or not apart:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _needed(pilot: Sequence[float], prompts: int, tests: int) -> Array | None:
    """Of each simulated experiment, how large the true difference must be for its interval to lie above 0."""
    if len(pilot) < FEWEST or prompts < FEWEST or float(np.ptp(pilot)) <= _ROUNDING:
        return None
    drawn = min(prompts, _ENOUGH)
    return _simulated(tuple(map(float, pilot)), drawn, tests) * math.sqrt(drawn / prompts)


@remembered(16)  # a search for the number of prompts asks for the same draws again and again
def _simulated(pilot: tuple[float, ...], drawn: int, tests: int) -> Array:
    """The same of experiments of at most `_ENOUGH` prompts."""
    values = np.asarray(pilot, dtype=np.float64)
    centred = (values - values.mean()) * math.sqrt(len(values) / (len(values) - 1))
    rng = np.random.default_rng([1, drawn])
    mean, below = _means_and_reach(rng.choice(centred, (_ROUNDS, drawn)), tests)
    return np.asarray(below - mean, dtype=np.float64)


def _means_and_reach(draws: Array, tests: int) -> tuple[Array, Array]:
    """The mean of each row, and how far its interval reaches below it (`Spread.reach`); infinite without one."""
    units = draws.shape[1]
    mean = draws.mean(axis=1)
    parts = (draws - mean[:, None]) / math.sqrt(1 - 1 / units)
    squares = (parts**2).sum(axis=1)
    level = 1 - (1 - LEVEL) / tests
    most = float(extra("scipy.special", "measure", "An interval").stdtrit(units - 1, (1 + level) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(squares / (units - 1))
        skew = (parts**3).sum(axis=1) * units / ((units - 1) * (units - 2)) / deviation**3 / math.sqrt(units)
        turned = np.where(np.abs(skew) < _ROUNDING, most, 3 / skew * (np.cbrt(1 + skew * (most - skew / 6)) - 1))
    reach = np.sqrt(squares) / units * np.clip(turned, most, _FARTHEST * most)
    return mean, np.where(squares > _ROUNDING, reach, np.inf)


# where the variance of verdicts comes from: prompts, the stories on one prompt (seeds), and verdicts on one pair -----


def variance_parts(values: Sequence[float], prompts: Sequence[str], stories: Sequence[str]) -> tuple[float, ...] | None:
    """The variance between prompts, between stories on one prompt, and between verdicts on the same stories.

    Nested analysis of variance by the method of moments (Searle, Casella and McCulloch 1992, chapter 5), for unequal
    numbers too; a part that comes out below 0 is 0. `None` where a level has nothing to vary.

    Args:
        values: the verdicts as numbers.
        prompts: what each is on.
        stories: the stories that each compares, of one name on one prompt alone.
    """
    there = np.asarray(values, dtype=np.float64)
    inner, outer = grouped(stories), grouped(prompts)
    count, of_stories, of_prompts = len(there), len(inner), len(outer)
    if not count > of_stories > of_prompts > 1:
        return None
    within = sum(float(((there[own] - there[own].mean()) ** 2).sum()) for own in inner)
    apart = sum(float(((there[own] - there[own].mean()) ** 2).sum()) for own in outer) - within
    between = float(((there - there.mean()) ** 2).sum()) - within - apart
    sizes = {stories[int(own[0])]: len(own) for own in inner}
    squares = [sum(sizes[name] ** 2 for name in {stories[int(n)] for n in own}) / len(own) for own in outer]
    of_verdicts = within / (count - of_stories)
    k1 = (count - sum(squares)) / (of_stories - of_prompts)
    of_story = max((apart / (of_stories - of_prompts) - of_verdicts) / k1, 0.0)
    k2 = (sum(squares) - sum(size**2 for size in sizes.values()) / count) / (of_prompts - 1)
    k3 = (count - sum(len(own) ** 2 for own in outer) / count) / (of_prompts - 1)
    return max((between / (of_prompts - 1) - of_verdicts - k2 * of_story) / k3, 0.0), of_story, of_verdicts
