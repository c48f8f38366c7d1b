"""ATLAS: continuity errors put into screenplays, what methods found, and the printed table (MAGNET, App. A.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabula.base.errors import UsageError
from fabula.craft.matching import ErrorFinding, parse_finding
from fabula.data.reading import Record, find, json_lines, json_list, wanted

AGGREGATE: Final = "Agg"
# A verdict "incorrect" whose justification gives the right scene is a gold item with that scene (Table 9).
_CORRECTED: Final = re.compile(r'corrected hallucination should say: "In scene (\d+)')


@dataclass(frozen=True, slots=True)
class InjectedError:
    """A continuity error that a model was asked to put in, and the person's verdict on it.

    Attributes:
        story: number of the screenplay.
        number: of the candidate, in its story.
        finding: the error, with the scene as the person corrected it.
        gold: whether it counts: confirmed as it is, or confirmed with another scene.
    """

    story: int
    number: int
    finding: ErrorFinding
    gold: bool


@dataclass(frozen=True, slots=True)
class Detection:
    """What a method said about a screenplay; `finding` is `None` where X is not before Y, which is not an error."""

    method: str
    story: int
    number: int
    text: str
    finding: ErrorFinding | None


@dataclass(frozen=True, slots=True)
class Printed:
    """A row of Table 10 or 11; `story` is "Agg" for the sums."""

    story: str
    method: str
    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


def candidates(folder: Path) -> tuple[InjectedError, ...]:
    """The candidates in `gold.jsonl` of `folder`, with their verdicts (Tables 12 to 14).

    Raises:
        UsageError: the file is absent, or a line is no candidate.
    """
    return tuple(_candidate(record) for record in json_lines(wanted(folder, "gold.jsonl")))


def _candidate(record: Record) -> InjectedError:
    right = _CORRECTED.search(record.text("justification"))
    finding = ErrorFinding(
        int(right[1]) if right else record.integer("scene_x"),
        record.integer("scene_y"),
        record.text("fact"),
        record.text("event"),
    )
    gold = record.text("verdict") == "correct" or right is not None
    return InjectedError(record.integer("story"), record.integer("id"), finding, gold)


def detections(folder: Path) -> tuple[Detection, ...]:
    """What methods found, of all files `predictions*.jsonl` in `folder`.

    Raises:
        UsageError: there is no such file, or a line is no detection.
    """
    paths = [path for path in sorted(folder.glob("predictions*")) if path.name.split(".", 1)[1].startswith("jsonl")]
    if not paths:
        raise UsageError(f"There is no predictions.jsonl in {folder}. Give the folder that holds the data.")
    return tuple(_detection(record) for path in paths for record in json_lines(path))


def _detection(record: Record) -> Detection:
    text = record.text("hallucination")
    finding = parse_finding(text)
    if finding is None:
        raise UsageError(f"{record.where}: {text!r} is not 'In scene X, ..., yet in scene Y, ...'. Correct the line.")
    ordered = finding if finding.x < finding.y else None
    return Detection(record.text("method"), record.integer("story"), record.integer("id"), text, ordered)


def table(folder: Path, number: int) -> tuple[Printed, ...] | None:
    """The printed rows of `table10.json` or `table11.json`; `None` if it is absent.

    Raises:
        UsageError: an entry is no row.
    """
    path = find(folder, f"table{number}.json")
    if path is None:
        return None
    return tuple(
        Printed(
            str(record.fields.get("story", "")),
            record.text("method"),
            *(record.integer(name) for name in ("tp", "fp", "fn")),
            *(record.number(name) for name in ("precision", "recall", "f1")),
        )
        for record in json_list(path)
    )
