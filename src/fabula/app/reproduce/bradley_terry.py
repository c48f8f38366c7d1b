"""Bradley-Terry: log strengths from the win matrices of the character-simulation paper, and of synthetic ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.app.reproduce.rows import PublishedNumber, Table, number
from fabula.data.reading import json_object, wanted
from fabula.stats.bradley_terry import bradley_terry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SYSTEMS: Final = ("Character Simulation", "Agents' Room", "Dramatron")
# Matrices of appendix A that a data folder may leave out (Development's is Overall's), and their strengths as another
# program computes them: the paper shows strengths in Figure 4 alone, without numbers.
_LEFT_OUT: Final = {
    "Plot": (((0, 42, 47), (14, 0, 32), (9, 24, 0)), (0.9082, -0.2775, -0.6307)),
    "Development": (((0, 41, 47), (15, 0, 33), (9, 23, 0)), (0.8751, -0.2209, -0.6542)),
}


def _rows(names: Sequence[str], wins: object, expected: Sequence[float], digits: int) -> Iterator[PublishedNumber]:
    strengths = bradley_terry(np.asarray(wins, dtype=np.float64))
    for n, (name, published) in enumerate(zip(names, expected, strict=True)):
        value = None if strengths.log is None else float(strengths.log[n])
        yield number(name, published, digits, value)


def _paper(data: Path) -> Iterator[PublishedNumber]:
    whole = json_object(wanted(data / "bradley_terry", "seed*.json"))
    known = {name: whole.record(name) for name in whole.fields}
    for criterion, record in known.items():
        names = [f"{criterion}, {system}" for system in _SYSTEMS]
        yield from _rows(names, record.rows("wins"), record.numbers("log_centred"), 4)
    for criterion, (wins, expected) in _LEFT_OUT.items():
        if criterion not in known:
            yield from _rows([f"{criterion}, {system}" for system in _SYSTEMS], wins, expected, 4)


def _synthetic(data: Path) -> Iterator[PublishedNumber]:
    for path in sorted((data / "bradley_terry").glob("synthetic_*.json*")):
        record = json_object(path)
        expected = record.numbers("log_centred")
        size = path.name.split(".")[0].removeprefix("synthetic_")
        yield from _rows([f"{size}, system {n}" for n in range(len(expected))], record.rows("wins"), expected, 6)


TABLES: Final = (
    Table(
        "bradley-terry",
        "Log strengths, centred, from the win matrices of the character-simulation paper, App. A",
        "bradley-terry",
        ("bradley_terry/seed*.json",),
        _paper,
        against="computed",
    ),
    Table(
        "bradley-terry-synthetic",
        "Log strengths, centred, of synthetic comparisons (systems x comparisons)",
        "bradley-terry",
        ("bradley_terry/synthetic_*.json",),
        _synthetic,
        against="computed",
    ),
)
