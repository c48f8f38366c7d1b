"""Shares with Wilson's interval (Wilson 1927), which holds for few trials and for shares near 0 and 1."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from fabula.stats.estimate import Scored

_Z: Final = 1.959964  # 95 % of a normal distribution lie within so many standard deviations


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
    return max(middle - half, 0.0), min(middle + half, 1.0)


def share(hits: int, n: int, what: str) -> Scored:
    """The share of `what`, 0 to 1, with its interval; `Unscored` where there is none of it."""
    if not n:
        return Unscored(f"there are no {what}")
    low, high = wilson(hits, n)
    return Estimate(hits / n, n, low, high, f"share of {what}, Wilson interval")
