"""Requests as real chat programs make them: what is no turn moves no story, and what cannot be is said in words.

The bodies have the fields and the shape that the programs' public sources give them; the texts in them are our own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from growth import longest_step, taken
from serving import BOTH, MODEL, TOKEN, Here, here, there

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from serving import There

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks.hostile import worst

TALK = "USER: One ticket to the mainland, please.\nASSISTANT: (nods) There is no boat tonight."
PRELUDE = [
    {"role": "system", "content": "Write the next reply of Mara in a fictional chat between Mara and Tobias."},
    {"role": "system", "content": "Mara keeps a lamp. [Mara's personality: stubborn]"},
    {"role": "system", "content": "[Begin a new chat]"},
]
SAMPLING = {
    "temperature": 1,
    "max_tokens": 300,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_p": 1,
    "stop": ["\nTobias:"],
    "logit_bias": {},
    "seed": -1,
    "reasoning_effort": "auto",
}
NOT_USED = ["max_tokens", "reasoning_effort", "seed", "stop", "temperature", "top_p"]


def form(field: str, about: str = "a title") -> str:
    """A form of Open WebUI's."""
    return (
        f"### Task:\nGive {about} for the talk.\n### Guidelines:\n- Be brief.\n### Output:\n"
        f'JSON format: {{ "{field}": "here" }}\n### Chat History:\n<chat_history>\n{TALK}\n</chat_history>'
    )


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as running:
        yield running


async def talked(server: Here) -> list[dict[str, str]]:
    """A conversation of one exchange."""
    answer = await server.answer("One.")
    return [*PRELUDE, {"role": "user", "content": "One."}, {"role": "assistant", "content": answer}]


def turns(server: Here) -> int:
    return len(server.engine.asked)


# Open WebUI ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("title", "Mara: One ticket to the mainland, please"),
        ("tags", ["Fiction"]),
        ("follow_ups", []),
        ("queries", []),
        ("text", ""),
    ],
)
async def test_a_form_of_open_webui_is_filled_in_and_moves_nothing(server: Here, field: str, given: object) -> None:
    body = {"messages": [{"role": "user", "content": form(field)}], "stream": False, "max_completion_tokens": 1000}
    answer = await server.answer(**body)
    assert json.loads(answer) == {field: given}
    assert not turns(server)
    assert server.logs() == []


async def test_a_turn_of_open_webui_is_a_turn(server: Here) -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "What is your task: the light?"}]}
    response = await server.say(messages=[said], stream=True, stream_options={"include_usage": True})
    assert response.status_code == 200
    assert response.text.endswith("data: [DONE]\n\n")
    assert turns(server) == 1


@pytest.mark.parametrize(
    "order",
    [
        "Write a concise, 5-word-or-less title for the conversation above, in its language.",
        "Please give a short title for this chat, and nothing else.",
        "Provide a brief title that fits the conversation.",
    ],
)
async def test_a_title_is_made_without_a_turn(server: Here, order: str) -> None:
    assert await server.answer(order) == "Mara: A conversation"
    told = [*(await talked(server)), {"role": "system", "content": order}]
    assert await server.answer(messages=told) == "Mara: One"
    assert (turns(server), len(server.logs())) == (1, 1)


async def test_a_title_comes_as_a_stream_where_it_is_wanted_so(server: Here) -> None:
    response = await server.say(form("title"), stream=True, stream_options={"include_usage": True})
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
    assert "One ticket" in events[0]["choices"][0]["delta"]["content"]
    assert events[1]["choices"][0]["finish_reason"] == "stop"
    assert events[2]["usage"]["total_tokens"] == 0
    assert response.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    "said", ["What is the title of the book, Mara?", "Summarize what the letter says.", "My task: to light the lamp."]
)
async def test_words_of_a_player_are_no_chore(server: Here, said: str) -> None:
    assert (await server.answer("One.", await server.answer("One."), said)).startswith("(looks up)")


# SillyTavern ---------------------------------------------------------------------------------------------------------


async def test_a_turn_of_sillytavern_is_a_turn_also_with_instructions_behind_it(server: Here) -> None:
    after = {"role": "system", "content": "[Only Mara is to answer.]"}
    said = {"role": "user", "content": "Two."}
    response = await server.say(messages=[*(await talked(server)), said, after], stream=False, **SAMPLING)
    assert response.status_code == 200
    assert response.json()["fabula"]["not_used"] == NOT_USED
    assert turns(server) == 2
    assert len(server.logs()) == 1


@pytest.mark.parametrize(
    ("quiet", "told"),
    [
        ("[Stop the roleplay. Summarize the most important events in the story so far.]", "asks for a summary"),
        ("[Write the next reply from the point of view of Tobias.]", "your own lines"),
        ("[Go on with your last message; repeat nothing of it.]", "the story is waiting for you."),
        ("Describe how Mara looks, in keywords.", "the story is waiting for you."),
    ],
)
@pytest.mark.parametrize("role", ["system", "developer"])
async def test_a_quiet_prompt_of_sillytavern_moves_nothing(server: Here, quiet: str, told: str, role: str) -> None:
    heard = await talked(server)
    response = await server.say(messages=[*heard, {"role": role, "content": quiet}], **SAMPLING)
    assert response.status_code == 400
    error = response.json()["error"]
    assert told in error["message"]
    assert (error["code"], error["param"], error["type"]) == ("no_turn", "messages", "invalid_request_error")
    assert turns(server) == 1
    after = await server.answer(messages=[*heard, {"role": "user", "content": "Two."}])
    assert after.startswith("(looks up)")
    assert len(server.logs()) == 1


@pytest.mark.parametrize("named", [{}, {"headers": {"X-Fabula-Session": "evening"}}])
async def test_a_last_message_of_the_character_moves_nothing(server: Here, named: dict[str, Any]) -> None:
    first = await server.say("One.", **named)
    answer = first.json()["choices"][0]["message"]["content"]
    for messages in (
        [{"role": "user", "content": "One."}, {"role": "assistant", "content": answer}],
        [*PRELUDE, {"role": "assistant", "content": "Welcome to my lighthouse."}],
    ):
        response = await server.say(messages=messages, **named)
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "no_turn"
    if named:
        assert (await server.say(messages=PRELUDE, **named)).json()["error"]["code"] == "no_turn"
    assert turns(server) == 1


@pytest.mark.parametrize("command", ["/foo", "/undo now", "  /help", "/me waves"])
async def test_a_command_is_no_turn(server: Here, command: str) -> None:
    error = (await server.say(command)).json()["error"]
    assert error["code"] == "no_turn"
    assert error["message"].startswith(f"{command.split(maxsplit=1)[0]} is a command, and this server has no commands.")
    assert server.logs() == []
    assert (await server.say("/ that was the wind")).status_code == 200
    assert (await server.say("Half of it, 1/2.")).status_code == 200


# who there is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["the", "lamp", "The", "kept", "Cape", "Nobody", "he"])
async def test_a_word_of_the_story_is_no_character(server: Here, name: str) -> None:
    error = (await server.say("One.", model=f"fabula/lamp/{name}")).json()["error"]
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert "Known: Henrik, Mara, Tobias." in error["message"]
    assert (await server.client.get(f"/v1/models/fabula/lamp/{name}")).status_code == 404
    player = (await server.say("One.", metadata={"player": name})).json()["error"]
    assert player["param"] == "metadata.player"
    assert server.logs() == []


async def test_a_character_is_one_however_the_name_is_written(tmp_path: Path) -> None:
    story = {"player": "Tobias", "npc": "Mara Quist"}
    async with here(tmp_path, config=story) as server:
        first = await server.answer("One.", model="fabula/lamp/Mara-Quist")
        for name in ("mara-quist", "MARA", "Mara", "mara", "Mara+MARA"):
            assert await server.answer("One.", first, f"Two, {name}.", model=f"fabula/lamp/{name}")
        assert all("talks with" not in log for log in server.logs())
        groups = {group[1].others for group in server.served.branches._groups.values()}
        assert groups == {("Mara Quist",)}


# what characters cannot do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("n", 0),
        ("modalities", ["text", "audio"]),
        ("response_format", {"type": "json_object"}),
        ("response_format", {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "x"}}),
    ],
)
async def test_what_a_character_cannot_do_is_said_with_its_field(server: Here, field: str, value: object) -> None:
    response = await server.say("One.", **{field: value})
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["param"], error["code"], error["type"]) == (field, "unsupported_value", "invalid_request_error")
    assert server.logs() == []


async def test_what_can_be_left_unused_is_named_in_the_answer(server: Here) -> None:
    asked = {"n": 1, "tools": [{"type": "function"}], "tool_choice": "auto", "logprobs": True, "top_logprobs": 2}
    asked |= {"response_format": {"type": "text"}, "modalities": ["text"], "store": False, "parallel_tool_calls": None}
    body = (await server.say("One.", max_completion_tokens=5, **asked)).json()
    assert body["fabula"]["not_used"] == ["logprobs", "max_completion_tokens", "tools", "top_logprobs"]
    assert body["choices"][0]["logprobs"] is None
    streamed = (await server.say("One.", stream=True, seed=3)).text
    assert '"not_used": ["seed"]' in streamed


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/responses", "/v1/embeddings", "/chat/completions", "/models"])
async def test_other_interfaces_are_told_where_conversations_are(server: Here, path: str) -> None:
    error = (await server.client.post(path, json={"model": MODEL, "prompt": "Once"})).json()["error"]
    assert error["message"].endswith("Conversations are at POST /v1/chat/completions.")
    assert not error["message"].startswith("There is nothing")
    assert error["code"] == "unknown_url"


# the clients themselves ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with there(tmp_path_factory.mktemp("served")) as running:
        yield running


def test_openais_client_raises_what_its_users_know(served: There) -> None:
    said: list[Any] = [{"role": "user", "content": "Hello."}]
    with openai.OpenAI(base_url=served.address, api_key=TOKEN, max_retries=0, timeout=120) as client:
        with pytest.raises(openai.BadRequestError, match="one answer at a time") as several:
            client.chat.completions.create(model=MODEL, messages=said, n=3)
        assert several.value.param == "n"
        picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
        with pytest.raises(openai.BadRequestError, match="read only text"):
            client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": picture}])  # type: ignore[misc,list-item] # as a program sends it
        with pytest.raises(openai.NotFoundError, match="do not complete texts"):
            client.completions.create(model=MODEL, prompt="Once upon a time")
        with pytest.raises(openai.NotFoundError, match="Responses API is not supported here"):
            client.responses.create(model=MODEL, input="Hello.")
        with pytest.raises(openai.NotFoundError, match="Known: "):
            client.chat.completions.create(model="fabula/lamp/the", messages=said)
        done = client.chat.completions.create(model=BOTH, messages=said, max_completion_tokens=50, stop=["x"])
        assert done.choices[0].message.content


def test_the_vercel_ai_sdk_is_answered(served: There) -> None:
    """The body that its OpenAI-compatible provider posts for `streamText` with tools, and for `generateObject`."""
    import httpx  # noqa: PLC0415 - beside the official client

    headers = {"authorization": f"Bearer {TOKEN}", "user-agent": "ai-sdk/openai-compatible"}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    body: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "Who is there?"}]}
    body |= {"tools": [tool], "tool_choice": "auto", "stream": True, "stream_options": {"include_usage": True}}
    with httpx.Client(base_url=served.address, headers=headers, trust_env=False, timeout=120) as client:
        told = client.post("/chat/completions", json=body)
        assert told.text.endswith("data: [DONE]\n\n")
        form_ = {"type": "json_schema", "json_schema": {"name": "response", "schema": {"type": "object"}}}
        refused = client.post("/chat/completions", json=body | {"response_format": form_})
    assert refused.json()["error"]["param"] == "response_format"


# bodies that are costly ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("2 MB in one message", 413),
        ("2 MB of blanks", 400),
        ("history that is far too long", 413),
        ("empty messages", 413),
        ("a message of 100,000 parts", 413),
        ("deep JSON", 413),
        ("fields without end", 413),
        ("a form without end", 413),
        ("history of long messages", 200),
        ("history of 5,000 messages", 200),
        ("2 MB said by the character", 200),
    ],
)
async def test_a_costly_body_takes_no_time_of_others(server: Here, kind: str, status: int) -> None:
    """The server's one thread is never held for as long as others would notice: for fifteen readings of some JSON."""
    body, many = worst()[kind], json.dumps([{"role": "user", "content": "x"}] * 20_000)
    steps = []
    for _ in range(8):  # as often as other work on the machine comes between
        asked = asyncio.create_task(
            server.client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
        )
        steps.append(await longest_step(asked.done) / min(taken(json.loads, many) for _ in range(3)))
        assert (await asked).status_code == status
        if steps[-1] < 15:
            break
    assert min(steps) < 15
