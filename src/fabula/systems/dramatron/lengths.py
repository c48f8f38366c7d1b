"""A range of words shared among scenes that are written side by side, so that all together are inside it."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from fabula.craft.length import WordRange, parse_range, read_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.story import Brief
    from fabula.systems.dramatron.algorithm import Config


def ranges_of(brief: Brief, config: Config, weights: Sequence[float]) -> list[WordRange | None]:
    """The words that each scene should have; `None` where none are asked for."""
    whole = None
    if config.length_control:
        whole = parse_range(config.words) if config.words else read_range(brief.text)
    return [None] * len(weights) if whole is None else [*shares(whole, weights)]


def shares(whole: WordRange, weights: Sequence[float]) -> list[WordRange]:
    """`whole` in parts by weight: the lower borders add up to its lower border, the upper ones to its upper border."""
    total = sum(weights) or 1
    edges = [0.0, *accumulate(weight / total for weight in weights)]
    parts = []
    for start, end in pairwise(edges):
        low, high = (max(round(n * end) - round(n * start), 1) for n in (whole.low, whole.high))
        parts.append(WordRange(low, max(low, high), (low + max(low, high)) // 2, whole.exact))
    return parts
