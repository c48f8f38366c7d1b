"""A command that a person types, as a run of its project: a studio shows its progress and can stop it.

The command leaves the same files as a process of the studio: a record with its process ID, and a locked log of its
events. A studio finds both as it finds the runs of another server, even if it starts later than the command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.base.errors import FabulaError
from fabula.base.files import BEGUN_BY, inside
from fabula.engine.event_log import EventLog
from fabula.server.runs.feed import EVENTS, events_in
from fabula.server.runs.record import RUNS, RunRecord, end_of, forget_old, new_name

if TYPE_CHECKING:
    from fabula.engine.events import Event


@dataclass
class OwnRun:
    """The run of this process, from its first call; commands that call no model or that a server began leave none.

    Attributes:
        folder: the folder of the project, which this process holds.
        verb: the verb that the command executes.
        model: the model of all roles, if it was given.
        environ: the environment; its keys stay out of the log.
    """

    folder: Path
    verb: str
    model: str
    environ: Mapping[str, str]
    _run: RunRecord | None = field(default=None, init=False)
    _log: EventLog | None = field(default=None, init=False)

    def begin(self) -> None:
        """Record that this command is running; a command that cannot be watched runs all the same."""
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
            making = place.with_name(f".{run.id}")  # a folder without its record would be ignored forever
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
        """Record how the command ended, including errors that are not fabula's own."""
        log, run = self._log, self._run
        if log is None or run is None:
            return
        log.flush()
        log.tell("command_ended", **end_of(error))
        log.close()
        self._log = None
        for event in events_in(log.file):
            run.hear(event)
        run.ended = time.time()
        with suppress(FabulaError):
            run.save(log.file.parent)
