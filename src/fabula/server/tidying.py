"""What a server gives back while it runs: unused answers, and freed memory."""

from __future__ import annotations

import asyncio
import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from fabula.base.kept import KEPT

_TIDY: Final = 2.0  # seconds between two attempts to release memory
_SIZE: Final = Path("/proc/self/statm")
_MOST_PLACES: Final = -8  # `M_ARENA_MAX` in glibc's malloc.h
_WORTH: Final = 4_000_000  # bytes; giving back less is not worth the time that it takes


async def tidy() -> None:
    """Repeatedly drop unused caches and return free memory to the system."""
    loop, trimmer = asyncio.get_running_loop(), Trimmer()
    with ThreadPoolExecutor(1, "tidy") as thread:  # a separate thread: those of pages may all be busy for a long time
        while True:
            await asyncio.sleep(_TIDY)
            await loop.run_in_executor(thread, KEPT.forget_idle)
            await loop.run_in_executor(thread, trimmer.trim)


class Trimmer:
    """Returns freed memory whenever the process has grown since the last time; threads begun later share one arena.

    A large answer uses many times its size for a moment. glibc keeps freed memory for later, in a separate arena for
    each thread, as large as that thread's largest answer. A server that answered a few large requests would stay large
    for ever. Since only one Python thread computes at a time, one arena for all of them is enough.

    Only glibc has the functions (`malloc_trim`, `mallopt`); with other C libraries, and outside Linux, nothing is done.
    """

    def __init__(self) -> None:
        self._trim, self._before = _of_libc("malloc_trim"), 0
        if (set_option := _of_libc("mallopt")) is not None and self._trim is not None:
            set_option(_MOST_PLACES, 1)

    def trim(self) -> bool:
        """Return freed memory if the process has grown by much since the last time; returns whether it did."""
        if self._trim is None or (size := resident()) - self._before < _WORTH:
            return False
        self._trim(0)
        self._before = resident() or size
        return True


def resident() -> int:
    """Bytes of memory that this process holds; 0 if the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        return int(_SIZE.read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
    return 0


def _of_libc(name: str) -> ctypes._NamedFuncPointer | None:
    """A function of the C library; `None` if it has none of that name."""
    with suppress(OSError, TypeError, AttributeError):  # no such function, or no library of that kind
        found: ctypes._NamedFuncPointer = getattr(ctypes.CDLL(None), name)
        return found
    return None
