"""The events of a command as lines of a file, for programs that watch it: `FABULA_EVENTS=FILE fabula write ...`.

Each line is a JSON object: `type` is the event's name (`text_arrived`), `at` is the time in seconds since 1970, and the
other fields are those of `fabula.engine.events`. A kept text is in the project, so only its length is logged. Pieces of
text that arrive at nearly the same time become one line for each call. The first line is `command_started`. The last
line is `command_ended`, with the exit code and, if the command failed, the reason in words; a command that was killed
does not write it. The file is locked while the command runs, so that other programs can tell whether it still does.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from fabula.base.errors import UsageError
from fabula.base.files import PRIVATE, lock
from fabula.base.keys import keys_in, without_keys
from fabula.engine.events import Event, Kept, TextArrived
from fabula.models.base import Usage
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.engine.events import Listener

VARIABLE: Final = "FABULA_EVENTS"
LONGEST: Final = 20_000  # characters of a text in one line
LARGEST: Final = 64 * 2**20  # bytes of a log; from there on the texts that arrive are left out
_MOMENT: Final = 0.05  # seconds within which texts that arrive become one line
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass
class EventLog:
    """A file to which a command appends its events, in whole lines.

    Attributes:
        file: the file, which is created if needed and readable only by its owner.
        environ: the environment, whose keys are kept out of the file.
        largest: the size in bytes after which arriving text is no longer logged.
        clock: a function that gives the seconds since 1970.
        said: how the command ended, in addition to its exit code: the kind of error and its message.
    """

    file: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    largest: int = LARGEST
    clock: Callable[[], float] = time.time
    said: dict[str, str] = field(default_factory=dict, init=False)
    _handle: int | None = field(default=None, init=False)
    _size: int = field(default=0, init=False)
    _keys: list[str] = field(default_factory=list, init=False)
    _pending: dict[str, str] = field(default_factory=dict, init=False)  # texts that have arrived, by the call's path
    _timed: bool = field(default=False, init=False)
    _flushed: float = field(default=0.0, init=False)
    _full: bool = field(default=False, init=False)

    def open(self) -> None:
        """Create the file and lock it.

        Raises:
            UsageError: the file cannot be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        try:
            self._handle = os.open(self.file, flags, PRIVATE)
            self._size = os.fstat(self._handle).st_size
        except OSError as error:
            raise UsageError(
                f"Cannot write the events to {self.file}: {error.strerror}. Set {VARIABLE} to another file, or "
                "unset it."
            ) from error
        with suppress(OSError):  # another command appends to it too, or its disk cannot lock
            lock(self._handle)
        self._keys = keys_in(self.environ)
        if self._size and os.lseek(self._handle, -1, os.SEEK_END) >= 0 and os.read(self._handle, 1) != b"\n":
            self._write([b"\n"])  # ends what a killed command left half-written

    def hear(self, event: Event) -> None:
        """Log an event; a piece of arriving text waits a moment for more."""
        if isinstance(event, TextArrived):
            self._pending[event.path] = self._pending.get(event.path, "") + event.text
            self._flush_soon()
        else:
            self._write([*self._texts(), self._line(type_of(type(event)), _fields_of(event))])

    def tell(self, type_: str, /, **fields: Any) -> None:  # noqa: ANN401 - JSON data
        """Log something that is not an event of a run."""
        self._write([self._line(type_, fields)])

    def flush(self) -> None:
        """Write the waiting texts."""
        self._timed, self._flushed = False, time.monotonic()
        self._write(self._texts())

    def close(self) -> None:
        """Write the waiting texts, and close the file."""
        self.flush()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _flush_soon(self) -> None:
        import asyncio  # noqa: PLC0415 - 0.05 s that `fabula --help` does not need

        if self._timed:
            return
        wait = self._flushed + _MOMENT - time.monotonic()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nothing would call
            wait = 0
        if wait <= 0:
            self.flush()
        else:
            self._timed = True
            loop.call_later(wait, self.flush)

    def _texts(self) -> list[bytes]:
        """Lines for the texts that wait, each call's own in order."""
        pending, self._pending = self._pending, {}
        if not pending or self._full:
            return []
        if self._size >= self.largest:
            self._full = True
            return [self._line("texts_left_out", {"largest": self.largest})]
        return [
            self._line("text_arrived", {"path": path, "text": text[at : at + LONGEST]})
            for path, text in pending.items()
            for at in range(0, len(text), LONGEST)
        ]

    def _line(self, kind: str, fields: Mapping[str, Any]) -> bytes:
        data = {"type": kind, "at": round(self.clock(), 3), **fields}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
        return without_keys(text, self._keys).encode("utf-8", "replace") + b"\n"

    def _write(self, lines: Sequence[bytes]) -> None:
        """Put whole lines at the end, or nothing: a run does not fail because its log does."""
        if self._handle is None or not lines:
            return
        data = b"".join(lines)
        with suppress(OSError):
            written = os.write(self._handle, data)
            if written < len(data):  # the disk is full
                os.ftruncate(self._handle, os.fstat(self._handle).st_size - written)
                return
            self._size += written


def type_of(kind: type) -> str:
    """The name of a class of events in logs and over HTTP: `TextArrived` is "text_arrived"."""
    return _WORD.sub("_", kind.__name__).lower()


def _fields_of(event: Event) -> dict[str, Any]:
    """An event's fields as JSON data, long texts cut short; of a text that is kept, how many words it has."""
    found: dict[str, Any] = {}
    for name in event.__dataclass_fields__:
        value = getattr(event, name)
        if isinstance(value, Usage):
            found[name] = value.values()
        elif isinstance(event, Kept) and name == "text":
            found["words"] = count_words(value)
        else:
            found[name] = f"{value[:LONGEST]}..." if isinstance(value, str) and len(value) > LONGEST else value
    return found


def event_of(data: Mapping[str, Any]) -> Event | None:
    """The event of a line, without the text of a kept artefact; `None` if the line is not an event of a run.

    Raises:
        TypeError: a field is missing.
    """
    kind = next((one for one in get_args(Event) if _WORD.sub("_", one.__name__).lower() == data.get("type")), None)
    if kind is None:
        return None
    found = {name: data[name] for name in kind.__dataclass_fields__ if name in data}
    found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    found |= {"usage": Usage(**found["usage"])} if "usage" in found else {}
    found |= {"text": ""} if kind is Kept else {}
    event: Event = kind(**found)
    return event


EVENT_LOG: ContextVar[EventLog | None] = ContextVar("fabula_event_log", default=None)
"""The log of the running command, if it has one."""


def log_wanted(environ: Mapping[str, str]) -> EventLog | None:
    """The log that the environment asks for, opened; `None` if it asks for none.

    Raises:
        UsageError: the log cannot be written.
    """
    if not (file := environ.get(VARIABLE)):
        return None
    log = EventLog(Path(file), environ)
    log.open()
    EVENT_LOG.set(log)
    return log


def heard_by(listeners: Sequence[Listener]) -> Sequence[Listener]:
    """The listeners of a run, and the command's log if there is one."""
    log = EVENT_LOG.get()
    return listeners if log is None else (*listeners, log.hear)
