"""`Limited`: concurrency, timeout and retry, without any real waiting."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ContextLengthError, ModelError, ModelTimeoutError, OverloadedError, UnreachableError
from fabula.models.base import Capabilities, Message, Reply, Request
from fabula.models.limits import Limited

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.models.base import OnText

ASKED = Request((Message("user", "Go on."),))


@dataclass
class FakeModel:
    """Fails with each of `failures` in turn, then answers; `gate` holds every call until it is set."""

    failures: list[Exception] = field(default_factory=list)
    gate: asyncio.Event | None = None
    slots: int = 8
    name: str = "fake:one"
    identity: str = "fake:one@1"
    asked: list[str] = field(default_factory=list)
    running: int = 0
    most: int = 0
    closed: bool = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(parallel=self.slots)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.asked.append(request.path)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if on_text is not None:
                on_text("half")
            if self.gate is not None:
                await self.gate.wait()
            if self.failures:
                raise self.failures.pop(0)
        finally:
            self.running -= 1
        return Reply("whole")

    async def close(self) -> None:
        self.closed = True


@dataclass
class Naps:
    """A sleep that takes no time and remembers."""

    slept: list[float] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.meanwhile is not None:
            await self.meanwhile()


def busy(retry_after: float | None = None) -> OverloadedError:
    return OverloadedError("fake:one is busy.", model="fake:one", retry_after=retry_after)


def limited(model: FakeModel, naps: Naps, **values: Any) -> Limited:  # noqa: ANN401 -- fields of Limited
    return Limited(model, sleep=naps, rng=random.Random(1), **values)  # noqa: S311 -- jitter is no secret


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_good_call_waits_for_nothing() -> None:
    naps = Naps()
    reply = await limited(FakeModel(), naps).ask(ASKED)
    assert (reply.text, naps.slept) == ("whole", [])


async def test_waits_double_with_jitter_up_to_the_longest() -> None:
    naps = Naps()
    model = FakeModel([busy() for _ in range(5)])
    await limited(model, naps, tries=6, first_wait=1.0, longest_wait=5.0).ask(ASKED)
    for wait, step in zip(naps.slept, [1, 2, 4, 5, 5], strict=True):
        assert step / 2 <= wait <= step
    assert len(set(naps.slept)) == 5


async def test_a_server_that_went_away_is_waited_for_and_one_that_never_answered_is_not() -> None:
    naps = Naps()
    away = UnreachableError("fake:one cannot be reached.", model="fake:one")
    model = FakeModel([away])
    with pytest.raises(UnreachableError, match=r"cannot be reached\.$"):
        await limited(model, naps).ask(ASKED)
    assert naps.slept == []
    answering = limited(model, naps)
    await answering.ask(ASKED)
    model.failures = [away, away]
    assert (await answering.ask(ASKED)).text == "whole"
    assert len(naps.slept) == 2
    model.failures = [away] * 9
    with pytest.raises(UnreachableError, match="fabula gave up after 5 attempts"):
        await answering.ask(ASKED)


async def test_the_same_generator_draws_the_same_waits() -> None:
    first, second = Naps(), Naps()
    for naps in (first, second):
        await limited(FakeModel([busy(), busy()]), naps).ask(ASKED)
    assert first.slept == second.slept


async def test_retry_after_is_honoured_and_never_shortened() -> None:
    naps = Naps()
    await limited(FakeModel([busy(retry_after=17.0), busy(retry_after=0.0)]), naps).ask(ASKED)
    assert naps.slept[0] == 17.0
    assert naps.slept[1] >= 1.0


async def test_a_retry_after_beyond_the_bound_fails_at_once_and_keeps_it() -> None:
    naps = Naps()
    with pytest.raises(OverloadedError) as caught:
        await limited(FakeModel([busy(retry_after=3600.0)]), naps, total_wait=300.0).ask(ASKED)
    assert naps.slept == []
    assert caught.value.retry_after == 3600.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (400.0, "wait of 7 min, until 15:26, which is longer than the 5 min"),
        (12_000.0, "wait of 3 h 20 min, until 18:40, which is longer"),
        (36_000.0, "wait of 10 h, until 2026-03-05 01:20, which is longer"),
        (200_000.0, "wait of 2 d 7 h, until 2026-03-06 22:53, which is longer"),
        (1e15, "wait of 11,574,074,074 d 1 h, which is longer"),
    ],
)
async def test_a_retry_after_beyond_the_bound_says_the_time(seconds: float, said: str) -> None:
    now = datetime(2026, 3, 4, 15, 20, tzinfo=UTC)
    with pytest.raises(OverloadedError) as caught:
        await limited(FakeModel([busy(seconds)]), Naps(), now=lambda: now).ask(ASKED)
    assert str(caught.value).startswith("fake:one is busy. The server asks for a wait of ")
    assert said in str(caught.value)
    assert str(caught.value).endswith("that a call may wait. Run the same command again later.")


async def test_a_retry_after_beyond_the_bound_says_the_time_after_other_tries_too() -> None:
    with pytest.raises(
        OverloadedError, match=r"asks for a wait of 5 min.* fabula gave up after 2 attempts and 100 s of waiting"
    ):
        await limited(FakeModel([busy(100.0), busy(250.0)]), Naps()).ask(ASKED)


async def test_gives_up_after_the_tries_and_says_so() -> None:
    naps = Naps()
    model = FakeModel([busy() for _ in range(9)])
    with pytest.raises(
        OverloadedError, match=r"fake:one is busy\. fabula gave up after 3 attempts and \d s of waiting\."
    ) as caught:
        await limited(model, naps, tries=3).ask(ASKED)
    assert len(model.asked) == 3
    assert caught.value.model == "fake:one"


async def test_all_waits_together_are_bounded() -> None:
    naps = Naps()
    with pytest.raises(OverloadedError):
        await limited(FakeModel([busy() for _ in range(99)]), naps, tries=99, total_wait=10.0).ask(ASKED)
    assert 0 < sum(naps.slept) <= 10.0


@pytest.mark.parametrize("error", [ContextLengthError("too long"), ModelError("bad"), ValueError("a bug")])
async def test_what_cannot_get_better_is_not_tried_again(error: Exception) -> None:
    naps = Naps()
    model = FakeModel([error])
    with pytest.raises(type(error)) as caught:
        await limited(model, naps).ask(ASKED)
    assert caught.value is error
    assert (len(model.asked), naps.slept) == (1, [])


async def test_on_retry_hears_model_try_wait_and_reason_before_the_wait() -> None:
    rows: list[tuple[str, int, float, str]] = []
    naps = Naps()
    model = limited(FakeModel([busy(retry_after=5.0)]), naps)
    model.on_retry = lambda *values: rows.append(values)
    await model.ask(ASKED)
    assert rows == [("fake:one", 1, 5.0, "fake:one is busy.")]


async def test_a_try_that_takes_too_long_is_cut_and_tried_again() -> None:
    naps = Naps()
    model = FakeModel(gate=asyncio.Event())
    with pytest.raises(
        ModelTimeoutError, match=r"did not complete its reply within 0\.01 s.*fabula gave up after 2 attempts"
    ):
        await limited(model, naps, timeout=0.01, tries=2).ask(ASKED)
    assert (len(model.asked), model.running) == (2, 0)


async def test_a_timeout_of_the_models_own_making_is_not_taken_for_ours() -> None:
    with pytest.raises(TimeoutError, match="inner"):
        await limited(FakeModel([TimeoutError("inner")]), Naps(), timeout=60.0).ask(ASKED)


@pytest.mark.parametrize(("wanted", "slots", "most"), [(2, 8, 2), (9, 3, 3), (None, 4, 4), (0, 4, 1)])
async def test_no_more_calls_at_once_than_both_allow(wanted: int | None, slots: int, most: int) -> None:
    model = FakeModel(gate=asyncio.Event(), slots=slots)
    pressed = Limited(model, parallel=wanted)
    assert pressed.capabilities.parallel == most
    async with asyncio.TaskGroup() as group:
        for _ in range(12):
            group.create_task(pressed.ask(ASKED))
        await settle()
        assert model.running == most
        assert model.gate is not None
        model.gate.set()
    assert (model.most, len(model.asked)) == (most, 12)


async def test_calls_are_served_in_order_of_arrival() -> None:
    model = FakeModel(gate=asyncio.Event())
    pressed = Limited(model, parallel=1)
    async with asyncio.TaskGroup() as group:
        for i in range(8):
            group.create_task(pressed.ask(Request((), path=str(i))))
            await settle()
        assert model.gate is not None
        model.gate.set()
    assert model.asked == [str(i) for i in range(8)]


async def test_a_call_that_waits_to_retry_gives_its_place_away() -> None:
    model = FakeModel([busy()])
    naps = Naps()
    pressed = limited(model, naps, parallel=1)

    async def meanwhile() -> None:
        await pressed.ask(Request((), path="other"))

    naps.meanwhile = meanwhile
    async with asyncio.timeout(120):
        await pressed.ask(Request((), path="first"))
    assert model.asked == ["first", "other", "first"]


async def test_a_cancelled_call_gives_its_place_away() -> None:
    model = FakeModel(gate=asyncio.Event())
    pressed = Limited(model, parallel=1)
    task = asyncio.create_task(pressed.ask(ASKED))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.gate is not None
    model.gate.set()
    assert (await pressed.ask(ASKED)).text == "whole"


async def test_listeners_may_see_a_failed_try_but_the_reply_is_of_one_try() -> None:
    heard: list[str] = []
    reply = await limited(FakeModel([busy()]), Naps()).ask(ASKED, heard.append)
    assert heard == ["half", "half"]
    assert reply.text == "whole"


def test_serves_several_event_loops_in_turn() -> None:
    model = FakeModel()
    pressed = Limited(model, parallel=1)

    async def two() -> None:
        await asyncio.gather(pressed.ask(ASKED), pressed.ask(ASKED))

    asyncio.run(two())
    asyncio.run(two())
    assert len(model.asked) == 4


async def test_stands_for_its_model() -> None:
    model = FakeModel()
    pressed = Limited(model)
    assert (pressed.name, pressed.identity) == ("fake:one", "fake:one@1")
    await pressed.close()
    assert model.closed
