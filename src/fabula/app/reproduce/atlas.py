"""ATLAS: Tables 10 and 11 of the MAGNET paper, computed from their counts, and the counts from published detections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from fabula.app.reproduce.rows import PublishedNumber, Table, counts, missing, number
from fabula.craft.matching import match_findings
from fabula.data.atlas import AGGREGATE, Printed, candidates, detections, table
from fabula.stats.classification import Confusion

# As printed; a data folder's table10.json or table11.json goes first.
_METHODS: Final = ("ATLAS", "LLM")
_PRINTED: Final = {
    10: (
        (12, 0, 4, 1.000, 0.750, 0.857),
        (11, 0, 5, 1.000, 0.688, 0.815),
        (11, 0, 2, 1.000, 0.846, 0.917),
        (11, 2, 2, 0.846, 0.846, 0.846),
        (9, 3, 2, 0.750, 0.818, 0.783),
        (9, 4, 2, 0.692, 0.818, 0.750),
        (32, 3, 8, 0.914, 0.800, 0.853),
        (31, 6, 9, 0.838, 0.775, 0.805),
    ),
    11: (
        (6, 0, 10, 1.000, 0.375, 0.545),
        (4, 2, 12, 0.667, 0.250, 0.364),
        (4, 2, 9, 0.667, 0.308, 0.421),
        (2, 5, 11, 0.286, 0.154, 0.200),
        (1, 8, 10, 0.111, 0.091, 0.100),
        (3, 5, 8, 0.375, 0.273, 0.316),
        (11, 10, 29, 0.524, 0.275, 0.361),
        (9, 12, 31, 0.429, 0.225, 0.295),
    ),
}


def _printed(data: Path, which: int) -> tuple[Printed, ...]:
    if (own := table(data, which)) is not None:
        return own
    places = [(story, method) for story in ("1", "2", "3", AGGREGATE) for method in _METHODS]
    return tuple(
        Printed(*place, tp, fp, fn, *shares)
        for place, (tp, fp, fn, *shares) in zip(places, _PRINTED[which], strict=True)
    )


def gold_of(data: Path, story: str) -> int:
    """The number of known errors in a story by Table 10: those found and those missed."""
    row = next(row for row in _printed(data, 10) if row.story == story)
    return row.tp + row.fn


def _counts(accuracy: Confusion | Printed) -> str:
    return f"{accuracy.tp} / {accuracy.fp} / {accuracy.fn}"


def _name(row: Printed) -> str:
    return f"{'aggregate' if row.story == AGGREGATE else f'story {row.story}'}, {row.method}"


def _shares(which: int) -> Callable[[Path], Iterator[PublishedNumber]]:
    def rows(data: Path) -> Iterator[PublishedNumber]:
        printed = _printed(data, which)
        for row in printed:
            accuracy = _accuracy(printed, row)
            if row.story == AGGREGATE:
                yield counts(f"{_name(row)}, TP / FP / FN", _counts(row), _counts(accuracy))
            yield number(f"{_name(row)}, precision", row.precision, 3, accuracy.precision)
            yield number(f"{_name(row)}, recall", row.recall, 3, accuracy.recall)
            yield number(f"{_name(row)}, F1", row.f1, 3, accuracy.f1)

    return rows


def _accuracy(printed: Sequence[Printed], row: Printed) -> Confusion:
    """The counts of a row; for an aggregate, the sums over its method's stories (a micro average)."""
    stories = [r for r in printed if r.method == row.method and r.story != AGGREGATE]
    chosen = stories if row.story == AGGREGATE else [row]
    return sum((Confusion(r.tp, r.fp, r.fn) for r in chosen), Confusion(0, 0, 0))


def _matching(data: Path) -> Iterator[PublishedNumber]:
    gold, found = candidates(data), detections(data)
    for row in _printed(data, 10):
        if row.story == AGGREGATE:
            continue
        known = [c.finding for c in gold if str(c.story) == row.story and c.gold]
        detected = [d for d in found if str(d.story) == row.story and d.method == row.method]
        name = f"{_name(row)}, TP / FP / FN"
        if not known or not detected:
            lacking = "the known errors" if not known else "the detections"
            yield missing(name, _counts(row), f"{lacking} for story {row.story} are missing")
        else:
            matching = match_findings([d.finding for d in detected if d.finding], known)
            yield counts(name, _counts(row), _counts(matching.counts))


TABLES: Final = (
    Table("atlas-table-10", "Precision, recall, F1 with GPT-5.4, MAGNET paper, Table 10", "atlas", (), _shares(10)),
    Table("atlas-table-11", "Precision, recall, F1 with GPT-5.4 mini, Table 11", "atlas", (), _shares(11)),
    Table(
        "atlas-matching",
        "The counts in Table 10, from the published detections and our matching rule",
        "atlas",
        ("gold.jsonl", "predictions*.jsonl"),
        _matching,
        origin="transcribe them from Tables 12 to 14 of the MAGNET paper and the detections in its release; no "
        "repository has them in this form",
    ),
)
