"""Strengths of systems from a matrix of wins: the Bradley-Terry model, a tie being half a win for each.

Bradley and Terry (1952): i beats j with probability s_i / (s_i + s_j). The likelihood is concave in the log strengths
and has a finite maximum exactly where chains of wins lead from every system to every other (Ford 1957). Newton's
method finds it, with the step length of Sun and Tran-Dinh (2019, generalised self-concordant functions), which needs no
search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.lazily import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array: TypeAlias = NDArray[np.float64]
    Mask: TypeAlias = NDArray[np.bool_]
else:
    np = Module("numpy")

WEAK_PRIOR: Final = 0.1
_LEAST_PRIOR: Final = 1e-6  # below it the equations of a step are not solvable in double precision
_STEPS: Final = 500
_CLOSE: Final = 1e-10  # the last step in log strength; the error left is about its square
_NO_WIN: Final = 1e-9  # a share of wins below it is rounding of a judge's probabilities
_SHOWN: Final = 5  # names in a note
_OFFER: Final = f"Compare more, or give a weak prior (prior={WEAK_PRIOR})."


@dataclass(frozen=True, slots=True)
class Strengths:
    """What a matrix of wins says about the strength of each system.

    Attributes:
        log: natural logarithms of the strengths, centred at 0, in the order of the matrix; `None` where not finite.
        connected: comparisons link all systems, directly or through others (a prior does not count).
        finite: there is an estimate.
        note: why there is none, with the systems it is due to, or what a prior had to carry; else empty.
    """

    log: NDArray[np.float64] | None
    connected: bool
    finite: bool
    note: str = ""


def bradley_terry(wins: ArrayLike, *, prior: float = 0.0, names: Sequence[str] = ()) -> Strengths:
    """The maximum-likelihood strengths; `wins[i, j]` is how often i beat j, a tie being half a win for each.

    `prior` adds so many imagined ties between every two systems, which gives a finite estimate whatever the wins.
    `names` are for the note. The diagonal is not looked at.

    Raises:
        ValueError: the matrix is not square, or a number in it or the prior is negative or not finite.
    """
    table = _checked(wins, prior)
    parts = _classes(_closure((table + table.T) > 0))  # systems that comparisons link, directly or through others
    trouble = _trouble(table, parts, names)
    note = _note(trouble, prior, len(table))
    if trouble and not (prior and len(table) > 1):
        return Strengths(None, len(parts) == 1, finite=False, note=note)
    log = fit(with_prior(table, prior)[None])[0]
    if np.isnan(log).any():
        note = f"The fit did not come to an end. {_OFFER}"
        return Strengths(None, len(parts) == 1, finite=False, note=note)
    return Strengths(log, len(parts) == 1, finite=True, note=note)


def fit(wins: Array, start: Array | None = None) -> Array:
    """Centred log strengths (matrices x systems) of matrices of wins (matrices x systems x systems).

    Each has to have a finite maximum (`strongly_connected`); NaN where it was not reached. `start` are log strengths
    to begin from: those of a similar matrix save steps.
    """
    log = np.zeros(wins.shape[:2])
    if start is not None:
        log += start
    left = np.arange(len(log))
    for _ in range(_STEPS):
        step, size = _newton(wins[left], log[left])
        # At this length the likelihood grows for certain; near the maximum it is nearly 1.
        log[left] += step * (np.log1p(size) / np.maximum(size, np.finfo(np.float64).tiny))[:, None]
        left = left[size > _CLOSE]
        if not len(left):
            break
    log[left] = np.nan
    return np.asarray(log - log.mean(axis=1, keepdims=True), dtype=np.float64)


def influences(wins: Array, log: Array, prior: float = 0.0) -> Array:
    """By how much each prompt moves each log strength (prompts x systems); the sum over prompts is 0 without a prior.

    Their squares add up to the sandwich variance of the strengths (Huber 1967), clustered by prompt.

    Args:
        wins: of each prompt (prompts x systems x systems).
        log: the strengths that all prompts give.
        prior: with which they were fitted.
    """
    beats = _share(log[:, None] - log[None, :])
    slopes = (wins - (wins + wins.transpose(0, 2, 1)) * beats).sum(axis=2)
    centred = slopes - slopes.sum(axis=0) / max(len(slopes), 1)
    table = with_prior(wins.sum(axis=0), prior)
    matrix = _laplacian(((table + table.T) * beats * beats.T)[None])[0]
    return np.asarray(np.linalg.solve(matrix, centred.T).T, dtype=np.float64)


def _newton(wins: Array, log: Array) -> tuple[Array, Array]:
    """A step for each matrix, and the largest difference it makes between two systems."""
    beats = _share(log[:, :, None] - log[:, None, :])
    loses = beats.transpose(0, 2, 1)
    won = wins * loses  # written without cancellation: a million wins to one leave digits enough
    slope = (won - won.transpose(0, 2, 1)).sum(axis=2)
    matrix = _laplacian((wins + wins.transpose(0, 2, 1)) * beats * loses)
    step = np.asarray(np.linalg.solve(matrix, slope[:, :, None])[:, :, 0], dtype=np.float64)
    return step, np.asarray(np.ptp(step, axis=1), dtype=np.float64)


def _laplacian(weight: Array) -> Array:
    """The curvature in the log strengths, from each pair's; a constant is added that keeps the sum of the logs."""
    systems = np.arange(weight.shape[1])
    weight[:, systems, systems] = 0.0
    total = weight.sum(axis=2)
    matrix = total.mean(axis=1)[:, None, None] / len(systems) - weight
    matrix[:, systems, systems] += total
    return np.asarray(matrix, dtype=np.float64)


def _share(ahead: Array) -> Array:
    """1 / (1 + exp(-ahead)), without overflow."""
    small = np.exp(-np.abs(ahead))
    return np.asarray(np.where(ahead >= 0, 1.0, small) / (1.0 + small), dtype=np.float64)


def with_prior(wins: Array, prior: float) -> Array:
    """The wins (one matrix or many), cleared of rounding, with so many imagined ties between every two systems."""
    return np.asarray((_cleared(wins) + prior / 2) * (1 - np.eye(wins.shape[-1])), dtype=np.float64)


def _cleared(wins: Array) -> Array:
    """Without wins that are but a rounding error of a judge's probabilities."""
    games = wins + wins.swapaxes(-1, -2)
    return np.where(wins < _NO_WIN * games, 0.0, wins)


def strongly_connected(wins: Array) -> Mask:
    """Of each matrix (matrices x systems x systems): whether chains of wins lead from every system to every other."""
    return _reach_all(wins > 0) & _reach_all(wins.transpose(0, 2, 1) > 0)


def _reach_all(links: Mask) -> Mask:
    """Whether the first system leads to all others."""
    along = links.astype(np.float32)
    reached = np.zeros(links.shape[:2], dtype=bool)
    reached[:, :1] = True
    while True:
        more = reached | (np.matmul(reached[:, None, :].astype(np.float32), along)[:, 0] > 0)
        if np.array_equal(more, reached):
            return np.asarray(reached.all(axis=1), dtype=np.bool_)
        reached = more


def _checked(wins: ArrayLike, prior: float) -> Array:
    table = np.array(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:  # noqa: PLR2004 - a matrix
        raise ValueError(f"Wins are a square matrix of systems, not of shape {table.shape}.")
    np.fill_diagonal(table, 0.0)
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("Wins are finite numbers of 0 or more.")
    if prior and not _LEAST_PRIOR <= prior < float("inf"):
        raise ValueError(f"A prior is 0 or a number of imagined ties from {_LEAST_PRIOR:g} on, not {prior:g}.")
    return _cleared(table)


def _closure(links: Mask) -> Mask:
    """Which system leads to which through any number of links, itself included."""
    reach = links | np.eye(len(links), dtype=bool)
    while True:
        more = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        if np.array_equal(more, reach):
            return reach
        reach = more


def _classes(together: Mask) -> list[list[int]]:
    """The classes of an equivalence, in the order of their first members."""
    firsts = together.argmax(axis=1) if len(together) else np.empty(0, dtype=np.int64)
    return [np.flatnonzero(firsts == first).tolist() for first in np.unique(firsts)]


def _trouble(wins: Array, parts: list[list[int]], names: Sequence[str]) -> str:
    """Why the wins have no finite strengths; empty if they have."""
    names = names or [f"system {index}" for index in range(len(wins))]
    if len(wins) < 2:  # noqa: PLR2004 - a comparison
        return "A strength needs two systems that are compared; there is " + (
            f"{names[0]} alone." if names else "none."
        )
    if len(parts) > 1:
        groups = "; ".join(_listed(part, names) for part in parts[:_SHOWN]) + ("; ..." if len(parts) > _SHOWN else "")
        return f"The comparisons are not connected: nothing links these {len(parts)} groups: {groups}."
    reach = _closure(wins > 0)
    mutual = _classes(reach & reach.T)
    if len(mutual) == 1:
        return ""
    found = []
    for group in mutual:
        others = [index for index in range(len(wins)) if index not in group]
        lost, won = wins[np.ix_(others, group)].any(), wins[np.ix_(group, others)].any()
        if lost and won:
            continue
        result = f"{_listed(group, names)} {'won' if won else 'lost'} all comparisons"
        found.append(result if len(group) == 1 else f"{result} with others")
    return f"The wins alone give no finite strengths: {'; '.join(found)}."


def _listed(group: list[int], names: Sequence[str]) -> str:
    shown = [names[index] for index in group[:_SHOWN]]
    rest = f"{len(group) - _SHOWN} more" if len(group) > _SHOWN else shown.pop()
    return f"{', '.join(shown)} and {rest}" if shown else rest


def _note(trouble: str, prior: float, systems: int) -> str:
    if not trouble or systems < 2:  # noqa: PLR2004 - a comparison
        return trouble
    return f"{trouble} Only the prior of {prior:g} gives the estimate." if prior else f"{trouble} {_OFFER}"
