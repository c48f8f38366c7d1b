"""StorySumm: summaries of stories with people's verdicts on their faithfulness (Subbiah et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, json_object, unique, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Summary:
    """A model's summary of a story.

    Attributes:
        faithful: what people say: nothing in it contradicts the story.
        difficulty: "easy" or "hard" to find the error; empty for a faithful one.
        split: "val" or "test".
        sentences: of the summary.
        error_free: for each sentence, whether it is free of errors; the release has one summary with a label too few.
    """

    id: str
    faithful: bool
    difficulty: str
    split: str
    story: str
    sentences: tuple[str, ...]
    error_free: tuple[bool, ...]
    model: str


def summaries(folder: Path) -> tuple[Summary, ...]:
    """The summaries in `storysumm.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no summary, or stands there twice.
    """
    records = list(json_lines(wanted(folder, "storysumm.jsonl")))
    unique([(record.text("id"), record) for record in records])
    return tuple(_summary(record) for record in records)


def _summary(record: Record) -> Summary:
    if record.text("split") not in {"val", "test"} or record.integer("label") not in {0, 1}:
        raise UsageError(f"{record.where}: the split is not val or test, or the label not 0 or 1. Correct the line.")
    return Summary(
        record.text("id"),
        record.integer("label") == 1,
        record.text("difficulty"),
        record.text("split"),
        record.text("story"),
        record.texts("summary"),
        tuple(value == 1 for value in record.numbers("errors")),
        record.text("model"),
    )


def detectors(folder: Path) -> tuple[str, ...]:
    """The detectors whose predictions `folder` holds, by name."""
    return tuple(sorted({path.name.split(".json")[0].removeprefix("pred_") for path in folder.glob("pred_*")}))


def predictions(folder: Path, detector: str) -> Mapping[str, float]:
    """How faithful a detector holds each summary, by id: 0 or 1, or a score between.

    Raises:
        UsageError: the file is absent, or a value is no number.
    """
    record = json_object(wanted(folder, f"pred_{detector}.json"))
    return {name: record.number(name) for name in record.fields}
