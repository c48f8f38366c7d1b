"""Adapters on the embedded engine, with a tiny random model that the test writes: no download, two seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError, UnknownNameError
from fabula.models.adapters import Adapted
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
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


async def ask(model: EmbeddedModel, adapter: str | None) -> Reply:
    """Ask for one known character, so that the probabilities of all first characters come."""
    sampling = Sampling(max_tokens=2, seed=1)
    return await model.ask(
        Request((Message("user", TEXT),), sampling, choices=("a",), adapter=adapter, logprobs=tinygguf.VOCAB)
    )


def expected(adapter: str | None) -> dict[str, float]:
    weights = tinygguf.weights()
    if adapter is not None:
        weights = tinygguf.merged(weights, tinygguf.adapter(SEEDS[adapter]), SCALE)
    logs = tinygguf.next_logprobs(weights, TEXT)
    return {text: value for text, value in logs.items() if text != "\0"}


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
