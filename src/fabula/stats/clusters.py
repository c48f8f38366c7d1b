"""Groups among points: truncated SVD, k-means, and the silhouette that says how many groups fit. Seeded throughout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Labels: TypeAlias = NDArray[np.int64]

_RESTARTS: Final = 10
_QUICK: Final = 3  # restarts while numbers of groups are tried
_STEPS: Final = 100
_MORE: Final = 10  # directions of a truncated SVD beyond those wanted, for accuracy
_POWERS: Final = 6
_SAMPLE: Final = 1500  # points whose silhouette is taken; of fewer it is exact
_BLOCK: Final = 2048


@dataclass(frozen=True)
class Clusters:
    """Points in groups, the largest first.

    Attributes:
        labels: the group of each point.
        centres: of the groups.
        spread: the sum of squared distances from the centres.
    """

    labels: Labels
    centres: Array
    spread: float

    def distances(self, points: Array) -> Array:
        """How far each point lies from the centre of its group."""
        found: Array = np.linalg.norm(points - self.centres[self.labels], axis=1)
        return found


def reduced(rows: Any, dimensions: int, seed: int) -> Array:  # noqa: ANN401 - an array or a sparse matrix
    """The rows in their `dimensions` strongest directions: a truncated singular value decomposition, uncentred.

    By random projection with power iterations (Halko, Martinsson and Tropp 2011); signs are fixed, so that the same
    rows and seed give the same points.
    """
    wanted = min(dimensions, *rows.shape)
    width = min(wanted + _MORE, *rows.shape)
    basis = np.linalg.qr(rows @ np.random.default_rng(seed).standard_normal((rows.shape[1], width)))[0]
    for _ in range(_POWERS):
        basis = np.linalg.qr(rows @ np.linalg.qr(rows.T @ basis)[0])[0]
    left, values, _ = np.linalg.svd((rows.T @ basis).T, full_matrices=False)
    points: Array = (basis @ left)[:, :wanted] * values[:wanted]
    signs = np.sign(points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])])
    return points * np.where(signs == 0, 1.0, signs)


def k_means(points: Array, count: int, seed: int, restarts: int = _RESTARTS) -> Clusters:
    """The points in `count` groups, fewer where fewer of them differ: the best of several starts by k-means++."""
    count = min(count, len(np.unique(points, axis=0)))
    rng = np.random.default_rng((seed, count))
    best = min((_settled(points, _starts(points, count, rng)) for _ in range(restarts)), key=lambda one: one.spread)
    sizes = np.bincount(best.labels, minlength=count)
    firsts = [int(np.argmax(best.labels == group)) for group in range(count)]
    order = sorted(range(count), key=lambda group: (-sizes[group], firsts[group]))
    places = np.empty(count, dtype=np.int64)
    places[order] = np.arange(count)
    return Clusters(places[best.labels], best.centres[order], best.spread)


def _starts(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Centres to start from, each drawn by its squared distance from those before (k-means++)."""
    centres = [points[rng.integers(len(points))]]
    nearest = ((points - centres[0]) ** 2).sum(axis=1)
    for _ in range(count - 1):
        total = float(nearest.sum())
        chosen = rng.choice(len(points), p=nearest / total) if total > 0 else rng.integers(len(points))
        centres.append(points[chosen])
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(axis=1))
    return np.array(centres)


def _settled(points: Array, centres: Array) -> Clusters:
    """Lloyd's steps until no point changes its group; a group that loses all its points takes the farthest one."""
    labels = np.full(len(points), -1)
    for _ in range(_STEPS):
        squares = _squares(points, centres)
        found = squares.argmin(axis=1)
        own = squares[np.arange(len(points)), found]
        for group in np.flatnonzero(np.bincount(found, minlength=len(centres)) == 0):
            farthest = int(own.argmax())
            found[farthest], own[farthest] = group, 0.0
        if np.array_equal(found, labels):
            break
        labels = found
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, points)
        centres = sums / sizes[:, None]
    spread = float(((points - centres[labels]) ** 2).sum())
    return Clusters(labels.astype(np.int64), centres, spread)


def _squares(points: Array, centres: Array) -> Array:
    """Squared distances, shape (points, centres)."""
    both = points @ centres.T
    squares: Array = (points**2).sum(axis=1)[:, None] - 2 * both + (centres**2).sum(axis=1)
    return np.maximum(squares, 0.0)


def silhouettes(points: Array, counts: Iterable[int], seed: int) -> Mapping[int, float]:
    """For each number of groups, how well the points lie in theirs: the mean silhouette (Rousseeuw 1987), -1 to 1.

    The groups are those of `k_means` with few starts; of more than 1,500 points a sample of them is looked at.
    """
    rng = np.random.default_rng(seed)
    whole = len(points) <= _SAMPLE
    taken = np.arange(len(points)) if whole else np.sort(rng.choice(len(points), _SAMPLE, replace=False))
    distances = np.sqrt(_squares(points[taken], points[taken]))
    np.fill_diagonal(distances, 0.0)
    found = {}
    for count in counts:
        labels = k_means(points, count, seed, _QUICK).labels[taken]
        found[count] = _silhouette(distances, labels)
    return found


def _silhouette(distances: Array, labels: Labels) -> float:
    """The mean silhouette; a point that is alone in its group counts 0."""
    groups = np.unique(labels)
    if len(groups) < 2:  # noqa: PLR2004 - with a single group there is no other
        return 0.0
    members = (labels[:, None] == groups).astype(np.float64)
    sizes = members.sum(axis=0)
    sums = distances @ members
    own = np.searchsorted(groups, labels)
    at = np.arange(len(labels))
    inside = sums[at, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[at, own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    scores = np.where((sizes[own] > 1) & (larger > 0), (outside - inside) / np.where(larger > 0, larger, 1.0), 0.0)
    return float(scores.mean())
