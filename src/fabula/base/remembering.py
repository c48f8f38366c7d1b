"""Cached answers about short texts that are needed again and again, up to a limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def remembered(most: int, longest: int = 10_000) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function's last `most` answers by its texts; texts of more than `longest` characters are not cached.

    Its arguments are texts, tuples of texts, and small things without a length. Answers about long texts are kept by
    `base.kept`.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize=most)(function)

        def asked_about_one(text: str) -> T:
            return known(text) if len(text) <= longest else function(text)  # type: ignore[call-arg, arg-type] # a text

        def asked(*about: P.args, **named: P.kwargs) -> T:
            letters = sum(map(_letters, about))
            return (known if letters <= longest else function)(*about, **named)  # type: ignore[arg-type] # all have hashes

        alone = [*function.__annotations__.values()][:-1] == ["str"]
        found = wraps(function)(asked_about_one if alone else asked)
        found.cache_clear = known.cache_clear  # type: ignore[attr-defined] # for tests that time the function
        return found

    return decorated


def _letters(about: object) -> int:
    if isinstance(about, str):
        return len(about)
    return sum(map(_letters, about)) if isinstance(about, tuple) else 0
