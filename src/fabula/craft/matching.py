"""Continuity findings: reading one, and matching those detected with the known ones, one to one.

The rule (settled by recomputing Table 10 of the MAGNET paper, which does not state its own): a detection can only match
a known error of the same later scene and at most one scene off in the earlier one; likeness is half the token
containment of the fact and half that of the event; the best assignment as a whole counts, above a threshold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.extras import extra
from fabula.craft.stems import stem
from fabula.stats.classification import Confusion

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

THRESHOLD: Final = 0.3
_FORM: Final = re.compile(
    r"\Ain scene (\d++) ?,?+ ?(.+?)(?: was established)? ?, ?(?:and )?yet in scene (\d++) ?,?+ ?(.+?)"
    r"(?: happens)? ?\.?",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[^\W_]+")
_STOP: Final = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "for", "from", "had", "has", "have"}
    | {"he", "her", "his", "in", "into", "is", "it", "its", "not", "of", "off", "on", "or", "out", "she", "that"}
    | {"the", "their", "them", "they", "this", "to", "was", "were", "which", "who", "will", "with"}
)


@dataclass(frozen=True, slots=True)
class ErrorFinding:
    """One continuity error: scene `x` establishes `fact`, yet in scene `y` `event` happens, which cannot be."""

    x: int
    y: int
    fact: str
    event: str

    def __str__(self) -> str:
        return f"In scene {self.x}, {self.fact} was established, yet in scene {self.y}, {self.event} happens"


@dataclass(frozen=True, slots=True)
class Matching:
    """The matching of detections with known errors.

    Attributes:
        pairs: number of the detection, number of the known error, their likeness.
        unmatched: numbers of the detections that match no known error.
        missed: numbers of the known errors that were not detected.
    """

    pairs: tuple[tuple[int, int, float], ...]
    unmatched: tuple[int, ...]
    missed: tuple[int, ...]

    @property
    def counts(self) -> Confusion:
        """Matched, unmatched and missed as true positives, false positives and false negatives."""
        return Confusion(len(self.pairs), len(self.unmatched), len(self.missed))


def parse_finding(text: str) -> ErrorFinding | None:
    """The finding in "In scene X, FACT was established, yet in scene Y, EVENT happens"; `None` if it is no such text.

    "was established", "happens" and the full stop may be missing (MAGNET, Tables 12 to 14 and 21 to 23). X may come
    after Y: whether such a finding counts is for the caller to say.
    """
    read = _FORM.fullmatch(" ".join(text.split()))
    return None if read is None else ErrorFinding(int(read[1]), int(read[3]), read[2].strip(), read[4].strip())


def likeness(one: ErrorFinding, other: ErrorFinding) -> float:
    """Half the token containment of the facts and half that of the events, from 0 to 1."""
    return (_containment(one.fact, other.fact) + _containment(one.event, other.event)) / 2


def _containment(one: str, other: str) -> float:
    """Share of the smaller set of tokens that the larger one holds."""
    left, right = _tokens(one), _tokens(other)
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


def _tokens(text: str) -> set[str]:
    words = (word.casefold() for word in _TOKEN.findall(text))
    return {stem(word) for word in words if word not in _STOP}


def match_findings(
    detected: Sequence[ErrorFinding], known: Sequence[ErrorFinding], threshold: float = THRESHOLD
) -> Matching:
    """The best one-to-one matching of detections with known errors; pairs are alike by more than `threshold`."""
    import numpy as np  # noqa: PLC0415 - pages that read findings load this module and match none

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

    All rows are assigned, or all columns where there are fewer of them.
    """
    scipy = extra("scipy.optimize", "measure", "A one-to-one assignment")  # takes longer than the rest of a command
    rows, columns = scipy.linear_sum_assignment(values, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
