"""What can be known of the embedded model without its engine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ContextLengthError, ModelError, ModelUnavailableError, OverloadedError
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.known import find
from fabula.models.llamacpp import ReplyReader, body_of, first_token_logprobs, raised, sent_values
from fabula.models.reasoning import ROOM

if TYPE_CHECKING:
    from pathlib import Path

ASKED = Request((Message("user", "Hi"),), logprobs=1)


def test_nothing_is_loaded_before_the_first_call(tmp_path: Path) -> None:
    check = "import sys, fabula.models.embedded; print({'xllamacpp', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert EmbeddedModel(tmp_path / "none.gguf", name="x").capabilities.parallel == 1


def test_a_model_that_is_still_open_is_closed_where_the_interpreter_ends() -> None:
    check = """
import asyncio, atexit
from pathlib import Path
from fabula.errors import ModelUnavailableError
from fabula.models.base import Message, Request
from fabula.models.embedded import EmbeddedModel
model = EmbeddedModel(Path("none.gguf"), name="x")
atexit.register(lambda: print("closed") if asyncio.run(model.close()) is None else None)
try:
    asyncio.run(model.ask(Request((Message("user", "Hi"),))))
except ModelUnavailableError:
    print("asked")
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("asked\nclosed\n", "")


def test_every_sampling_value_is_sent_by_the_engines_name() -> None:
    every = Sampling(0.7, 0.9, 40, 0.05, 1.1, 64, 0.1, 0.2, 0.8, 1.75, 2, 300, 99, 2**32 - 1, ("END",))
    sent = sent_values(every)
    assert sent == {**every.set_values(), "stop": ["END"], "seed": 0}
    window = sent_values(Sampling(repeat_last_n=64, dry_multiplier=0.8))["dry_penalty_last_n"]
    assert window == 64, "the engine's own window is too short to catch a looping paragraph"
    assert sent_values(Sampling(seed=-1))["seed"] == 2**32 - 2
    assert sent_values(Sampling()) == {}
    assert sent_values(Sampling(reasoning="low", max_tokens=100)) == {
        "chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"},
        "max_tokens": 100 + ROOM["low"],
    }
    assert body_of(ASKED, sent, ())["temperature"] == 0.7


def test_every_adapter_is_named_in_every_body() -> None:
    assert "lora" not in body_of(ASKED, {}, ())
    assert body_of(ASKED, {}, ("a", "b"))["lora"] == [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 0.0}]
    chosen = Request(ASKED.messages, adapter="b")
    assert body_of(chosen, {}, ("a", "b"))["lora"] == [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 1.0}]


def test_a_stream_that_ends_without_saying_why() -> None:
    reader = ReplyReader(lambda: 0.0, lambda _: None)
    reader.take({"choices": [{"delta": {"content": "The sea"}}]})
    with pytest.raises(OverloadedError, match="ended a reply early"):
        reader.reply(ASKED, {}, "m")


def test_probabilities_of_a_later_token_are_not_taken_for_the_first() -> None:
    reader = ReplyReader(lambda: 0.0, lambda _: None)
    later = {"content": [{"token": "x", "logprob": -1.0}]}
    reader.take({"choices": [{"delta": {"content": "éx"}, "logprobs": later}], "timings": {"predicted_n": 2}})
    reader.take({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert reader.reply(ASKED, {}, "m").logprobs is None


def test_top_probabilities_and_those_that_begin_a_choice() -> None:
    top = [{"token": t, "logprob": v} for t, v in (("I", -1.0), ("It", -2.0), ("�", -2.5), ("�", -3.0), ("Sa", -9.0))]
    drawn = {"token": "B", "logprob": -12.0, "top_logprobs": top}
    assert first_token_logprobs(drawn, 3, ("Same", "B")) == {"I": -1.0, "It": -2.0, "�": -2.5, "Sa": -9.0, "B": -12.0}
    assert first_token_logprobs(drawn, 2, ()) == {"I": -1.0, "It": -2.0}


def test_errors_of_the_engine_are_told_apart() -> None:
    too_long = raised({"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}, 0, "m")
    assert isinstance(too_long, ContextLengthError)
    assert "900 tokens, but the context of m has only 512" in str(too_long)
    assert isinstance(raised({"code": 503, "message": "loading"}, 0, "m"), OverloadedError)
    other = raised({"code": 400, "message": "failed to parse grammar"}, 0, "m")
    assert type(other) is ModelError
    assert not other.retryable
    reader = ReplyReader(lambda: 0.0, lambda _: None)
    reader.take({"error": "plain words"})
    assert reader.error == {"message": "plain words"}


def test_identity_tells_weights_apart_and_leaves_adapters_to_who_asks(tmp_path: Path) -> None:
    known = EmbeddedModel(tmp_path / find("smollm2").file, name="embedded:smollm2")
    assert known.identity == f"embedded:smollm2@{find('smollm2').sha256[:12]}"
    first, second = tmp_path / "a.gguf", tmp_path / "b.gguf"
    first.write_bytes(b"GGUF" + bytes(3_000_000) + b"1")
    second.write_bytes(b"GGUF" + bytes(3_000_000) + b"2")
    names = {
        EmbeddedModel(path, name="x", adapters=adapters).identity
        for path, adapters in (
            (first, {}),
            (second, {}),
            (first, {"w": second}),
        )
    }
    assert len(names) == 2
    with pytest.raises(ModelUnavailableError, match=r"There is no model file at .*none\.gguf \(No such file"):
        _ = EmbeddedModel(tmp_path / "none.gguf", name="x").identity


async def test_files_that_are_no_model_are_refused_before_the_engine_starts(tmp_path: Path) -> None:
    with pytest.raises(
        ModelUnavailableError,
        match=r"There is no model file at .*none\.gguf .*`fabula models pull "
        r"smollm2`",
    ):
        await EmbeddedModel(tmp_path / "none.gguf", name="x").ask(ASKED)
    text = tmp_path / "text.gguf"
    text.write_text("a story")
    with pytest.raises(ModelUnavailableError, match=r"is not a GGUF file \(it begins with b'a st'\)"):
        await EmbeddedModel(text, name="x").ask(ASKED)


async def test_without_the_engine_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('no wheel for this machine')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    model = EmbeddedModel(path, name="x")
    with pytest.raises(ModelUnavailableError, match=r"`pip install .*\[engine\]'`, or use a server"):
        await model.ask(ASKED)
    await model.close()
