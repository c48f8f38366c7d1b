"""BERTScore's arithmetic (Zhang et al., ICLR 2020, section 3) for texts of any length: windows, and greedy matching.

The model behind it is handed in as an `Embedder`; everything here is numpy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ROWS: Final = 1024  # of the matrix of similarities held at a time


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of a text's tokens.

    Attributes:
        rows: one a token (tokens x dimensions).
        counts: for each row whether it is a token of the text; marks that the model adds can be matched but are not
            averaged over.
    """

    rows: NDArray[np.float64]
    counts: NDArray[np.bool_]


class Embedder(Protocol):
    """A model that gives each token a vector that knows its surroundings."""

    @property
    def name(self) -> str:
        """Model and layer, as they stand with every number."""
        ...

    @property
    def limit(self) -> int:
        """How many tokens of a text it reads at once, without the marks that it adds."""
        ...

    def tokens(self, text: str) -> Sequence[int]:
        """The numbers of the text's tokens, without marks."""
        ...

    def embed(self, tokens: Sequence[int]) -> Vectors:
        """The vectors of at most `limit` tokens, in order, and of the marks around them."""
        ...


@dataclass(frozen=True, slots=True)
class TokenWindow:
    """Tokens that are read at once, and which of them are taken from it: those with most around them."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class BertScore:
    """Precision, recall and their harmonic mean; cosines, so between -1 and 1 and as a rule near 0.8."""

    precision: float
    recall: float

    @property
    def f(self) -> float:
        """The harmonic mean; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def windows(count: int, limit: int, overlap: int) -> Iterator[TokenWindow]:
    """Windows of at most `limit` tokens over `count`, neighbours sharing `overlap`; each token is taken once.

    Raises:
        UsageError: the overlap is not smaller than a window.
    """
    if not 0 <= overlap < limit:
        raise UsageError(f"overlap={overlap} must be at least 0 and below the window of {limit} tokens.")
    start, first = 0, 0
    while True:
        end = min(start + limit, count)
        last = end if end == count else end - overlap // 2
        yield TokenWindow(start, end, first, last)
        if end == count:
            return
        start, first = end - overlap, last


def encoded(tokens: Sequence[int], embedder: Embedder, overlap: int | None) -> Vectors:
    """Unit vectors of a text's tokens, read in windows; with no `overlap` those of its first window alone.

    Raises:
        UsageError: the overlap is not smaller than a window.
    """
    if overlap is None:
        return _unit([embedder.embed(tokens[: embedder.limit])])
    parts = []
    for window in windows(len(tokens), embedder.limit, overlap):
        read = embedder.embed(tokens[window.start : window.end])
        # Where in the window the text's own tokens are; of the marks all are kept.
        place = np.cumsum(read.counts) - 1 + window.start
        taken = ~read.counts | ((place >= window.first) & (place < window.last))
        parts.append(Vectors(read.rows[taken], read.counts[taken]))
    return _unit(parts)


def _unit(parts: Sequence[Vectors]) -> Vectors:
    rows = np.concatenate([part.rows for part in parts]).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return Vectors(rows / np.where(lengths > 0, lengths, 1.0), np.concatenate([part.counts for part in parts]))


def matched(reference: Vectors, text: Vectors) -> BertScore:
    """Each token with its most similar one on the other side: precision over the text's, recall over the reference's.

    Both need a token of their own.
    """
    best = np.full(len(reference.rows), -np.inf)
    nearest = []
    for start in range(0, len(text.rows), _ROWS):
        similar = text.rows[start : start + _ROWS] @ reference.rows.T
        nearest.append(similar.max(axis=1))
        best = np.maximum(best, similar.max(axis=0))
    precision = float(np.concatenate(nearest)[text.counts].mean())
    return BertScore(precision, float(best[reference.counts].mean()))
