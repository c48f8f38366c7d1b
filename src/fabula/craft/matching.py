"""Continuity findings: reading one, and matching those detected with the known ones, one to one.

The rule (settled by recomputing Table 10 of the MAGNET paper, which does not state its own): a detection can only match
a known error of the same later scene and at most one scene off in the earlier one; likeness is half the token
containment of the fact and half that of the event; the best assignment as a whole counts, above a threshold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

THRESHOLD: Final = 0.3
_FORM: Final = re.compile(
    r"\s*in\s+scene\s+(\d+)\s*,?\s*(.+?)(?:\s+was\s+established)?\s*,\s*(?:and\s+)?yet\s+in\s+scene\s+(\d+)\s*,?\s*"
    r"(.+?)(?:\s+happens)?\s*\.?\s*",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN: Final = re.compile(r"[^\W_]+")
_STOP: Final = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "for", "from", "had", "has", "have"}
    | {"he", "her", "his", "in", "into", "is", "it", "its", "not", "of", "off", "on", "or", "out", "she", "that"}
    | {"the", "their", "them", "they", "this", "to", "was", "were", "which", "who", "will", "with"}
)
_SUFFIXES: Final = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e")
_SHORTEST_STEM: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One continuity error: scene `x` establishes `fact`, yet in scene `y` `event` happens, which cannot be."""

    x: int
    y: int
    fact: str
    event: str

    def __str__(self) -> str:
        return f"In scene {self.x}, {self.fact} was established, yet in scene {self.y}, {self.event} happens"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many were found, and what follows from it; a share of nothing is `None`."""

    tp: int
    fp: int
    fn: int

    @property
    def precision(self) -> float | None:
        """Share of the detections that are known errors."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """Share of the known errors that were detected."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both."""
        both = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / both if both else None

    def __add__(self, other: Accuracy) -> Accuracy:
        """The counts of both together, which is the micro average."""
        return Accuracy(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)


@dataclass(frozen=True, slots=True)
class Matching:
    """Which detections are which known errors.

    Attributes:
        pairs: number of the detection, number of the known error, their likeness.
        unmatched: numbers of the detections that are none.
        missed: numbers of the known errors that were not detected.
    """

    pairs: tuple[tuple[int, int, float], ...]
    unmatched: tuple[int, ...]
    missed: tuple[int, ...]

    @property
    def accuracy(self) -> Accuracy:
        """Matched, unmatched and missed as true positives, false positives and false negatives."""
        return Accuracy(len(self.pairs), len(self.unmatched), len(self.missed))


def parse_finding(text: str) -> Finding | None:
    """The finding in "In scene X, FACT was established, yet in scene Y, EVENT happens"; `None` if it is no such text.

    "was established", "happens" and the full stop may be missing (MAGNET, Tables 12 to 14 and 21 to 23). X may come
    after Y: whether such a finding counts is for the caller to say.
    """
    read = _FORM.fullmatch(text)
    return None if read is None else Finding(int(read[1]), int(read[3]), read[2].strip(), read[4].strip())


def likeness(one: Finding, other: Finding) -> float:
    """Half the token containment of the facts and half that of the events, from 0 to 1."""
    return (_containment(one.fact, other.fact) + _containment(one.event, other.event)) / 2


def _containment(one: str, other: str) -> float:
    """Share of the smaller set of tokens that the larger one holds."""
    left, right = _tokens(one), _tokens(other)
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


def _tokens(text: str) -> set[str]:
    words = (word.casefold() for word in _TOKEN.findall(text))
    return {_stem(word) for word in words if word not in _STOP}


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word.removesuffix(suffix)
    return word


def match_findings(detected: Sequence[Finding], known: Sequence[Finding], threshold: float = THRESHOLD) -> Matching:
    """The best one-to-one matching of detections with known errors; pairs are alike by more than `threshold`."""
    values = np.zeros((len(detected), len(known)))
    for i, one in enumerate(detected):
        for j, other in enumerate(known):
            if one.y == other.y and abs(one.x - other.x) <= 1 and (alike := likeness(one, other)) > threshold:
                values[i, j] = alike
    pairs = tuple((i, j, float(values[i, j])) for i, j in assign(values) if values[i, j] > 0)
    found, hit = {i for i, _, _ in pairs}, {j for _, j, _ in pairs}
    return Matching(
        pairs,
        tuple(i for i in range(len(detected)) if i not in found),
        tuple(j for j in range(len(known)) if j not in hit),
    )


def assign(values: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Row and column of each pair of the one-to-one assignment with the largest sum of `values`, by row.

    All rows are assigned, or all columns where there are fewer of them. Shortest augmenting paths with potentials
    (Jonker and Volgenant 1987), cubic in the longer side.
    """
    if not values.size:
        return []
    if values.shape[0] > values.shape[1]:
        return sorted((row, column) for column, row in assign(values.T))
    rows, columns = values.shape
    costs = values.max() - values
    of_row, of_column = np.zeros(rows), np.zeros(columns)
    taken = np.full(columns, -1)
    for row in range(rows):
        _augment(costs, (of_row, of_column), taken, row)
    return sorted((int(taken[column]), column) for column in range(columns) if taken[column] >= 0)


def _augment(
    costs: NDArray[np.float64],
    potentials: tuple[NDArray[np.float64], NDArray[np.float64]],
    taken: NDArray[np.int_],
    start: int,
) -> None:
    """Give row `start` a column, along the cheapest path of changes to what is `taken` (column -> row)."""
    of_row, of_column = potentials
    columns = costs.shape[1]
    distance, before = np.full(columns, np.inf), np.full(columns, -1)
    done = np.zeros(columns, dtype=bool)
    row, last, shortest = start, -1, 0.0
    while True:
        reached = shortest + costs[row] - of_row[row] - of_column
        better = ~done & (reached < distance)
        distance[better], before[better] = reached[better], last
        last = int(np.argmin(np.where(done, np.inf, distance)))
        shortest, done[last] = float(distance[last]), True
        if taken[last] < 0:
            break
        row = int(taken[last])
    of_row[start] += shortest
    held = done & (taken >= 0)
    of_row[taken[held]] += shortest - distance[held]
    of_column[done] -= shortest - distance[done]
    while last >= 0:
        previous = int(before[last])
        taken[last] = start if previous < 0 else taken[previous]
        last = previous
