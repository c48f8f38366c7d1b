"""The embedded engine with the real small model: slow enough to be few, each with at most 16 tokens to write."""

from __future__ import annotations

import asyncio
import json
import math
import os
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ContextLengthError, ModelError, ModelUnavailableError, UnknownNameError, UsageError
from fabula.models.base import Message, Model, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.known import find, installed, local_path, models_home

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")

HOME = models_home(os.environ)
pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(
        not installed("smollm2", HOME), reason="the weights are not here: `fabula models pull smollm2` downloads them"
    ),
]
LONG = " ".join(f"On day {i} the keeper wrote that the sea was calm and the lamp was lit." for i in range(12))


def request(user: str = "Tell a long story of the sea.", system: str = "You write.", **more: object) -> Request:
    sampling = more.pop("sampling", Sampling(max_tokens=16, seed=3, temperature=0.8))
    return Request((Message("system", system), Message("user", user)), sampling, **more)  # type: ignore[arg-type] # fields of Request


def smollm2(slots: int = 1, context: int = 2048) -> EmbeddedModel:
    path = local_path("smollm2", HOME)
    return EmbeddedModel(path, name="embedded:smollm2", slots=slots, context=context, threads=1)


@pytest.fixture
async def model() -> AsyncIterator[EmbeddedModel]:
    made = smollm2()
    yield made
    await made.close()


async def test_pieces_are_the_text_and_usage_is_counted(model: EmbeddedModel) -> None:
    seam: Model = model
    pieces: list[str] = []
    reply = await seam.ask(request(), pieces.append)
    assert reply.text
    assert "".join(pieces) == reply.text
    assert len(pieces) > 1
    assert reply.finish == "length"
    assert reply.model == "embedded:smollm2"
    assert reply.sent == {"max_tokens": 16, "seed": 3, "temperature": 0.8}
    usage = reply.usage
    assert (usage.reply, usage.cost) == (16, 0.0)
    assert usage.prompt > 10
    assert usage.first is not None
    assert 0 < usage.first <= usage.seconds


async def test_same_seed_same_text_and_another_seed_another(model: EmbeddedModel) -> None:
    first, again = await model.ask(request()), await model.ask(request())
    other = await model.ask(request(sampling=Sampling(max_tokens=16, seed=4, temperature=0.8)))
    assert first.text == again.text != other.text


async def test_repeated_prefix_is_served_from_cache(model: EmbeddedModel) -> None:
    short = Sampling(max_tokens=2, seed=1)
    cold = await model.ask(request("Who came?", system=LONG, sampling=short))
    between = await model.ask(request("Something else.", sampling=short))
    warm = await model.ask(request("Who left?", system=LONG, sampling=short))
    assert cold.usage.cached < 20
    assert between.usage.cached < 20
    assert warm.usage.cached > 0.9 * (warm.usage.prompt - 20) > 100


async def test_cancelling_frees_the_slot(model: EmbeddedModel) -> None:
    await model.ask(request(sampling=Sampling(max_tokens=1)))
    begun, heard = asyncio.Event(), []

    def listen(piece: str) -> None:
        heard.append(piece)
        begun.set()

    endless = request(sampling=Sampling(max_tokens=1900, seed=1))
    task = asyncio.create_task(model.ask(endless, listen))
    await begun.wait()
    waiting = asyncio.create_task(model.ask(request()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    counted = len(heard)
    assert (await waiting).usage.reply == 16
    assert len(heard) == counted < 100


async def test_cancelling_while_the_prompt_is_read(model: EmbeddedModel) -> None:
    await model.ask(request(sampling=Sampling(max_tokens=1)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await model.ask(request("Go on.", system=LONG * 4))
    assert (await model.ask(request())).text


async def test_schema_gives_json_of_that_shape(model: EmbeddedModel) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "maximum": 99}},
        "required": ["name", "age"],
    }
    reply = await model.ask(request("A hero, as JSON.", schema=schema, sampling=Sampling(max_tokens=48, seed=1)))
    assert set(json.loads(reply.text)) == {"name", "age"}
    assert reply.finish == "stop"


async def test_choices_and_first_token_probabilities(model: EmbeddedModel) -> None:
    choices = ('The "A" [one]', "née\nB", "Same")
    reply = await model.ask(request("Which?", choices=choices, logprobs=3))
    assert reply.text in choices
    assert reply.logprobs is not None
    likeliest = sorted(reply.logprobs, key=lambda text: -reply.logprobs[text])  # type: ignore[index] # asserted above
    assert len(likeliest) >= 3
    assert all(value < 0 for value in reply.logprobs.values())
    assert "The" in likeliest
    assert sum(map(math.exp, reply.logprobs.values())) < 1.0001


async def test_probabilities_do_not_depend_on_the_constraint(model: EmbeddedModel) -> None:
    free = await model.ask(request("Which?", logprobs=3))
    bound = await model.ask(request("Which?", choices=("A", "B"), logprobs=3))
    assert free.logprobs is not None
    assert bound.logprobs is not None
    assert len(free.logprobs) == 3
    assert {text: bound.logprobs[text] for text in free.logprobs} == pytest.approx(free.logprobs, abs=1e-3)


async def test_stop_ends_the_reply_before_the_stop_text(model: EmbeddedModel) -> None:
    whole = (await model.ask(request())).text
    word = whole.split()[3]
    cut = await model.ask(request(sampling=Sampling(max_tokens=16, seed=3, temperature=0.8, stop=(word,))))
    assert cut.finish == "stop"
    assert cut.text == whole[: whole.index(word)]


async def test_no_system_prompt_means_an_empty_one(model: EmbeddedModel) -> None:
    none = await model.ask(Request((Message("user", "Hi"),), Sampling(max_tokens=8, seed=1)))
    empty = await model.ask(request("Hi", system="", sampling=Sampling(max_tokens=8, seed=1)))
    assert (none.text, none.usage.prompt) == (empty.text, empty.usage.prompt)
    assert none.usage.prompt < 20


async def test_too_long_a_prompt_says_both_sizes() -> None:
    model = smollm2(context=256)
    with pytest.raises(
        ContextLengthError, match=r"has \d{3,} tokens, but the context of embedded:smollm2 has only 256\."
    ):
        await model.ask(request(system=LONG * 2))
    assert (await model.ask(request(sampling=Sampling(max_tokens=2)))).text
    await model.close()


async def test_bad_requests_are_refused_and_the_engine_goes_on(model: EmbeddedModel) -> None:
    with pytest.raises(ModelError, match="unrecognized type"):
        await model.ask(request(schema={"type": "nonsense"}))
    with pytest.raises(UsageError, match=r"not both."):
        await model.ask(request(schema={"type": "object"}, choices=("A",)))
    with pytest.raises(UnknownNameError, match="Unknown adapter 'planner'"):
        await model.ask(request(adapter="planner"))
    assert (await model.ask(request(sampling=Sampling(max_tokens=2)))).text


async def test_three_calls_on_two_slots_run_together() -> None:
    model = smollm2(slots=2, context=512)
    running: list[int] = []
    pieces: list[int] = []

    def listener(number: int) -> Callable[[str], None]:
        def listen(_piece: str) -> None:
            running.append(number) if number not in running else None
            pieces.append(number)

        return listen

    replies = await asyncio.gather(*(model.ask(request(f"Tell me about {i}."), listener(i)) for i in range(3)))
    assert [reply.usage.reply for reply in replies] == [16, 16, 16]
    first, second = running[:2]
    assert pieces.index(second) < len(pieces) - 1 - pieces[::-1].index(first)
    await model.close()


async def test_close_while_asked_and_twice_and_ask_again(model: EmbeddedModel) -> None:
    begun = asyncio.Event()
    asked = [
        asyncio.create_task(model.ask(request(sampling=Sampling(max_tokens=1900)), lambda _: begun.set()))
        for _ in range(2)
    ]
    await begun.wait()
    await model.close()
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(outcome, ModelUnavailableError)
        assert "was closed during a call." in str(outcome)
    await model.close()
    assert (await model.ask(request(sampling=Sampling(max_tokens=2)))).text


async def test_the_engine_writes_nothing_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    model = smollm2(context=512)
    await model.ask(request())
    await model.close()
    assert capfd.readouterr() == ("", "")


async def test_identity_is_that_of_the_known_file(tmp_path: Path) -> None:
    assert smollm2().identity == f"embedded:smollm2@{find('smollm2').sha256[:12]}"


async def test_a_cut_file_is_refused_with_advice(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with local_path("smollm2", HOME).open("rb") as file:
        cut.write_bytes(file.read(1 << 20))
    with pytest.raises(ModelUnavailableError, match=r"could not load .*cut\.gguf.*fabula models pull smollm2"):
        await EmbeddedModel(cut, name="x").ask(request())
