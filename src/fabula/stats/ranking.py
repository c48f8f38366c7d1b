"""Ranking systems from side-by-side verdicts: Bradley-Terry strengths with intervals by prompt, and the judge's biases.

Agents' Room section 6.2 and Character Simulation section 4.3: a matrix of wins over all pairs and prompts, and the log
strengths of a Bradley-Terry model fitted on it, centred at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from fabula.base.errors import UnknownNameError
from fabula.stats.bootstrap import draw_counts, estimated
from fabula.stats.bradley_terry import (
    WEAK_PRIOR,
    Strengths,
    bradley_terry,
    fit,
    strongly_connected,
    with_prior,
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
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]

__all__ = ["WEAK_PRIOR", "Comparison", "Ranking", "Strengths", "bradley_terry", "rank_systems"]

_AT_ONCE: Final = 1 << 18  # cells of matrices fitted at a time: what a processor's cache holds
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Ranking:
    """What side-by-side verdicts say about systems and about the judge.

    Attributes:
        names: the systems, as given.
        wins: `wins[i, j]` is how often i beat j, ties half a win each (systems x systems).
        strengths: of each system: the log strength, centred at 0, with its interval by prompt; or why there is none.
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
    resamples: int = 1000,
    seed: int = 1,
    prior: float = 0.0,
) -> Ranking:
    """The strengths of the systems, each with its interval by prompt, and the measures of the judge's biases.

    n of a strength is the number of prompts. The order of the verdicts does not matter, nor the systems' names.

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
    drawn = np.empty((0, len(names)))
    strengths: tuple[Scored, ...] = (Unscored(found.note, prompts),) * len(names)
    if found.log is not None:
        drawn = _drawn_strengths(by_prompt, found.log, prior, resamples, seed)
        method = "log strength centred at 0, Bradley-Terry"
        method += ", ties half a win each" if any(c.score == TIE for c in ordered) else ""
        method += (f", prior {prior:g}" if prior else "") + f", drawn by {prompts} prompts"
        strengths = tuple(
            estimated(value, prompts, column, level=_LEVEL, method=method)
            for value, column in zip(found.log.tolist(), drawn.T, strict=True)
        )
    resampling = {"resamples": resamples, "seed": seed}
    return Ranking(
        tuple(names),
        wins,
        strengths,
        tie_share(ordered, **resampling),
        first_position_rate(ordered, **resampling),
        order_consistency(ordered, **resampling),
        longer_wins(ordered, **resampling),
        length_against_wins(ordered, **resampling),
        len(ordered),
        prompts,
        _notes(found, drawn),
    )


def _wins_by_prompt(names: Sequence[str], comparisons: Sequence[Comparison]) -> Array:
    """W: the wins on each prompt, a tie as half a win each (prompts x systems x systems), prompts in sorted order."""
    place = {name: index for index, name in enumerate(names)}
    prompt = {name: index for index, name in enumerate(sorted({c.prompt for c in comparisons}))}
    wins = np.zeros((len(prompt), len(names), len(names)))
    for c in comparisons:
        at, i, j = prompt[c.prompt], place[c.first], place[c.second]
        wins[at, [i, j], [j, i]] += (c.score, 1 - c.score)
    return wins


def _drawn_strengths(wins: Array, start: Array, prior: float, resamples: int, seed: int) -> Array:
    """Log strengths of each resample of the prompts (resamples x systems), NaN where they are not finite.

    `start` are those of all prompts, which are near.
    """
    prompts, size = wins.shape[:2]
    blocks: list[Array] = [np.empty((0, size))]
    at_once = max(1, _AT_ONCE // size**2)
    for counts in draw_counts(prompts, resamples, seed) if prompts > 1 else ():
        for first in range(0, len(counts), at_once):
            sums = counts[first : first + at_once] @ wins.reshape(prompts, -1)
            tables = with_prior(sums.reshape(-1, size, size), prior)
            finite = strongly_connected(tables)
            logs = np.full(tables.shape[:2], np.nan)
            if finite.any():
                logs[finite] = fit(tables[finite], start)
            blocks.append(logs)
    return np.concatenate(blocks)


def _notes(found: Strengths, drawn: Array) -> tuple[str, ...]:
    notes = [found.note] if found.note else []
    if missing := int(np.isnan(drawn[:, :1]).sum()):
        notes.append(
            f"{missing:,} of {len(drawn):,} resamples of the prompts have no finite strengths, since in them some "
            f"system won or lost all. With a weak prior (prior={WEAK_PRIOR}) all have."
        )
    return tuple(notes)
