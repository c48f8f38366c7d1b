"""Answers about texts that are asked for again and again: kept for short texts alone, so that none of them is large."""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def remembered(most: int, longest: int = 10_000) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function's last `most` answers kept, by its texts; where one has more than `longest` letters, none is."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def asked(*texts: P.args, **named: P.kwargs) -> T:
            for text in texts:
                if len(text) > longest:  # type: ignore[arg-type] # a text
                    return function(*texts, **named)
            return known(*texts, **named)  # type: ignore[arg-type] # texts have hashes

        return asked

    return decorated
