"""DialogSum: dialogues with summaries, and a baseline's summaries with their ROUGE (Chen et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, unique, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue, one turn a line, with a person's summary and its topic in a few words."""

    id: str
    dialogue: str
    summary: str
    topic: str


@dataclass(frozen=True, slots=True)
class ScoredSummary:
    """A baseline's summary, the references, and its published ROUGE F against the first of them, by measure."""

    id: str
    references: tuple[str, ...]
    output: str
    rouge: Mapping[str, float]


def dialogues(folder: Path) -> tuple[Dialogue, ...]:
    """The dialogues in `dialogues_dev.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no dialogue, or stands there twice.
    """
    records = list(json_lines(wanted(folder, "dialogues_dev.jsonl")))
    unique([(record.text("fname"), record) for record in records])
    return tuple(Dialogue(r.text("fname"), r.text("dialogue"), r.text("summary"), r.text("topic")) for r in records)


def scored_summaries(folder: Path) -> tuple[ScoredSummary, ...]:
    """The baseline's summaries in `rouge_items.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no such summary, or stands there twice.
    """
    records = list(json_lines(wanted(folder, "rouge_items.jsonl")))
    unique([(record.text("fname"), record) for record in records])
    return tuple(_scored(record) for record in records)


def _scored(record: Record) -> ScoredSummary:
    references, scores = record.texts("summaries"), record.record("rouge_vs_summary1")
    if not references:
        raise UsageError(f"{record.where}: there is no reference. Correct the line or take it out.")
    rouge = {name: scores.number(name) for name in scores.fields}
    return ScoredSummary(record.text("fname"), references, record.text("bart_output"), rouge)
