"""Runs as processes: begun one at a time in each project, followed through their logs, stopped, and found again.

A process does not belong to a server: it has its own session and writes its own log. So a server can end or be killed
while a story is written, and the next one continues to watch. The lock on its log shows that a process is alive.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.doors import at_door
from fabula.base.errors import FabulaError, UnknownNameError, UsageError
from fabula.base.files import (
    BEGUN_BY,
    PRIVATE,
    STUDIO,
    holder,
    inside,
    lock,
    make_folder,
    no_link,
    read_bytes,
    read_text,
    write_atomically,
)
from fabula.engine.event_log import EVENT_LOG, VARIABLE, EventLog
from fabula.project.trust import Trust, TrustError, acts_in
from fabula.server.runs.feed import EVENTS, Feed, events_in
from fabula.server.runs.looking import looking
from fabula.server.runs.record import NAME, RUNS, RunRecord, Tally, end_of, forget_old, new_name, read_run, runs_in
from fabula.verbs.base import adapter, long_verb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
    from typing import Protocol

    from fabula.server.runs.feed import Source
    from fabula.verbs.base import Verb
    from fabula.verbs.home import Project

    class Shelf(Protocol):
        """The place of the projects."""

        @property
        def names(self) -> list[str]:
            """The names of the projects."""

        def folder(self, name: str) -> Path:
            """The folder of a project."""

        def __getitem__(self, name: str) -> Project:
            """A project, opened."""


_EVERY: Final = 0.02  # seconds between two readings of the logs of runs
_RESCAN: Final = 2.0  # seconds between two scans of the projects' folders, for runs that another server has begun
_HARDER: Final = 3.0  # seconds after which a process that was asked to stop is killed
_YOUNG: Final = 20.0  # seconds within which a process may not have locked its log yet
_MOST_QUEUED: Final = 50
_LARGEST: Final = 20_000_000  # bytes of a result
_MESSAGES, _OUTPUT = "messages.txt", "output.json"
_TAIL: Final = 2_000  # characters of a process's last messages that are shown
_KILLED: Final = (
    "The process was killed before it could report a reason. Finished work is kept. To continue, start the run again."
)
_NOT_BEGUN: Final = "The run had not begun when the server stopped. No model was called."
FABULA: Final = (sys.executable, "-P", "-m", "fabula")
"""This program. It runs in the project's folder, which may not be trusted, so `-P` prevents imports from there."""


@dataclass
class RunProcess:
    """A run that is queued or running.

    Attributes:
        source: the folder of its project, and the name of the run.
        run: the record of the run.
        process: the process, if this server has begun it.
        asked: when it was asked to stop, by a monotonic clock.
    """

    source: Source
    run: RunRecord
    process: subprocess.Popen[bytes] | RunHere | None = None
    asked: float | None = None


@dataclass
class Runs:
    """All runs of the projects on a shelf.

    Attributes:
        shelf: the place of the projects.
        feed: numbers the events of the projects.
        clock: seconds since 1970.
        environ: the environment of the processes.
        command: the beginning of the command line of a process.
    """

    shelf: Shelf
    feed: Feed
    clock: Callable[[], float] = time.time
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    command: Sequence[str] = FABULA
    _open: dict[Source, RunProcess] = field(default_factory=dict, init=False)
    _known: set[Source] = field(default_factory=set, init=False)
    _begun: set[Source] = field(default_factory=set, init=False)  # runs that users of this server have ordered
    _names: dict[str, str] = field(default_factory=dict, init=False)
    _scanned: float = field(default=-_RESCAN, init=False)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Follow the runs while this context is open; afterwards, they continue by themselves."""
        self.feed.names = self._names
        self.feed.open()
        self._rescan()
        try:
            async with looking(self._look):
                yield
        finally:
            for child in self._open.values():
                if child.run.state == "queued":
                    self._settle_unbegun(child)
                elif isinstance(child.process, RunHere):
                    child.process.end()
                elif child.process is not None and child.process.poll() is None:
                    child.process.returncode = 0  # it continues by itself, and Python would warn of it
            self.feed.close()

    # asking for runs ------------------------------------------------------------------------------------------------

    def start(self, project: str, verb: str, arguments: Mapping[str, Any] | None = None) -> RunRecord:
        """Begin a run of a verb, or queue it behind the current run of its project.

        Raises:
            UsageError: an argument is invalid, too many runs wait, or the folder of runs is elsewhere.
            FabulaError: there is no such verb or project, or the project cannot be written to.
        """
        folder = self._folder(project)
        inside(folder, RUNS)
        given = long_verb(verb).checked(arguments or {})
        long_verb(verb).from_outside(given, self._folder)
        if sum(child.run.state == "queued" for child in self._open.values()) >= _MOST_QUEUED:
            raise UsageError(f"{_MOST_QUEUED} runs are already waiting. Stop some of them, or wait.")
        now = self.clock()
        name = new_name(now)
        run = RunRecord(id=name, verb=verb, arguments=given, created=now, pid=os.getpid())
        child = RunProcess((str(folder), name), run)
        run.save(self._place(child.source))
        self._known.add(child.source)
        self._begun.add(child.source)
        self._open[child.source] = child
        self.feed.tell("run_queued", *child.source, kind=verb)
        self._begin_next(str(folder))
        return run

    def again(self, project: str, name: str, *, anew: bool = False) -> RunRecord:
        """Repeat a run: it continues from the finished work or, with `anew`, rewrites existing texts.

        Raises:
            UsageError: the run has not ended, or its record would do something that is not allowed.
            FabulaError: there is no such run.
        """
        run, folder = self.get(project, name), self._folder(project)
        if run.is_open:
            raise UsageError(f"The run {name} has not ended yet.")
        if (str(folder), name) not in self._begun:
            _check_record(run, folder)
        return self.start(project, run.verb, {**run.arguments, **({"anew": True} if anew else {})})

    def result(self, project: str, name: str) -> bytes:
        """The result of a run's verb, as JSON.

        Raises:
            UsageError: the run is not finished or has no result.
            UnknownNameError: there is no such run.
        """
        run = self.get(project, name)
        if run.state != "finished":
            raise UsageError(f"The run {name} has no result. Its state is {run.state!r}.")
        return read_bytes(self._place((str(self._folder(project)), name)) / _OUTPUT, _LARGEST, links=False)

    def stop(self, project: str, name: str) -> RunRecord:
        """Stop a run within a second, like Ctrl-C; a second call stops it immediately.

        Raises:
            FabulaError: there is no such run.
        """
        self._rescan_runs()  # it may just have begun elsewhere
        run = self.get(project, name)
        child = self._open.get((str(self._folder(project)), name))
        if child is None or not run.is_open:
            return run
        if run.state == "queued":
            run.state, run.ended, run.message = "stopped", self.clock(), "The run was removed from the queue."
            self._settle(child)
        elif child.asked is None:
            child.asked = time.monotonic()
            _interrupt(child, self.feed.log_of(child.source))
        else:
            _kill(child, self.feed.log_of(child.source))
        return run

    def get(self, project: str, name: str) -> RunRecord:
        """A run.

        Raises:
            UnknownNameError: there is no run of that name.
        """
        folder = self._folder(project)
        if (child := self._open.get((str(folder), name))) is not None:
            return child.run
        run = read_run(self._place((str(folder), name))) if NAME.fullmatch(name) else None
        if run is None:
            raise UnknownNameError("run", name[:100], [one.id for one in self.of(project)])
        return run

    def of(self, project: str) -> list[RunRecord]:
        """The runs of a project, newest first."""
        folder = self._folder(project)
        found = []
        for name in runs_in(folder):
            source = str(folder), name
            child = self._open.get(source)
            run = child.run if child is not None else read_run(self._place(source))
            found += [run] if run is not None else []
        # Names have only whole seconds, and several runs may be requested in one second.
        return sorted(found, key=lambda run: (run.created, run.id), reverse=True)

    async def events(self, project: str, name: str) -> tuple[int, list[dict[str, Any]]]:
        """The number after which new events come, and a run's events so far, with the text of each call in one piece.

        Raises:
            UnknownNameError: there is no such run.
        """
        run = self.get(project, name)
        source = (str(self._folder(project)), name)
        until, last = self.feed.taken_in(source) if run.is_open else None, self.feed.last
        return last, await asyncio.to_thread(_whole_texts, self.feed.log_of(source), until)

    def messages(self, project: str, name: str) -> str:
        """The last messages of a run, apart from its events."""
        return self._messages((str(self._folder(project)), name))

    def at_work_in(self, folder: Path) -> str:
        """The name of a run that is queued or running in a folder; empty if there is none."""
        found = (child.run for child in self._open.values() if child.source[0] == str(folder))
        return next((run.id for run in found if run.state in ("queued", "running")), "")

    @property
    def running(self) -> list[RunRecord]:
        """The runs that are in progress."""
        return [child.run for child in self._open.values() if child.run.state == "running"]

    # following runs -------------------------------------------------------------------------------------------------

    async def _look(self) -> float:
        """Read new events; gives the seconds until the next look."""
        if time.monotonic() - self._scanned >= _RESCAN:
            await asyncio.to_thread(self._find_names)
            self._rescan_runs()
        busy = False
        for child in [child for child in self._open.values() if child.run.state != "queued"]:
            busy = self._take_in(child) or busy
            self._look_after(child)
        return 0 if busy else _EVERY  # other tasks run after each piece

    def _take_in(self, child: RunProcess) -> bool:
        """Read a run's log; gives whether there was something new."""
        events = self.feed.take_in(child.source)
        for event in events:
            child.run.hear(event)
        return bool(events)

    def _look_after(self, child: RunProcess) -> None:
        """Check whether a process has ended or does not stop."""
        if child.asked is not None and time.monotonic() - child.asked > _HARDER:
            _kill(child, self.feed.log_of(child.source))
        if self._lives(child):
            return
        while self._take_in(child):
            pass
        if child.run.is_open:
            said = self._messages(child.source)
            child.run.state = "stopped" if child.asked is not None else "killed"
            child.run.message = _KILLED + (f" Its last messages were: {said}" if said else "")
        self._settle(child)

    def _lives(self, child: RunProcess) -> bool:
        if child.process is not None:
            return child.process.poll() is None
        if _is_locked(self.feed.log_of(child.source)):
            return True
        young = 0 <= self.clock() - (child.run.started or 0.0) < _YOUNG
        return young and child.run.exit_code is None and child.run.pid is not None and _exists(child.run.pid)

    def _settle(self, child: RunProcess) -> None:
        """Record how a run ended, and begin the next run of its project."""
        run, folder = child.run, child.source[0]
        run.ended = self.clock()
        with suppress(FabulaError):  # the project is gone, or the disk is full
            run.save(self._place(child.source))
        self._open.pop(child.source, None)
        self.feed.tell("run_ended", *child.source, state=run.state, message=run.message, waits_for=run.waits_for)
        self._begin_next(folder)

    def _settle_unbegun(self, child: RunProcess) -> None:
        child.run.state, child.run.message, child.run.ended = "stopped", _NOT_BEGUN, self.clock()
        with suppress(FabulaError):
            child.run.save(self._place(child.source))

    # beginning runs -------------------------------------------------------------------------------------------------

    def _begin_next(self, folder: str) -> None:
        """Begin the run of a project that has waited longest, if none is running there."""
        here = [child for child in self._open.values() if child.source[0] == folder]
        if any(child.run.state != "queued" for child in here):
            return
        if (child := next((child for child in here if child.run.state == "queued"), None)) is not None:
            self._begin(child)
            forget_old(Path(folder), {child.source[1] for child in here})

    def _begin(self, child: RunProcess) -> None:
        run, place = child.run, self._place(child.source)
        try:
            verb = long_verb(run.verb)
            given = verb.from_outside(verb.checked(run.arguments), self._folder)
            make_folder(place, mode=0o700)
            child.process = (self._here if verb.here else self._process)(child.source, verb, given)
        except (OSError, FabulaError) as error:
            run.state, run.message = "failed", f"The run could not start: {getattr(error, 'strerror', None) or error}."
            self._settle(child)
            return
        run.state, run.started, run.pid = "running", self.clock(), getattr(child.process, "pid", None)
        with suppress(FabulaError):  # a full disk; the process reports it itself
            run.save(place)
        self.feed.tell("run_begun", *child.source, kind=run.verb)

    def _process(self, source: Source, verb: Verb, given: dict[str, Any]) -> subprocess.Popen[bytes]:
        """A run in a process of its own."""
        place, folder = self._place(source), source[0]
        with (
            open(place / _MESSAGES, "wb", opener=_private) as messages,
            open(place / _OUTPUT, "wb", opener=_private) as output,
        ):
            return subprocess.Popen(  # noqa: S603 - this program, with words that `arguments` makes
                [*self.command, "do", verb.name, folder, json.dumps(given), "--json"],
                cwd=folder,
                env={**self.environ, VARIABLE: str(place / EVENTS), BEGUN_BY: STUDIO, "TERM": "dumb"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=messages,
                start_new_session=True,
            )

    def _here(self, source: Source, verb: Verb, given: dict[str, Any]) -> RunHere:
        """A run in this process."""
        project, place = self.shelf[self._names[source[0]]], self._place(source)
        log = EventLog(place / EVENTS, self.environ)
        run = RunHere(log, place / _OUTPUT, verb, lambda: project.do_async(verb, given))
        run.start()
        return run

    # finding runs again ---------------------------------------------------------------------------------------------

    def _rescan(self) -> None:
        self._find_names()
        self._rescan_runs()

    def _find_names(self) -> None:
        """Find the names of the projects."""
        found = {}
        for name in self.shelf.names:
            with suppress(FabulaError):
                found[str(self.shelf.folder(name))] = name
        self._names.update(found)
        self._scanned = time.monotonic()

    def _rescan_runs(self) -> None:
        """Follow runs that an earlier server or another server has begun."""
        for folder in list(self._names):
            for source in ((folder, name) for name in runs_in(Path(folder))):
                if source not in self._known:
                    self._known.add(source)
                    self._adopt(source)

    def _adopt(self, source: Source) -> None:
        run = read_run(self._place(source))
        if run is None or not run.is_open:
            return
        child = RunProcess(source, run)
        if run.state == "running":
            run.total, run.roles, run.kept = Tally(), {}, 0
            self._open[source] = child
            for event in events_in(self.feed.log_of(source), self.feed.taken_in(source)):
                run.hear(event)
            if run.terminal:
                self.feed.tell("run_begun", *source, kind=run.verb)
        elif run.pid is None or not _exists(run.pid) or run.pid == os.getpid():
            self._settle_unbegun(child)

    def _folder(self, project: str) -> Path:
        folder = self.shelf.folder(project)
        self._names.setdefault(str(folder), project)
        return folder

    def _place(self, source: Source) -> Path:
        return self.feed.log_of(source).parent

    def _messages(self, source: Source) -> str:
        try:
            return read_text(self._place(source) / _MESSAGES, 10_000_000, links=False)[-_TAIL:].strip()
        except FabulaError:
            return ""


def _check_record(run: RunRecord, folder: Path) -> None:
    """Check that a record, which may come from someone else, runs no program and writes to no other folder.

    Raises:
        UsageError: the record would do so.
    """
    try:
        Trust().check(folder / "fabula.toml", acts_in(run.arguments, folder))
    except TrustError as error:
        what = "; ".join(str(act)[:300] for act in error.acts)
        raise UsageError(
            f"The record of the run {run.id} would {what}. The run did not start here, and you have not allowed "
            "this. Start a new run with the settings that you want."
        ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, PRIVATE)


def _is_locked(file: Path) -> bool:
    """Whether a process holds a log."""
    try:
        with open(file, "rb", opener=no_link) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return False
            lock(opened.fileno())
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _found(child: RunProcess, log: Path) -> int | None:
    """The ID of a process that this server has not begun, if it is alive: it holds its log and its project."""
    number = child.run.pid if _is_locked(log) else None
    return number if not child.run.terminal or holder(Path(child.source[0], ".fabula"))[0] == number else None


def _interrupt(child: RunProcess, log: Path) -> None:
    """Interrupt a process, like Ctrl-C."""
    with suppress(OSError):
        if isinstance(child.process, RunHere):
            child.process.stop()
        elif child.process is not None:
            child.process.send_signal(signal.SIGINT)
        elif (number := _found(child, log)) is not None:
            os.kill(number, signal.SIGINT)


def _kill(child: RunProcess, log: Path) -> None:
    """Kill a process and its child processes, which share its session."""
    with suppress(OSError):
        if isinstance(child.process, RunHere):
            child.process.stop()
        elif child.process is not None and child.process.poll() is None:
            os.killpg(child.process.pid, signal.SIGKILL)
        elif child.process is None and (number := _found(child, log)) is not None:
            if child.run.terminal:
                os.kill(number, signal.SIGKILL)  # its group is that of the user's shell
            else:
                os.killpg(number, signal.SIGKILL)


def _whole_texts(log: Path, until: int | None) -> list[dict[str, Any]]:
    """The events in a log; each call's text is where its first piece was, and a retry's text follows the retry."""
    found: list[dict[str, Any]] = []
    texts: dict[str, list[str]] = {}
    begun: dict[str, dict[str, Any]] = {}
    for event in events_in(log, until):
        path = str(event.get("path", ""))
        if event["type"] != "text_arrived":
            found.append(event)
            ends = {path} if event["type"] in ("call_started", "call_finished", "call_lost") else set()
            if event["type"] == "call_retried":  # this event does not name its call
                ends = set(begun)
            for one in ends & begun.keys():
                begun.pop(one)["text"] = "".join(texts.pop(one))
        elif path in begun:
            texts[path].append(str(event.get("text", "")))
        else:
            begun[path], texts[path] = event, [str(event.get("text", ""))]
            found.append(event)
    for path, event in begun.items():
        event["text"] = "".join(texts[path])
    return found


# work in this process -------------------------------------------------------------------------------------------------
# For work that a person waits for at the cursor: a process takes a second to start. Such a run leaves the same files as
# a process, and is followed and stopped in the same way; it ends with the server.


_PATIENCE: Final = 1.0  # seconds that a run has to end with the server


@dataclass
class RunHere:
    """A run in a thread.

    Attributes:
        log: where its events are written.
        output: the file for its result.
        verb: what is done.
        work: makes the result; it is not called if the run is stopped before it begins.
    """

    log: EventLog
    output: Path
    verb: Verb
    work: Callable[[], Coroutine[Any, Any, Any]]
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
        return await self.work()
