"""MAGNET: people's agreement with its judges, as sums; Tables 7 to 9 give counts with their shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.app.reproduce.atlas import gold_of
from fabula.app.reproduce.rows import PublishedNumber, Table, counts, number, published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OVERALL: Final = "overall"


def _agreement(key: str) -> Callable[[Path], Iterator[PublishedNumber]]:
    def rows(folder: Path) -> Iterator[PublishedNumber]:
        printed = published(folder, "magnet").record(key)
        levels = {name: printed.numbers(name) for name in printed.fields}
        for name, (looked_at, agreed, share) in levels.items():
            if name == _OVERALL:  # the sums of the levels
                looked, agreeing = (sum(row[n] for at, row in levels.items() if at != _OVERALL) for n in (0, 1))
                yield counts(
                    "overall, agreed / all", f"{agreed:.0f} / {looked_at:.0f}", f"{agreeing:.0f} / {looked:.0f}"
                )
            yield number(f"{name}, per cent agreed", share, 1, 100 * agreed / looked_at)

    return rows


def _candidates(folder: Path) -> Iterator[PublishedNumber]:
    """The candidates that people confirmed in each story, which are the gold of Table 10."""
    printed = published(folder, "magnet").record("table9")
    for story in printed.fields:
        _, confirmed = printed.numbers(story)
        yield counts(f"story {story}, confirmed / gold of Table 10", f"{confirmed:.0f}", f"{gold_of(folder, story)}")


TABLES: Final = (
    Table(
        "magnet-table-7", "People's agreement with the editor, MAGNET paper, Table 7", "atlas", (), _agreement("table7")
    ),
    Table("magnet-table-8", "People's agreement with the rubric's judge, Table 8", "atlas", (), _agreement("table8")),
    Table("magnet-table-9", "Candidates that people confirmed, Table 9", "atlas", (), _candidates),
)
