"""Calls that nobody waits for any more, and replies that break off, are on the bill as far as can be seen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import JournalError, ModelTimeoutError, OverloadedError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Price, Reply, Request, Usage
from fabula.models.budget import Budget
from fabula.models.limits import Limited

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from fabula.engine.events import Event
    from fabula.models.base import OnText

PRICES = {"openai-chat:dear": Price(100.0, 1000.0)}
SAID = "The ferry was late again, and nobody on the quay had a watch."


class Slow:
    """A server that says a sentence and then what it is told to do."""

    name = identity = "openai-chat:dear"
    capabilities = Capabilities(parallel=1)

    def __init__(self, then: Callable[[], Coroutine[None, None, None]]) -> None:
        self.then = then

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        if on_text is not None:
            on_text(SAID)
        await self.then()
        return Reply(SAID, Usage(prompt=1_000, reply=20))

    async def close(self) -> None:
        return


async def no_sleep(_: float) -> None:
    return


async def for_ever() -> None:
    await asyncio.Event().wait()


def deaf(_: Event) -> None:
    return


def room(folder: Path, journal: Journal, model: Limited) -> tuple[Run, Budget]:
    (folder / "text.jinja").write_text("{% block user %}Write of the {{ what }}.{% endblock %}")
    budget = Budget(usd=9.0)
    context = RunContext(
        journal, SystemPrompts(folder), Cast.of(model), budget=budget, prices=PRICES, listeners=(deaf,)
    )
    return Run(context), budget


async def cancelled_after(model: Limited, folder: Path, calls: int) -> tuple[Budget, list[Usage]]:
    """So many calls side by side, cancelled while they run."""
    with Journal() as journal:
        run, budget = room(folder, journal, model)
        asked = [asyncio.create_task(run.scope(n).ask("writer", "text", what="ferry")) for n in range(calls)]
        await asyncio.sleep(0.01)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert budget.held_tokens == 0
        return budget, [one.usage for one in journal.calls.payments()]


async def test_a_call_that_is_cancelled_is_counted_with_what_was_seen_of_it(tmp_path: Path) -> None:
    budget, recorded = await cancelled_after(Limited(Slow(for_ever)), tmp_path, 1)
    assert len(recorded) == 1
    assert recorded[0].estimated == recorded[0].prompt + recorded[0].reply > 10
    assert recorded[0].reply > 10, "the sentence that came"
    assert budget.spent_usd == pytest.approx(recorded[0].cost)
    assert budget.spent_usd > 0.01


async def test_a_call_that_still_waits_for_its_turn_costs_nothing_when_it_is_cancelled(tmp_path: Path) -> None:
    _, recorded = await cancelled_after(Limited(Slow(for_ever)), tmp_path, 3)
    assert len(recorded) == 1, "one at a time is asked"


async def test_what_cannot_be_booked_holds_nothing_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalError("The disk is full.")

    with Journal() as journal:
        run, budget = room(tmp_path, journal, Limited(Slow(for_ever)))
        monkeypatch.setattr(journal.calls, "hold", full)
        with pytest.raises(JournalError):
            await run.ask("writer", "text", what="ferry")
        assert budget.held_tokens == 0


async def test_replies_that_break_off_uncounted_are_paid_with_each_try(tmp_path: Path) -> None:
    async def breaks() -> None:
        raise OverloadedError("It broke off.", model="dear")

    with Journal() as journal:
        run, budget = room(tmp_path, journal, Limited(Slow(breaks), tries=3, sleep=no_sleep))
        with pytest.raises(OverloadedError):
            await run.ask("writer", "text", what="ferry")
        assert len([one.usage for one in journal.calls.payments()]) == 3
        assert budget.spent_tokens == sum(
            usage.prompt + usage.reply for usage in [one.usage for one in journal.calls.payments()]
        )


async def test_what_a_server_says_without_a_full_stop_gets_one_before_ours() -> None:
    async def fails() -> None:
        raise OverloadedError("dear asks for fewer calls (429). It said: slow down", model="dear", retry_after=9_999)

    with pytest.raises(OverloadedError, match=r"It said: slow down\. The server asks for a wait of 2 h 47 min"):
        await Limited(Slow(fails)).ask(Request((), role="writer", path="text"))


async def test_a_reply_that_takes_too_long_is_paid_as_far_as_it_came(tmp_path: Path) -> None:
    with Journal() as journal:
        run, _ = room(tmp_path, journal, Limited(Slow(for_ever), timeout=0.01, tries=1))
        with pytest.raises(ModelTimeoutError):
            await run.ask("writer", "text", what="ferry")
        assert [usage.estimated > 10 for usage in [one.usage for one in journal.calls.payments()]] == [True]
