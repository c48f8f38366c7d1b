"""HANNA: correlations of automatic metrics with people's ratings, and measures of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from fabula.app.reproduce.rows import FULL, PublishedNumber, Table, missing, number
from fabula.data.hanna import (
    CORRELATIONS,
    METRICS,
    PEOPLE,
    RATINGS,
    STORIES,
    correlations,
    criteria,
    measured_stories,
    metrics,
)
from fabula.evaluators.surface.hanna import hanna_text
from fabula.stats.correlation import COEFFICIENTS, by_row
from fabula.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from fabula.stats.correlation import Coefficient

    Array: TypeAlias = NDArray[np.float64]


def _story_level(one: Array, other: Array, coefficient: Coefficient) -> float | None:
    """The mean over prompts (rows) of the coefficient over systems, without prompts for which it is undefined."""
    each = by_row(coefficient, one, other)
    defined = each[np.isfinite(each)]
    return abs(float(defined.mean())) if len(defined) else None


def _system_level(one: Array, other: Array, coefficient: Coefficient) -> float | None:
    """The coefficient of the systems' means over prompts."""
    value = COEFFICIENTS[coefficient](one.mean(axis=0), other.mean(axis=0))
    return None if value is None else abs(value)


_LEVELS: Final = {"story": _story_level, "system": _system_level}


def _correlations(data: Path) -> Iterator[PublishedNumber]:
    """All metrics x criteria x coefficients x levels: absolute values, without the human stories."""
    people, measured = criteria(data).without(PEOPLE), metrics(data).without(PEOPLE)
    for metric, values in correlations(data).items():
        for key, cell in values.items():
            criterion, level, coefficient = key.rsplit("_", 2)
            name = f"{metric}, {criterion}, {level} level, {coefficient}"
            one, other = measured.tables.get(metric), people.tables.get(criterion)
            if one is None or other is None or level not in _LEVELS or coefficient not in COEFFICIENTS:
                yield missing(name, f"{cell:.{FULL}f}", f"there are no scores of {metric} for {key}")
            else:
                value = _LEVELS[level](one.T, other.T, coefficient)  # type: ignore[arg-type] # just looked up
                yield number(name, cell, FULL, value, group=metric)


def _text_measures(data: Path) -> Iterator[PublishedNumber]:
    for story in measured_stories(data):
        values = hanna_text(story.story, story.prompt, "spacy")
        for name, cell in story.measures.items():
            scored = values.get("hanna/" + name.lower().removeprefix("text "))
            value = scored.value if isinstance(scored, Estimate) else None
            yield number(f"story {story.number}, {name}", cell, FULL, value, group=name)


TABLES: Final = (
    Table(
        "hanna-correlations",
        "Correlations of automatic metrics with people's ratings, at story and system level, HANNA",
        "hanna",
        tuple("|".join(names) for names in (RATINGS, METRICS, CORRELATIONS)),
        _correlations,
        origin="github.com/dig-team/hanna-benchmark-asg has hanna_metric_scores.csv and rankings/",
    ),
    Table(
        "hanna-text",
        "Text length, repetition and novelty of people's stories, HANNA",
        "hanna",
        ("|".join(STORIES),),
        _text_measures,
        ("spacy",),
        origin="github.com/dig-team/hanna-benchmark-asg has hanna_stories_annotations.csv",
    ),
)
