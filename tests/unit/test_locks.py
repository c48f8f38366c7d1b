"""Locks on a system without `fcntl`: the same rules, with the calls that Windows has."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# `msvcrt.locking` as Windows documents it, from Linux's locks that belong to an open file: a byte is locked at the
# place of the file pointer, and PermissionError says that somebody else has it.
_WINDOWS: Final = """
import fcntl, os, struct, sys, types

def locking(handle, mode, count):
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, os.lseek(handle, 0, os.SEEK_CUR), count, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, asked)
    except BlockingIOError as error:
        raise PermissionError(13, "Permission denied") from error

msvcrt = types.ModuleType("msvcrt")
msvcrt.locking, msvcrt.LK_NBLCK = locking, 2
sys.modules["msvcrt"], sys.modules["fcntl"] = msvcrt, None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "fchmod", "pread", "pwrite"):
    delattr(os, name)
"""
_WORK: Final = """
from pathlib import Path
from fabula.base.errors import ProjectError
from fabula.base.files import append_synced, held, read_text, remove_leftovers, write_atomically

folder = Path(sys.argv[1])
write_atomically(folder / "a.md", "one")
write_atomically(folder / "a.md", "two")
append_synced(folder / "b.log", b"line\\n")
assert (read_text(folder / "a.md", 9), (folder / "b.log").read_bytes()) == ("two", b"line\\n")
(folder / ".fabula-0123456789abcdef.tmp").write_text("left by a kill")
remove_leftovers([folder])
assert sorted(file.name for file in folder.iterdir()) == ["a.md", "b.log"]
with held(folder, "The folder"):
    try:
        with held(folder, "The folder"):
            raise AssertionError("held twice")
    except ProjectError as error:
        assert str(error) == f"The folder is in use by process {os.getpid()}. Wait for it to end, or stop it.", error
with held(folder, "The folder"):
    print("held again")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what stands in for Windows here is Linux's")
def test_files_are_written_and_folders_held_without_fcntl(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WINDOWS + _WORK, str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "held again\n", "")
