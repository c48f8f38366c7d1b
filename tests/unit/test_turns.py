"""One object that several runs have is asked no more often at once than it says."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from fabula.engine.roles import Cast, own_model
from fabula.models.base import Capabilities, Message, Price, Reply, Request
from fabula.models.prices import price_of
from fabula.models.threads import Turns
from fabula.project.casting import HandedIn

ASKED = Request((Message("user", "Go on."),))


@dataclass
class Door:
    """Counts who is inside; whoever enters stays until as many are inside as it takes, or nobody else can come."""

    most: int = 0
    inside: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1


class Blocking:
    """A user's own model, which is not made for two at once."""

    def __init__(self, parallel: int | None = None) -> None:
        self.door, self.parallel = Door(), parallel
        self.met = threading.Barrier(parallel) if parallel else None

    def reply(self, prompt: str) -> str:
        self.door.enter()
        if self.met is not None:
            self.met.wait(60)
        self.door.leave()
        return prompt


class Whole:
    """A whole model that takes two at once."""

    name = identity = "whole"
    capabilities = Capabilities(parallel=2, price=Price(1.0, 2.0))

    def __init__(self) -> None:
        self.door = Door()

    async def ask(self, request: Request, on_text: object = None) -> Reply:
        del request, on_text
        self.door.enter()
        for _ in range(20):
            await asyncio.sleep(0)
        self.door.leave()
        return Reply("Yes.")

    async def close(self) -> None:
        """Nothing is held."""


def in_four_runs(model: Blocking) -> None:
    """Four runs, each in a thread and a loop of its own, with three calls each at once."""

    async def run() -> None:
        performer = own_model(model)
        await asyncio.gather(*(performer.ask(ASKED) for _ in range(3)))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(asyncio.run, run()) for _ in range(4)]:
            done.result(60)


def test_an_own_model_of_four_runs_is_asked_once_at_a_time() -> None:
    model = Blocking()
    in_four_runs(model)
    assert model.door.most == 1


def test_one_that_says_so_is_asked_more_often() -> None:
    model = Blocking(parallel=2)
    in_four_runs(model)
    assert model.door.most == 2


async def test_a_whole_model_that_is_handed_to_two_runs_keeps_its_limit() -> None:
    whole = Whole()
    await asyncio.gather(*(HandedIn(whole).ask(ASKED) for _ in range(8)))
    assert whole.door.most == 2


async def test_a_turn_that_nobody_waits_for_any_more_goes_to_the_next() -> None:
    turns = Turns(1)
    await turns.take()
    first, second = (asyncio.create_task(turns.take()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    turns.give()
    await second
    third = asyncio.create_task(turns.take())
    await asyncio.sleep(0)
    turns.give()
    third.cancel()  # its turn has come, and it does not know yet
    with pytest.raises(asyncio.CancelledError):
        await third
    await turns.take()


def test_a_model_may_say_what_it_costs() -> None:
    cast = Cast.of(Whole())
    assert price_of("whole", cast.prices) == Price(1.0, 2.0)
