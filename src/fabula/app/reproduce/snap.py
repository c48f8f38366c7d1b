"""SNAP: Table 4 gives means of seven ratings; the weights of its filter add up to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.app.reproduce.rows import PublishedNumber, Table, number, published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PEOPLE: Final = 7
_QUESTIONS: Final = ("continuity", "information appropriateness", "non-redundancy", "linearity")
_WEIGHED: Final = ("coherence", "connectivity", "personality")


def _table_4(data: Path) -> Iterator[PublishedNumber]:
    printed = published(data, "snap", "published*.json").record("table4_human")
    for system in printed.fields:
        for question, cell in zip(_QUESTIONS, printed.numbers(system), strict=True):
            # Seven whole ratings have a whole sum: the printed mean has to be a seventh of one.
            yield number(f"{system}, {question}", cell, 4, round(cell * _PEOPLE) / _PEOPLE)


def _weights(data: Path) -> Iterator[PublishedNumber]:
    printed = published(data, "snap", "published*.json")
    component = printed.numbers("nmf_first_component")
    for name, cell, value in zip(_WEIGHED, printed.numbers("sum_normalised"), component, strict=True):
        yield number(name, cell, 4, value / sum(component))


TABLES: Final = (
    Table(
        "snap-table-4",
        "Human ratings as means of seven, SNAP paper, Table 4",
        "snap",
        ("published*.json?",),
        _table_4,
    ),
    Table(
        "snap-weights",
        "Weights of the planning filter: the first component, divided by the component's sum",
        "snap",
        ("published*.json?",),
        _weights,
    ),
)
