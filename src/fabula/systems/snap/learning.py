"""The filter's weights learned from plans that were scored: a rank-one factorisation with intervals (section 4.4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from fabula.base.errors import UsageError
from fabula.stats.intervals import coefficient_of, group_members, leaving_out
from fabula.systems.snap.config import PUBLISHED
from fabula.systems.snap.scores import CRITERIA, min_max

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fabula.stats.estimate import Estimate
    from fabula.systems.snap.scores import Matrix, ScoreRow

    Rows: TypeAlias = NDArray[np.int64]

Over: TypeAlias = Literal["cells", "all"]
SCALE: Final = sum(PUBLISHED)
_LEAST: Final = 2  # plans in a cell that can be compared
_FEW: Final = 20  # units below which the intervals are marked
_ROUNDS, _CLOSE = 10_000, 1e-14


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """Weights, and what they rest on.

    Attributes:
        weights: by criterion; their sum is that of the published constants, since only ratios count.
        explained: how much of the table the one component explains, 0 to 1: the share of its squared singular value.
        equal: how much equal weights explain, which nothing was learned for.
        over: within what scores were normalised to 0..1: among the plans of a cell, or among all.
        plans: how many were learned from.
        cells: in how many cells they were; 0 where the table does not say.
        lone: plans that were left out because their cell has no other.
        few: there are few cells (or plans, without cells), and the weights are not to be relied on.
    """

    weights: dict[str, Estimate]
    explained: Estimate
    equal: Estimate
    over: Over
    plans: int
    cells: int
    lone: int
    few: bool


def learn(rows: Sequence[ScoreRow], over: Over | None = None) -> LearnedWeights:
    """The weights of coherence, connectivity and personality, by the factorisation of section 4.4.

    The paper normalises scores to 0..1 and does not say among which plans; when it learns, we take it to be among all.
    The filter does it among the plans of a cell, because a sum there is compared with no other cell's; weights are for
    that scale, so by default they are learned on it where the rows name their cells, else over all. Intervals are
    jackknives over cells (over plans where there are none).

    Args:
        rows: of one or more tables.
        over: "cells" or "all"; `None` takes cells where all rows name theirs.

    Raises:
        UsageError: there are too few plans, some name no cell, or a criterion has the same score for all plans.
    """
    have_cells = bool(rows) and all(row.cell for row in rows)
    if over == "cells" and not have_cells:
        where = next((row.where for row in rows if not row.cell), "the table")
        raise UsageError(f"{where} does not name a cell. Add a column `cell` to all lines, or use --over all.")
    over = over or ("cells" if have_cells else "all")
    used = _comparable(rows) if over == "cells" else list(rows)
    _check_count(rows, used)
    scores = np.array([row.scores for row in used])
    members = group_members([row.cell for row in used] if have_cells else None, len(used))
    normal = (
        _by_cell(scores, group_members([row.rivals for row in used], len(used))) if over == "cells" else min_max(scores)
    )
    _check_apart(normal, over)
    # Among all, what is left has its own extremes; within a cell, which is left out whole, they stay.
    again: Callable[[Matrix], Matrix] = min_max if over == "all" else (lambda table: table)
    table = scores if over == "all" else normal
    left = [_numbers(again(table[rows])) for rows in leaving_out(members)]
    without = zip(*left, strict=True) if left else [()] * (len(CRITERIA) + 2)
    unit = f"{len(members)} {'cells' if have_cells else 'plans'}"
    kind = "min-max in each cell" if over == "cells" else "min-max over all plans"
    method = f"{kind}, by {unit}"
    *weights, explains, equal = [
        coefficient_of(value, len(used), column, method=method, lowest=0.0, highest=SCALE if n < len(CRITERIA) else 1.0)
        for n, (value, column) in enumerate(zip(_numbers(normal), without, strict=True))
    ]
    return LearnedWeights(
        weights=dict(zip(CRITERIA, weights, strict=True)),
        explained=explains,
        equal=equal,
        over=over,
        plans=len(used),
        cells=len(members) if have_cells else 0,
        lone=len(rows) - len(used),
        few=len(members) < _FEW,
    )


def rank_one(scores: Matrix) -> tuple[float, ...]:
    """The weight of each column by the factorisation of a non-negative matrix into one component; they add up to 1.

    The best component is the first right singular vector, which has no negative entry (section 4.4, equation 1).

    Raises:
        UsageError: the matrix holds something negative, or nothing above 0.
    """
    if scores.ndim != 2 or not scores.size or scores.min() < 0 or not scores.max() > 0:  # noqa: PLR2004 - rows and columns
        raise UsageError("Weights need a table of scores, none below 0 and not all 0. Give more, or different, plans.")
    weights, squares = np.ones(scores.shape[1]), scores.T @ scores
    for _ in range(_ROUNDS):
        better = squares @ weights
        better /= np.linalg.norm(better)
        if np.abs(better - weights).max() < _CLOSE:
            break
        weights = better
    return tuple(float(weight) for weight in weights / weights.sum())


def _numbers(normal: Matrix) -> list[float]:
    """Weights, share explained, share explained by equal weights; NaN where nothing is above 0."""
    if not normal.max() > 0:
        return [float("nan")] * (len(CRITERIA) + 2)
    weights = rank_one(normal)
    shares = [explained(normal, given) for given in (weights, (1.0,) * len(CRITERIA))]
    return [*(SCALE * weight for weight in weights), *shares]


def explained(scores: Matrix, weights: Sequence[float]) -> float:
    """How much of the squares of a table its projection on `weights` holds, 0 to 1.

    With the weights of `rank_one` it is the first squared singular value's share of all.
    """
    direction = np.asarray(weights) / np.linalg.norm(weights)
    return float(((scores @ direction) ** 2).sum() / (scores**2).sum())


def _by_cell(scores: Matrix, members: Sequence[Rows]) -> Matrix:
    normal = np.zeros_like(scores)
    for rows in members:
        normal[rows] = min_max(scores[rows])
    return normal


def _comparable(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """The rows of agents that have two or more in their cell."""
    count = Counter(row.rivals for row in rows)
    return [row for row in rows if count[row.rivals] >= _LEAST]


def _check_count(rows: Sequence[ScoreRow], used: Sequence[ScoreRow]) -> None:
    if len(rows) < _LEAST:
        raise UsageError(
            f"Weights are learned from at least two plans, but there {'is' if rows else 'are'} {len(rows)}."
        )
    if not used:
        raise UsageError(
            f"None of the {len({row.cell for row in rows})} cells has two plans to compare. Give cells with several "
            "candidates, or use --over all."
        )


def _check_apart(normal: Matrix, over: Over) -> None:
    for name, column in zip(CRITERIA, normal.T, strict=True):
        if not column.max() > 0:
            alike = "in all plans of each cell" if over == "cells" else "in all plans"
            raise UsageError(
                f"{name} is the same {alike}, so it distinguishes none and gets no weight. Score more plans, or with a "
                "judge that uses the scale."
            )
