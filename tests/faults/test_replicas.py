"""A model at several servers: each keeps to its limit, a story stays with one, and a sick one costs nothing."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.working import How, run_experiment
from fabula.base.errors import ConfigError, ModelError, OverloadedError, UnreachableError
from fabula.models.base import Message, Request
from fabula.models.limits import Limited
from fabula.models.servers import STORY
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.project.trust import TrustError, acts_in
from fake_provider import Answer, FakeProvider, overloaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.models.base import Model

REPLICAS, PARALLEL = 8, 4
ASKED = Request((Message("user", "Go on."),))


class Story:
    """What the calls of one story have in common."""


class Hour:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def servers() -> AsyncIterator[list[FakeProvider]]:
    async with AsyncExitStack() as stack, asyncio.timeout(120):
        yield [await stack.enter_async_context(FakeProvider(Answer(latency=0.02))) for _ in range(REPLICAS)]


def reached(addresses: list[str], **table: Any) -> Limited:  # noqa: ANN401 - fields of the table
    model = open_model(
        "openai-chat:tale-1", ModelTable(base_url=tuple(addresses), parallel=PARALLEL, **table), Environment()
    )
    assert isinstance(model, Limited)
    return model


def urls(servers: list[FakeProvider]) -> list[str]:
    return [server.openai_url for server in servers]


async def told(model: Model, calls: int) -> None:
    """A story of some calls, one after the other."""
    STORY.set(Story())
    for _ in range(calls):
        await model.ask(ASKED)


async def test_every_server_is_used_and_none_is_asked_more_at_once_than_it_may_be(servers: list[FakeProvider]) -> None:
    model = reached(urls(servers))
    assert model.capabilities.parallel == REPLICAS * PARALLEL
    await asyncio.gather(*(told(model, 6) for _ in range(3 * REPLICAS * PARALLEL)))
    asked = [len(server.requests) for server in servers]
    assert sum(asked) == 6 * 3 * REPLICAS * PARALLEL
    assert [server.most_in_flight for server in servers] == [PARALLEL] * REPLICAS
    assert min(asked) >= 0.9 * sum(asked) / REPLICAS
    await model.close()


async def test_the_calls_of_a_story_stay_with_one_server(servers: list[FakeProvider]) -> None:
    model, homes = reached(urls(servers)), Counter[str]()

    async def story(number: int) -> None:
        STORY.set(Story())
        request = Request((Message("user", f"Story {number}."),))
        for _ in range(5):
            await model.ask(request)

    await asyncio.gather(*(story(number) for number in range(REPLICAS * PARALLEL)))
    for server in servers:
        homes.update({str(request.body["messages"]) for request in server.requests})
    assert len(homes) == REPLICAS * PARALLEL
    assert set(homes.values()) == {1}
    await model.close()


async def test_a_story_that_asks_much_at_once_uses_the_other_servers_too(servers: list[FakeProvider]) -> None:
    model = reached(urls(servers))
    STORY.set(Story())
    await asyncio.gather(*(model.ask(ASKED) for _ in range(REPLICAS * PARALLEL)))
    assert [server.most_in_flight for server in servers] == [PARALLEL] * REPLICAS
    await model.close()


async def test_a_dead_server_fails_no_call_and_is_hardly_asked(servers: list[FakeProvider]) -> None:
    reasons: list[str] = []
    model = reached(["http://127.0.0.1:9/v1", *urls(servers)[1:]])
    model.on_retry = lambda *values: reasons.append(values[3])
    await asyncio.gather(*(told(model, 6) for _ in range(64)))
    assert sum(len(server.requests) for server in servers) == 6 * 64
    assert 0 < len(reasons) <= 2 * PARALLEL
    assert "cannot be reached at http://127.0.0.1:9/v1" in reasons[0]
    assert max(server.most_in_flight for server in servers) == PARALLEL
    await model.close()


async def test_a_sick_server_is_asked_again_later_with_one_call(servers: list[FakeProvider]) -> None:
    sick, well = servers[:2]
    model, clock = reached(urls(servers[:2])), Hour()
    model.clock = clock
    sick.script = overloaded(503)
    await asyncio.gather(*(told(model, 2) for _ in range(12)))
    first = len(sick.requests)
    assert 0 < first <= PARALLEL
    await asyncio.gather(*(told(model, 2) for _ in range(12)))
    assert len(sick.requests) == first
    clock.now += 1000
    await asyncio.gather(*(told(model, 2) for _ in range(12)))
    assert len(sick.requests) == first + 1
    sick.script = Answer()
    clock.now += 1000
    await asyncio.gather(*(told(model, 2) for _ in range(12)))
    assert len(sick.requests) > first + 2
    assert sum(len(server.requests) for server in (sick, well)) == 4 * 24 + first + 1
    await model.close()


async def test_where_all_are_away_it_is_waited_as_for_one(servers: list[FakeProvider]) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    gone = reached(["http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"])
    gone.sleep = sleep
    with pytest.raises(UnreachableError, match=r"cannot be reached at http://127.0.0.1:(9|10)/v1"):
        await gone.ask(ASKED)
    assert not slept
    busy = reached(urls(servers[:2]), tries=3)
    busy.sleep = sleep
    for server in servers[:2]:
        server.script = overloaded(429)
    with pytest.raises(OverloadedError, match="fabula gave up after 3 attempts"):
        await busy.ask(ASKED)
    assert len(slept) == 2
    assert sum(len(server.requests) for server in servers) <= 5
    await busy.close()


async def test_a_replica_with_another_model_is_found_out_and_nothing_more_is_asked(
    servers: list[FakeProvider],
) -> None:
    first, other = servers[:2]

    def named(name: str) -> Answer:
        said = {"model": name, "choices": [{"finish_reason": "stop", "message": {"content": "Once."}}]}
        return Answer(body=json.dumps(said).encode())

    first.script, other.script = named("/models/tale-1"), named("/disk/Tale-1")
    model = reached(urls(servers[:2]))
    await asyncio.gather(*(told(model, 1) for _ in range(4)))
    other.script = named("fable-8b")
    said = (
        rf"replicas of openai-chat:tale-1 do not serve the same model: {first.openai_url} serves "
        "'/models/tale-1', but "
        rf"{other.openai_url} serves 'fable-8b'\. Serve the same model at both addresses, or remove one of them from "
        "`base_url`."
    )
    both = await asyncio.gather(told(model, 3), told(model, 3), return_exceptions=True)
    assert [type(error) for error in both] == [ModelError] * 2
    asked = len(first.requests) + len(other.requests)
    with pytest.raises(ModelError, match=said):
        await model.ask(ASKED)
    assert len(first.requests) + len(other.requests) == asked
    await model.close()


async def test_one_dead_server_costs_no_cell(tmp_path: Path, servers: list[FakeProvider]) -> None:
    (tmp_path / "briefs").mkdir()
    for number in range(16):
        (tmp_path / "briefs" / f"{number}.md").write_text(f"Write of a lamp, number {number}.\n", encoding="utf-8")
    addresses = ["http://127.0.0.1:9/v1", *urls(servers)[1:]]
    (tmp_path / "exp.toml").write_text(
        'briefs = ["briefs"]\nsystems = ["end-to-end"]\nworkers = 16\nmodels = ["openai-chat:tale-1"]\n'
        f'[settings.models."openai-chat:tale-1"]\nbase_url = {addresses}\nparallel = 1\n',
        encoding="utf-8",
    )
    results = await run_experiment(read_experiment(tmp_path / "exp.toml", {}), How())
    assert (len(results.of_state("done")), results.stopped) == (16, "")
    assert {server.most_in_flight for server in servers[1:]} == {1}


@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        (["http://n1:8000/v1", "http://n1:8000/v1/"], "an address occurs twice"),
        ([], "the list has no address; leave base_url out for the usual address"),
        (["http://n1:8000/v1", ""], "one of the addresses is empty"),
        (["http://n1:8000/v1", "http://u:key@n2:8000/v1"], "which may hold a key"),
    ],
)
def test_addresses_that_cannot_be_are_refused(addresses: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings.of({"models": {"openai-chat:m": {"base_url": addresses}}}, "fabula.toml")


def test_one_address_in_a_list_is_that_address() -> None:
    one, none = ModelTable(base_url=("http://n1:8000/v1",)), ModelTable()
    assert (one, one.addresses, none.addresses) == (
        ModelTable(base_url="http://n1:8000/v1"),
        ("http://n1:8000/v1",),
        ("",),
    )


def test_each_address_has_to_be_allowed(tmp_path: Path) -> None:
    said = {
        "models": {"openai-chat:m": {"base_url": ["http://localhost:8000/v1", "http://n1:8000/v1", "http://n2/v1"]}}
    }
    assert {act.what for act in acts_in(said, tmp_path)} == {"http://n1:8000/v1", "http://n2/v1"}
    with pytest.raises(TrustError, match=r"http://n1:8000/v1.*http://n2/v1"):
        raise TrustError(tmp_path / "fabula.toml", acts_in(said, tmp_path))
