"""Counting the n-grams of many texts: as numbers, because a thousand stories hold more than a million."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)


class TokenHashes(dict[str, int]):
    """A number of 64 bits for each token, the same in every process."""

    def __missing__(self, token: str) -> int:
        digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[token] = number = int.from_bytes(digest, "big")
        return number

    def ngrams(self, tokens: Sequence[str], n: int) -> NDArray[np.uint64]:
        """A number of 64 bits for each n-gram of a text.

        Equal n-grams have equal ones, in all texts. Of a thousand million different ones, a pair of equal numbers is
        expected with a chance of 3 %.

        Raises:
            ValueError: n is less than 1.
        """
        if n < 1:
            raise ValueError(f"An n-gram has at least one token, not {n}.")
        numbers = np.fromiter(map(self.__getitem__, tokens), np.uint64, len(tokens))
        count = max(len(tokens) - n + 1, 0)
        codes = numbers[:count]
        for step in range(1, n):
            codes = codes * _FACTOR + numbers[step : step + count]  # modulo 2 ** 64
        return codes


def repeated(codes: NDArray[np.uint64]) -> int:
    """How many n-grams of a text stood in it before: all less the distinct ones."""
    return len(codes) - len(np.unique(codes))
