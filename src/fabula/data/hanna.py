"""HANNA: stories of eleven systems rated by people, with automatic metrics and model judges (Chhun et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_lines, json_object, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

PEOPLE: Final = "Human"


@dataclass(frozen=True, slots=True)
class Scores:
    """Numbers for every story.

    Attributes:
        systems: who wrote the stories, the first axis of each table.
        tables: systems x prompts, by the name of the criterion, rater, metric or judge.
    """

    systems: tuple[str, ...]
    tables: Mapping[str, NDArray[np.float64]]

    def without(self, system: str) -> Scores:
        """The same without the rows of one system."""
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
    return _scores(json_object(wanted(folder, "human_ratings.json")), "criteria_mean")


def raters(folder: Path) -> Scores:
    """What people say, by rater and criterion.

    Raises:
        UsageError: as `criteria`.
    """
    return _scores(json_object(wanted(folder, "human_ratings.json")), "raters")


def metrics(folder: Path) -> Scores:
    """Automatic metrics, by name.

    Raises:
        UsageError: as `criteria`.
    """
    return _scores(json_object(wanted(folder, "metric_scores.json")), "scores")


def judges(folder: Path) -> Scores:
    """What models say, by name; the systems are those of `criteria`.

    Raises:
        UsageError: as `criteria`.
    """
    record = json_object(wanted(folder, "llm_judge_ratings.json"))
    systems = json_object(wanted(folder, "human_ratings.json")).fields["systems"]
    return _scores(Record(record.where, {"systems": systems, "all": record.fields}), "all")


def correlations(folder: Path) -> Mapping[str, Mapping[str, float]]:
    """The published coefficients: metric -> "Relevance_story_pearson" -> absolute value.

    Raises:
        UsageError: the file is absent, or a value is no number.
    """
    whole = json_object(wanted(folder, "expected_correlations.json"))
    records = {name: whole.record(name) for name in whole.fields}
    return {name: {key: record.number(key) for key in record.fields} for name, record in records.items()}


def measured_stories(folder: Path) -> tuple[MeasuredStory, ...]:
    """People's stories with their published text measures.

    Raises:
        UsageError: the file is absent, or a line is no such story.
    """
    return tuple(_measured(record) for record in json_lines(wanted(folder, "human_stories.jsonl")))


def _measured(record: Record) -> MeasuredStory:
    values = record.record("expected")
    measures = {name: values.number(name) for name in values.fields}
    return MeasuredStory(record.text("prompt"), record.text("story"), measures, record.integer("i"))


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
