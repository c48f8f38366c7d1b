"""Suggestions are made in the server: like a process they leave a record, a log and a result, and can be stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from fabula.cli.main import main
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import AsyncClient

RUNS = "/api/v1/projects/lamp/runs"
ASKED = {"artefact": "one", "kind": "continue", "count": 2}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    (tmp_path / "lamp.md").write_text("# The lamp\n\n## One\n\nAt six Mara lit the lamp.\n", encoding="utf-8")
    folder = tmp_path / "shelf" / "lamp"
    assert main(["import", str(tmp_path / "lamp.md"), "--out", str(folder), "--model", "scripted:replies.toml"]) == 0
    (folder / "replies.toml").write_text(script_of({"writer:suggest": "The wind dropped."}), encoding="utf-8")
    return tmp_path / "shelf"


async def until(client: AsyncClient, run: str, *states: str) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = (await client.get(f"{RUNS}/{run}")).json()
        if found["state"] in states:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(found)


async def begun(client: AsyncClient) -> str:
    run = (await client.post("/api/v1/projects/lamp/suggestions", json=ASKED)).json()
    assert run["pid"] is None, "nobody may take the server for a process of the run"
    return str(run["id"])


def waits_for_a_person(shelf: Path) -> None:
    settings = shelf / "lamp" / "fabula.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("scripted:replies.toml", "files:answers"))


async def until_asked(client: AsyncClient, run: str) -> None:
    for _ in range(600):
        if (await client.get(f"{RUNS}/{run}")).json()["awaited"]:
            return
        await asyncio.sleep(0.05)


async def test_a_suggestion_has_its_events_its_bill_and_its_result(shelf: Path) -> None:
    async with studio_here(shelf) as client:
        run = await begun(client)
        ended = await until(client, run, "finished", "failed")
        assert (ended["state"], ended["total"]["calls"], ended["exit_code"]) == ("finished", 2, 0), ended["message"]
        assert (await client.get(f"{RUNS}/{run}/result")).json()["texts"] == ["The wind dropped."]
        kinds = [event["type"] for event in (await client.get(f"{RUNS}/{run}/events")).json()["events"]]
        assert (kinds[0], kinds[-1], kinds.count("call_finished")) == ("command_started", "command_ended", 2)


async def test_an_error_is_said_in_the_words_of_a_page(shelf: Path) -> None:
    (shelf / "lamp" / "replies.toml").write_text(script_of({"writer:suggest": "[]"}), encoding="utf-8")
    async with studio_here(shelf) as client:
        ended = await until(client, await begun(client), "finished", "failed")
        assert (ended["state"], ended["kind_of_error"]) == ("failed", "ReplyError")
        assert "gave no usable passage" in ended["message"]


async def test_the_author_saves_and_undoes_while_a_suggestion_is_made(shelf: Path) -> None:
    waits_for_a_person(shelf)
    text = "/api/v1/projects/lamp/artefacts/one"
    async with studio_here(shelf) as client:
        run = await begun(client)
        await until_asked(client, run)
        before = (await client.get(text)).json()
        saved = await client.put(text, json={"text": "At seven Mara lit the lamp.", "base": before["base"]})
        assert saved.status_code == 200, saved.text
        undone = await client.post("/api/v1/projects/lamp/undo")
        assert undone.status_code == 200, undone.text
        assert (await client.get(text)).json()["text"] == before["text"]
        await client.post(f"{RUNS}/{run}/stop")
        assert (await until(client, run, "stopped", "failed", "finished"))["state"] == "stopped"


async def test_a_suggestion_is_stopped_and_ends_with_the_server(shelf: Path) -> None:
    waits_for_a_person(shelf)
    async with studio_here(shelf) as client:
        run = await begun(client)
        await until_asked(client, run)
        await client.post(f"{RUNS}/{run}/stop")
        ended = await until(client, run, "stopped", "failed", "killed")
        assert (ended["state"], ended["message"].split(".")[0]) == ("stopped", "Stopped")
        last = await begun(client)
    async with studio_here(shelf) as client:
        ended = await until(client, last, "stopped", "killed", "failed", "finished")
        assert ended["state"] == "stopped"
