"""Ctrl-C ends a command within a second, whatever the command is doing, and one sentence says what is kept.

Finished work is in the journal and the files, even if a process is killed. A command therefore has only a moment to
clean up. A longer cleanup is cut off: an engine that is loading, a waiting thread, a long computation.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.base.errors import FabulaError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from types import FrameType

T = TypeVar("T")

SENTENCE: Final = "Stopped. All finished work is kept. To continue from there, run the same command again."
_PATIENCE: Final = 0.6  # seconds that a command has to tidy up
_TIDY: Final = 0.1
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StoppedError(FabulaError):
    """Raised if a signal ended the run; all finished work is kept."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


class _Stop:
    """A stop that was asked for.

    Attributes:
        sentence: says what is kept and how to continue.
        last_words: prints the sentence if the command itself could not.
        clear: removes live progress from the screen.
    """

    def __init__(self) -> None:
        self.sentence = SENTENCE
        self.last_words: Callable[[str, int], object] | None = None
        self.clear: Callable[[], object] = lambda: None
        self._number = 0
        self._one = threading.Lock()

    def ask(self, number: int) -> None:
        """Ask the process to end soon; after an earlier request, end it at once."""
        if self.last_words is None:
            return
        if self._number:
            self._end()
        self._number = number
        threading.Thread(target=self._wait, daemon=True).start()

    def claim(self) -> bool:
        """Return whether the caller is the first to report that the command was stopped."""
        return self.last_words is None or self._one.acquire(blocking=False)

    def _wait(self) -> None:
        time.sleep(_PATIENCE)
        self._end()

    def _end(self) -> None:
        code = 128 + self._number
        with suppress(Exception):  # whatever state the rest is in
            if self.last_words is not None and self.claim():
                cleared = threading.Thread(target=self.clear, daemon=True)
                cleared.start()
                cleared.join(_TIDY)  # it waits where the rest is stuck within it
                self.last_words(self.sentence, code)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code)


_stop = _Stop()


def claim() -> bool:
    """Return whether the caller is the first to report that the command was stopped."""
    return _stop.claim()


def clears_screen(clear: Callable[[], object]) -> None:
    """Call `clear` to remove live progress from the screen if the process is ended abruptly."""
    _stop.clear = clear


def ends_within_a_second(last_words: Callable[[str, int], object]) -> None:
    """Make Ctrl-C end this process within a second from now on. Use this in a process that runs one command and exits.

    Args:
        last_words: called with the sentence and the exit code if the command did not print the sentence in time.
    """
    _stop.last_words = last_words
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, _interrupted)


def done_with(code: int) -> None:
    """Mark the command as done: from now on, Ctrl-C ends the process with this code."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(code))


def _interrupted(number: int, _frame: FrameType | None) -> None:
    _stop.ask(number)
    raise KeyboardInterrupt


@contextmanager
def unheard() -> Iterator[None]:
    """Within this context, leave Ctrl-C to another program that uses the terminal, such as an editor."""
    try:
        before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def stoppable(work: Coroutine[Any, Any, T], how_to_go_on: str) -> T:
    """Return the result of `work`, which Ctrl-C and SIGTERM cancel. A second Ctrl-C ends the process at once.

    Raises:
        StoppedError: a signal was received; the message includes `how_to_go_on`.
    """
    import asyncio  # noqa: PLC0415 - 0.05 s that `fabula --help` does not need

    loop, caught = asyncio.get_running_loop(), list[int]()
    task = loop.create_task(work)
    sentence = f"Stopped. Every finished call is kept. To continue, use {how_to_go_on}."

    def stop(number: int, frame: FrameType | None) -> None:
        if caught and callable(before.get(number)):
            before[number](number, frame)
        _stop.sentence = sentence
        _stop.ask(number)
        caught.append(number)
        loop.call_soon_threadsafe(task.cancel)

    before: dict[int, Any] = {}
    with suppress(ValueError):  # not in the main thread
        before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        return await task
    except asyncio.CancelledError:
        if not caught:
            raise
        raise StoppedError(sentence, caught[0]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
