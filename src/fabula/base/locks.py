"""Locks on open files, which the system releases when their process ends, on POSIX and on Windows."""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _FAR = 1 << 40  # a byte that no file has: Windows keeps others from reading what is locked

    def lock(handle: int) -> None:
        """Lock an open file for this process only, or fail.

        Raises:
            BlockingIOError: another process has locked it.
            OSError: its disk cannot lock files.
        """
        place = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined] # mypy looks from POSIX
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(handle, place, os.SEEK_SET)
else:

    def lock(handle: int) -> None:
        """Lock an open file or folder for this process only, or fail.

        Raises:
            BlockingIOError: another process has locked it.
            OSError: its disk cannot lock files.
        """
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
