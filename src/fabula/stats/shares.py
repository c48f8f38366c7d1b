"""Shares and counts with intervals that also hold for few trials: Wilson's (1927), and a similar one for counts."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from fabula.stats.estimate import Estimate, Scored, Unscored


def wilson(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The ends of the interval of `hits` in `n` trials, each 0 to 1; either may be a number of trials' worth.

    Raises:
        ValueError: there are no trials, or more hits than trials.
    """
    if not 0 <= hits <= n or not n:
        raise ValueError(f"{hits} hits in {n} trials are no share.")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, square = hits / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    # At the ends the sums miss 0 and 1 by a rounding.
    return (max(middle - half, 0.0) if hits else 0.0), (min(middle + half, 1.0) if hits < n else 1.0)


def share(hits: int, n: int, what: str) -> Scored:
    """The share of `what`, 0 to 1, with its interval, each one alone; `Unscored` where there is none of it.

    Where several belong together (answers on one story), `fabula.stats.intervals.share_of` takes that into account.
    """
    if not n:
        return Unscored(f"there are no {what}")
    low, high = wilson(hits, n)
    return Estimate(hits / n, n, low, high, f"share of {what}, Wilson interval")


def poisson(count: float, level: float = 0.95) -> tuple[float, float]:
    """The ends of the score interval of a Poisson count's mean: 0 gives 0 and 3.84.

    Raises:
        ValueError: the count is below 0.
    """
    if count < 0:
        raise ValueError(f"{count} is not a count.")
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle, half = count + z * z / 2, z * sqrt(count + z * z / 4)
    return max(middle - half, 0.0) if count else 0.0, middle + half
