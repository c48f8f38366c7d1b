"""A process that works out what runs of long stories would ask, beside the one that serves pages.

Going over a long story takes seconds of computing, and Python computes in one thread of a process at a time: pages
would be slow meanwhile. The process is begun when it is first wanted, ends when nothing was asked of it for a minute,
and with the one that began it, because its stdin is then closed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias, cast

from fabula.app.workspace import Workspace
from fabula.base.errors import FabulaError
from fabula.base.memory import Trimmer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.writing import Expected

_IDLE: Final = 60.0  # seconds after which a process that is asked nothing ends
_PROGRAM: Final = """
import sys
sys.path[:] = sys.argv[1:]
from fabula.server.estimating import answer_all
answer_all(sys.stdin.buffer, sys.stdout.buffer, {idle})
"""

_Task: TypeAlias = "tuple[str, dict[str, str], dict[str, str], bool]"


class Estimator:
    """Works out estimates in a process of its own, one at a time; `close` ends it.

    Args:
        idle: seconds after which the process ends that is asked nothing.
    """

    def __init__(self, idle: float = _IDLE) -> None:
        self._idle = idle
        self._one = threading.Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(
        self, folder: Path, environ: Mapping[str, str], pending: Mapping[str, str], *, fit: bool
    ) -> Expected | None:
        """What a run would ask in a project (`Workspace.work_out`); `None` where that is to be worked out here.

        That is so while another estimate is worked out, where something stands in the way of a run, which is said
        here, and where no process can be had.
        """
        if not self._one.acquire(blocking=False):
            return None
        try:
            asked = pickle.dumps((str(folder.resolve()), dict(environ), dict(pending), fit))
            for _ in range(2):  # it may have ended just now, as nothing was asked
                with suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
                    return self._answer(asked)
                self._end()
            return None
        finally:
            self._one.release()

    def _answer(self, asked: bytes) -> Expected | None:
        if self._closed:
            return None
        process = self._process = self._process or self._begun()
        told, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        told.write(asked)
        told.flush()
        answer: Expected | None = pickle.load(answers)  # noqa: S301 - of our own process
        return answer

    def _begun(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-P", "-c", _PROGRAM.format(idle=self._idle), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # it only reads
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", stream).close()

    def close(self) -> None:
        """End the process; what is being worked out is given up."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._one:  # whoever waited for its answer has seen its end
            self._end()


def answer_all(asked: IO[bytes], answers: IO[bytes], idle: float) -> None:
    """Be the process: answer what is asked until nobody is there any more."""
    projects: dict[str, Workspace] = {}
    trimmer = Trimmer()
    while task := _next(asked, idle):
        folder, environ, pending, fit = task
        workspace = projects.setdefault(folder, Workspace(Path(folder)))
        workspace.environ = environ
        try:
            answer = workspace.work_out(pending, fit=fit)
        except FabulaError:  # whoever asked works it out again, and says what went wrong
            answer = None
        pickle.dump(answer, answers)
        answers.flush()
        trimmer.trim()


def _next(asked: IO[bytes], idle: float) -> _Task | None:
    """What is asked next; `None` at the end. The process ends where that takes too long."""
    leaving = threading.Timer(idle, os._exit, (0,))
    leaving.daemon = True
    leaving.start()
    try:
        task: _Task = pickle.load(asked)  # noqa: S301 - from the process that began this one
    except EOFError:
        return None
    finally:
        leaving.cancel()
    return task
