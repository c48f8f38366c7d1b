"""The driver of a pool of workers: deals jobs and turns at servers, and takes back the jobs of a lost worker."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from fabula.base.errors import FabulaError
from fabula.base.version import __version__
from fabula.models.servers import STORY, SharedTurns, Turns

if TYPE_CHECKING:
    from fabula.app.workers.worker import Doing, Message
    from fabula.models.base import Usage


_MOST_LOSSES: Final = 3
_PATIENCE: Final = 30.0  # seconds that a worker has to tidy up
_LONGEST: Final = 600.0  # seconds that a call is taken to last where nothing else is known
_CAUTION: Final = 2.0  # times as long as the longest call so far
_LOOKS: Final = 0.5  # seconds between two looks at whether a lost worker's call can be over


class WorkerError(FabulaError):
    """Workers are not available, or cannot do their work."""


class WorkerLostError(Exception):
    """A worker or its machine has ended."""


class Channel(Protocol):
    """The connection between the driver and one worker."""

    async def send(self, message: Message) -> None:
        """Send a message; nothing happens if the worker is lost."""

    async def receive(self) -> list[Message]:
        """The next messages.

        Raises:
            WorkerLostError: the worker has ended; the error says how, if that is known.
        """

    async def close(self) -> None:
        """End the worker, even if it is busy."""


@dataclass(eq=False)
class Job:
    """A job in progress.

    Attributes:
        what: identifies the job to the caller.
        losses: the number of workers that were lost during the job.
    """

    what: Any
    losses: int = 0


@dataclass(eq=False)
class _Dealt:
    """The turns at the servers of one model, and the duration of their calls.

    A server may continue with a call whose worker is lost. Its turn ends when the call should have ended: after twice
    the duration of the longest call so far, or after the model's timeout if that is shorter or no call has been
    answered.
    """

    turns: Turns
    timeout: float
    longest: float | None = None
    clock: Callable[[], float] = time.monotonic

    def most(self) -> float:
        """The number of seconds for which the server may still be busy with a call."""
        return self.timeout if self.longest is None else min(self.timeout, _CAUTION * self.longest)


@dataclass(frozen=True)
class _Turn:
    """A worker's turn: its server and its start time."""

    of: _Dealt
    server: int
    since: float

    def end(self, *, answered: bool) -> None:
        """Return the turn."""
        if answered:
            self.of.longest = max(self.of.longest or 0.0, self.of.clock() - self.since)
        self.of.turns.give(self.server, answered=answered)

    def end_when_over(self) -> None:
        """Return the turn when the server is no longer expected to be busy with it."""
        if (left := self.since + self.of.most() - self.of.clock()) <= 0:
            self.end(answered=False)
        else:  # other calls may show meanwhile how long one lasts
            asyncio.get_running_loop().call_later(min(left, _LOOKS), self.end_when_over)


@dataclass(eq=False)
class _Worker:
    """A worker, its jobs and its turns."""

    channel: Channel
    room: int
    ready: bool = False
    jobs: dict[int, Job] = field(default_factory=dict)
    waiting: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    turns: dict[int, _Turn] = field(default_factory=dict)


@dataclass(eq=False)
class Pool:
    """Workers, and everything that they share.

    Attributes:
        hire: returns the channel to a new worker, given its place in the pool.
        workers: the number of workers.
        side_by_side: the number of jobs that all workers do at the same time.
        doing: the work that they do.
        turns: deals turns at servers to all workers.
        given: returns what a worker needs to know about a job, including what was kept of it.
        over: called with each job and its result.
        kept: called with the unfinished result of a job.
        lost: returns the result of a job that was lost with its worker too often, given the reason.
        said: called with messages from workers.
        spent: called with the usage of a worker's call.
        stops: whether to start no more jobs.
        waits: seconds before each new attempt to start a worker at a place where one ended before it started.
    """

    hire: Callable[[int], Any]
    workers: int
    side_by_side: int
    doing: Doing
    turns: SharedTurns
    given: Callable[[Any], Any]
    over: Callable[[Any, Any], None]
    lost: Callable[[Any, str], Any]
    kept: Callable[[Any, Any], None] = lambda _what, _data: None
    said: Callable[[Any], None] = lambda _: None
    spent: Callable[[Usage], None] = lambda _: None
    stops: Callable[[], bool] = lambda: False
    waits: Sequence[float] = (0.0, 0.0)
    _left: deque[Job] = field(default_factory=deque, init=False)
    _coming: Iterator[Any] = field(default_factory=lambda: iter(()), init=False)
    _numbers: count[int] = field(default_factory=lambda: count(1), init=False)
    _here: list[_Worker] = field(default_factory=list, init=False)
    _servers: dict[str, _Dealt] = field(default_factory=dict, init=False)

    async def do(self, jobs: Iterable[Any]) -> None:
        """Do all jobs; another worker does those of a lost one. Jobs are taken from `jobs` as workers become free.

        Raises:
            WorkerError: no worker is available, or a worker reports that it cannot work.
        """
        self._coming = iter(jobs)
        each, more = divmod(max(self.side_by_side, self.workers), self.workers)
        try:
            async with asyncio.TaskGroup() as group:
                for place in range(self._ahead(self.workers)):
                    group.create_task(self._employ(place, each + (place < more)))
        except* WorkerError as errors:
            raise errors.exceptions[0] from None
        if self._ahead() and not self.stops():
            raise WorkerError("All workers were lost before all jobs were done. Finished jobs are kept.")

    def _ahead(self, count: int = 1) -> int:
        """The number of jobs still to be started, but at most `count`."""
        while len(self._left) < count and (more := list(islice(self._coming, 1))):
            self._left += map(Job, more)
        return min(len(self._left), count)

    async def _employ(self, place: int, room: int) -> None:
        """Keep a worker at one place as long as there are jobs; start a new one if it is lost."""
        in_vain = 0
        while self._ahead() and not self.stops():
            worker = _Worker(await self.hire(place), room)
            self._here.append(worker)
            try:
                await self._work_with(worker)
            except WorkerLostError as error:
                in_vain = 0 if worker.ready else in_vain + 1
                self._take_back(worker, str(error))
                if in_vain > len(self.waits):
                    if any(other.ready for other in self._here):  # the others go on
                        return
                    raise WorkerError(
                        f"A worker ended {in_vain} times before it could start: {error} Finished jobs are kept."
                    ) from error
            finally:
                self._here.remove(worker)
                for task in worker.waiting.values():
                    task.cancel()
                for turn in worker.turns.values():
                    turn.end_when_over()
                await worker.channel.close()
            if in_vain:
                await asyncio.sleep(self.waits[in_vain - 1])

    async def _work_with(self, worker: _Worker) -> None:
        """Give a worker jobs until none is left."""
        await worker.channel.send(("begin", self.doing))
        while True:
            for message in await worker.channel.receive():
                await self._hear(worker, message)
            while worker.ready and len(worker.jobs) < worker.room and not self.stops() and self._ahead():
                job, number = self._left.popleft(), next(self._numbers)
                worker.jobs[number] = job
                await worker.channel.send(("do", number, self.given(job.what)))
            if worker.ready and not worker.jobs:
                await self._let_go(worker)
                return

    @staticmethod
    async def _let_go(worker: _Worker) -> None:
        """Tell a worker without jobs to clean up."""
        await worker.channel.send(("stop",))
        with suppress(WorkerLostError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while ("ended",) not in await worker.channel.receive():
                    pass

    async def _hear(self, worker: _Worker, message: Message) -> None:
        match message:
            case ("ready", version, host):
                if version != __version__:
                    raise WorkerError(
                        f"The worker on {host} has fabula {version}, but this machine has {__version__}. "
                        "Install the same version there."
                    )
                worker.ready = True
            case ("broken", why):
                raise WorkerError(f"A worker cannot start: {why}")
            case ("over", number, result):
                self.over(worker.jobs.pop(number).what, result)
            case ("kept", number, data):
                self.kept(worker.jobs[number].what, data)
            case ("said", what):
                self.said(what)
            case ("spent", usage):
                self.spent(usage)
                for other in self._here:
                    if other is not worker and other.ready:
                        await other.channel.send(message)
            case _:
                await self._hear_of_turns(worker, message)

    async def _hear_of_turns(self, worker: _Worker, message: Message) -> None:
        match message:
            case ("take", request, model, servers, most, rest, timeout, number):
                if model not in self._servers:
                    turns = self.turns.turns(model, servers, most, rest, timeout)
                    self._servers[model] = _Dealt(turns, _LONGEST if timeout is None else timeout)
                dealt = self._servers[model]
                worker.waiting[request] = asyncio.create_task(self._deal(worker, request, dealt, number))
            case ("give", request, answered):
                self._end_turn(worker, request, answered=answered)
            case ("failed", request, retry_after):
                turn = worker.turns[request]
                well = await turn.of.turns.failed(turn.server, retry_after)
                await worker.channel.send(("well", request, well))

    async def _deal(self, worker: _Worker, request: int, dealt: _Dealt, number: int) -> None:
        STORY.set(worker.jobs.get(number))
        server = await dealt.turns.take()
        worker.waiting.pop(request, None)
        worker.turns[request] = _Turn(dealt, server, dealt.clock())
        await worker.channel.send(("turn", request, server))

    @staticmethod
    def _end_turn(worker: _Worker, request: int, *, answered: bool) -> None:
        if (task := worker.waiting.pop(request, None)) is not None:
            task.cancel()  # it was not waited for any longer
        elif (turn := worker.turns.pop(request, None)) is not None:
            turn.end(answered=answered)

    def _take_back(self, worker: _Worker, why: str) -> None:
        """Put the jobs of a lost worker first in the queue; jobs that were lost too often are over."""
        for job in reversed(worker.jobs.values()):
            job.losses += 1
            if job.losses < _MOST_LOSSES:
                self._left.appendleft(job)
            else:
                self.over(job.what, self.lost(job.what, why))
