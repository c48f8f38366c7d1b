"""`ProviderModel` against a fake server in all its dialects: what is sent, what comes back, and every failure."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
import subprocess
import sys
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
    UnknownNameError,
    UnreadableReplyError,
    UsageError,
)
from fabula.models import wire
from fabula.models.base import SAMPLING_FIELDS, Message, Reply, Request, Sampling
from fabula.models.limits import PAYS, Limited
from fabula.models.providers import KINDS, PLACEHOLDER_KEY, ProviderModel, provider_model
from fabula.models.reasoning import room_for_reasoning
from fake_provider import (
    LLAMA_CONTEXT_ERROR,
    STREAMS,
    TEXT,
    Answer,
    FakeProvider,
    Recorded,
    broken_json,
    no_such_model,
    overloaded,
    plain_body,
    refused_key,
    too_long,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fake_provider import Script

KEY = "sk-0123456789-never-shown"
KEYS = {name: KEY for kind in KINDS.values() for name in kind.keys}
NAMES = dict.fromkeys(KINDS, "tale-1") | {
    "openai": "gpt-4o",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
    "azure": "gpt-4o",
    "groq": "openai/gpt-oss-20b",
    "bedrock": "anthropic.claude-haiku-4-5-20251001-v1:0",
}
MESSAGES = (Message("system", "You are terse."), Message("user", "Go on."))
ASKED = Request(MESSAGES)
EXAMPLE = Recorded("POST", "/v1/chat/completions", {}, {"model": "tale-1"})
EVERYTHING = Sampling(
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    min_p=0.05,
    repeat_penalty=1.1,
    repeat_last_n=64,
    presence_penalty=0.1,
    frequency_penalty=0.2,
    dry_multiplier=0.8,
    dry_base=1.75,
    dry_allowed_length=2,
    dry_penalty_last_n=300,
    max_tokens=100,
    seed=3,
    stop=("END",),
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}},
    "required": ["name"],
    "additionalProperties": False,
}

# One kind for each way of asking; the others differ in address and key only (`tests/cli/test_model_servers.py`).
ASKED_KINDS = ("openai", "openai-chat", "anthropic", "google", "vllm", "mistral", "azure", "bedrock")
every_kind = pytest.mark.parametrize("kind", ASKED_KINDS)
streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def connect(server: FakeProvider, kind: str, name: str = "", timeout: float = 30.0) -> ProviderModel:
    return provider_model(kind, name or NAMES[kind], base_url=server.base_url(kind), environ=KEYS, timeout=timeout)


async def ask(
    script: Script, kind: str = "openai-chat", request: Request = ASKED, *, stream: bool = False, name: str = ""
) -> tuple[Reply, list[str], dict[str, Any]]:
    """The reply, the pieces heard, and the body that the server got."""
    heard: list[str] = []
    async with FakeProvider(script) as server:
        model = connect(server, kind, name)
        try:
            reply = await model.ask(request, heard.append if stream else None)
        finally:
            await model.close()
        return reply, heard, server.requests[-1].body


async def failing(script: Script, kind: str, *, stream: bool = False) -> ModelError:
    """The error of one call; it must come after exactly one request, or the library has retried."""
    async with FakeProvider(script) as server:
        model = connect(server, kind, timeout=0.4 if isinstance(script, Answer) and script.hang else 30.0)
        with pytest.raises(ModelError) as caught:
            await model.ask(ASKED, (lambda _: None) if stream else None)
        await model.close()
        assert len(server.requests) == 1
        assert caught.value.model == model.name
        return caught.value


# --- replies --------------------------------------------------------------------------------------------------------


@every_kind
@streaming
async def test_text_usage_and_cached_tokens_come_back(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, heard, _ = await ask(Answer(prompt_tokens=210, cached_tokens=50, reply_tokens=9), kind, stream=stream)
    assert (reply.text, reply.finish, reply.model) == (TEXT, "stop", f"{kind}:{NAMES[kind]}")
    assert (reply.usage.prompt, reply.usage.cached, reply.usage.reply) == (210, 50, 9)
    assert heard == (Answer().pieces() if stream else [])


@every_kind
@streaming
async def test_a_reply_cut_at_max_tokens_says_so(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, _, _ = await ask(Answer(finish="length"), kind, stream=stream)
    assert (reply.text, reply.finish) == (TEXT, "length")


@every_kind
@streaming
@pytest.mark.parametrize("finish", ["refusal", "filter"])
async def test_refusals_and_filters_are_replies(kind: str, stream: bool, finish: str) -> None:  # noqa: FBT001 -- parametrised
    text = "I cannot write this." if finish == "refusal" else ""
    reply, _, _ = await ask(Answer(text, finish=finish), kind, stream=stream)
    assert (reply.text, reply.finish) == (text, "refusal")


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
async def test_a_filter_that_answers_with_400_is_a_refusal_too(code: str) -> None:
    reply, _, _ = await ask(Answer(status=400, error={"message": "filtered", "code": code}))
    assert (reply.text, reply.finish) == ("", "refusal")


@every_kind
@streaming
async def test_a_model_that_says_nothing_has_answered(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, heard, _ = await ask(Answer("", reply_tokens=0), kind, stream=stream)
    assert (reply.text, reply.finish, heard) == ("", "stop", [])


@streaming
async def test_times_are_read_from_the_clock_that_is_handed_in(stream: bool) -> None:  # noqa: FBT001 -- parametrised
    ticks = iter(range(100))
    async with FakeProvider() as server:
        model = replace(connect(server, "openai-chat"), clock=lambda: float(next(ticks)))
        reply = await model.ask(ASKED, (lambda _: None) if stream else None)
        await model.close()
    assert (reply.usage.first, reply.usage.seconds) == ((1.0, 2.0) if stream else (None, 1.0))


@every_kind
async def test_the_price_of_a_server_of_ones_own_is_unknown_and_not_zero(kind: str) -> None:
    reply, _, _ = await ask(Answer(), kind)
    assert reply.usage.cost is None


async def test_a_server_that_counts_nothing_has_no_cost() -> None:
    reply, _, _ = await ask(Answer(usage=False))
    assert (reply.usage.prompt, reply.usage.reply, reply.usage.cost) == (0, 0, None)


# --- what is sent ---------------------------------------------------------------------------------------------------


async def test_openai_speaks_responses_and_openai_chat_speaks_chat_completions() -> None:
    for kind, path in (("openai", "/v1/responses"), ("openai-chat", "/v1/chat/completions")):
        async with FakeProvider() as server:
            model = connect(server, kind)
            await model.ask(ASKED)
            await model.close()
            assert [request.path for request in server.requests] == [path]


@every_kind
async def test_turns_arrive_in_order_and_whole(kind: str) -> None:
    turns = (*MESSAGES, Message("assistant", "She did."), Message("user", "Why?"))
    _, _, body = await ask(Answer(), kind, Request(turns))
    text = str(body)
    places = [text.index(turn.content) for turn in turns if turn.role != "system"]
    assert places == sorted(places)
    assert "You are terse." in text
    roles = [turn["role"] for turn in body.get("messages") or body.get("input") or body.get("contents") or ()]
    answers = "model" if kind == "google" else "assistant"
    assert [role for role in roles if role != "system"] == ["user", answers, "user"]


async def test_who_asks_and_where_is_never_sent() -> None:
    _, _, body = await ask(Answer(), request=replace(ASKED, role="secret-role", path="scene/3/secret"))
    assert "secret" not in str(body)


async def test_a_compatible_server_gets_every_sampling_value_under_the_names_it_may_know() -> None:
    reply, _, body = await ask(Answer(), request=replace(ASKED, sampling=EVERYTHING))
    expected = EVERYTHING.set_values() | {"stop": ["END"], "repetition_penalty": 1.1}
    assert {name: body[name] for name in expected} == expected
    assert "max_completion_tokens" not in body
    assert reply.dropped == ()
    assert dict(reply.sent) == EVERYTHING.set_values() | {"stop": ["END"]}


async def test_openais_own_chat_gets_only_what_openai_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.models.providers._is_openai", lambda _: True)
    reply, _, body = await ask(Answer(), request=replace(ASKED, sampling=EVERYTHING))
    assert set(reply.sent) == TAKEN["google"] - {"top_k"}
    assert body["max_completion_tokens"] == 100
    assert "max_tokens" not in body
    assert body["prompt_cache_key"].startswith("fabula-")


TAKEN = {
    "openai": {"temperature", "top_p", "max_tokens"},
    "anthropic": {"temperature", "top_p", "top_k", "max_tokens", "stop"},
    "google": {
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "stop",
        "seed",
        "presence_penalty",
        "frequency_penalty",
    },
}


@pytest.mark.parametrize("kind", list(TAKEN))
@streaming
async def test_what_a_provider_cannot_take_is_named_and_not_sent(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, _, body = await ask(Answer(), kind, replace(ASKED, sampling=EVERYTHING), stream=stream)
    assert set(reply.sent) == TAKEN[kind]
    assert set(reply.dropped) == set(EVERYTHING.set_values()) - TAKEN[kind]
    assert reply.sent["temperature"] == 0.7
    assert reply.sent["max_tokens"] == 100
    for name in ("min_p", "dry_multiplier", "repeat_penalty", "repetition_penalty"):
        assert name not in str(body)


@pytest.mark.parametrize(("kind", "name"), [("openai", "gpt-5"), ("anthropic", "claude-opus-4-8")])
async def test_what_this_very_model_rejects_is_dropped_without_a_warning(kind: str, name: str) -> None:
    sampling = Sampling(temperature=0.7, top_p=0.9, max_tokens=50)
    reply, _, body = await ask(Answer(), kind, replace(ASKED, sampling=sampling), name=name)
    assert reply.dropped == ("temperature", "top_p")
    room = room_for_reasoning(sampling, thinks=kind == "openai")  # this claude thinks only where it is asked to
    assert dict(reply.sent) == {"max_tokens": 50 + room}
    assert "temperature" not in body


async def test_a_name_of_openais_on_another_server_says_nothing_about_what_it_takes() -> None:
    reply, _, body = await ask(Answer(), request=replace(ASKED, sampling=Sampling(temperature=0.7)), name="o3-mini")
    assert (reply.dropped, body["temperature"]) == ((), 0.7)


async def test_an_adapter_is_the_model_served_for_that_call_only() -> None:
    async with FakeProvider() as server:
        model = connect(server, "openai-chat")
        await model.ask(replace(ASKED, adapter="tale-1-plot"))
        await model.ask(ASKED)
        await model.close()
        assert [request.body["model"] for request in server.requests] == ["tale-1-plot", "tale-1"]
        assert len({request.headers["authorization"] for request in server.requests}) == 1


@every_kind
@streaming
async def test_a_schema_goes_out_as_the_providers_own_and_keeps_its_bounds(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, _, body = await ask(Answer('{"name": "Mara"}'), kind, replace(ASKED, schema=SCHEMA), stream=stream)
    assert (reply.text, reply.dropped) == ('{"name": "Mara"}', ())
    assert "maxLength" in str(body)
    if kind == "openai-chat":
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    if kind == "openai":
        assert body["text"]["format"]["type"] == "json_schema"
    if kind == "anthropic":
        assert body["output_config"]["format"]["type"] == "json_schema"
    if kind == "google":
        assert body["generationConfig"]["responseMimeType"] == "application/json"


async def test_a_model_without_schemas_is_asked_in_words_and_says_so() -> None:
    old = provider_model("anthropic", "tale-1", environ=KEYS)
    assert not old.capabilities.schema
    request = replace(ASKED, schema=SCHEMA)
    reply, _, body = await ask(Answer("Mara"), "anthropic", request, name="tale-1")
    assert (reply.text, reply.dropped) == ("Mara", ("schema",))
    assert "output_config" not in body


@every_kind
@streaming
async def test_a_choice_is_held_by_an_enum_and_comes_back_bare(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    request = replace(ASKED, choices=("Mara", "Ilya"))
    reply, heard, body = await ask(Answer('{"choice": "Ilya"}'), kind, request, stream=stream)
    assert (reply.text, reply.dropped) == ("Ilya", ())
    assert heard == (["Ilya"] if stream else [])
    assert "enum: [Mara, Ilya]" in str(body).replace("'", "").replace('"', "").replace(":[Mara,", ": [Mara, ")


@pytest.mark.parametrize("text", ["Ilya, of course.", '["Ilya"]', "{}", "null"])
async def test_a_server_that_ignores_the_enum_is_handed_on_as_it_is(text: str) -> None:
    reply, _, _ = await ask(Answer(text), request=replace(ASKED, choices=("Mara", "Ilya")))
    assert reply.text == text


@pytest.mark.parametrize("kind", ["openai", "openai-chat"])
@streaming
async def test_log_probabilities_are_of_the_choice_itself(kind: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    request = replace(ASKED, choices=("A", "B"), logprobs=2)
    reply, _, body = await ask(Answer("A", logprobs=[("A", -0.1), ("B", -2.5)]), kind, request, stream=stream)
    assert reply.logprobs == {"A": -0.1, "B": -2.5}
    assert reply.dropped == ("choices",)
    assert "enum" not in str(body)


@every_kind
async def test_log_probabilities_that_do_not_come_are_named(kind: str) -> None:
    reply, _, _ = await ask(Answer("A"), kind, replace(ASKED, logprobs=2))
    assert (reply.logprobs, reply.dropped) == (None, ("logprobs",))
    assert KINDS[kind].logprobs == (kind not in {"anthropic", "google", "mistral", "bedrock"})


async def test_the_stable_prefix_is_marked_for_anthropics_cache() -> None:
    turns = (Message("system", "You are terse."), Message("user", "The plan."), Message("user", "Write."))
    _, _, body = await ask(Answer(), "anthropic", Request(turns))
    assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
    plan, instruction = body["messages"][0]["content"]
    assert plan["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in instruction


async def test_a_prompt_without_a_stable_prefix_is_not_marked() -> None:
    _, _, body = await ask(Answer(), "anthropic", Request((Message("user", "Go on."),)))
    assert "cache_control" not in str(body)


async def test_calls_that_begin_alike_share_openais_cache_key() -> None:
    keys = []
    for system, user in (("Persona.", "One."), ("Persona.", "Two."), ("Another.", "One.")):
        request = Request((Message("system", system), Message("user", user)))
        keys.append((await ask(Answer(), "openai", request))[2]["prompt_cache_key"])
    assert keys[0] == keys[1] != keys[2]
    assert "prompt_cache_key" not in (await ask(Answer()))[2]


# --- failures -------------------------------------------------------------------------------------------------------

FAILURES: dict[str, tuple[Answer, type[ModelError], str]] = {
    "429": (overloaded(429, "7"), OverloadedError, "asks for fewer calls (429). It said: slow down"),
    "500": (overloaded(500), OverloadedError, "failed on the server's side. It said: slow down"),
    "503": (overloaded(503), OverloadedError, "is overloaded or down for now. It said: slow down"),
    "401": (refused_key(), ModelUnavailableError, "refused the key at http://127.0.0.1"),
    "403": (refused_key(status=403), ModelUnavailableError, "refused the key at http://127.0.0.1"),
    "404": (no_such_model(), ModelUnavailableError, "(404). Check the model's name and the address"),
    "context": (too_long(), ContextLengthError, "longer than its context"),
    "400": (
        Answer(status=400, error={"message": "unknown field dry_base"}),
        ModelError,
        "rejected the request (400). It said: unknown field dry_base",
    ),
    "broken": (broken_json(), UnreadableReplyError, "sent something that is not a reply"),
    "text": (Answer(body=b"<html>gateway", content_type="text/html"), UnreadableReplyError, "that is not a reply"),
    "cut": (Answer(cut=2), OverloadedError, "closed the connection before the reply was complete"),
    "silent": (Answer(hang="start"), ModelTimeoutError, "did not answer in time"),
}


@every_kind
@streaming
@pytest.mark.parametrize("failure", list(FAILURES))
async def test_every_failure_has_its_error_and_one_try(kind: str, stream: bool, failure: str) -> None:  # noqa: FBT001 -- parametrised
    answer, expected, said = FAILURES[failure]
    error = await failing(answer, kind, stream=stream)
    assert type(error) is expected
    assert str(error).startswith(f"{kind}:{NAMES[kind]} ")
    assert said in str(error)
    assert error.retry_after == (7.0 if failure == "429" else None)
    assert error.retryable == (issubclass(expected, OverloadedError | ModelTimeoutError))


@every_kind
@pytest.mark.parametrize("instead", ["", 'data: {"oops\n\n'], ids=["quiet", "garbled"])
async def test_a_stream_that_ends_early_but_properly_is_not_a_reply(kind: str, instead: str) -> None:
    error = await failing(Answer(cut=2, instead=instead), kind, stream=True)
    assert isinstance(error, OverloadedError)
    assert "sent something that is not a reply" in str(error)


@pytest.mark.parametrize("instead", ["", 'data: {"oops\n\n'], ids=["quiet", "garbled"])
async def test_anthropics_whole_reply_is_a_stream_too_and_may_be_cut(instead: str) -> None:
    error = await failing(Answer(cut=2, instead=instead), "anthropic")
    assert isinstance(error, OverloadedError)


async def test_an_error_inside_a_stream_is_the_same_error() -> None:
    event = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    for kind in ("openai-chat", "anthropic"):
        error = await failing(Answer(cut=2, instead=event), kind, stream=True)
        assert isinstance(error, OverloadedError)
        assert "It said: busy" in str(error)


# --- what is no reply, though it comes with 200 -----------------------------------------------------------------------


def plain(body: bytes, content_type: str = "application/json", **headers: str) -> Answer:
    return Answer(body=body, content_type=content_type, headers={k.replace("_", "-"): v for k, v in headers.items()})


def changed(change: Callable[[Any], object]) -> Callable[[Recorded], Answer]:
    """A good body whose list of answers `change` takes in hand."""
    holders = {"chat": "choices", "responses": "output", "messages": "content", "google": "candidates"}

    def answer(request: Recorded) -> Answer:
        body = plain_body(request, Answer())
        holder = holders[request.dialect]
        return plain(json.dumps(body | {holder: change(body[holder])}).encode())

    return answer


def with_event(event: str, at: int = 4) -> Callable[[Recorded], Answer]:
    """A good stream with one event in the place of another."""

    def answer(request: Recorded) -> Answer:
        events = [text for text, _ in STREAMS[request.dialect](request, Answer())]
        return plain("".join([*events[:at], event, *events[at + 1 :]]).encode(), "text/event-stream")

    return answer


WHOLE: dict[str, Script] = {
    "null": plain(b"null"),
    "list": plain(b"[]"),
    "number": plain(b"3"),
    "text": plain(b'"hello"'),
    "object": plain(b"{}"),
    "nothing": plain(b""),
    "deep": plain(b"[" * 3_000),
    "no utf-8": plain(b'{"a": "\xff\xfe"}'),
    "html": plain(b"<html>gateway</html>", "text/html"),
    "html called json": plain(b"<html>gateway</html>"),
    "an event stream": plain(b"data: {}\n\n", "text/event-stream"),
    "broken gzip": plain(b"no gzip at all", content_encoding="gzip"),
    "cut gzip": plain(gzip.compress(b'{"a": 1}' * 100)[:30], content_encoding="gzip"),
    "an error": plain(b'{"error": {"message": "backend broke", "code": 500}}'),
    "an error in words": plain(b'{"error": "backend broke"}'),
    "no choice": changed(lambda _: []),
    "null for choices": changed(lambda _: None),
    "a text for choices": changed(lambda _: "x"),
    "null for a choice": changed(lambda _: [None]),
    "a number for a choice": changed(lambda _: [3]),
    "an empty choice": changed(lambda _: [{}]),
}
STREAMED: dict[str, Script] = {
    **{name: WHOLE[name] for name in ("null", "list", "object", "nothing", "deep", "html", "broken gzip", "an error")},
    "nothing but the end": plain(b"data: [DONE]\n\n", "text/event-stream"),
    **{f"event {event}": with_event(f"data: {event}\n\n") for event in ("null", "[]", "3", '"x"', "<html>")},
    "an error event": with_event('data: {"error": {"message": "backend broke"}}\n\n'),
    "an error event in words": with_event('data: {"error": "backend broke"}\n\n'),
    "an error event at first": with_event('data: {"error": {"message": "backend broke"}}\n\n', at=0),
    "an error event of a type": with_event('data: {"type": "error", "error": {"message": "backend broke"}}\n\n'),
}


@every_kind
@pytest.mark.parametrize("name", list(WHOLE))
async def test_what_is_no_reply_is_an_error_that_is_tried_again(kind: str, name: str) -> None:
    await check_no_reply(WHOLE[name], kind, name, stream=False)


@every_kind
@pytest.mark.parametrize("name", list(STREAMED))
async def test_a_stream_that_is_no_reply_is_one_too(kind: str, name: str) -> None:
    await check_no_reply(STREAMED[name], kind, name, stream=True)


async def check_no_reply(script: Script, kind: str, name: str, *, stream: bool) -> None:
    error = await failing(script, kind, stream=stream)
    assert isinstance(error, OverloadedError)
    assert str(error).startswith(f"{kind}:{NAMES[kind]} ")
    assert "{" not in str(error).partition("It said")[0]
    if "an error" in name and kind != "bedrock":  # which has no errors of that form
        assert "It said: backend broke" in str(error)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_without_end_is_broken_off(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 -- parametrised
    monkeypatch.setattr("fabula.models.wire.LARGEST", 2_000_000)

    def script(request: Recorded) -> Answer:
        if not request.stream:
            return plain(gzip.compress(b" " * 50_000_000), content_encoding="gzip")
        events = [text for text, _ in STREAMS[request.dialect](request, Answer())]
        return plain("".join([events[0], events[1] * 100_000]).encode(), "text/event-stream")

    error = await failing(script, "openai-chat", stream=stream)
    assert type(error) is ModelError
    assert "sent more than 2 MB as one reply." in str(error)


@pytest.mark.parametrize("event", [": waiting\n\n", "data: {}\n\n", "event: ping\ndata: {}\n\n"])
async def test_what_keeps_a_stream_alive_is_no_error(event: str) -> None:
    def script(request: Recorded) -> Answer:
        events = [text for text, _ in STREAMS[request.dialect](request, Answer())]
        return plain("".join([events[0], event, *events[1:]]).encode(), "text/event-stream")

    reply, heard, _ = await ask(script, stream=True)
    assert (reply.text, heard) == (TEXT, Answer().pieces())


@pytest.mark.parametrize("kind", [kind for kind in ASKED_KINDS if kind != "bedrock"])
async def test_an_error_with_200_that_says_400_is_not_tried_again(kind: str) -> None:
    error = await failing(plain(b'{"error": {"message": "no such field", "code": 400}}'), kind)
    assert type(error) is ModelError
    assert "rejected the request. It said: no such field" in str(error)


async def test_a_reply_whose_content_is_null_is_none() -> None:
    def null(choices: Any) -> object:  # noqa: ANN401 -- JSON
        return [choices[0] | {"message": {"role": "assistant", "content": None}}]

    error = await failing(changed(null), "openai-chat")
    assert "sent something that is not a reply. It said: the reply holds no text" in str(error)
    assert error.tokens == (21, 9)


@pytest.mark.parametrize("count", [None, -5, 10**30, "many", 1.5, [1]], ids=str)
@pytest.mark.parametrize("kind", ["openai", "openai-chat", "anthropic", "google"])
@streaming
async def test_counts_that_cannot_be_are_no_counts(kind: str, stream: bool, count: object) -> None:  # noqa: FBT001 -- parametrised
    odd: Any = count
    answer = Answer(prompt_tokens=5, reply_tokens=7)

    def script(request: Recorded) -> Answer:
        if stream or kind == "anthropic":
            body = "".join(text for text, _ in STREAMS[request.dialect](request, answer))
        else:
            body = json.dumps(plain_body(request, answer))
        counted = re.sub(r'("\w+(?:_tokens|TokenCount)": )\d+', rf"\g<1>{json.dumps(odd)}", body)
        return plain(counted.encode(), "text/event-stream" if stream or kind == "anthropic" else "application/json")

    reply, _, _ = await ask(script, kind, stream=stream)
    assert (reply.text, reply.usage.prompt, reply.usage.reply, reply.usage.cost) == (TEXT, 0, 0, None)


async def test_what_failed_tries_took_is_paid_before_the_next_one() -> None:
    paid: list[tuple[int, int]] = []

    async def pay(failure: ModelError) -> None:
        paid.extend([failure.tokens] * any(failure.tokens))

    async with FakeProvider([changed(lambda _: [])(EXAMPLE), overloaded(), Answer()]) as server:
        model = Limited(connect(server, "openai-chat"), sleep=no_sleep)
        mark = PAYS.set(pay)
        assert (await model.ask(ASKED)).usage.prompt == 21
        assert paid == [(21, 9)]
        server.script = changed(lambda _: [])
        with pytest.raises(OverloadedError, match="fabula gave up after 2 attempts") as caught:
            await model.ask(ASKED)
        PAYS.reset(mark)
        await model.close()
    assert paid == [(21, 9)] * 2
    assert caught.value.tokens == (21, 9), "the last try is paid by who gets the error"


@pytest.mark.parametrize("value", ["nan", "inf", "-5", "soon", "1e400"])
async def test_a_retry_after_that_is_none_is_left_aside(value: str) -> None:
    error = await failing(overloaded(429, value), "openai-chat")
    assert error.retry_after in {None, 0.0}


async def test_what_cannot_be_sent_is_not_blamed_on_the_server() -> None:
    async with FakeProvider() as server:
        model = connect(server, "openai-chat")
        with pytest.raises(ModelError, match=r"could not be asked\. It said: UnicodeEncodeError") as caught:
            await model.ask(Request((Message("user", "\ud800"),)))
        await model.close()
    assert not caught.value.retryable
    assert not server.requests


async def test_retry_after_may_be_a_date() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    error = await failing(overloaded(503, at), "openai-chat")
    assert error.retry_after is not None
    assert 80 < error.retry_after <= 90


async def test_no_credit_is_not_worth_another_try() -> None:
    error = await failing(Answer(status=429, error={"message": "pay", "code": "insufficient_quota"}), "openai-chat")
    assert type(error) is ModelUnavailableError
    assert "no credit or quota left" in str(error)


async def test_llama_cpps_word_for_too_long_a_prompt_is_known() -> None:
    error = await failing(too_long(LLAMA_CONTEXT_ERROR), "openai-chat")
    assert type(error) is ContextLengthError
    assert "exceeds the available context size" in str(error)


async def test_a_status_without_a_class_of_its_own_is_read_too() -> None:
    error = await failing(Answer(status=408, error={"message": "hurry"}), "openai-chat")
    assert isinstance(error, OverloadedError)
    assert "is busy or failed (408). It said: hurry" in str(error)


@pytest.mark.parametrize(
    ("address", "proxied"),
    [("http://localhost:1/v1", False), ("https://localhost/v1", False), ("https://host.invalid/v1", True)],
)
async def test_only_servers_elsewhere_may_be_reached_through_a_proxy(address: str, proxied: bool) -> None:  # noqa: FBT001 -- parametrised
    async with wire.http_client(address, 5.0, 8) as client:
        assert client.trust_env is proxied


async def test_long_words_of_a_server_are_cut() -> None:
    error = await failing(Answer(status=400, error={"message": "so " * 2_000}), "openai-chat")
    assert len(str(error)) < 400


@every_kind
async def test_nobody_at_the_address_says_where_and_what_to_do(kind: str) -> None:
    async with FakeProvider() as server:
        gone = server.base_url(kind)
    model = provider_model(kind, NAMES[kind], base_url=gone, environ=KEYS)
    with pytest.raises(ModelUnavailableError) as caught:
        await model.ask(ASKED)
    await model.close()
    assert f"{model.name} cannot be reached at {gone}. Start the server, or correct the address" in str(caught.value)
    assert not caught.value.retryable


async def no_sleep(_: float) -> None:
    return


async def test_limits_do_the_retries_and_honour_retry_after() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with FakeProvider([overloaded(429, "7"), Answer(cut=2), broken_json(), Answer()]) as server:
        model = Limited(connect(server, "openai-chat"), sleep=sleep)
        heard: list[str] = []
        reply = await model.ask(ASKED, heard.append)
        await model.close()
        assert len(server.requests) == 4
    assert reply.text == TEXT
    assert slept[0] == 7.0
    assert "".join(heard) == "The lamp" + TEXT


@every_kind
async def test_cancelling_closes_the_stream_and_frees_the_server(kind: str) -> None:
    async with FakeProvider(Answer(hang="middle")) as server, asyncio.timeout(120):
        model = connect(server, kind)
        heard: list[str] = []
        task = asyncio.create_task(model.ask(ASKED, heard.append))
        await server.first_piece.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.client_left.wait()
        server.script = Answer()
        assert (await model.ask(ASKED)).text == TEXT
        await model.close()


async def test_cancelling_a_call_that_is_not_streamed_closes_it_too() -> None:
    async with FakeProvider(Answer(hang="start")) as server, asyncio.timeout(120):
        model = connect(server, "openai-chat")
        task = asyncio.create_task(model.ask(ASKED))
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.client_left.wait()
        await model.close()


async def test_a_listeners_own_error_is_not_taken_for_the_models() -> None:
    def listen(_: str) -> None:
        raise ValueError("the listener's")

    async with FakeProvider() as server:
        model = connect(server, "openai-chat")
        with pytest.raises(ValueError, match="the listener's"):
            await model.ask(ASKED, listen)
        await model.close()


async def test_many_calls_at_once_keep_to_the_limit_and_to_themselves() -> None:
    def answer(request: Any) -> Answer:  # noqa: ANN401 -- a Recorded
        return Answer(request.body["messages"][-1]["content"], latency=0.001)

    async with FakeProvider(answer) as server:
        model = Limited(connect(server, "openai-chat"), parallel=3)
        requests = [Request((Message("user", f"n{i}"),), Sampling(seed=i)) for i in range(12)]
        replies = await asyncio.gather(*(model.ask(request) for request in requests))
        await model.close()
        assert server.most_in_flight == 3
    assert [(reply.text, reply.sent["seed"]) for reply in replies] == [(f"n{i}", i) for i in range(12)]


def test_serves_several_event_loops_in_turn() -> None:
    model: list[ProviderModel] = []

    async def once() -> str:
        # nothing is kept alive: what a finished loop leaves open can no longer be closed
        async with FakeProvider(Answer(headers={"connection": "close"})) as server:
            model.append(connect(server, "openai-chat"))
            model[0].address = server.openai_url
            reply = await model[0].ask(ASKED)
            return reply.text

    assert [asyncio.run(once()), asyncio.run(once())] == [TEXT, TEXT]
    asyncio.run(model[0].close())
    asyncio.run(model[0].close())


# --- keys and addresses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-chat", "FABULA_OPENAI_CHAT_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
        ("google", "GOOGLE_API_KEY"),
    ],
)
async def test_a_key_comes_from_the_environment_that_is_handed_in(kind: str, variable: str) -> None:
    assert provider_model(kind, "m", environ={variable: f" {KEY}\n"}).key == KEY
    without = provider_model(kind, "m", environ={"UNRELATED": KEY})
    with pytest.raises(ModelUnavailableError, match=rf"no key for {kind}:m\. Set .*{variable}.* in the environment"):
        await without.ask(ASKED)


def test_the_process_environment_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert provider_model("openai", "m").key == ""


async def test_openais_key_does_not_go_to_other_servers() -> None:
    async with FakeProvider() as server:
        for environ, sent in (
            ({"OPENAI_API_KEY": KEY}, PLACEHOLDER_KEY),
            ({"FABULA_OPENAI_CHAT_KEY": "own", "OPENAI_API_KEY": KEY}, "own"),
        ):
            model = provider_model("openai-chat", "tale-1", base_url=server.openai_url, environ=environ)
            await model.ask(ASKED)
            await model.close()
            assert server.requests[-1].headers["authorization"] == f"Bearer {sent}"


async def test_a_refused_key_names_the_variable_to_check() -> None:
    async with FakeProvider(refused_key()) as server:
        model = provider_model("openai-chat", "tale-1", base_url=server.openai_url)
        with pytest.raises(ModelUnavailableError, match=r"Check FABULA_OPENAI_CHAT_KEY\."):
            await model.ask(ASKED)
        await model.close()


async def test_a_variable_of_the_users_own_may_hold_the_key() -> None:
    async with FakeProvider(refused_key()) as server:
        model = provider_model("openai-chat", "m", base_url=server.openai_url, environ={"MINE": KEY}, key_env="MINE")
        with pytest.raises(ModelUnavailableError, match=r"Check MINE\."):
            await model.ask(ASKED)
        await model.close()
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    without = provider_model("openai-chat", "m", base_url="http://localhost/v1", environ=KEYS, key_env="MINE")
    with pytest.raises(ModelUnavailableError, match="Set MINE in the environment"):
        await without.ask(ASKED)


@every_kind
@streaming
async def test_a_key_never_shows_in_errors_reprs_or_logs(
    kind: str,
    stream: bool,  # noqa: FBT001 -- parametrised
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    leaky = f"the key {KEY} is not welcome"
    answers = [
        Answer(),
        *(Answer(status=status, error={"message": leaky}) for status in (400, 401, 404, 429, 500)),
        Answer(body=leaky.encode()),
        Answer(body=leaky.encode(), content_type="text/plain"),
        Answer(cut=2),
    ]
    async with FakeProvider(answers) as server:
        model = connect(server, kind)
        shown = [repr(model), str(model), f"{Limited(model)!r}", repr(model.capabilities)]
        for _ in answers:
            try:
                shown.append(repr(await model.ask(ASKED, (lambda _: None) if stream else None)))
            except ModelError as error:
                shown += [str(error), repr(error), "".join(traceback.format_exception(error)), repr(vars(error))]
                shown += [repr(error.__cause__), repr(error.__context__)]
        await model.close()
        assert KEY in str(server.requests[0].headers)
    assert len(shown) > 20
    assert "the key [key] is not welcome" in " ".join(shown)
    assert KEY not in " ".join(shown)
    assert not any("httpx2" in text for text in shown), "the library's error travels along"
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["two words", "sk-\nX", "sk-ü", "sk-\x00"])
def test_what_cannot_be_a_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(UsageError, match=r"variable .* contains a space, a quotation mark or") as caught:
        provider_model("openai", "gpt-4o", environ={"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000/v1",
        "ftp://host/v1",
        "http://",
        "http://me:secret@host/v1",
        "http://[::1/v1",
        "http://host:port/v1",
        "http://host/v1?api_key=secret",
        "http://host/v1?v=secret",
        "http://host/v1#secret",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not an address for openai-chat") as caught:
        provider_model("openai-chat", "m", base_url=address)
    assert "secret" not in str(caught.value)


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown kind of model 'antropic'\. Did you mean 'anthropic'\?"):
        provider_model("antropic", "m")


def test_a_kind_without_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"openai: requires the name of a model after the colon, as in openai:NAME"):
        provider_model("openai", " ")


def test_an_address_with_a_slash_at_its_end_is_the_same() -> None:
    assert provider_model("openai-chat", "m", base_url="http://host/v1/").address == "http://host/v1"


# --- what is said before a call -------------------------------------------------------------------------------------


def test_a_model_is_named_and_described_without_being_reached() -> None:
    model = provider_model("openai-chat", "tale-1", base_url="http://host/v1", parallel=5)
    assert (model.name, model.identity) == ("openai-chat:tale-1", "openai-chat:tale-1")
    able = model.capabilities
    assert (able.parallel, able.schema, able.choices, able.logprobs) == (5, True, True, True)
    assert able.sampling == SAMPLING_FIELDS == {*EVERYTHING.set_values(), "reasoning"}
    assert "dry_base" not in provider_model("openai-chat", "gpt-4o").capabilities.sampling


@pytest.mark.parametrize("kind", ["openai", "openai-chat", "google"])
def test_the_client_libraries_are_loaded_with_the_first_call_only(kind: str) -> None:
    code = (
        "import sys; from fabula.models.providers import provider_model; "
        f"provider_model({kind!r}, 'm', environ={{}}).capabilities; "
        "sys.exit(not {'httpx2', 'genai_prices', 'botocore'}.isdisjoint(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


async def test_servers_on_this_machine_are_not_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    reply, _, _ = await ask(Answer())
    assert reply.text == TEXT


# --- the fake itself ------------------------------------------------------------------------------------------------


async def test_the_fake_counts_and_repeats_its_last_answer() -> None:
    async with FakeProvider([Answer("one"), Answer("two")]) as server:
        model = connect(server, "openai-chat")
        texts = [(await model.ask(ASKED)).text for _ in range(3)]
        await model.close()
        assert (texts, server.most_in_flight, server.in_flight) == (["one", "two", "two"], 1, 0)


def test_the_fakes_failures_are_told_apart() -> None:
    made: list[Callable[[], Answer]] = [overloaded, refused_key, no_such_model, too_long]
    assert [make().status for make in made] == [429, 401, 404, 400]
