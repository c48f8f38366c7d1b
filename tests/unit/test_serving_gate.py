"""What the server lets in, and what it says to the rest: always in OpenAI's shape, never with its inner life."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.addresses import is_loopback_host
from fabula.base.errors import (
    BudgetError,
    ContextLengthError,
    JournalError,
    ModelTimeoutError,
    OverloadedError,
    RefusalError,
    ReplyError,
    UsageError,
)
from fabula.server.faults import SURPRISE, problem_of
from fabula.server.gate import SHORTEST, AccessTokens, Bounds, Rates
from fabula.server.running import listening
from serving import MODEL, TOKEN, Engine, Here, here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

CHAT = "/v1/chat/completions"
HELLO = {"model": MODEL, "messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as running:
        yield running


def fault(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of a response, whose shape is checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["message"].endswith((".", "?"))
    assert "Traceback" not in response.text
    return dict(body["error"])


# tokens --------------------------------------------------------------------------------------------------------------


async def test_nothing_is_told_without_the_token(server: Here) -> None:
    server.client.headers.pop("authorization")
    wrong = ("", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}")
    for headers in ({}, *({"authorization": given} for given in wrong)):
        for path in (CHAT, "/v1/models", "/openapi.json", "/nowhere", "/"):
            response = await server.client.post(path, content=b"{" * 100, headers=headers)
            assert fault(response, 401)["code"] == "invalid_api_key"
            assert response.headers["www-authenticate"] == "Bearer"


async def test_two_tokens_in_one_request_are_none(server: Here) -> None:
    headers = [("authorization", "Bearer wrong"), ("authorization", f"Bearer {TOKEN}")]
    server.client.headers.pop("authorization")
    fault(await server.client.get("/v1/models", headers=headers), 401)


def test_tokens_are_held_as_hashes_and_each_is_known() -> None:
    tokens = AccessTokens.of([TOKEN, "t" * SHORTEST])
    assert TOKEN not in repr(tokens)
    assert tokens.which(b"Bearer " + TOKEN.encode()) == 0
    assert tokens.which(b"bearer  " + b"t" * SHORTEST + b" ") == 1
    assert tokens.which(b"Bearer \xff\xfe") is None


@pytest.mark.parametrize("bad", [[], ["short"], [TOKEN, "short"]])
def test_a_token_that_is_easily_guessed_is_refused(bad: list[str]) -> None:
    with pytest.raises(UsageError, match="at least 16 characters") as caught:
        AccessTokens.of(bad)
    assert TOKEN not in str(caught.value)


# rates and bounds ----------------------------------------------------------------------------------------------------


async def test_more_than_the_rate_waits(tmp_path: Path) -> None:
    now = [0.0]
    async with here(tmp_path, bounds=Bounds(rate=2), clock=lambda: now[0]) as server:
        assert [(await server.client.get("/v1/models")).status_code for _ in range(2)] == [200, 200]
        response = await server.client.get("/v1/models")
        assert fault(response, 429)["type"] == "rate_limit_error"
        assert response.headers["retry-after"] == "30"
        now[0] = 30.0
        assert [(await server.client.get("/v1/models")).status_code for _ in range(2)] == [200, 429]


def test_each_token_has_a_rate_of_its_own_and_none_is_no_bound() -> None:
    rates = Rates(1, lambda: 0.0)
    assert [rates.wait(n) > 0 for n in (0, 1, 0)] == [False, False, True]
    assert not any(Rates(0, lambda: 0.0).wait(0) for _ in range(100))


async def test_a_body_that_is_too_large_is_refused_whether_its_length_is_told_or_not(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 100

    async with here(tmp_path, bounds=Bounds(body=2000)) as server:
        for content in (b"x" * 3000, pieces()):
            response = await server.client.post(CHAT, content=content)
            assert fault(response, 413)["code"] == "request_too_large"
        assert (await server.client.post(CHAT, json=HELLO)).status_code == 200


@pytest.mark.parametrize("letters", [4001, 100_000])
async def test_a_message_that_is_too_long_is_refused_and_the_conversation_stands(server: Here, letters: int) -> None:
    first = await server.answer("One.")
    found = fault(await server.say("One.", first, "x" * letters), 413)
    assert found["code"] == "message_too_long"
    assert "The maximum is 4,000" in found["message"]
    assert (await server.say("One.", first, "x" * 4000)).status_code == 200
    assert len(server.logs()) == 1


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(event: Any) -> None:  # noqa: ANN401 - ASGI's events
        sent.append(event)

    scope = {
        "type": "http",
        "method": "POST",
        "path": CHAT,
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
    }
    async with here(tmp_path, bounds=Bounds(reading=0)) as server:
        await server.app(scope, receive, send)
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "timeout"


async def test_a_client_that_goes_before_its_body_came_gets_nothing(server: Here) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:  # noqa: ANN401 - ASGI's events
        raise AssertionError

    await server.app({"type": "http", "headers": [(b"authorization", f"Bearer {TOKEN}".encode())]}, receive, send)
    closed: list[Any] = []

    async def send_close(event: Any) -> None:  # noqa: ANN401 - ASGI's events
        closed.append(event)

    await server.app({"type": "websocket"}, receive, send_close)
    assert closed == [{"type": "websocket.close", "code": 1008}]


async def test_no_more_answers_at_once_than_there_may_be(tmp_path: Path) -> None:
    engine = Engine(gate=asyncio.Event())
    async with here(tmp_path, engine, Bounds(turns=1)) as server:
        first = asyncio.ensure_future(server.say("One."))
        await engine.begun(1)
        response = await server.say("Two.")
        assert fault(response, 429)["code"] == "too_many_turns"
        assert engine.gate is not None
        engine.gate.set()
        assert (await first).status_code == 200
        assert (await server.say("Two.")).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_takes_too_long_is_given_up(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001 - a case
    engine = Engine(gate=asyncio.Event())
    async with here(tmp_path, engine, Bounds(answer=0.0)) as server:
        response = await server.say("One.", stream=stream)
        assert fault(response, 504)["code"] == "timeout"
        assert not [
            conversation.turns
            for conversation in server.served.conversing._conversations.values()
            if conversation.turns
        ]


async def test_a_stream_shows_that_it_lives_and_tells_what_failed(tmp_path: Path) -> None:
    engine = Engine(gate=asyncio.Event())
    body = json.dumps(HELLO | {"stream": True}).encode()
    messages: list[str] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            messages.append("")
            return {"type": "http.request", "body": body}
        await asyncio.Event().wait()
        return {}

    async def send(event: Any) -> None:  # noqa: ANN401 - ASGI's events
        messages.append(event.get("body", b"").decode())
        if messages[-1] == ": in the making\n\n":
            engine.fails = OverloadedError("The engine is busy.")
            assert engine.gate is not None
            engine.gate.set()

    headers = [(b"authorization", f"Bearer {TOKEN}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": CHAT, "headers": headers, "query_string": b""}
    async with here(tmp_path, engine, Bounds(patience=0.001)) as server:
        await server.app(scope, receive, send)
    events = "".join(messages).split("\n\n")
    assert ": in the making" in events
    assert json.loads(events[-2].removeprefix("data: "))["error"]["code"] == "overloaded"
    assert "[DONE]" not in events[-1]


@pytest.mark.parametrize("stream", [False, True])
async def test_where_the_client_goes_away_the_turn_is_not_made(
    tmp_path: Path,
    stream: bool,  # noqa: FBT001 - a case
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = Engine(gate=asyncio.Event())
    waiting = [{"type": "http.request", "body": json.dumps(HELLO | {"stream": stream}).encode()}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await engine.begun(1)
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:  # noqa: ANN401 - ASGI's events
        """Nobody hears it."""

    headers = [(b"authorization", f"Bearer {TOKEN}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": CHAT, "headers": headers, "query_string": b""}
    async with here(tmp_path, engine, Bounds(patience=0.001, turns=1)) as server:
        await server.app(scope, receive, send)
        assert engine.asked == []
        assert engine.gate is not None
        engine.gate.set()
        assert (await server.say("Hello.")).status_code == 200, "its place is free again"
        assert len(server.logs()) == 1
        (conversation,) = server.served.conversing._conversations.values()
        assert len(conversation.turns) == 1
    assert not caplog.records


# bodies --------------------------------------------------------------------------------------------------------------


async def test_what_is_no_json_is_told(server: Here) -> None:
    for body in (b"{", b"\xff\xfe", b"[" * 10_000, b'{"model": ' + b"9" * 10_000 + b"}", b"null and more"):
        response = await server.client.post(CHAT, content=body, headers={"content-type": "application/json"})
        assert fault(response, 400)["code"] == "invalid_json"
    fault(await server.client.post(CHAT, headers={"content-type": "application/json"}), 422)
    response = await server.client.post(CHAT, content=json.dumps(HELLO), headers={"content-type": "text/html"})
    assert "Send it with the header Content-Type: application/json." in fault(response, 422)["message"]


async def test_a_field_that_is_not_as_it_should_be_is_named(server: Here) -> None:
    bodies: list[Any] = [
        [],
        "text",
        {},
        {"model": MODEL},
        {"model": MODEL, "messages": []},
        {"model": MODEL, "messages": [{"role": "wizard", "content": "x"}]},
        {"model": MODEL, "messages": [{"role": "user", "content": 7}]},
        {"model": 7, "messages": HELLO["messages"]},
        HELLO | {"stream": "yes"},
        HELLO | {"metadata": {"session_id": 1}},
        HELLO | {"metadata": {"\ud800": {}}},
        HELLO | {"user": "x" * 201},
        HELLO | {"model": "x" * 501},
    ]
    for body in bodies:
        response = await server.client.post(
            CHAT, content=json.dumps(body), headers={"content-type": "application/json"}
        )
        found = fault(response, 422)
        assert found["code"] == "invalid_field"
        assert found["param"]


async def test_an_empty_message_is_told(server: Here) -> None:
    for empty in ("", "  \n "):
        assert "empty" in fault(await server.say(empty), 400)["message"]
    assert server.logs() == []


async def test_pictures_and_several_answers_are_refused(server: Here) -> None:
    picture = [{"type": "image_url", "image_url": {"url": "http://192.0.2.1/x.png"}}]
    response = await server.say(messages=[{"role": "user", "content": picture}])
    assert "'image_url'" in fault(response, 400)["message"]
    assert fault(await server.say("One.", n=2), 400)["param"] == "n"
    assert (await server.say("One.", n=1, temperature=2, tools=[], seed=4)).status_code == 200


async def test_an_unknown_model_is_told(server: Here) -> None:
    wrong = ("", "Mara", "fabula/lamp", "fabula/lamp/", "fabula/other/Mara", "gpt-5", "fabula/../lamp/Mara", "\x00")
    for model in wrong:
        found = fault(await server.say("One.", model=model), 404)
        assert (found["code"], found["param"]) == ("model_not_found", "model")
    assert server.logs() == []


async def test_who_is_not_in_the_story_cannot_be_talked_to_or_played(server: Here) -> None:
    assert "Sigrid" in fault(await server.say("One.", model="fabula/lamp/Sigrid"), 404)["message"]
    assert "Sigrid" in fault(await server.say("One.", metadata={"player": "Sigrid"}), 404)["message"]
    assert server.logs() == []


async def test_a_name_of_a_conversation_is_bounded(server: Here) -> None:
    assert "The maximum is 200" in fault(await server.say("One.", metadata={"session_id": "x" * 201}), 400)["message"]


async def test_html_is_text(server: Here) -> None:
    hostile = "<script>alert(1)</script>{{7*7}}\u202e"
    response = await server.say(hostile)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "<script>alert(1)</script>{{7*7}}" in server.engine.asked[-1].messages[-1].content


async def test_other_addresses_and_methods_are_told(server: Here) -> None:
    assert fault(await server.client.get("/"), 404)["code"] == "unknown_url"
    assert fault(await server.client.get("/v1/models/none"), 404)["code"] == "model_not_found"
    response = await server.client.get(CHAT)
    assert fault(response, 405)["code"] == "method_not_allowed"
    assert response.headers["allow"] == "POST"
    assert (await server.client.get("/docs")).status_code == 404


async def test_no_other_origin_is_let_in(server: Here) -> None:
    origin = {"origin": "http://evil.invalid", "access-control-request-method": "POST"}
    response = await server.client.options(CHAT, headers=origin)
    assert response.status_code == 405
    assert not [name for name in response.headers if name.startswith("access-control")]


# errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ContextLengthError("x."), 400, "context_length_exceeded"),
        (BudgetError("x."), 429, "insufficient_quota"),
        (OverloadedError("x.", retry_after=7), 503, "overloaded"),
        (ModelTimeoutError("x."), 504, "timeout"),
        (RefusalError("x."), 502, "refusal"),
        (ReplyError("x.", reply="y"), 502, "unreadable_reply"),
        (JournalError("The journal /a/b is damaged."), 500, "internal_error"),
        (RuntimeError("inner life"), 500, "internal_error"),
        (None, 500, "internal_error"),
    ],
)
def test_each_error_has_its_status(error: BaseException | None, status: int, code: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.code) == (status, code)
    if status == 500:
        assert problem is SURPRISE
    if isinstance(error, OverloadedError):
        assert problem.headers["retry-after"] == "7"


async def test_what_is_not_expected_tells_nothing_and_is_logged(
    server: Here, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.engine.fails = RuntimeError("inner life")
    assert "inner" not in fault(await server.say("One."), 500)["message"]
    assert re.search("RuntimeError: inner life", caplog.text)
    assert TOKEN not in caplog.text
    monkeypatch.setattr("fabula.server.chat.app.model_body", None)
    fault(await server.client.get("/v1/models"), 500)
    server.engine.fails = None
    assert (await server.say("One.")).status_code == 200


# sockets -------------------------------------------------------------------------------------------------------------


def test_an_address_that_is_taken_is_told() -> None:
    with listening("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        with pytest.raises(
            UsageError, match=rf"127\.0\.0\.1:{port}: another program uses this port\. Give another one, such"
        ):
            listening("127.0.0.1", port)
    with pytest.raises(UsageError, match=r"Cannot listen on 192\.0\.2\.1:0 \(.*\)\. Choose another --host or --port\."):
        listening("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "inside"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("x.invalid", False)],  # noqa: S104 - asked about, not bound
)
def test_loopback_is_known(host: str, inside: bool) -> None:  # noqa: FBT001 - a case
    assert is_loopback_host(host) is inside


def test_a_socket_of_version_6_can_be_had() -> None:
    try:
        with listening("::1", 0) as opened:
            assert opened.family is socket.AF_INET6
    except UsageError as error:
        pytest.skip(f"This machine has no IPv6: {error}")


async def test_a_small_packet_does_not_wait_for_the_one_before_it() -> None:
    """Else each answer on a connection that is kept comes 40 ms late: its head is sent, and its body held back."""
    at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def heard(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        at_once.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listening("127.0.0.1", 0) as opened:
        async with await asyncio.start_server(heard, sock=opened):
            _, writer = await asyncio.open_connection("127.0.0.1", opened.getsockname()[1])
            assert await asyncio.wait_for(at_once, 10)
            writer.close()
