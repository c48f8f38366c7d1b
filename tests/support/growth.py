"""How the time of a reader grows with its text. No test compares a clock with a number: machines are slow or busy.

assert growth(count_words, lambda n: "-" * n, 40_000) < LINEAR

Measured is the processor time of this thread alone, so that other threads and programs do not count.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import contextmanager
from time import get_clock_info, thread_time
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
TIMES: Final = 8
"""How many short texts are as long as the long one."""
LINEAR: Final = 3.0
"""Linear readers have a growth of 1; those whose time grows with the square have one of `TIMES`."""
_TRIES: Final = 6
_TICK: Final = get_clock_info("thread_time").resolution


def growth(read: Callable[[T], Any], text_of: Callable[[int], T], length: int, most: float = LINEAR) -> float:
    """How much longer one text of `length` takes than `TIMES` texts of an eighth of it: the least of several tries.

    No two texts are equal, so that nothing that a reader remembers helps it. Tries end once the growth is below `most`.
    """
    short = length // TIMES
    shorts, longs = [], []
    with _no_collection():
        read(text_of(short - 1))  # what it loads at its first use takes no time of the measured ones
        for number in range(_TRIES):
            shorts.append(sum(taken(read, text_of(short + number * TIMES + one)) for one in range(TIMES)))
            longs.append(taken(read, text_of(length + number)))
            if min(longs) < most * (min(shorts) + _TICK):
                break
    return min(longs) / (min(shorts) + _TICK)


def taken(read: Callable[[T], Any], text: T) -> float:
    """Processor seconds of this thread, to be compared with others of this machine and never with a number."""
    begun = thread_time()
    read(text)
    return thread_time() - begun


async def longest_step(ended: Callable[[], bool]) -> float:
    """Processor seconds for which this thread's event loop was held by one of its other tasks at most."""
    most = 0.0
    while not ended():
        begun = thread_time()
        await asyncio.sleep(0)
        most = max(most, thread_time() - begun)
    return most


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage of earlier tests in the time of this one."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
