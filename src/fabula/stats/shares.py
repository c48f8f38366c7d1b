"""Shares and counts with intervals that hold for few trials too: Wilson's (1927), and Garwood's (1936) for counts."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from fabula.stats.estimate import Scored

_Z: Final = 1.959964  # 95 % of a normal distribution lie within so many standard deviations
_TAIL: Final = 0.025


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The ends of the 95 % interval of `hits` in `n` trials, each 0 to 1.

    Raises:
        ValueError: there are no trials, or more hits than trials.
    """
    if not 0 <= hits <= n or not n:
        raise ValueError(f"{hits} hits in {n} trials are no share.")
    share, square = hits / n, _Z * _Z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    # At the ends the sums miss 0 and 1 by a rounding.
    return (max(middle - half, 0.0) if hits else 0.0), (min(middle + half, 1.0) if hits < n else 1.0)


def share(hits: int, n: int, what: str) -> Scored:
    """The share of `what`, 0 to 1, with its interval; `Unscored` where there is none of it."""
    if not n:
        return Unscored(f"there are no {what}")
    low, high = wilson(hits, n)
    return Estimate(hits / n, n, low, high, f"share of {what}, Wilson interval")


def garwood(count: int) -> tuple[float, float]:
    """The ends of the exact 95 % interval of a Poisson count's mean: 0 gives 0 and 3.69.

    Raises:
        ValueError: the count is below 0.
    """
    if count < 0:
        raise ValueError(f"{count} is no count.")
    from scipy.special import gammaincinv  # noqa: PLC0415 - takes longer than the rest of a command

    return float(gammaincinv(count, _TAIL)) if count else 0.0, float(gammaincinv(count + 1, 1 - _TAIL))


def count_estimate(count: int, n: int, what: str, times: float = 1.0) -> Estimate:
    """A count over `n` units, and its interval, both times a factor."""
    low, high = garwood(count)
    return Estimate(count * times, n, low * times, high * times, f"{what}, exact Poisson interval")
