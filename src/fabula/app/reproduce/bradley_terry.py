"""Bradley-Terry: log strengths from the win matrices of the character-simulation paper and from synthetic ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.app.reproduce.rows import PublishedNumber, Table, number, published
from fabula.data.reading import json_object
from fabula.stats.bradley_terry import bradley_terry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SYSTEMS: Final = ("Character Simulation", "Agents' Room", "Dramatron")


def _rows(names: Sequence[str], wins: object, expected: Sequence[float], digits: int) -> Iterator[PublishedNumber]:
    strengths = bradley_terry(np.asarray(wins, dtype=np.float64))
    for n, (name, strength) in enumerate(zip(names, expected, strict=True)):
        value = None if strengths.log is None else float(strengths.log[n])
        yield number(name, strength, digits, value)


def _paper(folder: Path) -> Iterator[PublishedNumber]:
    given, printed = published(folder, "bradley-terry", "seed*.json"), published(folder, "bradley-terry")
    for criterion in dict.fromkeys((*given.fields, *printed.fields)):
        record = (given if criterion in given.fields else printed).record(criterion)
        names = [f"{criterion}, {system}" for system in _SYSTEMS]
        yield from _rows(names, record.rows("wins"), record.numbers("log_centred"), 4)


def _synthetic(data: Path) -> Iterator[PublishedNumber]:
    for path in sorted(data.glob("synthetic_*.json*")):
        record = json_object(path)
        expected = record.numbers("log_centred")
        size = path.name.split(".")[0].removeprefix("synthetic_")
        yield from _rows([f"{size}, system {n}" for n in range(len(expected))], record.rows("wins"), expected, 6)


TABLES: Final = (
    Table(
        "bradley-terry",
        "Log strengths, centred, from the win matrices of the character-simulation paper, App. A",
        "bradley-terry",
        ("seed*.json?",),
        _paper,
        against="computed",
    ),
    Table(
        "bradley-terry-synthetic",
        "Log strengths, centred, of synthetic comparisons (systems x comparisons)",
        "bradley-terry",
        ("synthetic_*.json",),
        _synthetic,
        against="computed",
        origin="made for these tables and not public: win matrices with strengths that another program computed",
    ),
)
