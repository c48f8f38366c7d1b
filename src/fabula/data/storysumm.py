"""StorySumm: summaries of stories with people's verdicts on their faithfulness (Subbiah et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, json_object, unique, wanted


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


SUMMARIES: Final = ("storysumm.jsonl", "storysumm.json")
_LABELS: Final = "evaluators/predicted_labels"  # in the release, with a folder for each model that was asked


def summaries(folder: Path) -> tuple[Summary, ...]:
    """The summaries in `storysumm.jsonl` of `folder`, or in `storysumm.json` as it is published, by their ids.

    Raises:
        UsageError: the file is absent, or an entry is no summary, or occurs twice.
    """
    path = wanted(folder, *SUMMARIES)
    if path.name.startswith("storysumm.jsonl"):
        records = list(json_lines(path))
    else:
        whole = json_object(path)
        records = [Record(f"{path}, {name}", {**whole.record(name).fields, "id": name}) for name in whole.fields]
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
    return tuple(sorted(_predicted(folder)))


def predictions(folder: Path, detector: str) -> Mapping[str, float]:
    """How faithful a detector holds each summary, by id: 0 or 1, or a score between.

    Raises:
        UsageError: the file is absent, or a value is not a number.
    """
    record = json_object(_predicted(folder).get(detector) or wanted(folder, f"pred_{detector}.json"))
    return {name: _prediction(record, name) for name in record.fields}


def _prediction(record: Record, name: str) -> float:
    """A number, or, as it is published, the label of an entry, or its score where it has none."""
    if not isinstance(record.fields[name], dict):
        return record.number(name)
    entry = record.record(name)
    return entry.number("label" if "label" in entry.fields else "probs")


def _predicted(folder: Path) -> dict[str, Path]:
    """The files of predictions by detector; in the release, MODEL/METHOD.json is that of METHOD-MODEL."""
    found = {path.name.split(".json")[0].removeprefix("pred_"): path for path in folder.glob("pred_*")}
    labels = folder / _LABELS
    for path in labels.rglob("*.json"):
        inner = path.relative_to(labels).with_suffix("").parts
        found.setdefault("-".join(reversed(inner)), path)
    return found
