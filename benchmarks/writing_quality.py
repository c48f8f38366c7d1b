"""Writers' preferences: LAMP (who ranked what) and style-mimic pairs (which paragraph a person wrote)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, unique, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TripleRanking:
    """One writer's order of a triple, the best first."""

    rater: str
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Triple:
    """LAMP: one paragraph in three versions ("AI-generated", "AI-edited", "Human-edited") and how writers rank them."""

    id: str
    instruction: str
    texts: Mapping[str, str]
    rankings: tuple[TripleRanking, ...]


@dataclass(frozen=True, slots=True)
class MimicPair:
    """Style mimic: a writer's paragraph and an imitation.

    Attributes:
        author: whose style it is.
        first: the first paragraph.
        second: the second paragraph.
        person: which of them, 1 or 2, the writer wrote.
    """

    id: str
    author: str
    first: str
    second: str
    person: int


def lamp(folder: Path) -> tuple[Triple, ...]:
    """The triples in `lamp_rankings.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no triple or occurs twice, or a ranking is not of its texts.
    """
    records = list(json_lines(wanted(folder, "lamp_rankings.jsonl")))
    unique([(f"{record.text('batch')}/{record.text('id')}", record) for record in records])
    return tuple(_triple(record) for record in records)


def _triple(record: Record) -> Triple:
    versions = record.record("texts")
    texts = {name: versions.text(name) for name in versions.fields}
    rankings = tuple(TripleRanking(r.text("rater"), r.texts("order")) for r in record.records("rankings"))
    for ranking in rankings:
        if sorted(ranking.order) != sorted(texts):
            raise UsageError(f"{record.where}: {ranking.rater} does not rank each text once. Correct the line.")
    return Triple(record.text("id"), record.text("instruction"), texts, rankings)


def style_mimic(folder: Path) -> tuple[MimicPair, ...]:
    """The pairs in `style_mimic_pairs.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no pair, or occurs twice.
    """
    records = list(json_lines(wanted(folder, "style_mimic_pairs.jsonl")))
    unique([(record.text("id"), record) for record in records])
    return tuple(_pair(record) for record in records)


def _pair(record: Record) -> MimicPair:
    person = record.text("reference_preference")
    if person not in {"1", "2"}:
        raise UsageError(f"{record.where}: the preference is {person!r}, neither 1 nor 2. Correct the line.")
    return MimicPair(
        record.text("id"),
        record.text("source"),
        record.text("paragraph1"),
        record.text("paragraph2"),
        int(person),
    )
