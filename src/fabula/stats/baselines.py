"""Trivial scores of stories. A judge or a measure that does not beat them has shown nothing.

Each gives a score for every text, higher being better; on two texts they make a verdict, the same score being a tie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

_BITS: Final = 53  # of a float's digits


def constant(texts: Sequence[str]) -> tuple[float, ...]:
    """The same score, 0, for all texts."""
    return (0.0,) * len(texts)


def length(texts: Sequence[str]) -> tuple[float, ...]:
    """Words, split at white space: the longer, the better."""
    return tuple(float(len(text.split())) for text in texts)


def type_token_ratio(texts: Sequence[str]) -> tuple[float, ...]:
    """Different words by all words, split at white space, without case, 0 to 1; 0 for a text without words."""
    return tuple(_ratio(text.lower().split()) for text in texts)


def _ratio(words: Sequence[str]) -> float:
    return len(set(words)) / len(words) if words else 0.0


def random_scores(texts: Sequence[str], seed: int = 1) -> tuple[float, ...]:
    """A number from 0 to 1 that chance gives to each text: by seed and text alone, whatever stands next to it."""
    return tuple(_drawn(f"{seed}\n{text}") for text in texts)


def _drawn(text: str) -> float:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return float((int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / (1 << _BITS))


def orderings(texts: Sequence[str], seed: int = 1) -> Mapping[str, tuple[float, ...]]:
    """The scores of the trivial baselines that put texts in an order of their own, by name."""
    return {
        "length": length(texts),
        "type-token ratio": type_token_ratio(texts),
        "random": random_scores(texts, seed),
    }
