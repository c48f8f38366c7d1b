"""A budget stops a run before a call, keeps everything, and a higher cap goes on to the same story."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar
from unittest.mock import patch

import pytest

from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options, write_in
from fabula.base.errors import BudgetError, EndlessReplyError, ModelError, OverloadedError, UsageError
from fabula.craft.conversation import Parties
from fabula.engine.events import CallFinished, CallLost, CallStarted
from fabula.engine.journal import Journal, spent_by_role
from fabula.models.base import Message, Reply, Request, Usage
from fabula.models.budget import Budget, estimate_tokens
from fabula.models.limits import Limited
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import systems
from fake_provider import Answer, FakeProvider, broken_json

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from fabula.engine.events import Event
    from fabula.project.settings import Settings

T = TypeVar("T")
SCRIPT = f"scripted:{systems()['agents-room'].folder / 'script.toml'}"
SETTINGS = {"model": SCRIPT, "preset": "faithful", "sampling": {"max_tokens": 300}}
BRIEF = Brief("Write about Mara, who keeps a lighthouse.")


def project(folder: Path, **more: object) -> ProjectFolder:
    return ProjectFolder.create(folder, BRIEF, SETTINGS | more)


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


def check_stop(home: ProjectFolder, stopped: str, cap: int, calls: int) -> int:
    """The cap that the message names; what is replayed costs nothing, so that it always suffices for a call."""
    spent, wanted = (int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:are spent|or more)", stopped))
    assert spent <= cap < wanted
    with home.journal as journal:
        assert journal.runs()[-1]["error"] == stopped
        assert all((home.folder / file).is_file() for file in journal.artefacts.places().values())
        assert len(journal.calls) == calls
    return wanted


async def test_the_cap_is_never_passed(tmp_path: Path) -> None:
    for cap in range(0, 1000, 190):
        home = project(tmp_path / str(cap))
        with pytest.raises(BudgetError, match=rf"Stopped before the budget of {cap:,} tokens is exceeded"):
            await write_in(home, home.settings, Options(budget_tokens=cap))
        with home.journal as journal:
            assert sum(usage.prompt + usage.reply for usage in spent_by_role(journal.calls).values()) <= cap


async def test_a_cap_in_dollars_stops_by_the_users_prices(tmp_path: Path) -> None:
    home = project(tmp_path / "tale", prices={SCRIPT: {"input": 1000, "output": 2000}})
    with pytest.raises(
        BudgetError,
        match=r"Stopped before the budget of \$1\.0000 is exceeded: .* "
        r"--budget-usd",
    ) as stop:
        await write_in(home, home.settings, Options(budget_usd=1.0))
    with home.journal as journal:
        spent = sum(usage.cost or 0 for usage in spent_by_role(journal.calls).values())
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


def served(folder: Path, server: FakeProvider, **more: object) -> ProjectFolder:
    """A project on a server of one's own, with a price."""
    settings = {
        "system": "end-to-end",
        "preset": "faithful",
        "model": SERVED,
        "models": {SERVED: {"base_url": server.openai_url}},
        "prices": {SERVED: {"input": 1000, "output": 2000}},
    }
    return ProjectFolder.create(folder, BRIEF, settings | more)


async def test_a_server_that_counts_nothing_is_counted_and_charged_by_estimate(tmp_path: Path) -> None:
    text = "The lamp went out, and nobody spoke of it again. " * 20
    async with FakeProvider(Answer(text, usage=False)) as server:
        home = served(tmp_path / "tale", server)
        outcome = await write_in(home, home.settings, Options())
        with home.journal as journal:
            (usage,) = spent_by_role(journal.calls).values()
        assert usage.reply == estimate_tokens(text)
        assert usage.estimated == usage.prompt + usage.reply > 0
        assert usage.cost == pytest.approx((usage.prompt * 1000 + usage.reply * 2000) / 1e6)
        assert outcome.budget.spent_usd == usage.cost
        capped = served(tmp_path / "capped", server, sampling={"max_tokens": 300}, budget={"usd": 0.5})
        with pytest.raises(BudgetError, match=r"Stopped before the budget of \$0\.5000 of the project is exceeded"):
            await write_in(capped, capped.settings, Options())


async def test_what_failed_tries_cost_is_on_the_bill_of_the_project(tmp_path: Path) -> None:
    null = b'{"choices": [{"message": {"role": "assistant", "content": null}, "finish_reason": "stop", "index": 0}], '
    broken = Answer(body=null + b'"usage": {"prompt_tokens": 400, "completion_tokens": 50, "total_tokens": 450}}')
    async with FakeProvider(broken) as server:
        home = served(tmp_path / "tale", server, models={SERVED: {"base_url": server.openai_url, "tries": 1}})
        for _ in range(2):
            with pytest.raises(OverloadedError, match="sent something that is not a reply"):
                await write_in(home, home.settings, Options())
        with home.journal as journal:
            (usage,) = spent_by_role(journal.calls).values()
        assert (usage.prompt, usage.reply) == (800, 100)
        assert usage.cost == pytest.approx(1.0)
        capped = home.settings.with_({"budget": {"usd": 1.1}, "sampling": {"max_tokens": 50}})
        with pytest.raises(BudgetError, match=r"\$1\.0000 are spent"):
            await write_in(home, capped, Options())


async def test_a_conversation_keeps_to_the_budget_of_its_project(tmp_path: Path) -> None:
    brief = Brief("Mara lit the lamp. Ilya left the house.")
    home = ProjectFolder.create(tmp_path / "tale", brief, SETTINGS | {"budget": {"tokens": 10}})
    with pytest.raises(BudgetError, match="budget of 10 tokens of the project is exceeded"):
        await talk(home, home.settings, Options())
    free = home.settings.with_({"budget": {"tokens": None}})
    with pytest.raises(BudgetError, match=r"budget of 20 tokens is exceeded.* --budget-tokens"):
        await talk(home, free, Options(whole=Budget(tokens=20)))


async def talk(home: ProjectFolder, settings: Settings, options: Options) -> None:
    async with conversing(home, settings_for(settings), options) as open_:
        conversation = await open_.conversation("evening", Parties("Mara", ("Ilya",)))
        await conversation.say("Is anybody there?")


# --- providers that misbehave -----------------------------------------------------------------------------------------

WORDS = "The lamp went out, and nobody spoke of it again. "


def dear(folder: Path, server: FakeProvider, **more: object) -> ProjectFolder:
    """The same, at a usual price."""
    return served(folder, server, prices={SERVED: {"input": 1.0, "output": 5.0}}, **more)


def heard(_: Event) -> None:
    return


LISTENING = Options(budget_usd=0.02, listeners=(heard,))


async def test_a_claim_of_millions_of_tokens_is_not_booked_and_said(tmp_path: Path) -> None:
    async with FakeProvider(Answer(WORDS * 60, prompt_tokens=10_000_000, reply_tokens=10_000_000)) as server:
        home = dear(tmp_path / "tale", server)
        said = (
            r"claims 20,000,000 tokens for a call of about .* Based on this claim, the budget is exceeded\. All "
            r"finished"
        )
        with pytest.raises(BudgetError, match=said):
            await write_in(home, home.settings, LISTENING)
        with home.journal as journal:
            (usage,) = spent_by_role(journal.calls).values()
    assert usage.estimated == usage.prompt + usage.reply < 2_000
    assert usage.cost == pytest.approx((usage.prompt + 5 * usage.reply) / 1e6)
    assert home.story_file.is_file(), "what was paid for is there"


async def test_a_stream_that_does_not_end_is_ended_and_paid_as_far_as_it_came(tmp_path: Path) -> None:
    async with FakeProvider(Answer(WORDS * 40_000)) as server:
        home = dear(tmp_path / "tale", server)
        with pytest.raises(BudgetError, match=r"budget of \$0\.0200 is exceeded: .* exceeds the tokens left: [34],\d"):
            await write_in(home, home.settings, LISTENING)
        with home.journal as journal:
            (usage,) = spent_by_role(journal.calls).values()
        assert 3_000 < usage.estimated < 5_000
        assert usage.cost is not None
        assert 0.019 < usage.cost < 0.021
        with pytest.raises(
            EndlessReplyError, match=r"did not end its reply, which was cut off after about 1[01],\d\d\d tokens"
        ):
            await write_in(home, home.settings, Options(listeners=(heard,)))
        assert len(server.requests) == 2, "it is not asked again"


async def test_reasoning_that_does_not_end_is_ended_too(tmp_path: Path) -> None:
    async with FakeProvider(Answer("Once.", reasoning=WORDS * 40_000)) as server:
        home = dear(tmp_path / "tale", server)
        with pytest.raises(BudgetError, match="exceeds the tokens left"):
            await write_in(home, home.settings, LISTENING)


async def test_a_cap_that_a_whole_reply_has_passed_is_said_when_the_story_is_there(tmp_path: Path) -> None:
    async with FakeProvider(Answer(WORDS * 200, prompt_tokens=10, reply_tokens=5_000)) as server:
        home = dear(tmp_path / "tale", server)
        with pytest.raises(BudgetError, match=r"The budget of \$0\.0200 is exceeded: \$0\.0250 are spent\."):
            await write_in(home, home.settings, Options(budget_usd=0.02))
        assert home.story_file.is_file()
        again = await write_in(home, home.settings, Options(budget_usd=0.02))
        assert (again.budget.spent_usd, len(server.requests)) == (0, 1)


@pytest.mark.parametrize(
    ("answer", "tries"),
    [(Answer(hang="start"), 5), (broken_json(), 2), (Answer(cut=2), 5)],
    ids=["late", "broken", "cut"],
)
async def test_a_call_that_comes_to_nothing_is_booked_as_an_estimate(
    answer: Answer, tries: int, tmp_path: Path
) -> None:
    async with FakeProvider(answer) as server:
        table = {"base_url": server.openai_url, **({"timeout": 0.3} if answer.hang else {})}
        home = dear(tmp_path / "tale", server, models={SERVED: table})
        lost: list[CallLost] = []
        listen = Options(listeners=(lambda event: lost.append(event) if isinstance(event, CallLost) else None,))
        with pytest.raises(ModelError):
            await asleep(write_in(home, home.settings, listen))
        assert len(server.requests) == len(lost) == tries
        with home.journal as journal:
            (usage,) = spent_by_role(journal.calls).values()
    assert usage.prompt > tries
    assert usage.reply > 0
    assert usage.estimated == usage.prompt + usage.reply
    assert usage.cost == pytest.approx((usage.prompt + 5 * usage.reply) / 1e6)


async def asleep(work: Coroutine[None, None, T]) -> T:
    """What `work` gives; no try waits for long."""
    with patch.object(Limited, "_wait", _at_once):
        return await work


def _at_once(limited: Limited, failure: ModelError, attempt: int, _: float) -> float | None:
    return 0.0 if failure.retryable and attempt < limited.tries else None


async def test_what_a_killed_call_may_have_taken_is_booked(tmp_path: Path) -> None:
    asked = Request((Message("user", "Write."),), role="writer", path="story/story")
    for _ in range(2):  # each process dies before its call is settled
        with Journal(tmp_path / "journal.db") as journal:
            journal.calls.hold("key", asked, SERVED, Usage(prompt=100, reply=900, cost=None, estimated=1_000))
    with Journal(tmp_path / "journal.db") as journal:
        assert [usage.estimated for usage in [one.usage for one in journal.calls.payments()]] == [1_000, 1_000]
        journal.calls.hold("key", asked, SERVED, Usage(prompt=100, reply=900, cost=None, estimated=1_000))
        journal.calls.record("key", asked, 0, Reply("Once.", Usage(prompt=90, reply=800), model=SERVED))
        assert [usage.prompt for usage in [one.usage for one in journal.calls.payments()]] == [90, 100, 100], (
            "those that were killed stay"
        )
