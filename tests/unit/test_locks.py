"""Locks on a system without `fcntl`: the same rules, with the calls that Windows has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from fabula.server.runs import children
from fabula.server.runs.record import RunRecord

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
        assert str(error) == f"The folder is in use by process {os.getpid()}. Wait for it to finish, or stop it.", error
with held(folder, "The folder"):
    print("held again")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what stands in for Windows here is Linux's")
def test_files_are_written_and_folders_held_without_fcntl(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WINDOWS + _WORK, str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "held again\n", "")


# Every module once, so that what it stands on is there; then all of them anew, without what Windows lacks.
_AGAIN: Final = """
import importlib, pkgutil, os, signal, sys, types
import fabula

def imported(names, extras=False):
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert extras, f"{name}: {error}"
            continue
        yield name

every = [one.name for one in pkgutil.walk_packages(fabula.__path__, "fabula.", onerror=lambda name: None)]
wanted = [name for name in every if not name.rpartition(".")[2].startswith(("test_", "__main__"))]
there = list(imported(wanted, extras=True))  # not every extra is installed everywhere
for name in [name for name in sys.modules if name == "fabula" or name.startswith("fabula.")]:
    del sys.modules[name]
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
for name in ("fcntl", "termios", "tty", "pty", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in (
    "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "fchmod", "pread", "pwrite", "fork", "forkpty", "killpg", "setsid",
    "getuid", "geteuid", "getgid", "getpgid", "getpgrp", "setpgid", "nice", "sched_getaffinity", "uname", "mkfifo",
):
    delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGCONT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE"):
    delattr(signal, name)
again = list(imported(there))
assert again == there, set(there) - set(again)
rooms = {name.split(".")[1] for name in again}
print(*sorted(rooms & {"cli", "server", "app", "engine", "models", "project", "story"}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what stands in for Windows here is Linux's")
def test_every_room_is_imported_without_what_windows_lacks() -> None:
    ran = subprocess.run([sys.executable, "-c", _AGAIN], check=False, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (0, "app cli engine models project server story\n"), ran.stderr


def test_a_run_is_stopped_with_what_windows_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is asked to end with Ctrl-Break, and none is looked for with a signal, which would be a Ctrl-C."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr("os.kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.delattr("os.killpg")
    monkeypatch.setattr(children, "_STOP", 1)
    monkeypatch.setattr(children, "_is_locked", lambda _: True)
    assert children._exists(4)
    assert sent == []
    run = RunRecord(id="20260101-000000-abcdef", verb="write", pid=4)
    children._interrupt(children.RunProcess(("folder", run.id), run), Path("log"))
    assert sent == [(4, 1)]
