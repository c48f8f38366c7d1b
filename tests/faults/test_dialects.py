"""Each server's own errors: what fabula makes of them, and in which words it says them."""

from __future__ import annotations

import pytest

from dialects import ERRORS
from fabula.base.errors import ContextLengthError, ModelError, ModelUnavailableError, OverloadedError
from fabula.models.base import Message, Request
from fabula.models.providers import KINDS, provider_model
from fake_provider import Answer, FakeProvider

KEYS = {name: "a-key" for kind in KINDS.values() for name in kind.keys}
NAMES = {"bedrock": "anthropic.claude-haiku-4-5-20251001-v1:0", "azure": "my-gpt", "ollama": "llama3.1:8b"}
ASKED = Request((Message("user", "Go on."),))
MEANINGS: dict[str, tuple[type[ModelError], str]] = {
    "key": (ModelUnavailableError, "refused the key at http://127.0.0.1"),
    "model": (ModelUnavailableError, "was not found at http://127.0.0.1"),
    "context": (ContextLengthError, "cannot take this prompt: it is longer than its context"),
    "context later": (ContextLengthError, "cannot take this prompt: it is longer than its context"),
    "busy": (OverloadedError, ""),
    "broken": (OverloadedError, "failed on the server's side"),
    "memory": (ModelUnavailableError, "does not fit into the memory of its server. Take a smaller model"),
    "loading": (OverloadedError, "is still being loaded by its server. It said: Loading model"),
    "credit": (ModelUnavailableError, "has no credit or quota left on this account"),
}
# What a server says with a status that means something else, and does not tell apart itself.
OTHERWISE: dict[tuple[str, str], tuple[type[ModelError], str]] = {
    ("mistral", "model"): (ModelError, "rejected the request (400). It said: Invalid model: mistral-x"),
    ("deepseek", "model"): (ModelError, "rejected the request (400). It said: Model Not Exist"),
    ("groq", "broken"): (OverloadedError, "is overloaded or down for now"),
}
CASES = [(kind, name) for kind, errors in ERRORS.items() for name in errors if name != "moderated"]


async def failing(kind: str, answer: Answer) -> ModelError:
    async with FakeProvider(answer) as server:
        model = provider_model(kind, NAMES.get(kind, "tale-1"), base_url=server.base_url(kind), environ=KEYS)
        with pytest.raises(ModelError) as caught:
            await model.ask(ASKED)
        await model.close()
    return caught.value


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[" ".join(case) for case in CASES])
async def test_each_servers_own_error_has_its_meaning(kind: str, name: str) -> None:
    error = await failing(kind, ERRORS[kind][name])
    expected, words = OTHERWISE.get((kind, name), MEANINGS[name])
    assert type(error) is expected
    assert words in str(error)
    assert "{" not in str(error).partition("It said")[0]
    assert "It said: {" not in str(error)


@pytest.mark.parametrize("kind", ["openrouter", "azure"])
async def test_what_a_provider_moderates_is_a_refusal_and_no_wrong_key(kind: str) -> None:
    async with FakeProvider(ERRORS[kind]["moderated"]) as server:
        model = provider_model(kind, "my-gpt", base_url=server.base_url(kind), environ=KEYS)
        reply = await model.ask(ASKED)
        await model.close()
    assert (reply.finish, reply.text) == ("refusal", "")


async def test_what_the_provider_behind_openrouter_said_is_told() -> None:
    error = await failing("openrouter", ERRORS["openrouter"]["busy"])
    assert str(error).endswith("It said: Provider returned error llama-3.3-70b is temporarily rate-limited upstream")
    assert error.retry_after == 3.0


async def test_a_server_that_loads_its_model_is_asked_again_after_a_while() -> None:
    error = await failing("llamacpp", ERRORS["llamacpp"]["loading"])
    assert (error.retryable, error.retry_after) == (True, 15.0)


async def test_what_does_not_fit_into_memory_is_not_asked_again() -> None:
    assert not (await failing("ollama", ERRORS["ollama"]["memory"])).retryable


async def test_azure_says_that_the_name_is_a_deployments() -> None:
    assert "On Azure, this is the name of your deployment." in str(await failing("azure", ERRORS["azure"]["model"]))


# --- addresses and keys ---------------------------------------------------------------------------------------------


async def test_bedrock_without_keys_says_which_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    model = provider_model("bedrock", "amazon.nova-lite-v1:0", environ={"AWS_REGION": "eu-west-1"})
    assert model.address == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    with pytest.raises(ModelUnavailableError, match="Set AWS_BEARER_TOKEN_BEDROCK and AWS_REGION in the environment"):
        await model.ask(ASKED)


async def test_bedrock_signs_with_what_is_configured_for_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-example")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    async with FakeProvider() as server:
        model = provider_model("bedrock", "amazon.nova-lite-v1:0", base_url=server.url, environ={})
        reply = await model.ask(ASKED)
        await model.close()
    assert reply.text == Answer().text
    assert server.requests[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")


async def test_a_region_that_is_none_makes_no_address() -> None:
    assert provider_model("bedrock", "x", environ={"AWS_REGION": "eu@evil.example/"}).address == ""
