"""A budget stops a run before a call, keeps everything, and a higher cap goes on to the same story."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options, write_in
from fabula.base.errors import BudgetError, OverloadedError, UsageError
from fabula.craft.conversation import Parties
from fabula.engine.events import CallFinished, CallStarted
from fabula.models.budget import Budget, estimate_tokens
from fabula.project.folder import Project
from fabula.story import Brief
from fabula.systems import systems
from fake_provider import Answer, FakeProvider

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.events import Event
    from fabula.project.settings import Settings

SCRIPT = f"scripted:{systems()['agents-room'].folder / 'script.toml'}"
SETTINGS = {"model": SCRIPT, "preset": "faithful", "sampling": {"max_tokens": 300}}
BRIEF = Brief("Write about Mara, who keeps a lighthouse.")


def project(folder: Path, **more: object) -> Project:
    return Project.create(folder, BRIEF, SETTINGS | more)


async def test_stops_before_the_call_and_a_higher_cap_goes_on_to_the_same_story(tmp_path: Path) -> None:
    heard: list[Event] = []
    home = project(tmp_path / "tale")
    unbroken = (await write_in(project(tmp_path / "unbroken"), home.settings, Options())).story
    cap, stops, story = 400, 0, None
    while story is None:
        try:
            story = (await write_in(home, home.settings, Options(budget_tokens=cap, listeners=[heard.append]))).story
        except BudgetError as error:
            stopped = str(error)
        if story is None:
            stops, cap = stops + 1, check_stop(home, stopped, cap, len(asked(heard)))
    assert stops > 2
    assert story == unbroken
    assert len(asked(heard)) == len(set(asked(heard))) == 9


def asked(heard: list[Event]) -> list[str]:
    return [event.path for event in heard if isinstance(event, CallFinished) and not event.replayed]


def check_stop(home: Project, stopped: str, cap: int, calls: int) -> int:
    """The cap that the message names; what is replayed costs nothing, so that it always suffices for a call."""
    spent, wanted = (int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:are spent|or more)", stopped))
    assert spent <= cap < wanted
    with home.journal as journal:
        assert journal.runs()[-1]["error"] == stopped
        assert all((home.folder / file).is_file() for file in journal.places().values())
        assert journal.count() == calls
    return wanted


async def test_the_cap_is_never_passed(tmp_path: Path) -> None:
    for cap in range(0, 1000, 190):
        home = project(tmp_path / str(cap))
        with pytest.raises(BudgetError, match=rf"Stopped before the budget of {cap:,} tokens is passed"):
            await write_in(home, home.settings, Options(budget_tokens=cap))
        with home.journal as journal:
            assert sum(usage.prompt + usage.reply for usage in journal.spent().values()) <= cap


async def test_a_cap_in_dollars_stops_by_the_users_prices(tmp_path: Path) -> None:
    home = project(tmp_path / "tale", prices={SCRIPT: {"input": 1000, "output": 2000}})
    with pytest.raises(BudgetError, match=r"Stopped before the budget of \$1\.0000 is passed: .* --budget-usd") as stop:
        await write_in(home, home.settings, Options(budget_usd=1.0))
    with home.journal as journal:
        spent = sum(usage.cost or 0 for usage in journal.spent().values())
    assert 0 < spent <= 1.0
    assert f"${spent:,.4f} are spent" in str(stop.value)
    assert (await write_in(home, home.settings, Options(budget_usd=100.0))).story.words > 50


async def test_a_cap_in_dollars_needs_a_price_and_asks_nobody_without(tmp_path: Path) -> None:
    heard: list[Event] = []
    home = project(
        tmp_path / "tale", model="openai-chat:tale", models={"openai-chat:tale": {"base_url": "http://127.0.0.1:9"}}
    )
    with pytest.raises(UsageError, match=r"The price of openai-chat:tale \(role 'conflict'\) is not known"):
        await write_in(home, home.settings, Options(budget_usd=1.0, listeners=[heard.append]))
    assert not [event for event in heard if isinstance(event, CallFinished)]
    assert len([event for event in heard if isinstance(event, CallStarted)]) <= 1


SERVED = "openai-chat:tale"


def served(folder: Path, server: FakeProvider, **more: object) -> Project:
    """A project on a server of one's own, with a price."""
    settings = {
        "system": "end-to-end",
        "preset": "faithful",
        "model": SERVED,
        "models": {SERVED: {"base_url": server.openai_url}},
        "prices": {SERVED: {"input": 1000, "output": 2000}},
    }
    return Project.create(folder, BRIEF, settings | more)


async def test_a_server_that_counts_nothing_is_counted_and_charged_by_estimate(tmp_path: Path) -> None:
    text = "The lamp went out, and nobody spoke of it again. " * 20
    async with FakeProvider(Answer(text, usage=False)) as server:
        home = served(tmp_path / "tale", server)
        outcome = await write_in(home, home.settings, Options())
        with home.journal as journal:
            (usage,) = journal.spent().values()
        assert usage.reply == estimate_tokens(text)
        assert usage.estimated == usage.prompt + usage.reply > 0
        assert usage.cost == pytest.approx((usage.prompt * 1000 + usage.reply * 2000) / 1e6)
        assert outcome.budget.spent_usd == usage.cost
        capped = served(tmp_path / "capped", server, sampling={"max_tokens": 300}, budget={"usd": 0.5})
        with pytest.raises(BudgetError, match=r"Stopped before the budget of \$0\.5000 of the project is passed"):
            await write_in(capped, capped.settings, Options())


async def test_what_failed_tries_cost_is_on_the_bill_of_the_project(tmp_path: Path) -> None:
    null = b'{"choices": [{"message": {"role": "assistant", "content": null}, "finish_reason": "stop", "index": 0}], '
    broken = Answer(body=null + b'"usage": {"prompt_tokens": 400, "completion_tokens": 50, "total_tokens": 450}}')
    async with FakeProvider(broken) as server:
        home = served(tmp_path / "tale", server, models={SERVED: {"base_url": server.openai_url, "tries": 1}})
        for _ in range(2):
            with pytest.raises(OverloadedError, match="sent something that is no reply"):
                await write_in(home, home.settings, Options())
        with home.journal as journal:
            (usage,) = journal.spent().values()
        assert (usage.prompt, usage.reply) == (800, 100)
        assert usage.cost == pytest.approx(1.0)
        capped = home.settings.with_({"budget": {"usd": 1.1}, "sampling": {"max_tokens": 50}})
        with pytest.raises(BudgetError, match=r"\$1\.0000 are spent"):
            await write_in(home, capped, Options())


async def test_a_conversation_keeps_to_the_budget_of_its_project(tmp_path: Path) -> None:
    brief = Brief("Mara lit the lamp. Ilya left the house.")
    home = Project.create(tmp_path / "tale", brief, SETTINGS | {"budget": {"tokens": 10}})
    with pytest.raises(BudgetError, match="budget of 10 tokens of the project is passed"):
        await talk(home, home.settings, Options())
    free = home.settings.with_({"budget": {"tokens": None}})
    with pytest.raises(BudgetError, match=r"budget of 20 tokens is passed.* --budget-tokens"):
        await talk(home, free, Options(whole=Budget(tokens=20)))


async def talk(home: Project, settings: Settings, options: Options) -> None:
    async with conversing(home, settings_for(settings), options) as open_:
        conversation = await open_.conversation("evening", Parties("Mara", ("Ilya",)))
        await conversation.say("Is anybody there?")
