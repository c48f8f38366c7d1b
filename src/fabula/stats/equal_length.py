"""Wins as they would be at equal length: a Bradley-Terry model with the difference in length as a covariate.

AlpacaEval controls for length in this way (Dubois et al. 2024): the log odds of a verdict are the difference of two
strengths, and a share of how much longer one story is. The win rates are those of the strengths alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.lazily import Module
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import FEWEST_OF_COEFFICIENT, Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fabula.stats.comparisons import Comparison
    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
else:
    np = Module("numpy")

_STEPS: Final = 100
_CLOSE: Final = 1e-9
_FAR: Final = 15.0  # log odds beyond which there is no finite maximum
_ROUNDING: Final = 1e-12
_COVARIATE: Final = "Bradley-Terry with length as a covariate"


@dataclass(frozen=True, slots=True)
class EqualLength:
    """What side-by-side verdicts say of systems whose stories were equally long.

    Attributes:
        wins: of each system, in the order given: its chance to win over another one, averaged over the others.
        length: what a length that is one standard deviation of the differences longer adds to the log odds of winning.
    """

    wins: tuple[Scored, ...]
    length: Scored


def at_equal_length(names: Sequence[str], comparisons: Sequence[Comparison]) -> EqualLength:
    """The win rates of systems at equal length, with intervals by prompt; verdicts without lengths are left out."""
    known = sorted((c for c in comparisons if c.longer is not None), key=lambda c: c.prompt)
    longer = np.array([c.longer for c in known], dtype=np.float64)
    spread = math.sqrt(float((longer**2).mean())) if known else 0.0
    if not spread:
        return _nothing(names, "no verdict is on stories that are known to differ in length", len(known))
    place = {name: n for n, name in enumerate(names)}
    x = np.zeros((len(known), len(names) + 1))
    for row, c in enumerate(known):
        x[row, place[c.first]], x[row, place[c.second]] = 1.0, -1.0
    x[:, -1] = longer / spread
    y = np.array([c.score for c in known])
    units = np.unique([c.prompt for c in known], return_inverse=True)[1]
    found = _fit(x, y)
    if found is None:
        return _nothing(names, "the wins have no finite strengths at equal length", len(set(units.tolist())))
    weights, slope = found
    scores = np.zeros((int(units.max()) + 1, x.shape[1]))
    np.add.at(scores, units, x * (y - _share(x @ weights))[:, None])
    moved = scores @ np.linalg.pinv(slope)
    wins = []
    for n in range(len(names)):
        others = [other for other in range(len(names)) if other != n]
        chances = _share(weights[n] - weights[others])
        gradient = np.zeros(len(weights))
        gradient[others] = -chances * (1 - chances) / len(others)
        gradient[n] = -gradient.sum()
        wins.append(_estimate(float(chances.mean()), moved @ gradient, "win rate at equal length", (0.0, 1.0)))
    limits = (-math.inf, math.inf)
    return EqualLength(tuple(wins), _estimate(float(weights[-1]), moved[:, -1], "log odds of a longer story", limits))


def _nothing(names: Sequence[str], why: str, n: int) -> EqualLength:
    return EqualLength((Unscored(why, n),) * len(names), Unscored(why, n))


def _fit(x: Array, y: Array) -> tuple[Array, Array] | None:
    """The weights of a logistic regression, and its curvature; `None` where there is no finite maximum."""
    weights = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        chances = _share(x @ weights)
        slope = (x * (chances * (1 - chances))[:, None]).T @ x
        # The strengths are known up to a constant, which the pseudo-inverse leaves at 0.
        step = np.linalg.pinv(slope, hermitian=True) @ (x.T @ (y - chances))
        size = float(np.abs(step).max())
        weights = weights + step * (math.log1p(size) / size if size > 1 else 1.0)
        if np.abs(x @ weights).max() > _FAR:
            return None
        if size < _CLOSE:
            return weights, slope
    return None


def _share(log_odds: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))), dtype=np.float64)


def _estimate(value: float, moved: Array, what: str, limits: tuple[float, float]) -> Estimate:
    prompts = len(moved)
    error = math.sqrt(float((moved**2).sum()) * prompts / max(prompts - 1, 1))
    if prompts < FEWEST_OF_COEFFICIENT or error <= _ROUNDING:
        return Estimate(value, prompts, method=f"{what}, {_COVARIATE}; no interval from {prompts} prompts")
    below, above = Spread(value, error, prompts - 1.0, 0.0, prompts).reach()
    how = f"{what}, {_COVARIATE}; t interval over {prompts} prompts, sandwich variance"
    return Estimate(value, prompts, max(value - below, limits[0]), min(value + above, limits[1]), how)
