"""HANNA: stories of eleven systems rated by people, with automatic metrics (Chhun et al. 2022)."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, json_object, read_bounded, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

PEOPLE: Final = "Human"
# A folder is laid out as these readers like it, or as the release is: the second name of each pair.
_RELEASED: Final = "hanna_metric_scores.csv"
RATINGS: Final = ("human_ratings.json", _RELEASED)
METRICS: Final = ("metric_scores.json", _RELEASED)
CORRELATIONS: Final = ("expected_correlations.json", "rankings/*_*.csv")
STORIES: Final = ("human_stories.jsonl", "hanna_stories_annotations.csv")
_CRITERIA: Final = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
_OF_TEXT: Final = " ¤§"  # how the release marks measures that look at the text alone
_TEXT_MEASURES: Final = ("Text length", *(f"{name}-{n}" for name in ("Repetition", "Novelty") for n in (1, 2, 3)))


@dataclass(frozen=True, slots=True)
class Scores:
    """Numbers for every story.

    Attributes:
        systems: who wrote the stories, the first axis of each table.
        tables: systems x prompts, by the name of the criterion or metric.
    """

    systems: tuple[str, ...]
    tables: Mapping[str, NDArray[np.float64]]

    def without(self, system: str) -> Scores:
        """The scores without the rows of one system."""
        kept = [n for n, name in enumerate(self.systems) if name != system]
        return Scores(tuple(self.systems[n] for n in kept), {name: t[kept] for name, t in self.tables.items()})


@dataclass(frozen=True, slots=True)
class MeasuredStory:
    """A person's story with the values published for it, by the name of the measure."""

    prompt: str
    story: str
    measures: Mapping[str, float]
    number: int


def criteria(folder: Path) -> Scores:
    """What people say: the mean of three raters, by criterion.

    Raises:
        UsageError: the file is absent, or a table does not fit the list of systems.
    """
    path = wanted(folder, *RATINGS)
    return _released(path, criteria=True) if path.match("*.csv*") else _scores(json_object(path), "criteria_mean")


def metrics(folder: Path) -> Scores:
    """Automatic metrics, by name.

    Raises:
        UsageError: as `criteria`.
    """
    path = wanted(folder, *METRICS)
    return _released(path, criteria=False) if path.match("*.csv*") else _scores(json_object(path), "scores")


def correlations(folder: Path) -> Mapping[str, Mapping[str, float]]:
    """The published coefficients: metric -> "Relevance_story_pearson" -> absolute value.

    Raises:
        UsageError: the file is absent, or a value is not a number.
    """
    path = wanted(folder, *CORRELATIONS)
    if path.match("*.csv*"):
        found: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for record in chain.from_iterable(map(_rows, sorted(path.parent.glob("*_*.csv")))):
            found[record.text("Model")] |= {key: _number(record, key) for key in record.fields if key != "Model"}
        return found
    whole = json_object(path)
    records = {name: whole.record(name) for name in whole.fields}
    return {name: {key: record.number(key) for key in record.fields} for name, record in records.items()}


def measured_stories(folder: Path) -> tuple[MeasuredStory, ...]:
    """People's stories with their published text measures.

    Raises:
        UsageError: the file is absent, or a line is no such story.
    """
    path = wanted(folder, *STORIES)
    return _released_stories(folder, path) if path.match("*.csv*") else tuple(map(_measured, json_lines(path)))


def _measured(record: Record) -> MeasuredStory:
    values = record.record("expected")
    measures = {name: values.number(name) for name in values.fields}
    return MeasuredStory(record.text("prompt"), record.text("story"), measures, record.integer("i"))


# the release ----------------------------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[Record]:
    """The rows of a CSV file."""
    reader = csv.DictReader(io.StringIO(read_bounded(path)), strict=True)
    try:
        yield from (Record(f"{path}, line {reader.line_num}", row) for row in reader)
    except csv.Error as error:
        raise UsageError(
            f"{path}, line {reader.line_num}: not comma-separated values ({error}). Fetch it again."
        ) from error


def _number(record: Record, name: str) -> float:
    try:
        return Record(record.where, {name: float(record.text(name))}).number(name)
    except ValueError as error:
        raise UsageError(
            f"{record.where}: {name!r} is {record.text(name)!r}, not a number. Fetch the file again."
        ) from error


def _released(path: Path, *, criteria: bool) -> Scores:
    """The table of the release, in which a row is a system, and a cell the list of its stories' scores.

    A metric that has no number for some story is left out.
    """
    rows = list(_rows(path))
    columns = [name for name in (rows[0].fields if rows else ()) if name != "Model"]
    scores = {}
    for name in columns:
        if (name in _CRITERIA) == criteria:
            cells = [row.text(name) for row in rows]
            if not any("nan" in cell or "inf" in cell for cell in cells):
                scores[name] = [_list(row, name) for row in rows]
    return _scores(Record(str(path), {"systems": [row.text("Model") for row in rows], "scores": scores}), "scores")


def _list(row: Record, name: str) -> Any:  # noqa: ANN401 - checked where it is read
    try:
        return json.loads(row.text(name))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{row.where}: {name!r} is not a list of numbers ({error}). Fetch the file again.") from error


def _released_stories(folder: Path, path: Path) -> tuple[MeasuredStory, ...]:
    """People's stories of the release, of which each has a row for each of its raters."""
    people = next((row for row in _rows(wanted(folder, _RELEASED)) if row.text("Model") == PEOPLE), None)
    if people is None:
        raise UsageError(f"{folder / _RELEASED} has no row {PEOPLE}. Fetch the file again.")
    values = {name: _list(people, name + _OF_TEXT) for name in _TEXT_MEASURES}
    found: dict[int, MeasuredStory] = {}
    for row in _rows(path):
        number = int(_number(row, "Story ID"))
        if row.text("Model") == PEOPLE and number not in found:
            try:
                measures = {name: float(cells[number]) for name, cells in values.items()}
            except (LookupError, TypeError, ValueError) as error:
                raise UsageError(
                    f"{row.where}: {_RELEASED} has no numbers of story {number}. Fetch both again."
                ) from error
            found[number] = MeasuredStory(row.text("Prompt"), row.text("Story"), measures, number)
    return tuple(found.values())


def _scores(record: Record, field: str) -> Scores:
    systems, values = record.texts("systems"), record.record(field)
    import numpy as np  # noqa: PLC0415 - every command comes by here, and few read these tables

    tables = {name: np.array(values.rows(name), dtype=np.float64) for name in values.fields}
    for name, table in tables.items():
        if table.ndim != 2 or len(table) != len(systems) or table.shape != next(iter(tables.values())).shape:  # noqa: PLR2004 - systems x prompts
            raise UsageError(
                f"{values.where}: {name!r} is not one row for each of {len(systems)} systems. Correct the file."
            )
    return Scores(systems, tables)
