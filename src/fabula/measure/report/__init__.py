"""What an evaluator gives: a `Report` of estimates and of the single verdicts behind them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.extras import package
from fabula.base.html import bullets, html_table, joined
from fabula.stats.estimate import Figure, estimate_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pandas import DataFrame

    from fabula.measure.ratings import Rating

FORMAT: Final = 1
DIFFERENCE: Final = "difference/"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")  # with these a spreadsheet begins to compute
COLUMNS: Final = (
    "evaluator", "of", "against", "what", "value", "low", "high", "level", "n", "p", "method", "unscored", "baseline",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row(Figure):
    """One number of a report.

    Attributes:
        baseline: it belongs to a trivial baseline (constant, length, type-token ratio, random, first position).
    """

    baseline: bool = False

    @property
    def is_difference(self) -> bool:
        """Whether it is a difference between two systems, corrected for how many there are."""
        return self.what.startswith(DIFFERENCE)

    def tidy(self) -> dict[str, Any]:
        """The row with the two systems of a difference, and its measure, in fields of their own."""
        data = self.as_data()
        if self.is_difference:
            one, _, other = self.of.partition(" - ")
            data |= {"of": one, "against": other, "what": self.what.removeprefix(DIFFERENCE)}
        return data

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

    def lines(self) -> list[dict[str, Any]]:
        """A dictionary for each number, all with the same names: what a table or a data frame is made of.

        A difference names the system that it is taken from in `against`. `None` stands where a number has no such
        part; `unscored` says why there is no value.
        """
        blank = dict.fromkeys(COLUMNS)
        return [{**blank, "evaluator": self.evaluator, "baseline": row.baseline, **row.tidy()} for row in self.rows]

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame, one a line.

        Raises:
            UsageError: pandas is not installed; `lines` and `csv_of` do without it.
        """
        frame: DataFrame = package("pandas", "A data frame").DataFrame(self.lines(), columns=list(COLUMNS))
        return frame

    def _repr_html_(self) -> str:
        rows = [(row.of, row.what, *estimate_cells(row.scored)) for row in self.rows]
        return joined(html_table(("of", "measure", "value", "interval", "n"), rows, (2, 4)), bullets(self.notes))

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


def plain_cells(line: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a line of CSV, of which no spreadsheet takes one for a formula.

    Texts that begin as formulas do (=, +, -, @, a tab, a line end) have an apostrophe before them, numbers stay.
    """
    return {
        name: f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for name, cell in line.items()
    }


def csv_of(reports: Sequence[Report]) -> str:
    """Every number of the reports as a line of CSV, below a line with the names of the columns; see `plain_cells`."""
    return csv_lines((line for report in reports for line in report.lines()), COLUMNS)


def csv_lines(lines: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The lines of `lines` as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain_cells({**line, "baseline": int(line["baseline"])}) for line in lines)
    return out.getvalue()
