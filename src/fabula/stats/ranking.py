"""Ranking systems from side-by-side verdicts: Bradley-Terry strengths with intervals by prompt, and the judge's biases.

Agents' Room section 6.2 and Character Simulation section 4.3: a matrix of wins over all pairs and prompts, and the log
strengths of a Bradley-Terry model fitted on it, centred at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import UnknownNameError
from fabula.base.lazily import Module
from fabula.stats.bradley_terry import (
    WEAK_PRIOR,
    Strengths,
    bradley_terry,
    influences,
)
from fabula.stats.comparisons import (
    TIE,
    Comparison,
    first_position_rate,
    length_against_wins,
    longer_wins,
    order_consistency,
    tie_share,
)
from fabula.stats.differences import MOST, Difference, Found, corrected
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import FEWEST, Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
else:
    np = Module("numpy")

__all__ = ["WEAK_PRIOR", "Comparison", "Ranking", "Strengths", "bradley_terry", "rank_systems"]

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Ranking:
    """What side-by-side verdicts say about systems and about the judge.

    Attributes:
        names: the systems, as given.
        wins: `wins[i, j]` is how often i beat j, ties half a win each (systems x systems).
        strengths: of each system: the log strength, centred at 0, with its interval by prompt; or why there is none.
        differences: of every two strengths, corrected for how many there are; none of more than 20 systems.
        ties: the share of verdicts that say the two are the same.
        first_position: how often the story shown first wins; 0.5 without position bias.
        consistency: the share of pairs whose verdicts in the two orders agree.
        longer_wins: how often the longer story wins; 0.5 where length says nothing.
        length: Spearman's rho of the difference in length with the score.
        verdicts: how many there are.
        prompts: on how many prompts.
        notes: what a reader must know to believe the strengths.
    """

    names: tuple[str, ...]
    wins: NDArray[np.float64]
    strengths: tuple[Scored, ...]
    differences: tuple[Difference, ...]
    ties: Scored
    first_position: Scored
    consistency: Scored
    longer_wins: Scored
    length: Scored
    verdicts: int
    prompts: int
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """Indices of the systems that have a strength, from the strongest on; equal ones as given."""
        known = [(-s.value, i) for i, s in enumerate(self.strengths) if isinstance(s, Estimate)]
        return tuple(index for _, index in sorted(known))


def rank_systems(
    names: Sequence[str],
    comparisons: Sequence[Comparison],
    *,
    prior: float = 0.0,
    questions: int = 1,
) -> Ranking:
    """The strengths of the systems, each with its interval by prompt, and the measures of the judge's biases.

    n of a strength is the number of prompts. The order of the verdicts does not matter, nor the systems' names.
    Differences are corrected for so many `questions` that are ranked like this one.

    Raises:
        UnknownNameError: a verdict is on a system that is not among `names`.
        ValueError: two systems have one name, or the prior is out of its range.
    """
    if len(set(names)) < len(names):
        raise ValueError("Two systems have one name. Rename one.")
    for name in {name for c in comparisons for name in (c.first, c.second)} - set(names):
        raise UnknownNameError("system", name, names)
    ordered = sorted(comparisons, key=lambda c: c.prompt)
    by_prompt = _wins_by_prompt(names, ordered)
    prompts, wins = len(by_prompt), by_prompt.sum(axis=0)
    found = bradley_terry(wins, prior=prior, names=names)
    strengths: tuple[Scored, ...] = (Unscored(found.note, prompts),) * len(names)
    apart: tuple[Difference, ...] = ()
    if found.log is not None:
        method = "log strength centred at 0, Bradley-Terry"
        method += ", ties half a win each" if any(c.score == TIE for c in ordered) else ""
        method += f", prior {prior:g}" if prior else ""
        moved = influences(by_prompt, found.log, prior)
        strengths = tuple(
            _strength(value, column, method) for value, column in zip(found.log.tolist(), moved.T, strict=True)
        )
        apart = _differences(names, found.log, moved, method, questions)
    return Ranking(
        tuple(names),
        wins,
        strengths,
        apart,
        tie_share(ordered),
        first_position_rate(ordered),
        order_consistency(ordered),
        longer_wins(ordered),
        length_against_wins(ordered),
        len(ordered),
        prompts,
        (found.note,) if found.note else (),
    )


def _strength(value: float, moved: Array, method: str) -> Estimate:
    spread = _spread(value, moved)
    if isinstance(spread, Unscored):
        return Estimate(value, len(moved), method=f"{method}; {spread.reason}")
    below, above = spread.reach()
    how = f"{method}; t interval over {len(moved)} prompts, sandwich variance"
    return Estimate(value, len(moved), value - below, value + above, how)


def _differences(names: Sequence[str], log: Array, moved: Array, method: str, questions: int) -> tuple[Difference, ...]:
    """Of every two strengths, the stronger first; none where the systems are too many."""
    order = sorted(range(len(names)), key=lambda n: (-log[n], n)) if len(names) <= MOST else []
    found: list[Found] = []
    for i, j in combinations(order, 2):
        value = float(log[i] - log[j])
        found.append((names[i], names[j], value, len(moved), _spread(value, moved[:, i] - moved[:, j])))
    how = f"difference of {method}; sandwich variance over {len(moved)} prompts"
    return corrected(found, how, questions=questions)


def _spread(value: float, moved: Array) -> Spread | Unscored:
    """The error of a number that each prompt moves by so much: the infinitesimal jackknife, freed from its bias."""
    prompts = len(moved)
    if prompts < FEWEST:
        return Unscored(f"no interval from {prompts} prompt{'s' * (prompts != 1)}, since it takes {FEWEST}")
    error = math.sqrt(float((moved**2).sum()) * prompts / (prompts - 1))
    if error <= _ROUNDING:
        return Unscored("no interval, since all prompts say the same")
    return Spread(value, error, prompts - 1.0, 0.0, prompts)


def _wins_by_prompt(names: Sequence[str], comparisons: Sequence[Comparison]) -> Array:
    """W: the wins on each prompt, a tie as half a win each (prompts x systems x systems), prompts in sorted order."""
    place = {name: index for index, name in enumerate(names)}
    prompt = {name: index for index, name in enumerate(sorted({c.prompt for c in comparisons}))}
    wins = np.zeros((len(prompt), len(names), len(names)))
    for c in comparisons:
        at, i, j = prompt[c.prompt], place[c.first], place[c.second]
        wins[at, [i, j], [j, i]] += (c.score, 1 - c.score)
    return wins
