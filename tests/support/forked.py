"""Programs in processes of their own that take no time to load fabula: each is a fork of one that has loaded it.

ran = run(["write", "brief.md"], cwd=folder)          # as `python -m fabula write brief.md`
ran = run([str(folder), "3"], program=CHILD)          # as `python -c CHILD FOLDER 3`

A kill, an exit code, a closed pipe and a folder are those of a real process. What Python does before the first line of
a program is not tried; tests of that start an interpreter. Sets are ordered otherwise from one program to the next,
since two loaded processes with two seeds of hashes take turns.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOADED: Final = (
    *("harness", "commandline", "pickle", "jinja2.bccache", "fabula.engine.templates", "fabula.story.scratchpad"),
    *(f"fabula.cli.commands.{name}" for name in ("write", "update", "status", "edit", "decide", "show", "experiment")),
    *(f"fabula.systems.{name}.algorithm" for name in ("agents_room", "end_to_end", "magnet")),
)
_LONGEST: Final = 1 << 20
"""Bytes that tell a program, its arguments and its environment."""


class Loaded:
    """A process that has loaded fabula, and waits for programs.

    Attributes:
        process: its own.
        line: what is said to it and by it.
    """

    def __init__(self, seed: int) -> None:
        self.line, theirs = socket.socketpair()
        environ = dict(os.environ) | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)}
        # With one thread, since a fork has no other; this is said of libraries that begin some as they are loaded.
        environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], env=environ, pass_fds=[theirs.fileno()]
            )

    def run(self, told: bytes, files: Sequence[int], timeout: float) -> int:
        """The exit code of a program, as `subprocess` has it."""
        socket.send_fds(self.line, [len(told).to_bytes(4, "big")], files)
        self.line.sendall(told)
        pid = self._number()
        self.line.settimeout(timeout)
        try:
            return self._number()
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self.line.settimeout(None)
            self._number()
            raise
        finally:
            self.line.settimeout(None)

    def _number(self) -> int:
        return int.from_bytes(_all_of(self.line, 4), "big", signed=True)

    def end(self) -> None:
        """Let it end."""
        self.line.close()
        self.process.wait()


_TURNS: Final[list[Loaded]] = []


def run(
    arguments: Sequence[str],
    program: str | None = None,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    output: int | None = None,
    errors: int | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run `fabula`, or a `program` that is given as text, to its end.

    What it writes is in the result, but for what goes to file descriptors that are given.
    """
    if not _TURNS:
        _TURNS.extend(Loaded(seed) for seed in (1, 2))
        atexit.register(end)
    loaded = _TURNS[0]
    _TURNS.reverse()
    told = {
        "arguments": list(arguments), "program": program, "cwd": str(cwd or Path.cwd()), "env": dict(env or os.environ)
    }  # fmt: skip
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        files = (
            nothing.fileno(),
            out.fileno() if output is None else output,
            err.fileno() if errors is None else errors,
        )
        code = loaded.run(json.dumps(told).encode(), files, timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read().decode(), err.read().decode())


def end() -> None:
    """End the processes that have loaded fabula, where there are any."""
    while _TURNS:
        _TURNS.pop().end()


def _all_of(line: socket.socket, length: int) -> bytes:
    read = b""
    while len(read) < length:
        piece = line.recv(length - len(read))
        if not piece:
            raise EOFError("The other side has ended.")
        read += piece
    return read


def _forks(line: socket.socket) -> tuple[list[str], str | None] | None:
    """In a fork: the program that it is to be, and its arguments. In the process that forks: nothing, at its end."""
    while True:
        head, files, _, _ = socket.recv_fds(line, 4, 3)
        if not head:
            return None
        told = json.loads(_all_of(line, int.from_bytes(head, "big")))
        child = os.fork()
        if child == 0:
            line.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            _stand_anew()
            os.chdir(told["cwd"])
            os.environ.clear()
            os.environ.update(told["env"])
            return told["arguments"], told["program"]
        for file in files:
            os.close(file)
        line.sendall(child.to_bytes(4, "big", signed=True))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        line.sendall(code.to_bytes(4, "big", signed=True))


def _stand_anew() -> None:
    """Open what Python opens of a process at its start, since it remembers what they were."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(number, old.mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115 - a number
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _main() -> None:
    for module in _LOADED:
        __import__(module)
    gc.freeze()
    line = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what a terminal sends to all is for the tests
    forked = _forks(line)
    if forked is None:
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments, program = forked
    if program is None:
        sys.argv = ["fabula", *arguments]
        runpy.run_module("fabula", run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *arguments]
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test's own program


if __name__ == "__main__":
    _main()
