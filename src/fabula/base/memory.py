"""Memory that was freed and that the C library still holds: given back to the system, where that can be done.

A large answer takes many times its size for a moment. glibc keeps what was freed for later, in as many places as there
were threads; a server that answered a few large requests would look large for ever.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path
from typing import Final

_SIZE: Final = Path("/proc/self/statm")
_WORTH: Final = 16_000_000  # bytes; giving back less is not worth the time that it takes


class Trimmer:
    """Gives freed memory back whenever the process has grown since the last time; else it does nothing.

    Only glibc has what it takes (`malloc_trim`); with other C libraries, and outside Linux, nothing is done.
    """

    def __init__(self) -> None:
        self._trim, self._before = _trim_of_libc(), 0

    def trim(self) -> bool:
        """Give back what was freed, where the process has grown by much since the last time; whether that was done."""
        if self._trim is None or (size := resident()) - self._before < _WORTH:
            return False
        self._trim(0)
        self._before = resident() or size
        return True


def resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        return int(_SIZE.read_text(encoding="ascii").split()[1]) * _page()
    return 0


def _page() -> int:
    import mmap  # noqa: PLC0415 - few commands need it

    return mmap.PAGESIZE


def _trim_of_libc() -> ctypes._NamedFuncPointer | None:
    with suppress(OSError, TypeError, AttributeError):  # no such function, or no library of that kind
        return ctypes.CDLL(None).malloc_trim
    return None
