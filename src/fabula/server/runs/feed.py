"""All events of all projects of a server, with permanent numbers; `/api/v1/events` replays and follows them.

The events themselves are in the logs of the runs, which their processes write. A small file, the ledger, stores only
the numbers of the lines. So the numbers survive a restart, and nothing is copied. A client that has seen number N asks
for the events after N, past or future. This works in the same way for a page that is opened, reloaded or reconnected.
"""

from __future__ import annotations

import asyncio
import json
import os
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

from fabula.base.errors import ProjectError
from fabula.base.files import PRIVATE, append_synced, lock, make_folder, no_link, write_atomically, write_error

Source: TypeAlias = tuple[str, str]
"""The folder of a project and a run in it, or two empty strings for the server itself."""

OWN: Final[Source] = ("", "")
EVENTS: Final = "events.jsonl"
UNREADABLE: Final = {"type": "unreadable"}
_PIECE: Final = 2**17  # bytes that are read at a time; no line of ours is longer
_SPAN: Final = 2**16  # bytes that one entry of the ledger covers; little must be read to find an event
_RECENT: Final = 2048  # events that are kept in memory for clients that follow closely
_LARGEST_RECENT: Final = 8 * 2**20  # and their bytes
BATCH: Final = 128
"""The maximum number of events that are sent at once."""
_MOST_SPANS: Final = 20_000  # entries of the ledger that a new server reads
_LARGEST_LEDGER: Final = 64 * 2**20
_LARGEST_OWN: Final = 4 * 2**20  # bytes of the server's own events; a new server starts over if there are more
_LEDGERS: Final = 100  # concurrent servers of the same projects


@dataclass(frozen=True, slots=True)
class EventSpan:
    """Consecutive events in a log, with numbers from `first`.

    Attributes:
        first: the number of the first event.
        count: the number of events (lines).
        source: the run.
        start: the byte in its log at which the first event begins.
        end: the byte after the last event.
    """

    first: int
    count: int
    source: Source
    start: int
    end: int

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self.first + self.count - 1


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its number, as JSON."""

    n: int
    data: bytes

    @property
    def sse(self) -> bytes:
        """The event as a server-sent event."""
        return b"id: %d\ndata: %b\n\n" % (self.n, self.data)


@dataclass
class Feed:
    """The events of all runs of some projects, in one order.

    Attributes:
        folder: the folder of the ledger and the server's own events.
        name: the name of both files, without suffix.
        clock: seconds since 1970.
        names: the name of each project in events, by its folder.
        last: the number of the last event.
        ended: whether there will be no more events; followers are released.
        followers: the number of followers.
    """

    folder: Path
    name: str
    clock: Callable[[], float]
    names: Mapping[str, str] = field(default_factory=dict)
    last: int = field(default=0, init=False)
    ended: bool = field(default=False, init=False)
    followers: int = field(default=0, init=False)
    _file: Path = field(default=Path(), init=False)
    _spans: list[EventSpan] = field(default_factory=list, init=False)
    _read: dict[Source, int] = field(
        default_factory=dict, init=False
    )  # the number of bytes of each log that have numbers
    _recent: deque[Numbered] = field(default_factory=deque, init=False)
    _recent_bytes: int = field(default=0, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _handle: int | None = field(default=None, init=False)
    _lock: int | None = field(default=None, init=False)

    def open(self) -> None:
        """Read the ledger, or begin one.

        Raises:
            ProjectError: the ledger cannot be written.
        """
        make_folder(self.folder, "Set XDG_STATE_HOME to a folder that you can write to.", mode=0o700)
        try:
            self._lock = self._own_ledger()
            self._load()
            write_atomically(self._file, "".join(map(_entry, self._spans)), mode=PRIVATE)
            self._handle = os.open(self._file, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise write_error(self._file, error) from error
        self.take_in(OWN)

    def end(self) -> None:
        """Release all followers, since the server ends."""
        self.ended = True
        self._notify()

    def close(self) -> None:
        """Release the ledger."""
        self.end()
        for handle in (self._handle, self._lock):
            if handle is not None:
                os.close(handle)
        self._handle = self._lock = None

    def _own_ledger(self) -> int:
        """Lock a ledger that no other server of the same projects is using."""
        for number in range(_LEDGERS):
            name = f"{self.name}-{number}" if number else self.name
            handle = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, PRIVATE)
            with suppress(BlockingIOError):
                lock(handle)
                self._file = self.folder / f"{name}.ledger"
                return handle
            os.close(handle)
        raise ProjectError(f"{_LEDGERS} servers of these projects are already running. Stop some of them.")

    def _load(self) -> None:
        with suppress(OSError):
            if self._file.stat().st_size <= _LARGEST_LEDGER:
                for line in self._file.read_text(encoding="utf-8", errors="replace").splitlines():
                    if (span := _span_of(line)) is None or (self._spans and span.first != self.last + 1):
                        break  # a line that a killed server left incomplete
                    self._add(span)
        self._spans = self._spans[-_MOST_SPANS:]
        own = self.log_of(OWN)
        with suppress(OSError):
            if own.stat().st_size > _LARGEST_OWN:
                own.unlink()
                self._read.pop(OWN, None)
                removed = ("", "removed")
                self._spans = [replace(one, source=removed) if one.source == OWN else one for one in self._spans]

    def _add(self, span: EventSpan) -> None:
        """Append a span, or extend the last span if this one continues it."""
        before = self._spans[-1] if self._spans else None
        self.last, self._read[span.source] = span.last, span.end
        if before and before.source == span.source and before.end == span.start and span.end - before.start <= _SPAN:
            self._spans[-1] = EventSpan(before.first, before.count + span.count, span.source, before.start, span.end)
        else:
            self._spans.append(span)

    # reading events -----------------------------------------------------------------------------------------------

    def log_of(self, source: Source) -> Path:
        """The log of a run or of the server."""
        if not source[0]:
            return self._file.with_suffix(f".{source[1] or 'own'}.jsonl")
        return Path(source[0]) / ".fabula" / "runs" / source[1] / EVENTS

    def taken_in(self, source: Source) -> int:
        """The number of bytes of a run's log that have numbers."""
        return self._read.get(source, 0)

    def take_in(self, source: Source) -> list[dict[str, Any]]:
        """Number the new events of one piece of a log; gives these events."""
        start = self._read.get(source, 0)
        lines, end = _lines_at(self.log_of(source), start)
        if not lines:
            return []
        span = EventSpan(self.last + 1, len(lines), source, start, end)
        if self._handle is not None:
            with suppress(OSError):  # a full disk; the numbers are valid while this server runs
                os.write(self._handle, _entry(span).encode())
        events = [_event_of(line) for line in lines]
        self._remember(self._all_numbered(lines, events, span))
        self._add(span)
        if len(self._spans) > 2 * _MOST_SPANS:
            self._spans = self._spans[-_MOST_SPANS:]
        self._notify()
        return events

    def _remember(self, numbered: Iterable[Numbered]) -> None:
        """Keep the last events in memory; one of them may be as long as a piece of a log."""
        for event in numbered:
            if len(self._recent) == _RECENT:
                self._recent_bytes -= len(self._recent.popleft().data)
            self._recent.append(event)
            self._recent_bytes += len(event.data)
        while self._recent_bytes > _LARGEST_RECENT:
            self._recent_bytes -= len(self._recent.popleft().data)

    def tell(self, type_: str, folder: str = "", run: str = "", **fields: Any) -> None:  # noqa: ANN401 - JSON data
        """Append an event of the server; it may be about a run."""
        data = {"type": type_, "at": round(self.clock(), 3), "of": [folder, run], **fields}
        with suppress(ProjectError):  # a full disk
            append_synced(self.log_of(OWN), json.dumps(data, ensure_ascii=False).encode() + b"\n", sync=False)
        self.take_in(OWN)

    def _all_numbered(self, lines: list[bytes], events: list[dict[str, Any]], span: EventSpan) -> Iterator[Numbered]:
        """The events of a span, with their numbers, as they are sent."""
        folder, run = span.source
        about = _shown({"project": self.names.get(folder, ""), "run": run})[1:]
        for n, (line, event) in enumerate(zip(lines, events, strict=True), span.first):
            if span.source == OWN:
                folder, run = event.pop("of", OWN)
                about = _shown({"project": self.names.get(folder, ""), "run": run})[1:]
            as_written = span.source != OWN and event is not UNREADABLE and line[-1:] == b"}" and b"\r" not in line
            shown = line if as_written else _shown(event)
            # If a field occurs twice, the last one counts, so that a log cannot claim to belong to another run.
            yield Numbered(n, b'%b,"n":%d,%b' % (shown[:-1], n, about))

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # giving events out ------------------------------------------------------------------------------------------------

    def after(self, n: int) -> list[Numbered]:
        """The next events after number `n`, at most as many as are sent at a time."""
        if n >= self.last:
            return []
        if self._recent and n + 1 >= self._recent[0].n:
            begin = n + 1 - self._recent[0].n
            return list(islice(self._recent, begin, begin + BATCH))
        place = bisect_right(self._spans, n + 1, key=lambda span: span.first) - 1
        if place < 0:  # it was in an older ledger
            return [_gone(self._spans[0].first - 1 if self._spans else self.last)]
        span = self._spans[place]
        lines = _lines_between(self.log_of(span.source), span)
        if len(lines) != span.count:
            return [_gone(span.last)]
        skipped = n + 1 - span.first
        wanted = lines[skipped : skipped + BATCH]
        part = EventSpan(n + 1, len(wanted), span.source, span.start, span.end)
        return list(self._all_numbered(wanted, [_event_of(line) for line in wanted], part))

    async def follow(self, n: int, beat: float) -> AsyncIterator[list[Numbered]]:
        """The events after number `n`, as they come; an empty list every `beat` seconds is a sign of life."""
        if n > self.last:  # the number came from a server whose ledger is gone
            yield [Numbered(self.last, _shown({"type": "numbers_anew", "n": self.last, "project": "", "run": ""}))]
            n = self.last
        self.followers += 1
        try:
            while not self.ended:
                changed = self._changed
                if events := self.after(n):
                    n = events[-1].n  # by the events sent: more may have come in the meantime
                    yield events
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), beat)
                except TimeoutError:
                    yield []
        finally:
            self.followers -= 1


def events_in(file: Path, until: int | None = None) -> Iterator[dict[str, Any]]:
    """The events in a log, up to a byte or to the end."""
    at = 0
    while until is None or at < until:
        lines, end = _lines_at(file, at)
        if not lines:
            return
        for line in lines:
            at += len(line) + 1
            if until is not None and at > until:
                return
            yield _event_of(line)
        at = end


def _gone(last: int) -> Numbered:
    """The event that replaces those whose log is gone, up to number `last`."""
    return Numbered(last, _shown({"type": "events_gone", "n": last, "project": "", "run": ""}))


def _shown(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _entry(span: EventSpan) -> str:
    return json.dumps([span.first, span.count, *span.source, span.start, span.end]) + "\n"


def _span_of(line: str) -> EventSpan | None:
    try:
        first, count, folder, run, start, end = json.loads(line)
        return EventSpan(int(first), int(count), (str(folder), str(run)), int(start), int(end))
    except (ValueError, TypeError):
        return None


def _event_of(line: bytes) -> dict[str, Any]:
    """An event from a line of a log; an unreadable line is an event too, so that the numbers do not change.

    JSON that only Python accepts counts as unreadable: no browser reads `NaN` or UTF-16, and half a character cannot be
    sent.
    """
    try:
        event = json.loads(line.decode("utf-8"), parse_constant=_no_json)
        if b"\\u" in line:
            json.dumps(event, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        event = None
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else UNREADABLE


def _no_json(constant: str) -> None:
    raise ValueError(constant)


def _lines_at(file: Path, start: int) -> tuple[list[bytes], int]:
    """The complete lines in one piece of a log from a byte onwards, and the byte after them."""
    data = _bytes_of(file, start, _PIECE)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == _PIECE:  # not one of our logs: a line without an end
        return [data], start + len(data)
    return data[:end].split(b"\n")[:-1], start + end


def _lines_between(file: Path, span: EventSpan) -> list[bytes]:
    data = _bytes_of(file, span.start, span.end - span.start)
    return data.removesuffix(b"\n").split(b"\n") if len(data) == span.end - span.start else []


def _bytes_of(file: Path, start: int, most: int) -> bytes:
    try:
        with open(file, "rb", opener=no_link) as opened:
            opened.seek(start)
            return opened.read(most)
    except OSError:
        return b""
