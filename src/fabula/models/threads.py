"""A blocking engine, called from an event loop: the first call opens it, and it runs in its own threads."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Final, Generic, TypeVar, cast
from weakref import finalize

from fabula.base.errors import ModelUnavailableError

E = TypeVar("E")
R = TypeVar("R")
A = TypeVar("A")


class EngineSession(Generic[E]):
    """The engine and its threads, from the first call to `close`."""

    def __init__(self, open_: Callable[[], E], threads: int, name: str) -> None:
        self._open, self._name = open_, name
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"fabula {name}")
        self._engine: E | None = None
        self._opening = threading.Lock()
        self._stops: set[threading.Event] = set()

    @property
    def engine(self) -> E | None:
        """The engine, once it is open."""
        return self._engine

    async def run(self, answer: Callable[[E, threading.Event], R]) -> R:
        """The result of `answer`, called in a thread with the engine and an event that says when to stop.

        If the task is cancelled, the event is set, and this returns when the thread is free.

        Raises:
            ModelUnavailableError: the session was closed meanwhile.
        """
        stop = threading.Event()
        self._stops.add(stop)
        job = self._pool.submit(copy_context().run, self._answer, answer, stop)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            stop.set()
            await _ended(job)
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                raise self._closed() from None
            raise
        finally:
            self._stops.discard(stop)

    def close(self) -> E | None:
        """Stop all calls, wait for the threads to end, and return the engine, if it was opened, to be freed."""
        for stop in tuple(self._stops):
            stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        engine, self._engine = self._engine, None
        return engine

    def _answer(self, answer: Callable[[E, threading.Event], R], stop: threading.Event) -> R:
        with self._opening:  # the other threads wait here while the first one opens the engine
            if stop.is_set():
                raise self._closed()
            if self._engine is None:
                self._engine = self._open()
        try:
            return answer(self._engine, stop)
        finally:
            if stop.is_set():  # whatever a stopped call gives or raises is nothing
                raise self._closed()

    def _closed(self) -> ModelUnavailableError:
        return ModelUnavailableError(f"{self._name} was closed during a call.", model=self._name)


async def beside(close: Callable[[], R]) -> R:
    """The result of a closing function, called in a thread, or here if the interpreter is ending."""
    return await asyncio.to_thread(close) if threading.main_thread().is_alive() else close()


async def in_thread(function: Callable[[A], R], argument: A) -> R:
    """The result of a blocking function, called in its own thread.

    Such a function cannot be stopped. If the task is cancelled, the function is not waited for, and ends with the
    process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(cast("R", result))
        else:
            done.set_exception(error)

    def work(context: Context) -> None:
        result: R | None = None
        error: Exception | None = None
        try:
            result = context.run(function, argument)
        except (StopIteration, SystemExit) as raised:  # which no future can hold
            error = RuntimeError(f"{type(raised).__name__} {raised}".strip()).with_traceback(raised.__traceback__)
        except Exception as raised:  # noqa: BLE001 - it is raised where it is waited for
            error = raised
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, args=[copy_context()], name="fabula reply", daemon=True).start()
    return await done


async def _ended(job: Future[R]) -> None:
    """Wait until the thread is done with the job, also when cancelled again; its outcome is dropped."""
    waiter = asyncio.wrap_future(job)
    while not waiter.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([waiter])
    if not waiter.cancelled():
        waiter.exception()


class Turns:
    """The limit of simultaneous calls to one object from all event loops and threads, served in order of arrival."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def take(self) -> None:
        """Wait for a turn; call `give` to end it."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, turn))
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                waits = (loop, turn) in self._waiting
                if waits:
                    self._waiting.remove((loop, turn))
            if not waits:  # the turn has come in the meantime
                self.give()
            raise

    def give(self) -> None:
        """End a turn, so that the next one begins."""
        with self._lock:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                with suppress(RuntimeError):  # the loop has ended: nobody waits
                    loop.call_soon_threadsafe(_begin, turn)
                    return
            self._free += 1


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


class _TurnsOf:
    """The turns of objects, as long as these live; objects that are equal are not the same."""

    def __init__(self) -> None:
        self._held: dict[int, Turns] = {}

    def __call__(self, owner: object, most: int) -> Turns:
        """The turns of an object: the same for all who ask it."""
        with suppress(TypeError):  # an object to which nothing can refer weakly has turns for this caller alone
            if id(owner) not in self._held:
                finalize(owner, self._held.pop, id(owner), None)
            return self._held.setdefault(id(owner), Turns(most))
        return Turns(most)


turns_of: Final = _TurnsOf()
