"""The official client of OpenAI against the server on loopback, streaming and not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai
import pytest

from serving import BOTH, MODEL, TOKEN, There, there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openai.types.chat import ChatCompletionMessageParam


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with there(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture
def client(server: There) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.address, api_key=TOKEN, max_retries=0, timeout=120) as made:
        yield made


def test_the_models_are_the_characters(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert names == ["fabula/lamp/Tobias", MODEL, "fabula/lamp/Henrik", BOTH]
    for name in (MODEL, BOTH, "fabula/lamp/Mara+Henrik", "fabula/lamp/Tobias+Mara"):
        assert client.models.retrieve(name).owned_by == "fabula"
    for name in ("Nobody", "Mara+Nobody", "Mara+", "+".join(["Mara"] * 20), "Mara+" * 500 + "Mara"):
        with pytest.raises(openai.NotFoundError) as caught:
            client.models.retrieve(f"fabula/lamp/{name}")
        assert caught.value.code == "model_not_found"


def test_an_answer_in_one_piece(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Is it you, Mara?"}])
    choice = done.choices[0]
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert choice.message.content is not None
    assert choice.message.content.startswith("(looks up) ")
    assert choice.message.content.endswith("the lamp stays dark.")
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (400, 20, 420)
    assert done.usage.prompt_tokens_details is not None
    assert done.usage.prompt_tokens_details.cached_tokens == 40


def test_an_answer_as_a_stream(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Is there a storm?"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert len([piece for piece in pieces if piece]) > 1, "it comes in pieces"
    assert "".join(pieces).startswith("(looks up) ")
    assert "".join(pieces).endswith("the lamp stays dark.")
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 420
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_several_answer_in_one_scene_and_say_who_speaks(client: openai.OpenAI) -> None:
    heard: list[ChatCompletionMessageParam] = []
    for said, who in (("Good evening.", "Henrik"), ("Is there a storm?", "Mara"), ("And you, Mara?", "Mara")):
        heard.append({"role": "user", "content": said})
        done = client.chat.completions.create(model=BOTH, messages=heard)
        message = done.choices[0].message
        assert message.content is not None
        assert message.content.startswith(f"{who}: (looks up) ")
        assert set(message.to_dict()) <= {"role", "content", "refusal"}, "OpenAI's schema knows no name here"
        about = done.to_dict()["fabula"]
        assert isinstance(about, dict)
        assert (about["who"], about["present"]) == (who, ["Henrik", "Mara"])
        heard.append({"role": "assistant", "content": message.content})


def test_several_are_streamed_with_the_name_first(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model=BOTH, messages=[{"role": "user", "content": "Is it you, Henrik, in the dark?"}], stream=True
    )
    chunks = [chunk for chunk in stream if chunk.choices]
    pieces = [piece for chunk in chunks if (piece := chunk.choices[0].delta.content)]
    assert len(pieces) > 1, "it comes in pieces"
    assert pieces[0].startswith("Henrik: (looks up)")
    assert "".join(pieces).count("Henrik: ") == 1
    assert "".join(pieces).endswith("the lamp stays dark.")
    about = chunks[-1].to_dict()["fabula"]
    assert isinstance(about, dict)
    assert about["who"] == "Henrik"


def test_who_is_there_is_told_in_the_metadata(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="Unknown character of this scene 'Sigrid'") as caught:
        client.chat.completions.create(
            model=BOTH, messages=[{"role": "user", "content": "Hm."}], metadata={"present": "Mara, Sigrid"}
        )
    assert (caught.value.code, caught.value.param) == ("invalid_metadata", "metadata.present")
    done = client.chat.completions.create(
        model=BOTH, messages=[{"role": "user", "content": "Hm."}], metadata={"present": "Mara"}
    )
    assert (done.choices[0].message.content or "").startswith("Mara: ")


def test_a_session_with_a_name_needs_no_history(client: openai.OpenAI, server: There) -> None:
    for words in ("First words.", "Second words."):
        client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": words}],
            extra_headers={"X-Fabula-Session": "evening"},
        )
    assert "First words." in str(server.engine.asked[-1].messages)
    assert "Second words." in str(server.engine.asked[-1].messages)


def test_a_wrong_token_is_told(server: There) -> None:
    with (
        openai.OpenAI(base_url=server.address, api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="no valid token"),
    ):
        client.models.list()


def test_an_unknown_character_is_told(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="Sigrid") as caught:
        client.chat.completions.create(model="fabula/lamp/Sigrid", messages=[{"role": "user", "content": "Hello."}])
    assert caught.value.code == "model_not_found"
    assert caught.value.type == "invalid_request_error"


def test_a_failure_within_a_stream_is_told(tmp_path: Path) -> None:
    with there(tmp_path) as server, openai.OpenAI(base_url=server.address, api_key=TOKEN, max_retries=0) as client:
        server.engine.fails = RuntimeError("a secret of the engine")
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello."}], stream=True)
    assert "secret" not in str(caught.value)
