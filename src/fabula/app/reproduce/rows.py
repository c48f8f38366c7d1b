"""The parts of a reproduction: rows, tables and the outcomes of tables."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fabula.data.reading import Record, first, json_object

Against: TypeAlias = Literal["published", "computed"]
FULL: Final = 9  # decimals of a number that was published by a program, not printed in a paper
_NOISE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """One published number, or a few that belong together, and its recomputed value.

    Attributes:
        name: the name of the number.
        published: the number as published.
        recomputed: the recomputed number, with the digits of `published`; empty if it is not available.
        match: whether the two are equal at the published digits; `None` if there is nothing to compare.
        value: the recomputed number with all digits; `None` if it is not a single number.
        why: the reason why there is nothing to compare.
        group: the group of the row in a long table; by default the name up to its first comma.
    """

    name: str
    published: str
    recomputed: str = ""
    match: bool | None = None
    value: float | None = None
    why: str = ""
    group: str = ""

    @property
    def family(self) -> str:
        """The group of the row in a long table."""
        return self.group or self.name.partition(",")[0]

    def as_data(self) -> dict[str, Any]:
        """The row as JSON data."""
        data: dict[str, Any] = {"name": self.name, "published": self.published, "match": self.match}
        if self.match is None:
            return data | {"recomputed": None, "why": self.why}
        return data | {"recomputed": self.recomputed, "value": self.value}


def number(name: str, published: float, digits: int, value: float | None, group: str = "") -> PublishedNumber:
    """The row of a number published with `digits` decimals; a value half-way may have been rounded either way."""
    printed = f"{published:.{digits}f}"
    if value is None or not math.isfinite(value):
        return PublishedNumber(name, printed, "undefined", match=False, group=group)
    off = abs(value - published)
    match = off <= 0.5 * 10.0**-digits + _NOISE if digits < FULL else off <= _NOISE
    return PublishedNumber(name, printed, printed if match else f"{value:.{digits}f}", match, value, group=group)


def counts(name: str, published: str, recomputed: str) -> PublishedNumber:
    """The row of exact numbers, such as "12 / 0 / 4"."""
    return PublishedNumber(name, published, recomputed, published == recomputed)


def missing(name: str, published: str, why: str) -> PublishedNumber:
    """The row of a number whose data are missing."""
    return PublishedNumber(name, published, why=why)


@dataclass(frozen=True, slots=True)
class Table:
    """A published table.

    Attributes:
        name: the name that users type.
        title: its title, with its paper.
        data: the name of its data set (`data.sets`).
        files: the files that it reads, as paths in the set's folder without `.gz`. `*` stands for the part that
            varies, `|` separates alternative names, and a file that ends in `?` is optional and replaces the printed
            numbers.
        rows: computes the rows from the set's folder.
        origin: where its files are published, or a note that they are not.
        modules: packages that it needs in addition to fabula's.
        against: the numbers that it is compared with: "published" ones, or those that another program "computed" from
            published data and that no paper prints.
    """

    name: str
    title: str
    data: str
    files: tuple[str, ...]
    rows: Callable[[Path], Iterable[PublishedNumber]]
    modules: tuple[str, ...] = ()
    against: Against = "published"
    origin: str = ""


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """The outcome of a table: its rows, or why it is not available; `read` are the files it was computed from.

    Attributes:
        broken: whether its data are incomplete or differ from the published data.
    """

    table: Table
    rows: tuple[PublishedNumber, ...] = ()
    absent: str = ""
    read: tuple[Path, ...] = field(default=())
    broken: bool = False

    @property
    def matching(self) -> int:
        """The number of rows that match the published numbers."""
        return sum(row.match is True for row in self.rows)

    @property
    def differing(self) -> int:
        """The number of rows that differ."""
        return sum(row.match is False for row in self.rows)

    @property
    def unavailable(self) -> int:
        """The number of rows whose data are missing."""
        return sum(row.match is None for row in self.rows)


def files_of(table: Table, folder: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The files that the table reads in its set's folder, and the names of missing files."""
    found = {name: first(folder, *name.removesuffix("?").split("|")) for name in table.files}
    there = tuple(path for path in found.values() if path is not None)
    absent = (name for name, path in found.items() if path is None and not name.endswith("?"))
    return there, tuple(name.replace("|", " or ") for name in absent)


@cache
def _printed() -> Mapping[str, Any]:
    return tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))


def published(folder: Path, name: str, *files: str) -> Record:
    """The numbers of a paper: from a file in `folder`, or else from `printed.toml`."""
    path = first(folder, *files)
    return Record(f"printed.toml, {name}", _printed()[name]) if path is None else json_object(path)
