"""Servers that cannot all, and gateways that want more: schemas in words, headers, queries and bodies of their own."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ConfigError, ModelError, ModelUnavailableError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Message, Request, Sampling
from fabula.models.providers import Gateway, ProviderModel, provider_model
from fabula.project.casting import Environment, open_model
from fabula.project.settings import Settings
from fabula.project.trust import acts_in
from fake_provider import TEXT, Answer, FakeProvider, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKED = Request((Message("user", "Who keeps the lamp?"),))
TYPED = replace(ASKED, schema=SCHEMA)
SECRET = "gw-0123456789-never-shown"  # noqa: S105 -- nobody's


def connect(server: FakeProvider, kind: str = "openai-chat", **gateway: Any) -> ProviderModel:  # noqa: ANN401 -- its fields
    environ = {"GATEWAY_KEY": SECRET}
    return provider_model(kind, "tale-1", base_url=server.base_url(kind), environ=environ, gateway=Gateway(**gateway))


def rejecting(field: str, words: str, status: int = 400) -> Callable[[Recorded], Answer]:
    """A server that rejects requests with a field, and answers others as JSON where they want that in words."""

    def answer(request: Recorded) -> Answer:
        if field in request.body:
            return Answer(status=status, error={"message": words})
        wants = "JSON" in request.body["messages"][-1]["content"]
        return Answer('{"name": "Mara"}' if wants else TEXT)

    return answer


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "response_format is not supported"),
        (400, "bad request"),
        (422, "Extra inputs are not permitted"),
        (500, "failed to parse grammar"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_without_response_format_is_asked_in_words_from_then_on(
    status: int,
    words: str,
    stream: bool,  # noqa: FBT001 -- parametrised
) -> None:
    async with FakeProvider(rejecting("response_format", words, status)) as server:
        model = connect(server)
        replies = [await model.ask(TYPED, (lambda _: None) if stream else None) for _ in range(2)]
        await model.close()
    assert [(reply.text, reply.dropped) for reply in replies] == [('{"name": "Mara"}', ("schema",))] * 2
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]
    assert '"required":["name"]' in server.requests[-1].body["messages"][-1]["content"].replace(" ", "")
    assert model.capabilities.schema, "requests that are recorded stay what they were"


async def test_choices_are_asked_in_words_likewise() -> None:
    def script(request: Recorded) -> Answer:
        if "response_format" in request.body:
            return Answer(status=400, error={"message": "no response_format here"})
        return Answer("Ilya" if "Mara | Ilya" in request.body["messages"][-1]["content"] else TEXT)

    async with FakeProvider(script) as server:
        model = connect(server)
        reply = await model.ask(replace(ASKED, choices=("Mara", "Ilya")))
        await model.close()
    assert (reply.text, reply.dropped) == ("Ilya", ("choices",))


async def test_a_request_that_is_rejected_without_a_schema_too_is_an_error_and_nothing_is_remembered() -> None:
    async with FakeProvider(Answer(status=400, error={"message": "no such field"})) as server:
        model = connect(server)
        for _ in range(2):
            with pytest.raises(ModelError, match=r"rejected the request \(400\). It said: no such field"):
                await model.ask(TYPED)
        await model.close()
    assert ["response_format" in request.body for request in server.requests] == [True, False] * 2


async def test_values_that_a_server_rejects_are_left_out_and_named() -> None:
    request = replace(ASKED, sampling=Sampling(temperature=0.5, top_k=40, max_tokens=50))
    async with FakeProvider(rejecting("top_k", "Unknown field: top_k")) as server:
        model = connect(server)
        replies = [await model.ask(request) for _ in range(2)]
        await model.close()
    assert [reply.dropped for reply in replies] == [("top_k",)] * 2
    assert [sorted(request.body) for request in server.requests][1:] == [
        ["max_tokens", "messages", "model", "stream", "temperature"]
    ] * 2


async def test_a_server_that_ignores_the_schema_is_told_the_form_when_it_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "who.jinja").write_text("{% block user %}Who keeps the lamp?{% endblock %}", encoding="utf-8")

    def script(request: Recorded) -> Answer:
        told = "JSON schema" in request.body["messages"][-1]["content"]
        return Answer('{"name": "Mara"}' if told else "It is Mara, of course.")

    async with FakeProvider(script) as server:
        model = connect(server)
        with Journal(None) as journal:
            journal.start_run("vanilla", {})
            run = Run(RunContext(journal, SystemPrompts(tmp_path), Cast.of(model)))
            assert await run.ask_for(dict[str, str], "writer", "who") == {"name": "Mara"}
        await model.close()
    assert len(server.requests) == 2
    assert all("response_format" in request.body for request in server.requests)


async def test_a_setting_has_schemas_asked_in_words_from_the_start() -> None:
    async with FakeProvider(rejecting("response_format", "no")) as server:
        model = connect(server, schema=False)
        assert not model.capabilities.schema
        assert (await model.ask(TYPED)).text == '{"name": "Mara"}'
        await model.close()
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic", "google"])
async def test_a_gateway_gets_what_the_settings_say(
    kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("fabula.models.providers.PLACEHOLDER_KEY", "no-key-needed")
    async with FakeProvider([Answer(), Answer(status=400, error={"message": f"no {SECRET} here"})]) as server:
        table = {
            "base_url": server.base_url(kind),
            "key_env": "GATEWAY_KEY",
            "headers": {"X-Team": "fiction", "X-Gateway-Key": "${GATEWAY_KEY}"},
            "query": {"api-version": "2", "sig": "${GATEWAY_KEY}"},
            "extra_body": {"provider": {"order": ["a"]}, "metadata": {"team": "fiction"}},
            "tries": 1,
        }
        settings = Settings.of({"models": {f"{kind}:m": table}}, "the test")
        model = open_model(f"{kind}:m", settings.models[f"{kind}:m"], Environment({"GATEWAY_KEY": SECRET}))
        assert (await model.ask(ASKED)).text == TEXT
        with pytest.raises(ModelError) as caught:
            await model.ask(ASKED)
        await model.close()
        sent = server.requests[0]
    assert (sent.headers["x-team"], sent.headers["x-gateway-key"]) == ("fiction", SECRET)
    assert f"api-version=2&sig={SECRET}" in sent.path
    assert (sent.body["provider"], sent.body["metadata"]) == ({"order": ["a"]}, {"team": "fiction"})
    assert "no [key] here" in str(caught.value)
    assert SECRET not in caplog.text + str(caught.value) + repr(model) + json.dumps(settings.model_dump())


async def test_a_variable_without_a_value_is_named_before_anything_is_sent() -> None:
    async with FakeProvider() as server:
        gateway = Gateway(headers={"x-key": "${NOWHERE}"})
        model = provider_model("openai-chat", "m", base_url=server.openai_url, environ={}, gateway=gateway)
        with pytest.raises(ModelUnavailableError, match=r"the value of NOWHERE\. Set it in the environment"):
            await model.ask(ASKED)
    assert not server.requests


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"headers": {"X-Api-Key": SECRET}}, "may contain a key: put the key in an environment variable"),
        ({"headers": {"Authorization": f"Bearer {SECRET}"}}, "may contain a key"),
        ({"query": {"access_token": SECRET}}, "may contain a key"),
        ({"headers": {"Host": "elsewhere"}}, "cannot be sent"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, "cannot be sent"),
        ({"headers": {"X A": "a"}}, "cannot be sent"),
    ],
)
def test_keys_do_not_stand_in_settings(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        Settings.of({"models": {"openai-chat:m": table}}, "the test")
    assert SECRET not in str(caught.value)


def test_sending_a_variable_somewhere_needs_trust(tmp_path: Path) -> None:
    table = {"base_url": "http://localhost/v1", "headers": {"x-key": "${HOME}"}}
    acts = acts_in({"models": {"openai-chat:m": table}}, tmp_path)
    assert [(act.kind, act.what, act.detail) for act in acts] == [("address", "http://localhost/v1", "HOME")]
    assert not acts_in({"models": {"openai-chat:m": table | {"headers": {"x-team": "a"}}}}, tmp_path)


async def test_a_prompt_that_google_blocks_is_a_refusal_and_no_overload() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 12}}
    for stream in (False, True):
        body = f"data: {json.dumps(blocked)}\r\n\r\n" if stream else json.dumps(blocked)
        kind = "text/event-stream" if stream else "application/json"
        async with FakeProvider(Answer(body=body.encode(), content_type=kind)) as server:
            model = provider_model("google", "gemini-2.5-flash", base_url=server.url, environ={"GEMINI_API_KEY": "k"})
            reply = await model.ask(ASKED, (lambda _: None) if stream else None)
            await model.close()
        assert (reply.finish, reply.text, reply.usage.prompt) == ("refusal", "", 12)
        assert len(server.requests) == 1


async def test_what_no_server_rejected_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.models.wire.LARGEST", 1_000)
    async with FakeProvider(Answer(body=b" " * 2_000)) as server:
        model = connect(server)
        with pytest.raises(ModelError, match="as one reply"):
            await model.ask(TYPED)
        await model.close()
    assert len(server.requests) == 1


async def test_a_name_with_braces_is_a_name_in_an_error_too() -> None:
    async with FakeProvider(Answer(status=404, error={"message": "no"})) as server:
        model = provider_model("ollama", "a{b}", base_url=server.openai_url, environ={})
        with pytest.raises(ModelUnavailableError, match=r"Run `ollama pull a\{b\}`"):
            await model.ask(ASKED)
        await model.close()


@pytest.mark.parametrize(("name", "place"), [("gemini-x", "models/gemini-x"), ("tunedModels/y", "tunedModels/y")])
async def test_a_model_of_googles_has_its_place(name: str, place: str) -> None:
    async with FakeProvider() as server:
        model = provider_model("google", name, base_url=server.url, environ={"GEMINI_API_KEY": "k"})
        await model.ask(ASKED)
        await model.close()
    assert server.requests[0].path == f"/v1beta/{place}:generateContent"


async def test_a_key_of_bedrocks_without_a_region_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    model = provider_model("bedrock", "amazon.nova-lite-v1:0", environ={"AWS_BEARER_TOKEN_BEDROCK": "k"})
    with pytest.raises(ModelUnavailableError, match=r"no region is configured\. Set AWS_BEARER_TOKEN_BEDROCK and"):
        await model.ask(ASKED)
