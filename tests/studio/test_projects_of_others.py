"""Projects of others, opened in the studio: their records run nothing, stop nobody, and make nothing hang."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, Final

import pytest

from fabula.project.sample import copy_sample
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN: Final = "20260101-000000-abcdef"
API: Final = f"/api/v1/projects/{SAMPLE}/runs"
NEW: Final = f"/projects/{SAMPLE}/write-parts"
CALL: Final = '{"type": "call_finished", "role": "writer", "usage": %s}\n'


def recorded(folder: Path, events: bytes = b"", **fields: Any) -> Path:  # noqa: ANN401 - JSON data
    """The folder of a run in a sample project, with the record that somebody else gave it."""
    project = copy_sample(folder / SAMPLE).folder
    place = project / ".fabula/runs" / RUN
    place.mkdir(parents=True)
    data = {"id": RUN, "verb": "write", "state": "running", "pid": 1, "started": 1e15} | fields
    (place / "run.json").write_text(json.dumps(data), encoding="utf-8")
    (place / "events.jsonl").write_bytes(events)
    return place


def _pipe(place: Path) -> None:
    (place / "events.jsonl").unlink()
    os.mkfifo(place / "events.jsonl")


def _link(place: Path) -> None:
    """A log that is locked: that of a file which another process holds."""
    (place / "events.jsonl").unlink()
    (place / "events.jsonl").symlink_to("../../lock")


RECORDS: Final[dict[str, tuple[dict[str, Any], bytes, Callable[[Path], None] | None]]] = {
    "a process of no number that there is": ({"pid": 10**30, "state": "queued"}, b"", None),
    "every process": ({"pid": -1}, b"", None),
    "times that are none": ({"started": float("inf"), "created": float("nan"), "state": "failed"}, b"", None),
    "a cost of no size": ({}, (CALL % ('{"cost": 1' + "0" * 400 + "}")).encode(), None),
    "a cost that is no JSON": ({}, (CALL % '{"cost": 1e999, "seconds": NaN}').encode(), None),
    "half a character": ({}, b'{"type": "command_ended", "exit_code": 1, "message": "\\ud800"}\n', None),
    "another encoding": ({}, '{"type": "kept"}'.encode("utf-16-be") + b"\n", None),
    "a pipe": ({}, b"", _pipe),
    "a link": ({}, b"", _link),
}


@pytest.mark.parametrize("what", RECORDS)
async def test_a_record_of_somebody_else_hangs_nothing_and_keeps_no_run_waiting(what: str, tmp_path: Path) -> None:
    fields, events, change = RECORDS[what]
    place = recorded(tmp_path, events, **fields)
    if change is not None:
        change(place)
    async with asyncio.timeout(120), studio_here(tmp_path) as client:
        await asyncio.sleep(0.2)  # it is followed, or not
        for address in (API, f"{API}/{RUN}/events", f"/projects/{SAMPLE}/write", "/api/v1/events?follow=false&after=0"):
            response = await client.get(address)
            assert response.status_code == 200 or (address.endswith("/events") and response.status_code == 404), address
        for line in response.text.splitlines():
            if line.startswith("data: "):
                json.loads(line.removeprefix("data: "), parse_constant=pytest.fail)
        response = await client.post(f"{API}/{RUN}/stop")
        assert response.status_code in (200, 404)
        response = await client.get(API)
        assert all(run["state"] != "running" for run in response.json()["runs"])


EVIL: Final = "from pathlib import Path\nPath({!r}).write_text('ran')\n"


@pytest.mark.parametrize("kind", ["write", "make_plan", "evaluate"])
async def test_going_on_with_somebody_elses_run_runs_no_code_of_theirs(kind: str, tmp_path: Path) -> None:
    name = "evaluator" if kind == "evaluate" else "system"
    place = recorded(tmp_path, verb=kind, arguments={name: "./evil"}, state="failed")
    (place.parents[2] / "evil").mkdir()
    (place.parents[2] / "evil" / "__init__.py").write_text(EVIL.format(str(tmp_path / "ran")))
    (place.parents[2] / "evil" / "paper.toml").write_text("")
    async with studio_here(tmp_path) as client:
        response = await client.post(f"{API}/{RUN}/again")
        assert response.status_code == 400
        assert response.json()["error"]["message"] == (
            f"The record of the run {RUN} would run the code in {place.parents[2]}/evil. The run did not start "
            "here, and you have not allowed this. Start a new run with the settings that you want."
        )
        assert len((await client.get(API)).json()["runs"]) == 1
    assert not (tmp_path / "ran").exists()


async def test_going_on_with_somebody_elses_run_writes_into_no_folder_elsewhere(tmp_path: Path) -> None:
    recorded(tmp_path, verb="write", arguments={"model": f"files:{tmp_path / 'elsewhere'}"}, state="stopped")
    async with studio_here(tmp_path) as client:
        response = await client.post(f"{API}/{RUN}/again")
        assert response.status_code == 400
        assert "write prompts to" in response.json()["error"]["message"]


@pytest.mark.parametrize("name", ["fabula", "json", "yaml"])
async def test_a_run_imports_nothing_from_its_project(name: str, tmp_path: Path) -> None:
    project = copy_sample(tmp_path / SAMPLE).folder
    (project / name).mkdir()
    for file in ("__init__", "__main__"):
        (project / name / f"{file}.py").write_text(EVIL.format(str(tmp_path / "ran")))
    async with studio_here(tmp_path, dict(os.environ)) as client:
        run = (await client.post(f"/api/v1/projects/{SAMPLE}/check", json={"model": "hand"})).json()["id"]
        async with asyncio.timeout(120):
            while (await client.get(f"{API}/{run}")).json()["state"] in ("queued", "running"):  # noqa: ASYNC110 - it asks a server
                await asyncio.sleep(0.1)
    assert not (tmp_path / "ran").exists()


async def test_a_folder_of_runs_that_lies_elsewhere_is_not_used(tmp_path: Path) -> None:
    project = copy_sample(tmp_path / SAMPLE).folder
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / RUN).mkdir(parents=True)
    (elsewhere / RUN / "run.json").write_text(json.dumps({"id": RUN, "verb": "write", "state": "failed"}))
    (project / ".fabula" / "runs").symlink_to(elsewhere)
    async with studio_here(tmp_path) as client:
        assert (await client.get(API)).json() == {"runs": []}
        response = await client.post(f"/api/v1/projects/{SAMPLE}/check", json={})
        assert response.status_code == 400
        assert "is a link to a place outside" in response.json()["error"]["message"]
    assert [one.name for one in elsewhere.iterdir()] == [RUN]


async def test_a_file_whose_name_is_in_another_encoding_is_left_alone_and_named(tmp_path: Path) -> None:
    project = copy_sample(tmp_path / SAMPLE)
    try:
        (project.folder / "story" / "09-caf\udce9.md").write_text("Once.")
    except OSError:
        pytest.skip("This disk has no names of other encodings.")
    async with studio_here(tmp_path) as client:
        for page in ("write", "edit", "plan", "edit/brief.md"):
            assert (await client.get(f"/projects/{SAMPLE}/{page}")).status_code == 200, page
        for address in ("", "/artefacts", "/changes", "/story"):
            assert (await client.get(f"/api/v1/projects/{SAMPLE}{address}")).status_code == 200, address
    assert [*project.unread()] == ["story/09-caf\ufffd.md"]


LINKS: Final[dict[str, Callable[[Path, Path], None]]] = {
    "a link that leads out": lambda file, secret: file.symlink_to(secret),
    "a circle of links": lambda file, _: file.symlink_to(file.name),
    "a pipe": lambda file, _: os.mkfifo(file),
}
SENTENCES: Final = {
    "a link that leads out": "is a link to a place outside",
    "a circle of links": "cannot be resolved. Remove the loop",
    "a pipe": "is a pipe or a device, and",
}


@pytest.mark.parametrize("kind", LINKS)
async def test_one_text_that_is_odd_is_left_out_and_said_and_the_others_are_shown(kind: str, tmp_path: Path) -> None:
    """Such a file made nearly every page of its project an error."""
    secret = tmp_path / "secret.md"
    secret.write_text("My diary.")
    async with asyncio.timeout(120), studio_here(tmp_path / "home") as client:
        folder = tmp_path / "home" / SAMPLE
        LINKS[kind](folder / "plan" / "odd.md", secret)
        for page in ("write", "edit", "edit/climax", "plan", "calls", "edit-parts/history?name=climax"):
            response = await client.get(f"/projects/{SAMPLE}/{page}")
            assert response.status_code == 200, page
            assert "My diary." not in response.text
        names = (await client.get(f"/api/v1/projects/{SAMPLE}/artefacts")).text
        assert "climax" in names
        assert "odd" not in names
        assert "odd.md" in (await client.get("/")).text
        standing = (await client.get(f"/api/v1/projects/{SAMPLE}")).json()
        assert SENTENCES[kind] in json.dumps(standing)
        text = (await client.get(f"/api/v1/projects/{SAMPLE}/artefacts/climax")).json()
        body = {"text": text["text"] + " More.", "base": text["base"]}
        response = await client.put(f"/api/v1/projects/{SAMPLE}/artefacts/climax", json=body)
        assert response.status_code == 200, "another text is saved"
        assert secret.read_text() == "My diary."
        refused = await client.get(f"/api/v1/projects/{SAMPLE}/exports/md")
        assert refused.status_code == 400, "what goes out of the project is not made while such a file is in it"
        assert SENTENCES[kind] in refused.json()["error"]["message"]


@pytest.mark.parametrize("name", ["plan/plan.yaml", "brief.md", "fabula.toml", ".fabula/world.db"])
async def test_a_link_in_the_place_of_a_file_that_is_read_by_name_is_not_followed(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("My diary: [")
    async with studio_here(tmp_path / "home") as client:
        file = tmp_path / "home" / SAMPLE / name
        file.unlink(missing_ok=True)
        file.symlink_to(secret)
        for page in ("write", "talk", "world", "plan"):
            response = await client.get(f"/projects/{SAMPLE}/{page}")
            assert "My diary" not in response.text
        assert "is a link to a place outside" in (await client.get(f"/projects/{SAMPLE}/talk")).text


BY_THEMSELVES: Final = (
    "chat/odd.jsonl",
    "cards/odd.json",
    "world/odd.json",
    "evaluation/odd.json",
    "evaluation/atlas.json",
)


@pytest.mark.parametrize("name", BY_THEMSELVES)
@pytest.mark.parametrize("kind", LINKS)
async def test_an_odd_conversation_card_world_or_report_is_left_out_and_the_project_goes_on(
    kind: str, name: str, tmp_path: Path
) -> None:
    """One of them made every page of its project an error that shows a conversation, the world or findings."""
    secret = tmp_path / "secret.md"
    secret.write_text('{"name": "My diary", "do": "begin"}')
    async with asyncio.timeout(120), studio_here(tmp_path / "home") as client:
        file = tmp_path / "home" / SAMPLE / name
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        LINKS[kind](file, secret)
        for page in ("write", "talk", "world", "measure"):
            response = await client.get(f"/projects/{SAMPLE}/{page}")
            assert response.status_code == 200, page
            assert "My diary" not in response.text
        for address in ("/chats", "/world", "/findings", "/reports", "/exports/md"):
            response = await client.get(f"/api/v1/projects/{SAMPLE}{address}")
            assert response.status_code == 200, address
            assert "My diary" not in response.text
        assert SENTENCES[kind] in (await client.get(f"/api/v1/projects/{SAMPLE}")).text
        if name.startswith("chat/"):
            response = await client.get(f"/api/v1/projects/{SAMPLE}/chats/odd")
            assert response.status_code in {400, 404}
            assert "My diary" not in response.text
    assert secret.read_text() == '{"name": "My diary", "do": "begin"}'


async def test_a_host_with_somebody_before_it_is_refused(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert (await client.get("/", headers={"host": "127.0.0.1"})).status_code == 200
        for host in ("evil.example@127.0.0.1", "a:b@localhost", "@127.0.0.1", "127.0.0.1@"):
            response = await client.get("/api/v1/projects", headers={"host": host})
            assert response.status_code == 421
            assert f"This server is not named {host!r}." in response.json()["error"]["message"]
