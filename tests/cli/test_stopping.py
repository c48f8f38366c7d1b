"""Signals while a command is at work are its own for that time only; the second one is for who came before."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from fabula.cli.stopping import StoppedError, stoppable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def sends(number: signal.Signals, times: int) -> None:
    """A command that is sent a signal so many times, and is at work then."""
    for _ in range(times):
        os.kill(os.getpid(), number)
    await asyncio.Event().wait()


def test_a_command_that_is_done_leaves_every_signal_as_it_was() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    asyncio.run(stoppable(asyncio.sleep(0), "the same command"))
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_is_for_who_heard_it_before_the_command(number: signal.Signals) -> None:
    heard = list[int]()
    before = signal.signal(number, lambda number, _frame: heard.append(number))
    try:
        with pytest.raises(StoppedError, match="To continue, use the same command") as stopped:
            asyncio.run(stoppable(sends(number, 2), "the same command"))
    finally:
        signal.signal(number, before)
    assert stopped.value.exit_code == 128 + number
    assert heard == [number]
