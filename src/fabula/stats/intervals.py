"""95 % intervals that hold for few units too. `docs/design/0015-intervals.md` lists their simulated coverage.

All values that belong together (all verdicts on one prompt) are one unit. No interval is random, so there is no seed.

- Means: Student's t over units (Bell and McCaffrey 2002 for units of unequal size), widened on the side to which the
  values are skewed by Hall's transformation (1992).
- Shares: Wilson's interval where every unit is one yes or no; else Wilson's for as many independent answers as the
  spread between the units leaves (Korn and Graubard 1998).
- Coefficients (correlations, kappa, alpha): jackknife over units on the scale of Fisher's z.

With too few units, or units that do not vary, there is no interval, and the method says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.extras import extra
from fabula.base.lazily import Module
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.shares import poisson, wilson

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int64]
else:
    np = Module("numpy")

LEVEL: Final = 0.95
FEWEST: Final = 3  # units behind the interval of a mean
FEWEST_OF_COEFFICIENT: Final = 8  # units behind that of a correlation, of kappa or alpha
_MANY, _PARTS = 500, 200
_FARTHEST: Final = 2.0  # times the t interval, to the side of the skew
# The spread of shares near 0 or 1 rests on few units that are unlike the rest, and comes out too small where units have
# several answers. By how much it is widened was found by simulation (design 0015).
_UNLIKE: Final = 0.4
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean and the quantities behind its interval.

    Attributes:
        mean: over all values.
        error: its standard error.
        freedom: degrees of freedom of the error.
        skew: of the units' contributions, divided by the root of how many there are.
        units: how many there are.
    """

    mean: float
    error: float
    freedom: float
    skew: float
    units: int

    def reach(self, level: float = LEVEL) -> tuple[float, float]:
        """How far the interval goes below the mean and above it."""
        most = float(_special().stdtrit(self.freedom, (1 + level) / 2))
        below, above = (
            self.error * min(max(sign * _untransformed(sign * most, self.skew), most), _FARTHEST * most)
            for sign in (1, -1)
        )
        return below, above

    def chance(self) -> float:
        """The two-sided p-value of a true mean of 0: 1 less the level at which the interval begins to hold it."""
        t = self.mean / self.error
        transformed = t + self.skew * t**2 / 3 + self.skew**2 * t**3 / 27 + self.skew / 6
        least = max(min(abs(t), math.copysign(1, t) * transformed), abs(t) / _FARTHEST)
        return 2 * float(_special().stdtr(self.freedom, -least))


def mean_of(
    values: Sequence[float] | Array,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "mean",
    level: float = LEVEL,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Scored:
    """The mean of the values with its interval; n is the number of groups, or of values where there are none.

    Args:
        values: finite numbers.
        groups: what each belongs to (its prompt); without them each is its own unit.
        method: what the mean is of.
        level: of the interval.
        limits: between which a mean can be.

    Raises:
        ValueError: a value is not finite, or there are not as many groups as values.
    """
    there, members = _checked(values, groups)
    if not len(there):
        return Unscored("there is nothing to measure")
    n, method = _counted_units(there, members, groups, method)
    found = spread_of(there, members)
    if isinstance(found, Unscored):
        return _alike(n, there, members, found, method, level, limits)
    below, above = found.reach(level)
    low, high = max(found.mean - below, limits[0]), min(found.mean + above, limits[1])
    return Estimate(found.mean, n, low, high, f"{method}; t interval, widened for skewness", level)


def spread_of(values: Array, members: Sequence[Rows]) -> Spread | Unscored:
    """What the interval of a mean comes from; why there is none where units are too few or alike."""
    units, whole = len(members), len(values)
    if units < FEWEST:
        return Unscored(f"no interval from {_counted(units, 'unit')}, since it takes {FEWEST}", units)
    sizes = np.array([len(member) for member in members], dtype=np.float64)
    mean = _rounded(float(values.mean()), values)
    sums = np.array([(values[member] - mean).sum() for member in members])
    # Each unit's part is freed from what it has itself put into the mean (CR2).
    scale = 1 / np.sqrt(1 - sizes / whole)
    parts = sums * scale
    variance = float((parts**2).sum()) / whole**2
    if variance <= (_ROUNDING * max(1.0, float(np.abs(values).max()))) ** 2:
        return Unscored("no interval, since all units have the same value", units)
    return Spread(mean, math.sqrt(variance), _freedom(sizes, scale), _skewness(parts) / math.sqrt(units), units)


def _freedom(sizes: Array, scale: Array) -> float:
    """Bell and McCaffrey's degrees of freedom; one less than the units where these are of one size."""
    diagonal, crossed = sizes * scale**2, sizes * scale
    squares = float((diagonal**2).sum() - 2 * (diagonal * crossed**2).sum() / sizes.sum())
    return float(diagonal.sum() - (crossed**2).sum() / sizes.sum()) ** 2 / (
        squares + float((crossed**2).sum() / sizes.sum()) ** 2
    )


def _skewness(parts: Array) -> float:
    """The skewness of the parts about 0, freed from the bias that few of them have."""
    units = len(parts)
    deviation = math.sqrt(float((parts**2).sum()) / (units - 1))
    return float((parts**3).sum()) * units / ((units - 1) * (units - 2)) / deviation**3


def _untransformed(t: float, skew: float) -> float:
    """The studentised mean that Hall's transformation takes to `t`."""
    if abs(skew) < _ROUNDING:
        return t
    return 3 / skew * (float(np.cbrt(1 + skew * (t - skew / 6))) - 1)


def share_of(
    values: Sequence[float] | Array,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "share",
    level: float = LEVEL,
) -> Scored:
    """The mean of numbers from 0 to 1, a tie being a half, with its interval; n is the number of groups, or of values.

    Raises:
        ValueError: a value is not from 0 to 1, or there are not as many groups as values.
    """
    there, members = _checked(values, groups)
    if not len(there):
        return Unscored("there is nothing to measure")
    if there.min() < 0 or there.max() > 1:
        raise ValueError("A share is of numbers from 0 to 1.")
    count, mean = len(there), float(there.mean())
    n, method = _counted_units(there, members, groups, method)
    whole = not np.any((there > 0) & (there < 1))
    if len(members) == count and whole:
        return Estimate(mean, n, *wilson(mean * n, n, level), f"{method}; Wilson interval", level)
    found = spread_of(there, members)
    if isinstance(found, Spread):
        worth = _worth(found, count if whole else math.inf, level, clustered=len(members) < count)
        name = f"Wilson interval for the {worth:.3g} independent answers that these are worth"
        return Estimate(mean, n, *wilson(mean * worth, worth, level), f"{method}; {name}", level)
    return _alike(n, there, members, found, method, level, (0.0, 1.0))


def share_among(answers: Sequence[float], *groupings: Sequence[Hashable], method: str) -> Scored:
    """The share by the first of the groupings that has three groups; else of these answers alone, and that is said.

    Groupings name what each answer belongs to: its prompt, its story.
    """
    for groups in groupings:
        if len(set(groups)) >= FEWEST:
            return share_of(answers, groups, method=method)
    return share_of(answers, method=f"{method}; of these alone")


def _alike(
    n: int,
    values: Array,
    members: Sequence[Rows],
    why: Unscored,
    method: str,
    level: float,
    limits: tuple[float, float],
) -> Estimate:
    """The mean of units between which nothing varies: how far it may lie from that of others not seen.

    So many units alike leave room for a share of others, by Wilson's interval, and those may lie at the limits.
    """
    mean, units = _rounded(float(values.mean()), values), len(members)
    if units < FEWEST or not all(map(math.isfinite, limits)):
        return Estimate(mean, n, method=f"{method}; {why.reason}")
    others = 1 - wilson(units, units, level)[0]
    low, high = mean - others * (mean - limits[0]), mean + others * (limits[1] - mean)
    how = f"{units} units alike, of which Wilson's interval lets {others:.0%} be others"
    return Estimate(mean, n, max(low, limits[0]), min(high, limits[1]), f"{method}; {how}", level)


def _worth(found: Spread, most: float, level: float, *, clustered: bool) -> float:
    """How many independent answers of yes or no have as wide a t interval."""
    unlike = 2 * found.units * min(found.mean, 1 - found.mean)
    error = found.error**2 * (1 + clustered * _UNLIKE / max(unlike, _UNLIKE))
    return min(found.mean * (1 - found.mean) / error * _like_z(found, level), most)


def _like_z(found: Spread, level: float) -> float:
    """By what a count of units shrinks, so that an interval for many units is as wide as a t interval."""
    t = float(_special().stdtrit(found.freedom, (1 + level) / 2))
    return float(_special().ndtri((1 + level) / 2) / t) ** 2


def count_of(counts: Sequence[float] | Array, method: str, times: float = 1.0) -> Estimate:
    """The sum of the counts of several passages, and its interval, both times a factor; n is the passages.

    The interval is that of a Poisson count, of a smaller one where the passages differ by more than such counts do.
    """
    there, members = _checked(counts, None)
    total, n = float(there.sum()), len(there)
    found = spread_of(there, members)
    worth = total
    if isinstance(found, Spread) and total:
        worth = min(_like_z(found, LEVEL) * (found.mean / found.error) ** 2, total)
    low, high = (end * (total / worth if worth else 1.0) * times for end in poisson(worth))
    name = "Poisson interval" if worth == total else f"Poisson interval of a count of {worth:.3g}, by their spread"
    return Estimate(total * times, n, low, high, f"{method}; {name}")


def coefficient_of(
    value: float,
    n: int,
    without: Sequence[float | Unscored | None],
    *,
    method: str,
    lowest: float = -1.0,
    highest: float = 1.0,
    skewed: bool = False,
) -> Estimate:
    """A coefficient and its interval, by what it is without each unit in turn.

    Args:
        value: of all units.
        n: what it is said to rest on.
        without: the coefficient without each of the units, as `leaving_out` names them.
        method: what the coefficient is.
        lowest: what it can be at least.
        highest: what it can be at most.
        skewed: widen for skewness, as coefficients of agreement need.
    """
    units = len(without)
    if units < FEWEST_OF_COEFFICIENT:
        return Estimate(value, n, method=f"{method}; no interval from fewer than {FEWEST_OF_COEFFICIENT} units")
    scaled = [_fisher(one, lowest, highest) for one in (value, *without)]
    known = np.array([one for one in scaled if one is not None])
    if len(known) <= units:
        why = "no interval, since it is at its limit or undefined, or would be without one of the units"
        return Estimate(value, n, method=f"{method}; {why}")
    parts = (known[1:].mean() - known[1:]) * math.sqrt((units - 1) / units)
    error = math.sqrt(float((parts**2).sum()))
    if error <= _ROUNDING:
        return Estimate(value, n, method=f"{method}; no interval, since it is the same without any of its units")
    skew = _skewness(parts) / math.sqrt(units) if skewed else 0.0
    below, above = Spread(float(known[0]), error, units - 1.0, skew, units).reach()
    low, high = (
        lowest + (highest - lowest) * (math.tanh(end) + 1) / 2
        for end in (float(known[0]) - below, float(known[0]) + above)
    )
    return Estimate(value, n, low, high, f"{method}; jackknife over {units} units, Fisher's z")


def jackknifed(
    value: float, n: int, without: Sequence[float] | Array, *, method: str, limits: tuple[float, float], fewest: int
) -> Estimate:
    """A number and its interval, by what it is without each unit in turn, on its own scale."""
    left = np.asarray(without, dtype=np.float64)
    units = len(left)
    if units < fewest:
        return Estimate(value, n, method=f"{method}; no interval from fewer than {fewest} units")
    error = math.sqrt((units - 1) / units * float(((left - left.mean()) ** 2).sum()))
    if error <= _ROUNDING:
        return Estimate(value, n, method=f"{method}; no interval, since it is the same without any of its units")
    below, above = Spread(value, error, units - 1.0, 0.0, units).reach()
    low, high = max(value - below, limits[0]), min(value + above, limits[1])
    return Estimate(value, n, low, high, f"{method}; jackknife over {units} units")


def _fisher(value: float | Unscored | None, lowest: float, highest: float) -> float | None:
    """Fisher's z of a coefficient from `lowest` to `highest`; `None` where it has none."""
    if value is None or isinstance(value, Unscored) or math.isnan(value):
        return None
    r = 2 * (value - lowest) / (highest - lowest) - 1
    return math.atanh(r) if abs(r) < 1 - _ROUNDING else None


def leaving_out(members: Sequence[Rows]) -> Iterator[Rows]:
    """The rows that are left without each unit in turn; of more than 500 units, without each of 200 parts of them."""
    if len(members) > _MANY:
        members = [np.concatenate(members[part::_PARTS]) for part in range(_PARTS)]
    rows = np.concatenate(members)
    owner = np.repeat(np.arange(len(members)), [len(member) for member in members])
    for unit in range(len(members)) if len(members) >= FEWEST_OF_COEFFICIENT else ():
        yield rows[owner != unit]


def group_members(groups: Sequence[Hashable] | None, count: int) -> list[Rows]:
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


def _checked(values: Sequence[float] | Array, groups: Sequence[Hashable] | None) -> tuple[Array, list[Rows]]:
    there = np.asarray(values, dtype=np.float64)
    if not np.isfinite(there).all():
        raise ValueError("Means are taken of finite numbers. Leave out what is not scored, and count it.")
    return there, group_members(groups, len(there))


def _rounded(mean: float, values: Array) -> float:
    """The mean within its values: sums of many tenths miss them by a rounding."""
    return min(max(mean, float(values.min())), float(values.max()))


def _counted_units(
    values: Array, members: Sequence[Rows], groups: Sequence[Hashable] | None, method: str
) -> tuple[int, str]:
    """What an estimate rests on, its groups where it has some, and the method with their number."""
    if groups is None:
        return len(values), method
    several = f"{len(values)} values " if len(members) < len(values) else ""
    return len(members), f"{method}, {several}by {_counted(len(members), 'group')}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _special() -> Any:  # noqa: ANN401 - scipy has no types
    return extra("scipy.special", "measure", "An interval")  # takes longer to load than the rest of a command
