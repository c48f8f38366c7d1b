"""The embedded engine's process, seen from here: lines of JSON in both directions, and how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from fabula.models.base import Json


SPIN = "GOMP_SPINCOUNT"
"""How many times an idle engine thread looks for work before it sleeps. OpenMP reads this when it loads the library."""
SPIN_POLICIES = (SPIN, "OMP_WAIT_POLICY")
_PROGRAM = Path(__file__).with_name("engine_process.py")
_PATIENCE = 5.0  # seconds until a process that was told to end is killed
_SAID = 2000  # bytes from the end of what it wrote to stderr


class ChildEndedError(Exception):
    """The process ended by itself; the message says how."""


class EngineChild:
    """A running process of `engine_process`, ended by `close`; `spin` is its threads' spin, `None` the default.

    It gets no signals from the terminal, and ends with this process, because its stdin is then closed.
    """

    def __init__(self, spin: int | None) -> None:
        environ = dict(os.environ) if spin is None else {**os.environ, SPIN: str(spin)}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-P", str(_PROGRAM), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environ,
            start_new_session=True,
        )
        self._asked = cast("IO[bytes]", self._process.stdin)
        self._told = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def send(self, line: Json) -> None:
        """Send a line to the process; this does nothing if it has ended, which `lines` shows."""
        with suppress(OSError, ValueError):
            self._asked.write(json.dumps(line).encode() + b"\n")
            self._asked.flush()

    def lines(self) -> Iterator[Json]:
        """The lines that the process writes, until it ends."""
        with suppress(ValueError):  # closed meanwhile, or killed within a line
            for line in self._told:
                yield json.loads(line)

    def answer(self) -> Json:
        """The next line that the process writes.

        Raises:
            ChildEndedError: the process has ended.
        """
        for line in self.lines():
            return line
        raise ChildEndedError(self.ended())

    def ended(self) -> str:
        """How the process ended, in words: a signal or a status, and the last line that it wrote to stderr."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        if code == -signal.SIGKILL:
            return "killed by the system, probably because memory was short"
        how = f"signal {-code}" if code < 0 else f"status {code}"
        with suppress(OSError, ValueError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _SAID))
            if said := self._errors.read().decode(errors="replace").split("\n"):
                how += "".join(f": {line.strip()}" for line in [*filter(str.strip, said)][-1:])
        return how

    def close(self) -> None:
        """End the process, and wait for its end; safe to call twice."""
        with suppress(OSError):
            self._asked.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._told.close()  # waits for who listens, and hears the end
        self._errors.close()
