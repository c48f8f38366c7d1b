"""How far raters agree: kappa of Fleiss and of Cohen, Krippendorff's alpha, intraclass correlation.

A coefficient that is undefined (nothing to compare, no disagreement possible) is `None` or the reason why; `agreement`
adds an interval. Written from the papers that the functions name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import FEWEST, coefficient_of, group_members, leaving_out, share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Kind: TypeAlias = Literal["1,1", "2,1"]
Coefficient: TypeAlias = Literal[
    "fleiss",
    "cohen",
    "alpha nominal",
    "alpha ordinal",
    "alpha interval",
    "icc 1,1",
    "icc 2,1",
]
_TWO: Final = 2  # it takes so many to agree
_FEW_LABELS: Final = 12
_FEWEST_ITEMS: Final = 5  # behind an interval of a coefficient for labels
_NOMINAL: Final = frozenset({"fleiss", "cohen", "alpha nominal"})
_ROUNDING: Final = 1e-12


def fleiss_kappa(counts: ArrayLike) -> float | None:
    """Fleiss' kappa of items x categories counts (Fleiss 1971); `None` where undefined.

    Items may have different numbers of ratings (Gwet 2014, chapter 2): agreement is averaged over the items that have
    two or more, categories' shares over all items that have any. With equal numbers that is Fleiss' own formula.
    Undefined where no item has two ratings, or where all ratings are of one category.
    """
    return _number(_fleiss(_table(counts)))


def _fleiss(table: Array) -> float | Unscored:
    sizes = table.sum(axis=1)
    rated, paired = table[sizes > 0], table[sizes >= _TWO]
    if not len(paired):
        return Unscored("no item has two ratings")
    of_each = paired.sum(axis=1)
    observed = (((paired**2).sum(axis=1) - of_each) / (of_each * (of_each - 1))).mean()
    shares = (rated / rated.sum(axis=1, keepdims=True)).mean(axis=0)
    if np.count_nonzero(shares) < _TWO:
        return Unscored("all ratings are of one category")
    expected = (shares**2).sum()
    return float((observed - expected) / (1 - expected))


def cohen_kappa(
    a: Sequence[Hashable], b: Sequence[Hashable], weights: Literal["linear", "quadratic"] | None = None
) -> float | None:
    """Cohen's kappa of two raters' labels of the same items (Cohen 1960; weighted: Cohen 1968); `None` where undefined.

    Weights go by the place of a label in sorted order. Undefined where there are no items, or both raters used one
    and the same label throughout.

    Raises:
        ValueError: the raters did not label equally many items.
    """
    if len(a) != len(b):
        raise ValueError(f"Two raters label the same items; they gave {len(a)} and {len(b)} labels.")
    return _number(_cohen(a, b, weights))


def _cohen(a: Sequence[Hashable], b: Sequence[Hashable], weights: str | None = None) -> float | Unscored:
    if not len(a):
        return Unscored("there are no items")
    labels = set(a) | set(b)
    known = sorted(labels, key=None if weights else repr)  # type: ignore[type-var,arg-type]  # weights need an order
    place = {label: index for index, label in enumerate(known)}
    table = np.zeros((len(known), len(known)))
    for one, other in zip(a, b, strict=True):
        table[place[one], place[other]] += 1
    apart = np.abs(np.subtract.outer(np.arange(len(known)), np.arange(len(known)))).astype(np.float64)
    cost = {None: (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    chance = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if not chance:
        return Unscored("both raters gave one and the same label to all items")
    return 1 - float((cost * table).sum()) * len(a) / chance


def krippendorff_alpha(table: Array, level: Level) -> float | Unscored:
    """Krippendorff's alpha of items x raters values, NaN where a rating is missing, or why it is undefined.

    Krippendorff, Content Analysis (4th edition, 2019), chapter 12. Items with one rating say nothing and are left out.
    Ordinal differences are differences of mid-ranks, which is his formula in other words.
    """
    table = table[(~np.isnan(table)).sum(axis=1) >= _TWO]
    there = ~np.isnan(table)
    used, codes, counts = np.unique(table[there], return_inverse=True, return_counts=True)
    if not len(used):
        return Unscored("no item has two ratings")
    if len(used) < _TWO:
        return Unscored("all ratings are the same")
    item, sizes, total = np.nonzero(there)[0], there.sum(axis=1), int(there.sum())
    if level == "nominal":
        cells = np.unique(item * len(used) + codes, return_counts=True)
        same = np.bincount(cells[0] // len(used), weights=cells[1] ** 2.0, minlength=len(table))
        apart, apart_at_all = sizes**2 - same, total**2 - (counts**2).sum()
    else:
        scale = np.cumsum(counts) - counts / 2 if level == "ordinal" else used / np.abs(used).max()
        placed = scale[codes] - scale[codes].mean()
        means = np.bincount(item, weights=placed) / sizes
        apart = 2 * sizes * np.bincount(item, weights=(placed - means[item]) ** 2)
        apart_at_all = 2 * total * ((placed - placed.mean()) ** 2).sum()
    return 1 - float((total - 1) * (apart / (sizes - 1)).sum() / apart_at_all)


def icc(table: Array, kind: Kind) -> float | Unscored:
    """Intraclass correlation of items x raters values (Shrout and Fleiss 1979), or why it is undefined.

    It is the reliability of one rater. Kinds: "1,1" raters differ from item to item; "2,1" the same random raters.
    """
    items, raters = table.shape
    if np.isnan(table).any():
        return Unscored("ICC needs every rating, and some are missing")
    if min(items, raters) < _TWO:
        return Unscored("ICC needs two items and two raters")
    moved = table - table[0, 0]
    if not moved.any():
        return Unscored("nothing varies")
    moved = moved / np.abs(moved).max()
    moved -= moved.mean()
    of_items, of_raters = moved.mean(axis=1), moved.mean(axis=0)
    between = raters * (of_items**2).sum() / (items - 1)
    within = ((moved - of_items[:, None]) ** 2).sum() / (items * (raters - 1))
    judges = items * (of_raters**2).sum() / (raters - 1)
    error = ((moved - of_items[:, None] - of_raters) ** 2).sum() / ((items - 1) * (raters - 1))
    noise, rater_part = (within, 0.0) if kind == "1,1" else (error, (judges - error) / items)
    parts = between + (raters - 1) * noise + raters * rater_part
    if parts <= _ROUNDING * (between + noise + judges):
        return Unscored("the estimated variance of the ratings is not positive")
    return float((between - noise) / parts)


def agreement(
    values: ArrayLike,
    coefficient: Coefficient,
    groups: Sequence[Hashable] | None = None,
) -> Scored:
    """A coefficient over items x raters values (codes for labels, NaN where missing), with its interval.

    The interval comes from leaving out items, or whole groups (prompts) of them. n is the number of items. `Unscored`
    says why it is undefined.

    Raises:
        ValueError: the values are no table, one is infinite, or there are not as many groups as items.
    """
    table, measure = _ratings(values), _MEASURES[coefficient]
    members = group_members(groups, len(table))
    found = measure(table)
    if isinstance(found, Unscored):
        return Unscored(found.reason, len(table))
    method = coefficient + ("" if groups is None else f", by {len(members)} groups")
    if coefficient in _NOMINAL:
        return of_disagreement(found, len(table), disagreement(table), _chance(table), groups, method=method)
    without = [measure(table[rows]) for rows in leaving_out(members)]
    return coefficient_of(found, len(table), without, method=method, skewed=True)


def of_disagreement(
    found: float,
    n: int,
    apart: Array,
    chance: float,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str,
) -> Estimate:
    """A coefficient that is 1 - disagreement / that of chance, with the interval of the disagreement.

    Chance is held as it was found: it varies little beside the disagreement.

    Args:
        found: the coefficient.
        n: what it is said to rest on.
        apart: of each item the disagreement, 0 to 1; NaN where it has none.
        chance: what it would be by chance; used where all agree, and `found` does not tell it.
        groups: what the items belong to.
        method: what the coefficient is.
    """
    there = ~np.isnan(apart)
    units = None if groups is None else [group for group, known in zip(groups, there, strict=True) if known]
    share = share_of(apart[there], units)
    if not isinstance(share, Estimate) or share.low is None or share.high is None:
        return Estimate(found, n, method=f"{method}; no interval from fewer than {FEWEST} units")
    if len(apart[there]) < _FEWEST_ITEMS:
        return Estimate(found, n, method=f"{method}; no interval from fewer than {_FEWEST_ITEMS} items")
    chance = share.value / (1 - found) if share.value else chance
    how = share.method.partition("; ")[2]
    return Estimate(found, n, 1 - share.high / chance, 1 - share.low / chance, f"{method}; of the disagreement: {how}")


def _chance(table: Array) -> float:
    """The share of pairs of all ratings that differ."""
    shares = np.unique(table[~np.isnan(table)], return_counts=True)[1] / (~np.isnan(table)).sum()
    return float(1 - (shares**2).sum())


def disagreement(table: Array) -> Array:
    """Of each item the share of its pairs of ratings that differ; NaN where it has fewer than two ratings."""
    used = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == used).sum(axis=1).astype(np.float64)
    sizes = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sizes < _TWO, np.nan, 1 - ((counts**2).sum(axis=1) - sizes) / (sizes * (sizes - 1)))


def _fleiss_of(table: Array) -> float | Unscored:
    used = np.unique(table[~np.isnan(table)])
    if len(used) > _FEW_LABELS:
        return Unscored(f"kappa is for a few labels, not for {len(used)} different ratings")
    return _fleiss((table[:, :, None] == used).sum(axis=1).astype(np.float64))


def _cohen_of(table: Array) -> float | Unscored:
    if table.shape[1] != _TWO:
        return Unscored(f"Cohen's kappa is of two raters, not {table.shape[1]}")
    both = table[~np.isnan(table).any(axis=1)]
    return _cohen(both[:, 0].tolist(), both[:, 1].tolist())


_MEASURES: Final[Mapping[Coefficient, Callable[[Array], float | Unscored]]] = {
    "fleiss": _fleiss_of,
    "cohen": _cohen_of,
    "alpha nominal": lambda table: krippendorff_alpha(table, "nominal"),
    "alpha ordinal": lambda table: krippendorff_alpha(table, "ordinal"),
    "alpha interval": lambda table: krippendorff_alpha(table, "interval"),
    "icc 1,1": lambda table: icc(table, "1,1"),
    "icc 2,1": lambda table: icc(table, "2,1"),
}


def _number(found: float | Unscored) -> float | None:
    return None if isinstance(found, Unscored) else found


def _table(counts: ArrayLike) -> Array:
    table = _ratings(counts)
    if not (table >= 0).all():
        raise ValueError("Counts of ratings are 0 or more.")
    return table


def _ratings(values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != _TWO:
        raise ValueError(f"Ratings are a table of items x raters, not of shape {table.shape}.")
    if np.isinf(table).any():
        raise ValueError("A rating is infinite. Use finite numbers, and NaN where one is missing.")
    return table
