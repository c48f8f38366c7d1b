"""What was worked out of files and texts and is kept until they change: so much in all, and nothing for long unused.

A server reads the same projects again and again. All that it keeps of them stands in one store, `KEPT`, so that there
is one bound for all of it. Answers about short texts, which are many and small, are kept by `base.remembering`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import fields, is_dataclass
from hashlib import sha256
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from pathlib import Path

T = TypeVar("T")

MOST: Final = 64_000_000
"""Bytes that are kept in all, about."""
IDLE: Final = 600.0
"""Seconds for which an answer is kept that nobody asks for."""
_FILE: Final = "file"
_SCALARS: Final = (str, bytes, int, float, bool, type(None))


class KeptAnswers:
    """Answers, each under its owner (a folder) and name, with what it was made from; the last asked for stay longest.

    Args:
        most: bytes that are kept in all, as `weight` counts them; an answer that weighs more than half is not kept.
        clock: seconds, by a clock that nobody sets.
    """

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock, self._one = most, clock, threading.Lock()
        self._answers: OrderedDict[tuple[str, Hashable], tuple[object, Any, int, float]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._answers)

    def get(self, owner: str, name: Hashable) -> tuple[object, Any] | None:
        """What an answer was made from, and the answer; `None` where it is not kept."""
        key = (owner, name)
        with self._one:
            if (found := self._answers.get(key)) is None:
                return None
            self._answers[key] = (*found[:3], self._clock())
            self._answers.move_to_end(key)
            return found[0], found[1]

    def keep(self, owner: str, name: Hashable, of: object, answer: Any) -> None:  # noqa: ANN401 - whatever it is
        """Keep an answer in place of the one before; others go where it is too much."""
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
        """The answer that is kept, where it was made from `of`; else what `make` gives, which is kept."""
        known = self.get(owner, name)
        if known is not None and known[0] == of:
            found: T = known[1]
            return found
        made = make()
        self.keep(owner, name, of, made)
        return made

    def forget_idle(self, seconds: float = IDLE) -> bool:
        """Let go of what nobody has asked for so long; whether there was anything."""
        with self._one:
            before, last = len(self._answers), self._clock() - seconds
            while self._answers and next(iter(self._answers.values()))[3] < last:
                self._drop(next(iter(self._answers)))
            return len(self._answers) < before

    def _drop(self, key: tuple[str, Hashable]) -> None:
        if (found := self._answers.pop(key, None)) is not None:
            self.weight -= found[2]


KEPT: Final = KeptAnswers()
"""Of this process, whatever it is kept for."""


def of_file(file: Path, name: str, make: Callable[[], T]) -> T:
    """What `make` gives of a file, or gave since which the file has not changed.

    Raises:
        OSError: there is no such file.
    """
    about = file.stat()
    return KEPT.answer(str(file), name, (about.st_ino, about.st_size, about.st_mtime_ns), make)


def of_text(name: str, text: str, make: Callable[[str], T]) -> T:
    """What `make` gives of a text, or gave; the text itself is not kept."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return KEPT.answer(name, digest, None, lambda: make(text))


class KeptTexts:
    """What was read of a project's files, for who opens the project again; kept as answers are."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def get(self, name: str) -> tuple[object, str, str] | None:
        """What the file was like, and its text, whole and plain."""
        found = KEPT.get(self._owner, (_FILE, name))
        return None if found is None else (found[0], *found[1])

    def __setitem__(self, name: str, read: tuple[object, str, str]) -> None:
        """Keep it."""
        KEPT.keep(self._owner, (_FILE, name), read[0], read[1:])


def weight(value: object, most: int = MOST) -> int:
    """About how many bytes something takes with all that it holds, each thing once; where it is more, `most` and more.

    What is no text, number, collection or dataclass counts as it is, without what it refers to.
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
