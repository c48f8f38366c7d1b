"""Answers computed from files and texts, kept until these change, within a limit, and not when long unused.

A server reads the same projects again and again. It keeps all answers about them in one store, `KEPT`, with
one limit. Answers about short texts, which are many and small, are kept by `base.remembering`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from sys import getsizeof
from typing import Any, Final, TypeVar

T = TypeVar("T")

MOST: Final = 64_000_000
"""The approximate total number of bytes kept."""
IDLE: Final = 600.0
"""The number of seconds after which an unused answer is dropped."""
_FILE: Final = "file"
_SCALARS: Final = (str, bytes, int, float, bool, type(None))


class KeptAnswers:
    """Answers, each under its owner (a folder) and name, with what it was made from; those used last stay longest.

    Args:
        most: bytes kept in all, as `weight` counts them; an answer that weighs more than half of that is not kept.
        clock: returns seconds, by a monotonic clock.
    """

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock, self._one = most, clock, threading.Lock()
        self._answers: OrderedDict[tuple[str, Hashable], tuple[object, Any, int, float]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        """The number of answers kept."""
        return len(self._answers)

    def get(self, owner: str, name: Hashable) -> tuple[object, Any] | None:
        """What an answer was made from, and the answer; `None` if it is not kept."""
        key = (owner, name)
        with self._one:
            if (found := self._answers.get(key)) is None:
                return None
            self._answers[key] = (*found[:3], self._clock())
            self._answers.move_to_end(key)
            return found[0], found[1]

    def keep(self, owner: str, name: Hashable, of: object, answer: Any) -> None:  # noqa: ANN401 - whatever it is
        """Keep an answer in place of the one before; others are dropped if it is too much."""
        key = (owner, name)
        heavy = weight((of, name, answer), self._most)
        with self._one:
            self._drop(key)
            if heavy > self._most // 2:
                return
            self._answers[key] = (of, answer, heavy, self._clock())
            self.weight += heavy
            while self.weight > self._most:
                self._drop(next(iter(self._answers)))

    def answer(self, owner: str, name: Hashable, of: object, make: Callable[[], T]) -> T:
        """The kept answer, if it was made from `of`; else the result of `make`, which is then kept."""
        known = self.get(owner, name)
        if known is not None and known[0] == of:
            found: T = known[1]
            return found
        made = make()
        self.keep(owner, name, of, made)
        return made

    def forget_idle(self, seconds: float = IDLE) -> bool:
        """Drop answers that were unused for so long; returns whether there were any."""
        with self._one:
            before, last = len(self._answers), self._clock() - seconds
            while self._answers and next(iter(self._answers.values()))[3] < last:
                self._drop(next(iter(self._answers)))
            return len(self._answers) < before

    def _drop(self, key: tuple[str, Hashable]) -> None:
        if (found := self._answers.pop(key, None)) is not None:
            self.weight -= found[2]


KEPT: Final = KeptAnswers()
"""The store of this process."""


def of_file(file: Path, name: str, make: Callable[[], T]) -> T:
    """The result of `make` for a file, which is kept until the file changes.

    Raises:
        OSError: there is no such file.
    """
    about = file.stat()
    return KEPT.answer(str(file), name, (about.st_ino, about.st_size, about.st_mtime_ns), make)


def of_text(name: str, text: str, make: Callable[[str], T]) -> T:
    """The result of `make` for a text, which is kept; the text itself is not kept."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return KEPT.answer(name, digest, None, lambda: make(text))


class KeptTexts:
    """The texts of a project's files, for the next time that the project is opened; kept as answers are."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def get(self, name: str) -> tuple[object, str, str] | None:
        """The file's state, and its text, whole and plain."""
        found = KEPT.get(self._owner, (_FILE, name))
        return None if found is None else (found[0], *found[1])

    def __setitem__(self, name: str, read: tuple[object, str, str]) -> None:
        """Keep it."""
        KEPT.keep(self._owner, (_FILE, name), read[0], read[1:])


def weight(value: object, most: int = MOST) -> int:
    """The approximate bytes of something with all its contents, each counted once; at least `most` if it is more.

    Anything that is not text, a number, a collection or a dataclass counts without what it refers to.
    """
    found, seen, left = 0, set[int](), [value]
    while left and found <= most:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found += getsizeof(one, 64)
        if not isinstance(one, _SCALARS):
            left.extend(_inside(one))
    return found


def _inside(value: Any) -> Iterable[object]:  # noqa: ANN401 - whatever it is
    if isinstance(value, dict):
        mapping: Mapping[object, object] = value
        return [*mapping.keys(), *mapping.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if is_dataclass(value):
        return [getattr(value, one.name, None) for one in fields(value)]
    return vars(value).values() if hasattr(value, "__dict__") and not isinstance(value, type) else ()
