"""The result of an evaluator: a `Report` of estimates and of the individual verdicts that they are based on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.extras import package
from fabula.base.html import bullets, html_table, joined
from fabula.stats.estimate import Figure, estimate_cells

if TYPE_CHECKING:
    from pandas import DataFrame

    from fabula.measure.ratings import Rating


FORMAT: Final = 1
DIFFERENCE: Final = "difference/"
_PIECE: Final = 100_000  # characters
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")  # with these a spreadsheet begins to compute
COLUMNS: Final = (
    "evaluator", "of", "against", "what", "value", "low", "high", "level", "n", "p", "method", "unscored", "baseline",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row(Figure):
    """A number in a report.

    Attributes:
        baseline: whether the number belongs to a trivial baseline (constant, length, type-token ratio, random, first
            position).
    """

    baseline: bool = False

    @property
    def is_difference(self) -> bool:
        """Whether the row is a difference between two systems, corrected for the number of differences."""
        return self.what.startswith(DIFFERENCE)

    def tidy(self) -> dict[str, Any]:
        """The row as a dictionary in which a difference has separate fields for its two systems and its measure."""
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
        evaluator: the evaluator's name.
        how: what a reader must know to reproduce the result, such as preset, tokeniser and sampling.
        rows: the numbers, in display order.
        ratings: all verdicts, including those without an answer (`Rating.unscored`).
        notes: what a reader must know to interpret the result, such as ties, position bias, and items that were not
            connected or scored.
        details: all other results of the evaluator as plain JSON data (matrices, label texts, findings).
    """

    evaluator: str
    how: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    ratings: tuple[Rating, ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def row(self, of: str, what: str) -> Row:
        """The row with these values of `of` and `what`.

        Raises:
            KeyError: there is no such row.
        """
        for row in self.rows:
            if (row.of, row.what) == (of, what):
                return row
        raise KeyError((of, what))

    def lines(self) -> list[dict[str, Any]]:
        """The numbers as dictionaries with the same keys, for tables and data frames.

        For a difference, `against` is the second system. A field that does not apply to a number is `None`; `unscored`
        gives the reason for a missing value.
        """
        blank = dict.fromkeys(COLUMNS)
        return [{**blank, "evaluator": self.evaluator, "baseline": row.baseline, **row.tidy()} for row in self.rows]

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame with one row per number.

        Raises:
            UsageError: pandas is not installed; `lines` and `csv_of` work without it.
        """
        frame: DataFrame = package("pandas", "A data frame").DataFrame(self.lines(), columns=list(COLUMNS))
        return frame

    def _repr_html_(self) -> str:
        rows = [(row.of, row.what, *estimate_cells(row.scored)) for row in self.rows]
        return joined(html_table(("of", "measure", "value", "interval", "n"), rows, (2, 4)), bullets(self.notes))

    def as_data(self) -> dict[str, Any]:
        """The report for JSON. The ratings are stored in a separate file; the report contains only their number."""
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
    """The cells of a CSV line, escaped so that a spreadsheet does not interpret any of them as a formula.

    Texts that begin like a formula (with =, +, -, @, a tab, or a line end) are prefixed with an apostrophe. Numbers
    stay as they are.
    """
    return {
        name: f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for name, cell in line.items()
    }


def csv_of(reports: Sequence[Report]) -> str:
    """All numbers of the reports as CSV, one per line, below a line with the column names; see `plain_cells`."""
    return csv_lines((line for report in reports for line in report.lines()), COLUMNS)


def csv_lines(lines: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The CSV text of `lines`."""
    return "".join(csv_pieces(lines, columns))


def csv_pieces(lines: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """The CSV text of `lines`, in pieces."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(plain_cells({**line, "baseline": int(line["baseline"])}))
        if out.tell() > _PIECE:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()
