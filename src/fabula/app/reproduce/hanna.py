"""HANNA: how automatic metrics go with people's ratings, and its measures of text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from fabula.app.reproduce.rows import FULL, Row, Table, missing, number
from fabula.craft.ngrams import ngrams
from fabula.craft.tokens import tokeniser
from fabula.data.hanna import PEOPLE, correlations, criteria, measured_stories, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

Coefficient: TypeAlias = Literal["pearson", "spearman", "kendall"]
_COEFFICIENTS: Final[tuple[Coefficient, ...]] = ("pearson", "spearman", "kendall")


def _directions(rows: Array, coefficient: Coefficient) -> Array:
    """For each row of numbers the unit vector whose products with another's are the coefficient; 0 where constant.

    Pearson's r is the cosine of deviations from the mean, Spearman's rho that of mid-ranks', Kendall's tau-b that of
    the signs of all pairs. So 62,000 coefficients are a few products of matrices.
    """
    signs: Array = np.sign(rows[:, :, None] - rows[:, None, :])
    vectors: Array = rows - rows.mean(axis=1, keepdims=True)
    if coefficient == "spearman":
        vectors = signs.sum(axis=2)
    elif coefficient == "kendall":
        vectors = signs.reshape(len(rows), -1)
    vectors = np.where(np.any(signs, axis=(1, 2))[:, None], vectors, 0.0)
    # CIDEr goes down to 1e-320, whose square is 0: squares are taken of shares of the largest. The length is then not a
    # share any more, as in scipy, because the published values have the rounding of such small numbers in them.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    shares = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    length = largest * np.sqrt((shares**2).sum(axis=1, keepdims=True))
    directions: Array = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return directions


def _story_level(one: Array, other: Array) -> float | None:
    """The mean over prompts of the coefficient over systems; prompts where it is undefined are left out."""
    defined = one.any(axis=1) & other.any(axis=1)
    return abs(float((one * other).sum(axis=1)[defined].mean())) if defined.any() else None


def _system_level(one: Array, other: Array) -> float | None:
    return abs(float((one * other).sum())) if one.any() and other.any() else None


_LEVELS: Final[Mapping[str, tuple[Callable[[Array], Array], Callable[[Array, Array], float | None]]]] = {
    "story": (lambda table: table.T, _story_level),  # a row for each prompt
    "system": (lambda table: table.mean(axis=1)[None, :], _system_level),  # one row
}


def _correlations(data: Path) -> Iterator[Row]:
    """All metrics x criteria x coefficients x levels: absolute values, the human stories left out."""
    folder = data / "hanna"
    people, measured = criteria(folder).without(PEOPLE), metrics(folder).without(PEOPLE)
    published = correlations(folder)
    prepared = {
        (kind, name, level, coefficient): _directions(shape(table), coefficient)
        for kind, scores in (("people", people), ("metric", measured))
        for name, table in scores.tables.items()
        for level, (shape, _) in _LEVELS.items()
        for coefficient in _COEFFICIENTS
    }
    for metric, values in published.items():
        for key, cell in values.items():
            criterion, level, coefficient = key.rsplit("_", 2)
            one = prepared.get(("metric", metric, level, coefficient))  # type: ignore[arg-type] # a key of the file may be anything
            other = prepared.get(("people", criterion, level, coefficient))  # type: ignore[arg-type] # as above
            name = f"{metric}, {criterion}, {level} level, {coefficient}"
            if one is None or other is None:
                yield missing(name, f"{cell:.{FULL}f}", f"there are no scores of {metric} for {key}")
            else:
                yield number(name, cell, FULL, _LEVELS[level][1](one, other), group=metric)


def _text_measures(data: Path) -> Iterator[Row]:
    for story in measured_stories(data / "hanna"):
        values = _measures(story.prompt, story.story)
        for name, cell in story.measures.items():
            yield number(f"story {story.number}, {name}", cell, FULL, values.get(name), group=name)


def _measures(prompt: str, story: str) -> dict[str, float]:
    """Length, repetition and novelty as HANNA counts them: spaCy tokens, case kept, a line end after both texts."""
    split = tokeniser("spacy")
    tokens, asked = split(story + "\n"), split(prompt + "\n")
    found: dict[str, float] = {"Text length": len(tokens)}
    for n in (1, 2, 3):
        counted = Counter(ngrams(tokens, n))
        new = counted.keys() - set(ngrams(asked, n))
        if counted:
            found[f"Repetition-{n}"] = sum(count > 1 for count in counted.values()) / len(counted)
            found[f"Novelty-{n}"] = len(new) / len(counted)
    return found


TABLES: Final = (
    Table(
        "hanna-correlations",
        "Automatic metrics with people's ratings at story and system level, HANNA",
        "hanna",
        ("hanna/human_ratings.json", "hanna/metric_scores.json", "hanna/expected_correlations.json"),
        _correlations,
    ),
    Table(
        "hanna-text",
        "Text length, repetition and novelty of people's stories, HANNA",
        "hanna",
        ("hanna/human_stories.jsonl",),
        _text_measures,
        ("spacy",),
    ),
)
