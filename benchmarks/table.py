"""The one kind of table that all benchmarks print: rows of repeated measurements with their targets."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD = ("what", "median", "lowest to highest", "n", "target", "met")
_HUNDRED, _ONE = 100, 1


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity, measured several times.

    Attributes:
        what: is measured, in words.
        values: one for each round, in `unit`.
        unit: of the values and of the target.
        each: what one value was taken over, such as "1,000 calls".
        most, least: the target, where there is one.
    """

    what: str
    values: tuple[float, ...]
    unit: str = ""
    each: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def middle(self) -> float:
        """The median of the rounds."""
        return median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the median keeps to the target; `None` where there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.middle <= self.most) and (self.least is None or self.middle >= self.least)

    @property
    def target(self) -> str:
        """The target in words; empty where there is none."""
        bounds = (("at most", self.most), ("at least", self.least))
        return ", ".join(f"{word} {told(value, self.unit)}" for word, value in bounds if value is not None)

    def cells(self) -> tuple[str, ...]:
        """The row as the texts of its cells."""
        spread = f"{told(min(self.values))} to {told(max(self.values))}"
        rounds = f"{len(self.values)} x {self.each}" if self.each else str(len(self.values))
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.what, told(self.middle, self.unit), spread, rounds, self.target, met


@dataclass(frozen=True, slots=True)
class Table:
    """The outcome of one benchmark: its rows, and what a reader has to know to judge them."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as Markdown that is readable as plain text too."""
        lines = [f"## {self.name}: {self.title}", ""]
        lines += grid([_HEAD, *(row.cells() for row in self.rows)])
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"

    def data(self) -> dict[str, Any]:
        """The table as plain data for JSON; every round's value is in it."""
        rows = [
            {
                "what": row.what,
                "values": list(row.values),
                "median": row.middle,
                "unit": row.unit,
                "each": row.each,
                "at_most": row.most,
                "at_least": row.least,
                "met": row.met,
            }
            for row in self.rows
        ]
        return {"name": self.name, "title": self.title, "rows": rows, "notes": list(self.notes)}


def told(value: float, unit: str = "") -> str:
    """A number with three digits that count, and its unit."""
    digits = 0 if abs(value) >= _HUNDRED else 2 if abs(value) >= _ONE else 3
    return f"{value:,.{digits}f}{' ' if unit and unit != '%' else ''}{unit}"


def grid(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """The lines of a Markdown table; the first row is its head, and columns are as wide as their longest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
