"""StorySumm: how well detectors find unfaithful summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.app.reproduce.rows import FULL, PublishedNumber, Table, missing, number, published
from fabula.data.reading import Record  # noqa: TC001 - as before
from fabula.data.storysumm import SUMMARIES, Summary, detectors, predictions, summaries
from fabula.stats.agreement import cohen_kappa
from fabula.stats.classification import Confusion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Labels = Sequence[bool]

_STEPS: Final = 150
_DIGITS: Final = {
    "cohen_kappa": 2,
    "pct_faithful": 0,
    "precision": 2,
    "recall": 2,
    "pct_easy": 1,
    "pct_hard": 1,
    "balanced_accuracy": 1,
}


def _measures(given: Sequence[Summary], said: Labels) -> dict[str, float | None]:
    """The columns of the table for summaries and a detector's labels (faithful or not)."""
    people = [summary.faithful for summary in given]
    beside = Confusion.of(people, said)

    def caught(difficulty: str) -> float | None:
        hits = [not s for summary, s in zip(given, said, strict=True) if summary.difficulty == difficulty]
        return 100 * sum(hits) / len(hits) if hits else None

    return {
        "cohen_kappa": cohen_kappa(people, said),
        "pct_faithful": 100 * sum(said) / len(said),
        "precision": beside.precision,
        "recall": beside.recall,
        "pct_easy": caught("easy"),
        "pct_hard": caught("hard"),
        "balanced_accuracy": None if beside.balanced_accuracy is None else 100 * beside.balanced_accuracy,
    }


def _tuned(given: Sequence[Summary], scores: Mapping[str, float]) -> float:
    """The first of 150 thresholds from 0 to 1 with the best balanced accuracy; scores above it mean faithful."""
    people = [summary.faithful for summary in given]

    def accuracy(threshold: float) -> float:
        return Confusion.of(people, [scores[one.id] > threshold for one in given]).balanced_accuracy or 0.0

    return max((float(step) for step in np.linspace(0, 1, _STEPS)), key=accuracy)


def _rows(data: Path) -> Iterator[PublishedNumber]:
    given, printed_of = summaries(data), published(data, "storysumm", "expected.json")
    there = detectors(data)
    for detector in printed_of.fields:
        printed = printed_of.record(detector)
        if detector not in there:
            yield missing(
                detector, "", f"pred_{detector}.json is missing, and so is its file in evaluators/predicted_labels"
            )
            continue
        scores = predictions(data, detector)
        if "threshold" in printed.fields:
            yield from _tuned_rows(detector, given, scores, printed)
        else:
            yield from _compared(detector, given, printed, _at_one(scores))


def _at_one(scores: Mapping[str, float]) -> Callable[[Summary], bool]:
    return lambda summary: scores[summary.id] == 1


def _tuned_rows(
    detector: str, given: Sequence[Summary], scores: Mapping[str, float], printed: Record
) -> Iterator[PublishedNumber]:
    splits = {split: [summary for summary in given if summary.split == split] for split in ("val", "test")}
    threshold = _tuned(splits["val"], scores)
    yield number(f"{detector}, threshold", printed.number("threshold"), FULL, threshold)
    for split, part in splits.items():
        name = f"{detector}, {split}"
        yield from _compared(name, part, printed.record(split), lambda summary: scores[summary.id] > threshold)


def _compared(
    name: str, given: Sequence[Summary], printed: Record, faithful: Callable[[Summary], bool]
) -> Iterator[PublishedNumber]:
    values = _measures(given, [faithful(summary) for summary in given])
    for column, digits in _DIGITS.items():
        yield number(f"{name}, {column}", printed.number(column), digits, values[column])


TABLES: Final = (
    Table(
        "storysumm",
        "Detectors of unfaithful summaries, StorySumm",
        "storysumm",
        ("|".join(SUMMARIES), "expected.json?"),
        _rows,
        origin="github.com/melaniesubbiah/storysumm has storysumm.json and evaluators/predicted_labels/",
    ),
)
