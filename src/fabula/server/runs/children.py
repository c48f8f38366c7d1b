"""Runs as processes: begun one at a time in each project, followed by their logs, stopped, and found again.

A process belongs to no server: it has a session of its own and writes its own log, so that a server can end or be
killed while a story is written, and the next one goes on watching. That a process lives is told by the lock on its log.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import FabulaError, UnknownNameError, UsageError
from fabula.base.files import BEGUN_BY, PRIVATE, STUDIO, holder, inside, make_folder, read_bytes, read_text
from fabula.base.locks import lock
from fabula.engine.event_log import VARIABLE
from fabula.project.trust import Trust, TrustError, acts_in
from fabula.server.runs.feed import EVENTS, Feed, events_in, no_link
from fabula.server.runs.looking import again_and_again
from fabula.server.runs.record import NAME, RUNS, RunRecord, Tally, forget_old, new_name, read_run, runs_in
from fabula.verbs.base import long_verb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from typing import Protocol

    from fabula.server.runs.feed import Source

    class Shelf(Protocol):
        """Where the projects are."""

        @property
        def names(self) -> list[str]:
            """The projects."""

        def folder(self, name: str) -> Path:
            """The folder of one."""


_EVERY: Final = 0.05  # seconds between two looks at the logs of runs
_RESCAN: Final = 2.0  # and at the projects' folders, for runs that another server has begun
_HARDER: Final = 3.0  # seconds after which a process that was asked to stop is killed
_YOUNG: Final = 20.0  # seconds within which a process may not have locked its log yet
_MOST_QUEUED: Final = 50
_LARGEST: Final = 20_000_000  # bytes of a result
_MESSAGES, _OUTPUT = "messages.txt", "output.json"
_TAIL: Final = 2_000  # letters of a process's last messages that are shown
_KILLED: Final = (
    "The process was killed before it could say why. What was finished is kept; the same again goes on from there."
)
_NOT_BEGUN: Final = "It had not begun when the server ended. Nothing was asked."
_OWN_GROUP: Final = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # what Windows has for a session
_STOP: Final = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)  # Windows sends no SIGINT to another process
FABULA: Final = (sys.executable, "-P", "-m", "fabula")
"""This program. It runs in the project's folder, which may be somebody else's: `-P` imports nothing from there."""


@dataclass
class RunProcess:
    """A run that is queued or at work.

    Attributes:
        source: its project's folder, and its name.
        run: what is known of it.
        process: where this server has begun it.
        asked: when it was asked to stop, by a clock that nobody sets.
    """

    source: Source
    run: RunRecord
    process: subprocess.Popen[bytes] | None = None
    asked: float | None = None


@dataclass
class Runs:
    """All runs of the projects on a shelf.

    Attributes:
        shelf: where the projects are.
        feed: numbers what happens in them.
        clock: seconds since 1970.
        environ: what processes find in their environment.
        command: what begins a process; the command's words follow.
    """

    shelf: Shelf
    feed: Feed
    clock: Callable[[], float] = time.time
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    command: Sequence[str] = FABULA
    _open: dict[Source, RunProcess] = field(default_factory=dict, init=False)
    _known: set[Source] = field(default_factory=set, init=False)
    _begun: set[Source] = field(default_factory=set, init=False)  # whose orders came from who uses this server
    _names: dict[str, str] = field(default_factory=dict, init=False)
    _scanned: float = field(default=-_RESCAN, init=False)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Follow what runs while this is open; what runs then goes on by itself."""
        self.feed.names = self._names
        self.feed.open()
        self._rescan()
        watching = asyncio.create_task(again_and_again(self._look))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            for child in self._open.values():
                if child.run.state == "queued":
                    self._settle_unbegun(child)
                elif child.process is not None and child.process.poll() is None:
                    child.process.returncode = 0  # it goes on by itself; Python would warn of it
            self.feed.close()

    # asking for runs ------------------------------------------------------------------------------------------------

    def start(self, project: str, verb: str, arguments: Mapping[str, Any] | None = None) -> RunRecord:
        """Begin a run of a verb, or queue it behind the one that is at work in its project.

        Raises:
            UsageError: an argument does not hold, too many runs wait, or the folder of runs lies elsewhere.
            FabulaError: there is no such verb or project, or nothing can be written in it.
        """
        folder = self._folder(project)
        inside(folder, RUNS)
        given = long_verb(verb).checked(arguments or {})
        long_verb(verb).from_outside(given, self._folder)
        if sum(child.run.state == "queued" for child in self._open.values()) >= _MOST_QUEUED:
            raise UsageError(f"{_MOST_QUEUED} runs wait already. Stop some of them, or wait.")
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
        """Do the same again: it goes on from what is kept, or writes `anew` what stands.

        Raises:
            UsageError: it is at work, or its record would do what nobody has allowed.
            FabulaError: there is no such run.
        """
        run, folder = self.get(project, name), self._folder(project)
        if run.is_open:
            raise UsageError(f"The run {name} has not ended yet.")
        if (str(folder), name) not in self._begun:
            _check_record(run, folder)
        return self.start(project, run.verb, {**run.arguments, **({"anew": True} if anew else {})})

    def result(self, project: str, name: str) -> bytes:
        """What a run's verb gave, as JSON.

        Raises:
            UsageError: it is not finished, or did not come to a result.
            UnknownNameError: there is no such run.
        """
        run = self.get(project, name)
        if run.state != "finished":
            raise UsageError(f"The run {name} has no result: it is {run.state}.")
        return read_bytes(self._place((str(self._folder(project)), name)) / _OUTPUT, _LARGEST, links=False)

    def stop(self, project: str, name: str) -> RunRecord:
        """Have a run end: within a second, as a person would with Ctrl-C; the second time at once.

        Raises:
            FabulaError: there is no such run.
        """
        self._rescan_runs()  # it may have begun elsewhere just now
        run = self.get(project, name)
        child = self._open.get((str(self._folder(project)), name))
        if child is None or not run.is_open:
            return run
        if run.state == "queued":
            run.state, run.ended, run.message = "stopped", self.clock(), "It was taken out of the queue."
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
            UnknownNameError: there is none of that name.
        """
        folder = self._folder(project)
        if (child := self._open.get((str(folder), name))) is not None:
            return child.run
        run = read_run(self._place((str(folder), name))) if NAME.fullmatch(name) else None
        if run is None:
            raise UnknownNameError("run", name[:100], [one.id for one in self.of(project)])
        return run

    def of(self, project: str) -> list[RunRecord]:
        """The runs of a project, the newest first."""
        folder = self._folder(project)
        found = []
        for name in runs_in(folder):
            source = str(folder), name
            child = self._open.get(source)
            run = child.run if child is not None else read_run(self._place(source))
            found += [run] if run is not None else []
        # Names have whole seconds only, in which several runs may be asked for.
        return sorted(found, key=lambda run: (run.created, run.id), reverse=True)

    async def events(self, project: str, name: str) -> tuple[int, list[dict[str, Any]]]:
        """What has happened in a run so far, each call's text in one piece, and the number after which more comes.

        Raises:
            UnknownNameError: there is no such run.
        """
        run = self.get(project, name)
        source = (str(self._folder(project)), name)
        until, last = self.feed.taken_in(source) if run.is_open else None, self.feed.last
        return last, await asyncio.to_thread(_whole_texts, self.feed.log_of(source), until)

    def messages(self, project: str, name: str) -> str:
        """The last of what a run has said beside its events."""
        return self._messages((str(self._folder(project)), name))

    def at_work_in(self, folder: Path) -> str:
        """The name of a run that is queued or at work in a folder; empty if there is none."""
        found = (child.run for child in self._open.values() if child.source[0] == str(folder))
        return next((run.id for run in found if run.state in ("queued", "running")), "")

    @property
    def running(self) -> list[RunRecord]:
        """Those that are at work."""
        return [child.run for child in self._open.values() if child.run.state == "running"]

    # following them -------------------------------------------------------------------------------------------------

    async def _look(self) -> float:
        """Look what has happened; gives the seconds until the next look."""
        if time.monotonic() - self._scanned >= _RESCAN:
            await asyncio.to_thread(self._find_names)
            self._rescan_runs()
        busy = False
        for child in [child for child in self._open.values() if child.run.state != "queued"]:
            busy = self._take_in(child) or busy
            self._look_after(child)
        return 0 if busy else _EVERY  # others have their turn after each piece

    def _take_in(self, child: RunProcess) -> bool:
        """Whether there was something new in a run's log."""
        events = self.feed.take_in(child.source)
        for event in events:
            child.run.hear(event)
        return bool(events)

    def _look_after(self, child: RunProcess) -> None:
        """See whether a process has ended, or does not stop."""
        if child.asked is not None and time.monotonic() - child.asked > _HARDER:
            _kill(child, self.feed.log_of(child.source))
        if self._lives(child):
            return
        while self._take_in(child):
            pass
        if child.run.is_open:
            said = self._messages(child.source)
            child.run.state = "stopped" if child.asked is not None else "killed"
            child.run.message = _KILLED + (f" It had said last: {said}" if said else "")
        self._settle(child)

    def _lives(self, child: RunProcess) -> bool:
        if child.process is not None:
            return child.process.poll() is None
        if _is_locked(self.feed.log_of(child.source)):
            return True
        young = 0 <= self.clock() - (child.run.started or 0.0) < _YOUNG
        return young and child.run.exit_code is None and child.run.pid is not None and _exists(child.run.pid)

    def _settle(self, child: RunProcess) -> None:
        """Record how a run ended, and begin the next one of its project."""
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

    # beginning them -------------------------------------------------------------------------------------------------

    def _begin_next(self, folder: str) -> None:
        """Begin the run of a project that has waited for longest, if none is at work there."""
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
            line = [*self.command, "do", run.verb, str(place.parents[2]), json.dumps(given), "--json"]
            make_folder(place, mode=0o700)
            with (
                open(place / _MESSAGES, "wb", opener=_private) as messages,
                open(place / _OUTPUT, "wb", opener=_private) as output,
            ):
                child.process = subprocess.Popen(  # noqa: S603 - this program, with words that `arguments` makes
                    line,
                    cwd=place.parents[2],
                    env={**self.environ, VARIABLE: str(place / EVENTS), BEGUN_BY: STUDIO, "TERM": "dumb"},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=messages,
                    start_new_session=True,
                    creationflags=_OWN_GROUP,
                )
        except (OSError, FabulaError) as error:
            run.state, run.message = "failed", f"It could not be begun: {getattr(error, 'strerror', None) or error}."
            self._settle(child)
            return
        run.state, run.started, run.pid = "running", self.clock(), child.process.pid
        with suppress(FabulaError):  # a full disk; the process says so itself
            run.save(place)
        self.feed.tell("run_begun", *child.source, kind=run.verb)

    # finding them again ---------------------------------------------------------------------------------------------

    def _rescan(self) -> None:
        self._find_names()
        self._rescan_runs()

    def _find_names(self) -> None:
        """See which projects there are."""
        found = {}
        for name in self.shelf.names:
            with suppress(FabulaError):
                found[str(self.shelf.folder(name))] = name
        self._names.update(found)
        self._scanned = time.monotonic()

    def _rescan_runs(self) -> None:
        """Follow the runs that an earlier server has begun, or another one has meanwhile."""
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
    """Check that a record, which may be somebody else's, has no program run and no folder elsewhere written into.

    Raises:
        UsageError: it would.
    """
    try:
        Trust().check(folder / "fabula.toml", acts_in(run.arguments, folder))
    except TrustError as error:
        what = "; ".join(str(act)[:300] for act in error.acts)
        raise UsageError(
            f"The record of the run {run.id} would {what}, and neither was it begun here nor have you allowed that. "
            "Begin a new run, and say there what it is to be done with."
        ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), PRIVATE)


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
    if not hasattr(os, "killpg"):
        return True  # Windows has no signal 0: it would be a Ctrl-C. That a process lives is told by its lock.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _found(child: RunProcess, log: Path) -> int | None:
    """The number of a process that this server has not begun, if it lives: it holds its log and its project."""
    number = child.run.pid if _is_locked(log) else None
    return number if not child.run.terminal or holder(Path(child.source[0], ".fabula"))[0] == number else None


def _interrupt(child: RunProcess, log: Path) -> None:
    """Have a process end, as a person would with Ctrl-C."""
    with suppress(OSError):
        if child.process is not None:
            child.process.send_signal(_STOP)
        elif (number := _found(child, log)) is not None:
            os.kill(number, _STOP)


def _kill(child: RunProcess, log: Path) -> None:
    """Kill a process with those that it has begun: they have its session."""
    with suppress(OSError):
        if not hasattr(os, "killpg"):
            if child.process is not None:
                child.process.kill()
        elif child.process is not None and child.process.poll() is None:
            os.killpg(child.process.pid, signal.SIGKILL)
        elif child.process is None and (number := _found(child, log)) is not None:
            if child.run.terminal:
                os.kill(number, signal.SIGKILL)  # its group is that of a person's shell
            else:
                os.killpg(number, signal.SIGKILL)


def _whole_texts(log: Path, until: int | None) -> list[dict[str, Any]]:
    """The events in a log, with each call's text where its first piece arrived, and its next try's behind the retry."""
    found: list[dict[str, Any]] = []
    texts: dict[str, list[str]] = {}
    begun: dict[str, dict[str, Any]] = {}
    for event in events_in(log, until):
        path = str(event.get("path", ""))
        if event["type"] != "text_arrived":
            found.append(event)
            ends = {path} if event["type"] in ("call_started", "call_finished", "call_lost") else set()
            if event["type"] == "call_retried":  # which does not say of which call it is
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
