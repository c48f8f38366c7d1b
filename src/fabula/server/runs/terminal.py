"""A command that a person types, as a run of its project: a studio shows how it goes on, and can stop it.

It leaves what a process of the studio's leaves: a record with its number, and a locked log of its events. A studio
finds both as it finds what another server has begun. So nothing has to be at work for a command to be seen later.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fabula.base.errors import FabulaError, PausedError, kind_of
from fabula.base.files import BEGUN_BY, inside
from fabula.engine.event_log import EventLog
from fabula.server.runs.feed import EVENTS, events_in
from fabula.server.runs.record import RUNS, RunRecord, forget_old, new_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabula.engine.events import Event


@dataclass
class OwnRun:
    """The run of this process, from its first call on; what asks nobody leaves none, nor does what a server began.

    Attributes:
        folder: the project's, which this process holds.
        verb: that the command does.
        model: of all roles, where it was typed.
        environ: holds keys, which stay out of the log.
    """

    folder: Path
    verb: str
    model: str
    environ: Mapping[str, str]
    _run: RunRecord | None = field(default=None, init=False)
    _log: EventLog | None = field(default=None, init=False)

    def begin(self) -> None:
        """Say that this command is at work. One that cannot be watched works all the same."""
        if self.environ.get(BEGUN_BY):
            return
        now = time.time()
        run = RunRecord(
            id=new_name(now), verb=self.verb, arguments={"model": self.model}, state="running", terminal=True
        )
        run.created = run.started = now
        run.pid = os.getpid()
        with suppress(FabulaError, OSError):
            forget_old(self.folder)
            place = inside(self.folder, RUNS) / run.id
            making = place.with_name(f".{run.id}")  # a folder without its record would be passed over for ever
            run.save(making)
            making.rename(place)
            log = EventLog(place / EVENTS, self.environ)
            log.open()
            self._run, self._log = run, log

    def hear(self, event: Event) -> None:
        """Log an event."""
        if self._log is not None:
            self._log.hear(event)

    def end(self, error: BaseException | None) -> None:
        """Record how the command ended; an error that is none of fabula's own is one, too."""
        log, run = self._log, self._run
        if log is None or run is None:
            return
        said: dict[str, Any] = {"exit_code": 0}
        if error is not None:
            said = {"exit_code": 1, "kind": type(error).__name__, "message": str(error)}
        if isinstance(error, FabulaError):
            said |= {"exit_code": error.exit_code, "kind": kind_of(error)}
        if isinstance(error, PausedError):
            said["artefact"] = error.path
        log.flush()
        log.tell("command_ended", **said)
        log.close()
        self._log = None
        for event in events_in(log.file):
            run.hear(event)
        run.ended = time.time()
        with suppress(FabulaError):
            run.save(log.file.parent)
