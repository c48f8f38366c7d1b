"""Counting the n-grams of many texts: as numbers, because a thousand stories hold more than a million."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BITS: Final = 63  # of a whole number in numpy, without its sign


class Vocabulary(dict[str, int]):
    """Numbers for tokens, from 0 in the order in which they are met."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number

    def numbers(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """One number for each token; the same token has the same one in every text."""
        return np.fromiter(map(self.__getitem__, tokens), np.int64, len(tokens))


def ngram_codes(texts: Sequence[NDArray[np.int64]], n: int, size: int) -> list[NDArray[np.int64]]:
    """For each text of token numbers below `size`, one number for each n-gram; equal n-grams have equal ones.

    The same holds across the texts of one call.

    Raises:
        ValueError: n is less than 1.
    """
    if n < 1:
        raise ValueError(f"An n-gram has at least one token, not {n}.")
    bits = max(size - 1, 1).bit_length()
    codes, wide = [text[: max(len(text) - n + 1, 0)] for text in texts], bits
    for step in range(1, n):
        if wide + bits > _BITS:  # number them anew; there are never more than tokens
            codes = _renumbered(codes)
            wide = max(sum(map(len, codes)), 2).bit_length()
        codes = [(code << bits) | text[step : step + len(code)] for code, text in zip(codes, texts, strict=True)]
        wide += bits
    return codes


def _renumbered(codes: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    _, ranks = np.unique(np.concatenate([np.empty(0, np.int64), *codes]), return_inverse=True)
    borders = np.cumsum([len(code) for code in codes])
    return np.split(ranks.astype(np.int64), borders)[: len(codes)]


def repeated(codes: NDArray[np.int64]) -> int:
    """How many n-grams of a text stood in it before: all less the distinct ones."""
    return len(codes) - len(np.unique(codes))
