"""How two lists of numbers are related: Pearson, Spearman, Kendall's tau-b, pairwise accuracy; most of it from scipy.

A coefficient that is undefined (fewer than two pairs, a constant list) is `None`: the caller says whether that counts
as 0 (TTCW paper, Figures 1 and 2) or is left out (HANNA).
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.extras import extra
from fabula.base.lazily import Module
from fabula.stats.estimate import Unscored
from fabula.stats.intervals import coefficient_of, group_members, leaving_out, mean_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = Sequence[float] | Array
else:
    np = Module("numpy")

Definition: TypeAlias = Literal["symmetric", "legacy_fig3", "legacy_table1"]
Coefficient: TypeAlias = Literal["pearson", "spearman", "kendall", "accuracy"]
_CELLS: Final = 1 << 20  # of the signs of pairs held at a time: 8 MB
_ROUNDING: Final = 1e-12  # by which means of the same value differ at most, as a share of the largest number


def _scipy() -> Any:  # noqa: ANN401 - scipy has no types
    return extra("scipy.stats", "measure", "A correlation")  # takes longer to load than the rest of a command


def pearson(x: Numbers, y: Numbers) -> float | None:
    """Pearson's r; `None` for fewer than two pairs or where a list is constant."""
    a, b = _pair(x, y)
    if _flat(a) or _flat(b):
        return None
    r = by_row("pearson", a[None], b[None])[0]
    if math.isnan(r):  # their squares are beyond what a float holds: r is the same for numbers of another scale
        r = by_row("pearson", a[None] / np.abs(a).max(), b[None] / np.abs(b).max())[0]
    return _defined(r)


def spearman(x: Numbers, y: Numbers) -> float | None:
    """Spearman's rho with average ranks for ties; `None` for fewer than two pairs or where a list is constant."""
    a, b = _pair(x, y)
    if _flat(a) or _flat(b):
        return None
    one, other = _codes(a, b)
    return _weighted_spearman(one, other, np.ones(len(a), dtype=np.int64))


def kendall_b(x: Numbers, y: Numbers) -> float | None:
    """Kendall's tau-b (Kendall 1945); `None` for fewer than two pairs or where a list is constant."""
    a, b = _pair(x, y)
    return None if _flat(a) or _flat(b) else _defined(_scipy().kendalltau(a, b).statistic)


def _defined(value: float) -> float | None:
    """A coefficient within -1 to 1; `None` where numbers lie so close together that rounding leaves none."""
    return None if math.isnan(value) else min(max(float(value), -1.0), 1.0)


def pairwise_accuracy(h: Numbers, m: Numbers, definition: Definition = "symmetric") -> float | None:
    """The share of pairs of items that a measure `m` orders as people (`h`) do; `None` where no pair counts.

    - `symmetric`: a pair that one side ties has half credit, one that both tie is left out. The order of the items
      does not matter, a constant measure gets exactly 0.5, a perfect one 1.
    - `legacy_fig3`: (h_i > h_j) == (m_i > m_j) over i < j, as in Figure 3 of the TTCW paper. Depends on the order
      of the items, and a constant measure can beat every judge.
    - `legacy_table1`: the same with >=, as in its Table 1.
    """
    a, b = _pair(h, m)
    pairs = len(a) * (len(a) - 1) // 2
    if not pairs:
        return None
    if definition == "symmetric":
        return _symmetric(a, b, pairs)
    above = np.greater if definition == "legacy_fig3" else np.greater_equal
    same = sum(int((above(a[i], a[i + 1 :]) == above(b[i], b[i + 1 :])).sum()) for i in range(len(a) - 1))
    return same / pairs


def _symmetric(a: Array, b: Array, pairs: int) -> float | None:
    """From tau-b: it is the pairs ordered alike less those ordered otherwise, divided by a mean of the pairs untied."""
    tied = [_tied_pairs(list_) for list_ in (a, b)]
    counted = pairs - _tied_pairs(np.stack([a, b], axis=1))
    if not counted:
        return None
    tau = kendall_b(a, b)
    lead = 0 if tau is None else round(tau * math.sqrt((pairs - tied[0]) * (pairs - tied[1])))
    return (1 + lead / counted) / 2


def _tied_pairs(values: Array) -> int:
    counts = np.unique(values, axis=0, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def levelled(rows: Array) -> Array:
    """The numbers of each row, of which those that differ by rounding alone are made the same: means of one value.

    NaN stays NaN.
    """
    table = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    order = np.argsort(table, axis=1)
    ascending = np.take_along_axis(table, order, axis=1)
    size = np.abs(np.nan_to_num(ascending)).max(axis=1, initial=0.0)
    apart = np.ones(table.shape, dtype=bool)
    apart[:, 1:] = ~(np.diff(ascending, axis=1) <= _ROUNDING * size[:, None])
    lowest = np.maximum.accumulate(np.where(apart, np.arange(table.shape[1]), 0), axis=1)
    found = np.empty_like(table)
    np.put_along_axis(found, order, np.take_along_axis(ascending, lowest, axis=1), axis=1)
    return found.reshape(np.shape(rows))


def by_row(coefficient: Coefficient, x: Array, y: Array) -> Array:
    """A coefficient of each row of two tables of one shape; NaN where it is undefined or a number of the row is NaN."""
    found = np.full(len(x), np.nan)
    at_once = max(1, _CELLS // max(x.shape[1] ** 2, 1))
    for start in range(0, len(x), at_once) if x.shape[1] > 1 else ():
        part = slice(start, start + at_once)
        found[part] = _rows(coefficient, x[part], y[part])
    return found


def _rows(coefficient: Coefficient, x: Array, y: Array) -> Array:
    if coefficient in ("pearson", "spearman"):
        a, b = (x, y) if coefficient == "pearson" else (_scipy().rankdata(z, axis=1) for z in (x, y))
        with warnings.catch_warnings():  # constant rows, which become NaN, and nearly constant ones
            warnings.simplefilter("ignore")
            return np.asarray(_scipy().pearsonr(a, b, axis=1).statistic, dtype=np.float64)
    a, b = (np.sign(z[:, :, None] - z[:, None, :]) for z in (x, y))  # of each pair, from both sides
    agree = (a * b).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        if coefficient == "kendall":
            return np.asarray(agree / np.sqrt((a**2).sum(axis=(1, 2)) * (b**2).sum(axis=(1, 2))))
        return np.asarray((1 + agree / ((a != 0) | (b != 0)).sum(axis=(1, 2))) / 2)


COEFFICIENTS: Final[Mapping[Coefficient, Callable[[Numbers, Numbers], float | None]]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall_b,
    "accuracy": pairwise_accuracy,
}
LOWEST: Final[Mapping[Coefficient, float]] = {"pearson": -1.0, "spearman": -1.0, "kendall": -1.0, "accuracy": 0.0}
_METHODS: Final[Mapping[Coefficient, str]] = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho, average ranks for ties",
    "kendall": "Kendall's tau-b",
    "accuracy": "symmetric pairwise accuracy, ties half",
}


def correlation(
    x: Numbers,
    y: Numbers,
    coefficient: Coefficient,
    groups: Sequence[Hashable] | None = None,
) -> Scored:
    """The coefficient over all items at once, its interval by leaving out items, or whole groups (prompts) of them.

    n is the number of items.
    """
    a, b = _pair(x, y)
    if not len(a):
        return Unscored("there is nothing to compare")
    value = COEFFICIENTS[coefficient](a, b)
    if value is None:
        return Unscored(_why(a, b), len(a))
    members = group_members(groups, len(a))
    method = _METHODS[coefficient] + ("" if groups is None else f", by {len(members)} groups")
    without = without_each(a, b, coefficient, members)
    return coefficient_of(value, len(a), without, method=method, lowest=LOWEST[coefficient])


def without_each(
    a: Array, b: Array, coefficient: Coefficient, members: Sequence[NDArray[np.int64]]
) -> list[float | None]:
    """The coefficient without each group of rows in turn."""
    if coefficient != "spearman":
        return [COEFFICIENTS[coefficient](a[rows], b[rows]) for rows in leaving_out(members)]
    # Ranks are sorted only once: what is left out counts 0 times.
    one, other = _codes(a, b)
    return [_weighted_spearman(one, other, np.bincount(rows, minlength=len(a))) for rows in leaving_out(members)]


def correlation_within(
    x: Numbers,
    y: Numbers,
    coefficient: Coefficient,
    groups: Sequence[Hashable],
    *,
    undefined: float | None = None,
) -> Scored:
    """The mean over the groups (prompts) of the coefficient within each, with its interval over groups.

    n is the number of groups that count: those in which the coefficient is undefined count as `undefined`, or are left
    out where it is `None`; `method` says how many they were.
    """
    a, b = _pair(x, y)
    members = group_members(groups, len(a))
    values = [COEFFICIENTS[coefficient](a[member], b[member]) for member in members]
    missing = values.count(None)
    kept = [undefined if value is None else value for value in values]
    there = [value for value in kept if value is not None]
    if not there:
        return Unscored(f"undefined in each of {len(members)} groups", len(members))
    method = f"mean over groups of {_METHODS[coefficient]}"
    if missing:
        method += f"; {missing} undefined {'left out' if undefined is None else f'counted as {undefined:g}'}"
    return mean_of(there, method=method, limits=(LOWEST[coefficient], 1.0))


def _weighted_spearman(one: NDArray[Any], other: NDArray[Any], weights: NDArray[np.int64]) -> float | None:
    """Spearman's rho where what counts k times is there k times, by the order of the values."""
    middle = (int(weights.sum()) + 1) / 2
    x, y = (_weighted_midranks(codes, weights) - middle for codes in (one, other))
    spread = math.sqrt(float(weights @ (x * x)) * float(weights @ (y * y)))
    return min(1.0, max(-1.0, float(weights @ (x * y)) / spread)) if spread else None


def _codes(*lists: Array) -> list[NDArray[Any]]:
    """Each number's place in the order of the different numbers of its list."""
    return [np.unique(values, return_inverse=True)[1] for values in lists]


def _weighted_midranks(codes: NDArray[Any], weights: NDArray[np.int64]) -> Array:
    held = np.bincount(codes, weights)
    return np.asarray((np.cumsum(held) - (held - 1) / 2)[codes], dtype=np.float64)


def _flat(values: Array) -> bool:
    return len(values) < 2 or bool(values.min() == values.max())  # noqa: PLR2004 - a pair


def _pair(x: Numbers, y: Numbers) -> tuple[Array, Array]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"Two lists of the same length are compared, not of shapes {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("Finite numbers are compared. Leave out pairs that are not scored, and count them.")
    return a, b


def _why(a: Array, b: Array) -> str:
    if len(a) < 2:  # noqa: PLR2004 - a pair
        return f"{len(a)} item{'s' * (len(a) != 1)}; a correlation needs two"
    return "one of the two lists is constant" if _flat(a) or _flat(b) else "no pair is ordered"
