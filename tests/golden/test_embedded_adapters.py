"""Adapters on the embedded engine, with a tiny random model that the test writes: no download, two seconds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError, UnknownNameError
from fabula.models import llamacpp
from fabula.models.adapters import Adapted
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.llamacpp import EngineSettings, slots_of
from fabula.models.lora import peft_to_gguf

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Reply

pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")
pytestmark = pytest.mark.embedded

TEXT, SCALE = "helloworld", 2.0  # lora_alpha 8 over rank 4
SEEDS = {"planner": 5, "writer": 6}


@pytest.fixture
def model(tmp_path: Path) -> EmbeddedModel:
    base = tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())
    adapters = {}
    for name, seed in SEEDS.items():
        folder = tinygguf.write_peft(tmp_path / name, tinygguf.adapter(seed))
        adapters[name] = peft_to_gguf(folder, tmp_path / f"{name}.gguf", base=base)
    return EmbeddedModel(base, name="tiny", context=256, threads=1, adapters=adapters)


async def ask(model: EmbeddedModel, adapter: str | None, text: str = TEXT) -> Reply:
    """Ask for one known character, so that the probabilities of all first characters come."""
    sampling = Sampling(max_tokens=2, seed=1)
    return await model.ask(
        Request((Message("user", text),), sampling, choices=("a",), adapter=adapter, logprobs=tinygguf.VOCAB)
    )


def expected(adapter: str | None, text: str = TEXT) -> dict[str, float]:
    weights = tinygguf.weights()
    if adapter is not None:
        weights = tinygguf.merged(weights, tinygguf.adapter(SEEDS[adapter]), SCALE)
    logs = tinygguf.next_logprobs(weights, text)
    return {sign: value for sign, value in logs.items() if sign != "\0"}


async def test_each_request_gets_its_own_adapter_and_nothing_of_the_last_one(model: EmbeddedModel) -> None:
    """The engine's cache holds keys and values that another adapter made; a reply must never be drawn from those."""
    seen: dict[str | None, dict[str, float]] = {}
    for adapter in (None, "planner", None, "writer", "planner", "writer", None, None):
        reply = await ask(model, adapter)
        assert reply.logprobs is not None
        known = {text: value for text, value in reply.logprobs.items() if text in expected(None)}
        assert len(known) == 127
        assert known == pytest.approx(expected(adapter), abs=0.01)
        assert known == pytest.approx(seen.setdefault(adapter, known), abs=0.01)
    assert expected("planner") != pytest.approx(expected("writer"), abs=1.0)
    assert expected("planner") != pytest.approx(expected(None), abs=1.0)
    await model.close()


LAMP, ZEBRA = "thelampwasdark" * 12, "zebrasquickly" * 12


@pytest.mark.parametrize("own_slots", [True, False])
async def test_states_of_another_adapter_are_never_taken_up(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, *, own_slots: bool
) -> None:
    """The engine looks for the states of a like prompt also among those that it has put aside."""
    if not own_slots:
        monkeypatch.setattr(llamacpp, "_STATES", 0)
    order = (("planner", LAMP), ("writer", ZEBRA), ("writer", f"{LAMP}x"), ("planner", f"{ZEBRA}x"), (None, "q" * 90))
    for adapter, text in (*order, (None, f"{LAMP}y"), ("writer", f"{LAMP}z"), ("planner", LAMP)):
        reply = await ask(model, adapter, text)
        known = {sign: value for sign, value in (reply.logprobs or {}).items() if sign in expected(None)}
        assert known == pytest.approx(expected(adapter, text), abs=0.05), (adapter, text[:5])
    await model.close()


async def test_each_adapter_finds_its_own_states_again(model: EmbeddedModel) -> None:
    for text, least in ((LAMP, 0), (f"{LAMP}a", len(LAMP)), (f"{LAMP}ab", len(LAMP) + 1)):
        for adapter in ("planner", "writer", None):
            assert (await ask(model, adapter, text)).usage.cached >= least
    await model.close()


async def test_calls_side_by_side_wait_for_the_slot_of_their_adapter(model: EmbeddedModel) -> None:
    beside = EmbeddedModel(model.path, name="tiny", context=256, threads=1, slots=3, adapters=model.adapters)
    asked = [(adapter, LAMP[: 20 + n]) for n in range(4) for adapter in ("planner", "writer", "planner", None)]
    replies = await asyncio.gather(*(ask(beside, adapter, text) for adapter, text in asked))
    for (adapter, text), reply in zip(asked, replies, strict=True):
        known = {sign: value for sign, value in (reply.logprobs or {}).items() if sign in expected(None)}
        assert known == pytest.approx(expected(adapter, text), abs=0.05)
    await beside.close()


def test_slots_are_as_many_as_memory_holds(tmp_path: Path) -> None:
    base = tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())
    adapters = tuple(tmp_path / f"{n}.gguf" for n in range(9))
    state = 2 * 2 * tinygguf.LAYERS * tinygguf.KV_HEADS * tinygguf.HEAD  # bytes for a token
    for settings, slots in (
        (EngineSettings(base, 3, 512, ()), 3),
        (EngineSettings(base, 1, 512, adapters), 10),
        (EngineSettings(base, 12, 512, adapters), 12),
        (EngineSettings(base, 1, (2 << 30) // state // 4, adapters), 4),
        (EngineSettings(base, 1, 1 << 40, adapters), 1),
        (EngineSettings(tmp_path / "none.gguf", 2, 512, adapters), 2),
    ):
        assert slots_of(settings) == slots


async def test_base_among_adapters_is_the_base_alone(model: EmbeddedModel) -> None:
    alone = EmbeddedModel(model.path, name="alone", context=256, threads=1)
    bare = await ask(alone, None)
    await ask(model, "planner")
    assert (await ask(model, None)).logprobs == bare.logprobs
    assert alone.identity.partition("@")[2] == model.identity.partition("@")[2]
    assert Adapted(model, "0123456789ab").identity == f"{model.identity}+0123456789ab"
    await model.close()
    await alone.close()


@pytest.mark.parametrize(("architecture", "rank"), [("llama", 16), ("qwen2", 4), ("qwen2", 16)])
async def test_other_architectures_and_ranks_are_as_trained(tmp_path: Path, architecture: str, rank: int) -> None:
    base = tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights(), architecture=architecture)
    lora = tinygguf.adapter(5, rank)
    folder = tinygguf.write_peft(tmp_path / "peft", lora, r=rank, lora_alpha=rank // 2)
    file = peft_to_gguf(folder, tmp_path / "a.gguf", base=base)
    model = EmbeddedModel(base, name="tiny", context=256, threads=1, adapters={"a": file})
    reply = await ask(model, "a")
    await model.close()
    logs = tinygguf.next_logprobs(tinygguf.merged(tinygguf.weights(), lora, 0.5), TEXT)
    known = {text: value for text, value in (reply.logprobs or {}).items() if text in logs and text != "\0"}
    assert len(known) == 127
    assert known == pytest.approx({text: value for text, value in logs.items() if text != "\0"}, abs=0.01)


async def test_unknown_adapter_and_a_file_that_is_none(model: EmbeddedModel, tmp_path: Path) -> None:
    assert model.capabilities.adapters == ("planner", "writer")
    with pytest.raises(UnknownNameError, match=r"Unknown adapter 'writter'\. Did you mean 'writer'\?"):
        await ask(model, "writter")
    await model.close()
    (tmp_path / "text.gguf").write_text("no adapter")
    wrong = EmbeddedModel(model.path, name="tiny", adapters={"writer": tmp_path / "text.gguf"})
    with pytest.raises(ModelUnavailableError, match=r"text\.gguf is not a GGUF file \(it begins with b'no a'\)"):
        await ask(wrong, "writer")
    await wrong.close()
    other = EmbeddedModel(model.path, name="tiny", context=256, adapters={"writer": model.path})
    with pytest.raises(ModelUnavailableError, match="an adapter does not belong to this model"):
        await ask(other, "writer")
    await other.close()
