"""Percentile bootstrap over whole units: what an interval in a report comes from unless a statistic has an exact one.

Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. Whatever belongs together (all verdicts on
one prompt) is one unit and is drawn together. Below about 20 units the interval is too narrow, as percentile ones are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

T = TypeVar("T")
_AT_ONCE: Final = 1 << 20  # drawn numbers held at a time: 8 MB


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: by so many draws of whole units, with this seed."""

    resamples: int = 1000
    seed: int = 1


def bootstrap(
    units: Sequence[T],
    statistic: Callable[[Sequence[T]], float | Unscored | None],
    *,
    resamples: int = 1000,
    seed: int = 1,
    level: float = 0.95,
    method: str = "",
) -> Scored:
    """`statistic` of the units, with its percentile interval; n is the number of units.

    `Unscored` where the statistic is undefined on the sample, with its reason if it gives one. Resamples on which it is
    undefined are counted in `method`; where they are more than 1 - `level` of all, there is no interval.
    """
    found = statistic(units) if len(units) else Unscored("there is nothing to measure")
    if found is None:
        return Unscored("undefined on this sample", len(units))
    if isinstance(found, Unscored):
        return Unscored(found.reason, len(units))
    values = []
    if len(units) > 1:
        for chosen in draws(len(units), resamples, seed):
            values += [statistic([units[i] for i in row]) for row in chosen.tolist()]
    return estimated(found, len(units), numbers(values), level=level, method=method)


def bootstrap_mean(
    values: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = 1000,
    seed: int = 1,
    level: float = 0.95,
    method: str = "mean",
) -> Scored:
    """The mean of the values with its interval; n is the number of values.

    `groups` names what each value belongs to (its prompt): groups are drawn whole, and `method` says how many there
    are. `Unscored` where there are no values.

    Raises:
        ValueError: a value is not finite, or there are not as many groups as values.
    """
    there = np.asarray(values, dtype=np.float64)
    if not len(there):
        return Unscored("there is nothing to measure")
    if not np.isfinite(there).all():
        raise ValueError("Means are taken of finite numbers. Leave out what is not scored, and count it.")
    members = group_members(groups, len(there))
    sums = np.array([there[member].sum() for member in members]) if groups is not None else there
    sizes = np.array([len(member) for member in members], dtype=np.float64)
    means = [
        sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
        for chosen in (draws(len(members), resamples, seed) if len(members) > 1 else ())
    ]
    drawn = np.concatenate(means) if means else np.empty(0)
    if groups is not None:
        method += f", drawn by {len(members)} groups"
    return estimated(float(there.mean()), len(there), drawn, level=level, method=method)


def numbers(values: Sequence[float | Unscored | None]) -> NDArray[np.float64]:
    """What a statistic gave on each resample, for `estimated`: NaN where it was undefined."""
    return np.array([math.nan if v is None or isinstance(v, Unscored) else v for v in values], dtype=np.float64)


def draws(units: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Which units each resample holds: in blocks of rows, `resamples` rows of `units` indices in all."""
    rng = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // units)
    for start in range(0, resamples, rows):
        yield rng.integers(units, size=(min(rows, resamples - start), units))


def draw_counts(units: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each resample holds each unit: the same draws as `draws`, as counts (rows x units)."""
    for chosen in draws(units, resamples, seed):
        shifted = chosen + units * np.arange(len(chosen))[:, None]
        counted = np.bincount(shifted.ravel(), minlength=len(chosen) * units)
        yield counted.reshape(len(chosen), units).astype(np.float64)


def row_draws(members: Sequence[NDArray[np.int64]], resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The rows that each resample of the groups holds, by the rows of each group; none where there is one group."""
    lone = np.concatenate(members) if all(len(member) == 1 for member in members) else None
    for chosen in draws(len(members), resamples, seed) if len(members) > 1 else ():
        for row in chosen:
            yield np.concatenate([members[i] for i in row]) if lone is None else lone[row]


def group_members(groups: Sequence[Hashable] | None, count: int) -> list[NDArray[np.int64]]:
    """The indices that belong to each group, groups in the order of their first member; without groups, one each.

    Raises:
        ValueError: there are not as many groups as values.
    """
    if groups is None:
        return list(np.arange(count)[:, None])
    if len(groups) != count:
        raise ValueError(f"{count} values have {len(groups)} groups; name one for each.")
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    return [np.array(member) for member in members.values()]


def estimated(value: float, n: int, drawn: NDArray[np.float64], *, level: float, method: str) -> Estimate:
    """The estimate of `value` whose interval is that of the resampled values; those that are NaN were undefined."""
    defined = drawn[np.isfinite(drawn)]
    missing = len(drawn) - len(defined)
    parts = [method] if method else []
    if not len(drawn):
        return Estimate(value, n, method="; ".join([*parts, "no interval from one unit"]), level=level)
    parts.append(f"percentile bootstrap, {len(drawn):,} resamples" + (f", {missing:,} undefined" if missing else ""))
    if missing > (1 - level) * len(drawn):
        return Estimate(value, n, method="; ".join([*parts, "so no interval"]), level=level)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, n, float(low), float(high), "; ".join(parts), level)
