"""Runs in threads of the server, for work that a person waits for at the cursor: a process takes a second to start.

Such a run leaves the same files as a process, and is followed and stopped in the same way; it ends with the server.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.doors import at_door
from fabula.base.files import PRIVATE, write_atomically
from fabula.engine.event_log import EVENT_LOG
from fabula.server.runs.record import end_of
from fabula.verbs.base import adapter

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from fabula.engine.event_log import EventLog
    from fabula.verbs.base import Verb

_PATIENCE: Final = 1.0  # seconds that a run has to end with the server


@dataclass
class RunHere:
    """A run in a thread.

    Attributes:
        log: where its events are written.
        output: the file for its result.
        verb: what is done.
        work: makes the result.
    """

    log: EventLog
    output: Path
    verb: Verb
    work: Coroutine[Any, Any, Any]
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _task: asyncio.Task[Any] | None = field(default=None, init=False)
    _thread: threading.Thread = field(init=False)
    _stopped: bool = field(default=False, init=False)

    def start(self) -> None:
        """Begin.

        Raises:
            UsageError: the log cannot be written.
        """
        self.log.open()
        self._thread = threading.Thread(target=self._run, name="fabula-run", daemon=True)
        self._thread.start()

    def poll(self) -> int | None:
        """`None` while it runs, as a process says."""
        return None if self._thread.is_alive() else 0

    def stop(self) -> None:
        """Cancel it; finished calls are kept."""
        self._stopped = True
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)

    def end(self) -> None:
        """Cancel it, and wait a moment until it has ended."""
        self.stop()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        EVENT_LOG.set(self.log)
        error: BaseException | None = None
        self.log.tell("command_started")
        try:
            with at_door("page"):
                made = asyncio.run(self._made())
                write_atomically(self.output, adapter(self.verb.result).dump_json(made), mode=PRIVATE)
        except BaseException as failed:  # noqa: BLE001 - whatever it is, the run has ended with it
            error = failed
        self.log.flush()
        self.log.tell("command_ended", **end_of(error))
        self.log.close()

    async def _made(self) -> Any:  # noqa: ANN401 - what a verb gives
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._stopped:
            raise asyncio.CancelledError
        return await self.work
