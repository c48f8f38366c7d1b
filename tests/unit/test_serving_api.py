"""`fabula serve` offers the projects, whose characters it serves, under `/api/v1`, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from fabula.cli.commands.serve import Listening
from serving import TOKEN, here, there

if TYPE_CHECKING:
    from pathlib import Path


def test_the_api_stands_beside_the_chat_behind_the_same_token(tmp_path: Path) -> None:
    with there(tmp_path) as server:
        base = server.address.removesuffix("/v1")
        headers = {"authorization": f"Bearer {TOKEN}"}
        listed = httpx.get(f"{base}/api/v1/projects", headers=headers, timeout=120)
        assert listed.status_code == 200
        assert [one["project"] for one in listed.json()["projects"]] == ["lamp"]
        assert httpx.get(f"{base}/api/v1/projects", timeout=120).status_code == 401
        unknown = httpx.get(f"{base}/api/v1/projects/lmap", headers=headers, timeout=120)
        assert (unknown.status_code, "Did you mean 'lamp'" in unknown.json()["error"]["message"]) == (404, True)
        nothing = httpx.get(f"{base}/api/v1/nothing", headers=headers, timeout=120)
        assert nothing.json()["error"]["code"] == "unknown_url"
        assert httpx.get(f"{base}/v1/models", headers=headers, timeout=120).status_code == 200
        assert httpx.get(f"{base}/", headers=headers, timeout=120).status_code == 404  # no pages here


def test_what_is_served_can_be_read_and_is_not_changed(tmp_path: Path) -> None:
    with there(tmp_path) as server:
        base = f"{server.address.removesuffix('/v1')}/api/v1/projects/lamp"
        with httpx.Client(headers={"authorization": f"Bearer {TOKEN}"}, timeout=120) as client:
            brief = client.get(f"{base}/artefacts/brief.md")
            assert "Mara kept the lamp" in brief.json()["text"]
            wanted = {"text": "Other.", "base": brief.json()["base"]}
            answer = client.put(f"{base}/artefacts/brief.md", json=wanted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "locked")


@pytest.mark.parametrize(
    ("listening", "offered"),
    [
        (Listening(), True),
        (Listening(no_api=True), False),
        (Listening(host="0.0.0.0"), False),  # noqa: S104 - is not listened at
        (Listening(host="0.0.0.0", allow_remote=True), True),  # noqa: S104 - as above
    ],
)
def test_the_api_is_offered_where_the_author_alone_has_the_token(listening: Listening, *, offered: bool) -> None:
    assert listening.api is offered


async def test_without_the_api_there_are_conversations_alone(tmp_path: Path) -> None:
    async with here(tmp_path) as server:
        assert (await server.client.get("/v1/models")).status_code == 200
        assert (await server.client.get("/api/v1/projects")).status_code == 404
