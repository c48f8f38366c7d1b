"""Ranking systems from side-by-side verdicts: Bradley-Terry strengths with intervals by prompt, and the judge's biases.

Agents' Room section 6 and Character Simulation section 5: a matrix of wins over all pairs and prompts, and the log
strengths of a Bradley-Terry model fitted on it, centred at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from fabula.base.errors import UnknownNameError
from fabula.stats.bootstrap import draw_counts, estimated
from fabula.stats.bradley_terry import (
    WEAK_PRIOR,
    Strengths,
    bradley_terry,
    davidson,
    fit,
    fit_davidson,
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

__all__ = ["WEAK_PRIOR", "Comparison", "Ranking", "Strengths", "bradley_terry", "davidson", "rank_systems"]

Model: TypeAlias = Literal["bradley-terry", "davidson"]
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
    model: Model = "bradley-terry",
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
    tables, fitter = _Tables.of(names, ordered), _Fit(model, prior, names)
    found = fitter.one(tables.won.sum(axis=0), tables.tied.sum(axis=0))
    drawn = np.empty((0, len(names)))
    strengths: tuple[Scored, ...] = (Unscored(found.note, len(tables)),) * len(names)
    if found.log is not None:
        drawn = fitter.drawn(tables, found.log, resamples, seed)
        strengths = tuple(
            estimated(value, len(tables), column, level=_LEVEL, method=fitter.method(len(tables)))
            for value, column in zip(found.log.tolist(), drawn.T, strict=True)
        )
    resampling = {"resamples": resamples, "seed": seed}
    return Ranking(
        tuple(names),
        tables.won.sum(axis=0) + tables.tied.sum(axis=0) / 2,
        strengths,
        tie_share(ordered, **resampling),
        first_position_rate(ordered, **resampling),
        order_consistency(ordered, **resampling),
        longer_wins(ordered, **resampling),
        length_against_wins(ordered, **resampling),
        len(ordered),
        len(tables),
        _notes(found, drawn),
    )


@dataclass(frozen=True, slots=True)
class _Tables:
    """Decided wins and ties of each prompt (prompts x systems x systems), prompts in sorted order."""

    won: NDArray[np.float64]
    tied: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.won)

    @classmethod
    def of(cls, names: Sequence[str], comparisons: Sequence[Comparison]) -> _Tables:
        """Those of verdicts on the named systems."""
        place = {name: index for index, name in enumerate(names)}
        prompt = {name: index for index, name in enumerate(sorted({c.prompt for c in comparisons}))}
        won = np.zeros((len(prompt), len(names), len(names)))
        tied = np.zeros_like(won)
        for c in comparisons:
            at, i, j = prompt[c.prompt], place[c.first], place[c.second]
            if c.score == TIE:
                tied[at, [i, j], [j, i]] += 1
            else:
                won[at, [i, j], [j, i]] += (c.score, 1 - c.score)
        return cls(won, tied)


@dataclass(frozen=True, slots=True)
class _Fit:
    """How strengths are got from tables of wins and ties."""

    model: Model
    prior: float
    names: Sequence[str]

    def one(self, won: Array, tied: Array) -> Strengths:
        """Of one table."""
        if self.model == "davidson":
            return davidson(won, tied, prior=self.prior, names=self.names)
        return bradley_terry(won + tied / 2, prior=self.prior, names=self.names)

    def many(self, won: Array, tied: Array, start: Array) -> Array:
        """Log strengths of many tables (tables x systems), NaN where there are none; `start` are similar ones."""
        ties = np.asarray(tied.any(axis=(1, 2)) & (self.model == "davidson"), dtype=np.bool_)
        wins = with_prior(np.where(ties[:, None, None], won, won + tied / 2), self.prior)
        finite = strongly_connected(wins)
        logs = np.full(won.shape[:2], np.nan)
        if (plain := finite & ~ties).any():
            logs[plain] = fit(wins[plain], start)
        if (with_ties := finite & ties).any():
            logs[with_ties] = fit_davidson(wins[with_ties], tied[with_ties])[:, :-1]
        return logs

    def drawn(self, tables: _Tables, start: Array, resamples: int, seed: int) -> Array:
        """Log strengths of each resample of the prompts (resamples x systems)."""
        size = len(self.names)
        blocks = [np.empty((0, size))]
        if len(tables) > 1:
            won, tied = (table.reshape(len(tables), -1) for table in (tables.won, tables.tied))
            at_once = max(1, _AT_ONCE // size**2)
            for counts in draw_counts(len(tables), resamples, seed):
                for first in range(0, len(counts), at_once):
                    chosen = counts[first : first + at_once]
                    each = [(chosen @ table).reshape(-1, size, size) for table in (won, tied)]
                    blocks.append(self.many(each[0], each[1], start))
        return np.concatenate(blocks)

    def method(self, prompts: int) -> str:
        """In words, for an estimate."""
        model = "Davidson" if self.model == "davidson" else "Bradley-Terry, ties half a win each"
        prior = f", prior {self.prior:g}" if self.prior else ""
        return f"log strength centred at 0, {model}{prior}, drawn by {prompts} prompts"


def _notes(found: Strengths, drawn: Array) -> tuple[str, ...]:
    notes = [found.note] if found.note else []
    if missing := int(np.isnan(drawn[:, :1]).sum()):
        notes.append(
            f"{missing:,} of {len(drawn):,} resamples of the prompts have no finite strengths, since in them some "
            f"system won or lost all. With a weak prior (prior={WEAK_PRIOR}) all have."
        )
    return tuple(notes)
