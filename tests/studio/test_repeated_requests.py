"""A request that is sent again with the same `Idempotency-Key` is done once, and answered alike."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fabula.server.repeating import Once
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from pathlib import Path

FERRY = {"brief": "# The Ferry\n\nA ferry that never lands.", "model": "hand", "system": "end-to-end"}
PROJECTS = "/api/v1/projects"


async def test_a_project_is_made_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        first, again = await asyncio.gather(
            *(client.post(PROJECTS, json=FERRY, headers={"idempotency-key": "one"}) for _ in range(2))
        )
        later = await client.post(PROJECTS, json=FERRY, headers={"idempotency-key": "one"})
        assert first.status_code == 200, first.text
        assert first.json()["project"] == "the-ferry"
        assert first.content == again.content == later.content
        assert sorted(first.headers.multi_items()) == sorted(later.headers.multi_items())
        other = await client.post(PROJECTS, json=FERRY, headers={"idempotency-key": "two"})
        assert other.json()["project"] == "the-ferry-2"
        names = [one["project"] for one in (await client.get(PROJECTS)).json()["projects"]]
        assert names == [SAMPLE, "the-ferry", "the-ferry-2"]


async def test_a_key_is_of_one_request(tmp_path: Path) -> None:
    key = {"idempotency-key": "one"}
    async with studio_here(tmp_path) as client:
        await client.post(PROJECTS, json=FERRY, headers=key)
        refused = await client.post(PROJECTS, json={**FERRY, "title": "Another"}, headers=key)
        assert (refused.status_code, refused.json()["error"]["param"]) == (422, "Idempotency-Key")
        assert (await client.post("/api/v1/samples", headers=key)).status_code == 422


async def test_what_was_refused_may_be_tried_again(tmp_path: Path) -> None:
    key = {"idempotency-key": "one"}
    async with studio_here(tmp_path) as client:
        undo = f"{PROJECTS}/{SAMPLE}/undo"
        assert (await client.post(undo, headers=key)).status_code == 400
        await client.post(f"{PROJECTS}/{SAMPLE}/pins", json={"artefact": "climax"})
        assert (await client.post(undo, headers=key)).json()["artefacts"] == ["climax"]
        assert (await client.post(undo, headers=key)).json()["artefacts"] == ["climax"], "taken back once"


async def test_an_answer_comes_whole_though_the_client_left_at_its_beginning() -> None:
    begun, go_on, calls = asyncio.Event(), asyncio.Event(), 0

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has them
        nonlocal calls
        calls += 1
        assert (await receive())["body"] == b"{}"
        leaving = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        await go_on.wait()
        assert not leaving.done(), "it does not hear that its client is gone"
        leaving.cancel()
        await send({"type": "http.response.body", "body": scope["path"].encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b" done", "more_body": False})

    once, sent = Once(app), list[Any]()
    scope = {"type": "http", "method": "POST", "path": "/api/x", "raw_path": b"/api/x", "query_string": b""}
    scope["headers"] = [(b"idempotency-key", b"one")]

    def receive() -> Any:  # noqa: ANN401 - as ASGI has it
        messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{}", "more_body": False}]

        async def given() -> Any:  # noqa: ANN401 - as above
            return messages.pop()

        return given

    async def send(message: Any) -> None:  # noqa: ANN401 - as above
        sent.append(message)

    async def gone(message: Any) -> None:  # noqa: ANN401 - as above
        """Nobody hears it."""

    first = asyncio.ensure_future(once(scope, receive(), gone))
    await begun.wait()
    second = asyncio.ensure_future(once(scope, receive(), send))
    go_on.set()
    await asyncio.gather(first, second)
    assert b"".join(one.get("body", b"") for one in sent) == b"/api/x done"
    assert calls == 1
