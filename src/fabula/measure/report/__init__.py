"""What an evaluator gives: a `Report` of estimates and of the single verdicts behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a report.

    Attributes:
        of: what was measured: a story's id, a system's name, or "all".
        what: the measure, for instance "words", "strength/overall".
        scored: the number with its interval, or why there is none.
        baseline: it belongs to a trivial baseline (constant, length, type-token ratio, random, first position).
    """

    of: str
    what: str
    scored: Scored
    baseline: bool = False

    def as_data(self) -> dict[str, Any]:
        """The row for JSON."""
        data: dict[str, Any] = {"of": self.of, "what": self.what}
        return data | ({"baseline": True} if self.baseline else {}) | self.scored.as_data()


@dataclass(frozen=True, slots=True)
class Report:
    """What an evaluator found.

    Attributes:
        evaluator: its name.
        how: what a reader must know to repeat it: preset, tokeniser, sampling.
        rows: the numbers, in the order of showing.
        ratings: every single verdict, also those that could not be had (`Rating.unscored`).
        notes: what a reader must know to believe it: ties, position bias, what was not connected or not scored.
        details: whatever else the evaluator shows, as plain JSON data (matrices, label texts, findings).
    """

    evaluator: str
    how: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    ratings: tuple[Rating, ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def row(self, of: str, what: str) -> Row:
        """The row of `of` and `what`.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if (row.of, row.what) == (of, what):
                return row
        raise KeyError((of, what))

    def as_data(self) -> dict[str, Any]:
        """The report for JSON; the ratings have a file of their own and are only counted here."""
        return {
            "format": FORMAT,
            "evaluator": self.evaluator,
            "how": dict(self.how),
            "rows": [row.as_data() for row in self.rows],
            "ratings": len(self.ratings),
            "unscored": sum(bool(rating.unscored) for rating in self.ratings),
            "notes": list(self.notes),
            "details": dict(self.details),
        }
