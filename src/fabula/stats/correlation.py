"""How two lists of numbers go together: Pearson, Spearman, Kendall's tau-b, pairwise accuracy.

A coefficient that is undefined (fewer than two pairs, a constant list) is `None`: the caller says whether that counts
as 0 (TTCW paper, Figures 1 and 2) or is left out (HANNA).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from fabula.stats.bootstrap import bootstrap_mean, draw_counts, estimated, group_members, numbers, row_draws
from fabula.stats.estimate import Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.intp]
    Numbers: TypeAlias = Sequence[float] | Array

Definition: TypeAlias = Literal["symmetric", "legacy_fig3", "legacy_table1"]
Coefficient: TypeAlias = Literal["pearson", "spearman", "kendall", "accuracy"]
_FEW: Final = 256  # up to here all pairs at once are faster than counting inversions


def midranks(values: Numbers) -> Array:
    """The rank of each value from 1, ties sharing the average of their ranks."""
    return _midranks(_codes(np.asarray(values, dtype=np.float64)))


def pearson(x: Numbers, y: Numbers) -> float | None:
    """Pearson's r; `None` for fewer than two pairs or where a list is constant."""
    return _pearson(*_pair(x, y))


def spearman(x: Numbers, y: Numbers) -> float | None:
    """Spearman's rho with average ranks for ties; `None` for fewer than two pairs or where a list is constant."""
    return _spearman(*map(_codes, _pair(x, y)))


def kendall_b(x: Numbers, y: Numbers) -> float | None:
    """Kendall's tau-b (Kendall 1945); `None` for fewer than two pairs or where a list is constant."""
    return _kendall(*map(_codes, _pair(x, y)))


def pairwise_accuracy(h: Numbers, m: Numbers, definition: Definition = "symmetric") -> float | None:
    """The share of pairs of items that a measure `m` orders as people (`h`) do; `None` where no pair counts.

    - `symmetric`: a pair that one side ties has half credit, one that both tie is left out. The order of the items
      does not matter, a constant measure gets exactly 0.5, a perfect one 1.
    - `legacy_fig3`: (h_i > h_j) == (m_i > m_j) over i < j, as in Figure 3 of the TTCW paper. Depends on the order
      of the items, and a constant measure can beat every judge.
    - `legacy_table1`: the same with >=, as in its Table 1.
    """
    a, b = _pair(h, m)
    if definition == "symmetric" or len(a) < 2:  # noqa: PLR2004 - a pair
        return _accuracy(_codes(a), _codes(b))
    above = np.greater if definition == "legacy_fig3" else np.greater_equal
    same = sum(int((above(a[i], a[i + 1 :]) == above(b[i], b[i + 1 :])).sum()) for i in range(len(a) - 1))
    return same / (len(a) * (len(a) - 1) / 2)


COEFFICIENTS: Final[Mapping[Coefficient, Callable[[Numbers, Numbers], float | None]]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall_b,
    "accuracy": pairwise_accuracy,
}
_TOLD: Final[Mapping[Coefficient, str]] = {
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
    *,
    resamples: int = 1000,
    seed: int = 1,
    level: float = 0.95,
) -> Scored:
    """The coefficient over all items at once, its interval by drawing items, or whole groups (prompts) of them.

    n is the number of items.
    """
    a, b = _pair(x, y)
    if not len(a):
        return Unscored("there is nothing to compare")
    # Ranks go by order alone: numbered once, the values of a resample need no sorting.
    one, other = (a, b) if coefficient == "pearson" else (_codes(a), _codes(b))
    measure = _PREPARED[coefficient]
    value = measure(one, other)
    if value is None:
        return Unscored(_why(a, b), len(a))
    members = group_members(groups, len(a))
    if coefficient == "spearman":
        drawn = _weighted_spearman(one, other, members, resamples, seed)
    else:
        drawn = [measure(one[rows], other[rows]) for rows in row_draws(members, resamples, seed)]
    told = _TOLD[coefficient] + ("" if groups is None else f", drawn by {len(members)} groups")
    return estimated(value, len(a), numbers(drawn), level=level, method=told)


def correlation_within(
    x: Numbers,
    y: Numbers,
    coefficient: Coefficient,
    groups: Sequence[Hashable],
    *,
    undefined: float | None = None,
    resamples: int = 1000,
    seed: int = 1,
) -> Scored:
    """The mean over the groups (prompts) of the coefficient within each, its interval by drawing groups.

    n is the number of groups that count: those in which the coefficient is undefined count as `undefined`, or are left
    out where it is `None`; `method` tells how many they were.
    """
    a, b = _pair(x, y)
    members = group_members(groups, len(a))
    values = [COEFFICIENTS[coefficient](a[member], b[member]) for member in members]
    missing = values.count(None)
    kept = [undefined if value is None else value for value in values]
    there = [value for value in kept if value is not None]
    if not there:
        return Unscored(f"undefined in each of {len(members)} groups", len(members))
    told = f"mean over groups of {_TOLD[coefficient]}"
    if missing:
        told += f"; {missing} undefined {'left out' if undefined is None else f'counted as {undefined:g}'}"
    return bootstrap_mean(there, resamples=resamples, seed=seed, method=told)


def _pearson(a: Array, b: Array) -> float | None:
    if _flat(a) or _flat(b):
        return None
    return min(1.0, max(-1.0, float(_direction(a) @ _direction(b))))


def _spearman(a: Codes, b: Codes) -> float | None:
    # Centred, so that a constant list is all zeros; ranks need none of the care that `_direction` takes.
    x, y = (_midranks(codes) - (len(codes) + 1) / 2 for codes in (a, b))
    spread = math.sqrt((x @ x) * (y @ y))
    return min(1.0, max(-1.0, float(x @ y) / spread)) if spread else None


def _weighted_spearman(
    a: NDArray[Any], b: NDArray[Any], members: Sequence[NDArray[np.int64]], resamples: int, seed: int
) -> list[float | None]:
    """Spearman's rho of each resample; what is drawn k times counts k times, which needs no sorting of its ranks."""
    if len(members) == 1:
        return []
    owner = np.empty(len(a), dtype=np.intp)
    for group, rows in enumerate(members):
        owner[rows] = group
    drawn: list[float | None] = []
    for counts in draw_counts(len(members), resamples, seed):
        for count in counts:
            weights = count[owner]
            middle = (weights.sum() + 1) / 2
            x, y = (_weighted_midranks(codes, weights) - middle for codes in (a, b))
            spread = math.sqrt((weights @ (x * x)) * (weights @ (y * y)))
            drawn.append(min(1.0, max(-1.0, float(weights @ (x * y)) / spread)) if spread else None)
    return drawn


def _weighted_midranks(codes: NDArray[Any], weights: Array) -> Array:
    held = np.bincount(codes, weights)
    return np.asarray((np.cumsum(held) - (held - 1) / 2)[codes], dtype=np.float64)


def _kendall(a: Codes, b: Codes) -> float | None:
    if _flat(a) or _flat(b):
        return None
    pairs = _Pairs.of(a, b)
    decided = pairs.agree + pairs.differ
    return (pairs.agree - pairs.differ) / math.sqrt((decided + pairs.only_x) * (decided + pairs.only_y))


def _accuracy(a: Codes, b: Codes) -> float | None:
    pairs = _Pairs.of(a, b)
    tied = pairs.only_x + pairs.only_y
    counted = pairs.agree + pairs.differ + tied
    return (pairs.agree + tied / 2) / counted if counted else None


_PREPARED: Final[Mapping[Coefficient, Callable[[Any, Any], float | None]]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
    "accuracy": _accuracy,
}


def _codes(values: Array) -> Codes:
    """The values numbered from 0 in their order, equal ones alike."""
    return np.unique(values, return_inverse=True)[1]


def _midranks(codes: Codes) -> Array:
    counts = np.bincount(codes)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], dtype=np.float64)


class _Pairs(NamedTuple):
    """Numbers of unordered pairs of items by how the two lists order them."""

    agree: int
    differ: int
    only_x: int  # tied in x alone
    only_y: int

    @classmethod
    def of(cls, a: Codes, b: Codes) -> _Pairs:
        return cls.few(a, b) if len(a) <= _FEW else cls.many(a, b)

    @classmethod
    def few(cls, a: Codes, b: Codes) -> _Pairs:
        """All pairs at once."""
        first, second = _pairs_of(len(a))
        x, y = np.sign(a[first] - a[second]), np.sign(b[first] - b[second])
        seen = np.bincount(3 * x + y + 4, minlength=9).tolist()
        return cls(seen[0] + seen[8], seen[2] + seen[6], seen[3] + seen[5], seen[1] + seen[7])

    @classmethod
    def many(cls, a: Codes, b: Codes) -> _Pairs:
        """Knight (1966): sorted by x, then y, the pairs that differ are the inversions of y."""
        top = int(b.max()) + 1
        keys = np.sort(a * top + b)
        runs = np.diff(np.flatnonzero(np.diff(keys, prepend=-1, append=-1)))
        both = int((runs * (runs - 1) // 2).sum())
        differ = _inversions(keys % top, top)
        only_x, only_y = _tied(a) - both, _tied(b) - both
        total = len(a) * (len(a) - 1) // 2
        return cls(total - differ - only_x - only_y - both, differ, only_x, only_y)


@lru_cache(maxsize=4)
def _pairs_of(count: int) -> tuple[Codes, Codes]:
    first, second = np.triu_indices(count, 1)
    return first, second


def _tied(codes: Codes) -> int:
    counts = np.bincount(codes)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(codes: Codes, top: int) -> int:
    """Pairs i < j with codes[i] > codes[j]: a merge sort from below, all merges of one width at once."""
    place = np.arange(len(codes))
    found, width = 0, 1
    while width < len(codes):
        block = place // (2 * width)
        left = place // width % 2 == 0
        keys = block * top + codes
        lower = np.sort(keys[left])  # sorted within each block, since the block counts most
        at_most = np.searchsorted(lower, keys[~left], side="right")
        lefts = np.cumsum(np.bincount(block[left], minlength=int(block[-1]) + 1))
        found += int((lefts[block[~left]] - at_most).sum())
        width *= 2
    return found


def _direction(values: Array) -> Array:
    """The values less their mean, scaled to length 1; `values` are not constant."""
    scaled = values / np.abs(values).max()
    moved = scaled - scaled.mean()
    moved -= moved.mean()  # once more, for values that differ in their last bits only
    moved /= np.abs(moved).max()
    return np.asarray(moved / np.sqrt(moved @ moved), dtype=np.float64)


def _flat(values: Array | Codes) -> bool:
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
