"""The Write page and the runs of the API, with real processes that write a story with scripted models."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import systems
from fake_provider import Answer, FakeProvider
from patience import SECONDS
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

SCRIPT = systems()["agents-room"].folder / "script.toml"
PARTS = "/projects/tale/write-parts"
RUNS = "/api/v1/projects/tale/runs"
PLAN = ["conflict", "characters", "setting", "plot"]
CALLS = 9


def project(folder: Path, **settings: Any) -> Path:  # noqa: ANN401 - of a project
    given = {"preset": "faithful", "system": "agents-room", "model": f"scripted:{SCRIPT}"} | settings
    ProjectFolder.create(folder / "shelf" / "tale", Brief("Write about Mara."), given)
    return folder / "shelf"


async def until(client: httpx.AsyncClient, *states: str) -> dict[str, Any]:
    """The newest run, once it stands so."""
    async with asyncio.timeout(SECONDS):
        while True:
            run = (await client.get(RUNS)).json()["runs"][0]
            if run["state"] in states:
                return dict(run)
            await asyncio.sleep(0.05)


def asked(folder: Path) -> int:
    with ProjectFolder.open(folder / "tale").journal as journal:
        return len(journal.calls)


def hidden(html: str) -> dict[str, str]:
    """The hidden fields of a form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', html))


async def test_a_story_is_written_from_the_page(tmp_path: Path) -> None:
    folder = project(tmp_path)
    async with studio_here(folder) as client:
        first = await client.get("/projects/tale/write")
        assert first.status_code == 200
        assert "No run yet" in first.text
        assert "exports/" not in first.text, "there is no story to take out"
        expected = (await client.get(f"{PARTS}/expected")).text
        assert "<strong>9 calls</strong>" in expected
        assert "scripted" in expected
        begun = await client.post(f"{PARTS}/start", data={"usd": "1.50", "kind": "write"})
        assert begun.status_code == 200, begun.text
        assert "at work" in begun.text
        run = await until(client, "finished", "failed")
        assert (run["state"], run["message"]) == ("finished", "")
        assert (run["arguments"]["budget_tokens"], run["arguments"]["budget_usd"]) == (None, 1.5)
        assert run["total"]["calls"] == CALLS
        assert run["total"]["cost"] == 0
        assert "finished" in (await client.get(f"{PARTS}/run")).text
        tree = (await client.get(f"{PARTS}/tree")).text
        assert "Resolution" in tree
        assert "/projects/tale/write?text=story.md" in tree
        text = (await client.get(f"{PARTS}/text")).text
        (book,) = re.findall(r'href="(/api/v1/projects/tale/exports/epub)" download', text)
        assert (await client.get(book)).content.startswith(b"PK")
        assert "Mara" in (await client.get("/projects/tale/write")).text
        assert "up to date" in (await client.get(f"{PARTS}/expected")).text
        events = (await client.get(f"{RUNS}/{run['id']}/events")).json()["events"]
        assert [event["path"] for event in events if event["type"] == "kept"][:4] == PLAN


async def test_a_price_that_is_not_known_is_said_in_estimates(tmp_path: Path) -> None:
    model = "openai-chat:tale-1"
    folder = project(tmp_path, model=model, models={model: {"base_url": "http://127.0.0.1:9/v1"}})
    async with studio_here(folder, {"OPENAI_API_KEY": "sk-a-secret-of-tests"}) as client:
        for part in (f"{PARTS}/expected", "/projects/tale/edit-parts/expected?name=brief.md"):
            expected = (await client.get(part)).text
            assert "tokens, price unknown" in expected
            assert "$0" not in expected
    free = project(tmp_path / "free")
    async with studio_here(free) as client:
        assert "tokens, at no cost" in (await client.get(f"{PARTS}/expected")).text


async def test_the_text_in_the_middle_is_the_story_where_none_is_named(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        parts = "/projects/sample/write-parts/text"
        assert 'data-name="exposition"' in (await client.get(parts)).text
        assert 'data-name="setting"' in (await client.get(parts, params={"name": "setting"})).text


async def test_each_text_of_the_plan_is_approved_or_changed_before_the_next_step(tmp_path: Path) -> None:
    folder = project(tmp_path)
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={"approve": "plans"})
        for name in PLAN:
            run = await until(client, "waits", "failed", "finished")
            assert (run["state"], run["waits_for"]) == ("waits", name)
            form = (await client.get(f"{PARTS}/run")).text
            assert f"{name.capitalize()} waits for your approval" in form
            text = (
                "Mara wants the harbour dark."
                if name == "conflict"
                else re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", form, re.DOTALL)[0]
            )
            answer = await client.post(f"{PARTS}/approve", data=hidden(form) | {"text": text, "how": "approve"})
            assert answer.status_code == 200, answer.text
        run = await until(client, "finished", "failed")
        assert run["state"] == "finished", run["message"]
        assert asked(folder) == CALLS, "no model is called twice"
        assert (folder / "tale/plan/conflict.md").read_text() == "Mara wants the harbour dark.\n"


async def test_what_waits_can_be_written_anew(tmp_path: Path) -> None:
    folder = project(tmp_path)
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={"approve": "plans"})
        await until(client, "waits", "failed")
        form = (await client.get(f"{PARTS}/run")).text
        done = await client.post(f"{PARTS}/approve", data=hidden(form) | {"text": "x", "how": "retake"})
        assert done.status_code == 200, done.text
        run = await until(client, "waits", "failed")
        assert run["waits_for"] == "conflict"
        assert asked(folder) == 2


def held(folder: Path) -> tuple[Path, dict[str, Any]]:
    """A file, and roles of which one does not answer before that file is gone."""
    hold, program = folder / "hold", folder / "held.py"
    hold.touch()
    program.write_text(
        "import pathlib, time\n\n\ndef plot(request):\n"
        f"    while pathlib.Path({str(hold)!r}).exists():\n        time.sleep(0.02)\n"
        "    return 'The lamp goes out, and Mara waits.'\n"
    )
    return hold, {"plot": {"play": f"{program}:plot"}}


async def test_a_run_that_was_killed_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    hold, roles = held(tmp_path)
    folder = project(tmp_path, roles=roles)
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={})
        async with asyncio.timeout(SECONDS):
            while asked(folder) < 3:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
        run = await until(client, "running")
        os.kill(run["pid"], signal.SIGKILL)
        run = await until(client, "killed")
        shown = (await client.get(f"{PARTS}/run")).text
        assert "Continue" in shown
        assert "was killed before it could report a reason." in shown
        before = asked(folder)
        hold.unlink()
        assert (await client.post(f"{PARTS}/again", data={"run": run["id"]})).status_code == 200
        run = await until(client, "finished", "failed")
        assert run["state"] == "finished", run["message"]
        assert run["total"]["replayed"] == before
        assert asked(folder) == CALLS


async def test_a_run_is_stopped_though_its_role_does_not_answer(tmp_path: Path) -> None:
    hold, roles = held(tmp_path)
    folder = project(tmp_path, roles=roles)
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={})
        async with asyncio.timeout(SECONDS):
            while asked(folder) < 3:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
        run = await until(client, "running")
        await client.post(f"{PARTS}/stop", data={"run": run["id"]})
        run = await until(client, "stopped", "failed")
        assert hold.exists()
        assert run["message"].startswith("Stopped.")


async def test_prompts_are_carried_to_a_chat_window_by_hand(tmp_path: Path) -> None:
    folder = project(tmp_path, system="end-to-end")
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={"by_hand": "true"})
        async with asyncio.timeout(SECONDS):
            form = ""
            while "A prompt for you" not in form:
                form = (await client.get(f"{PARTS}/run")).text
                await asyncio.sleep(0.1)
        assert "Write about Mara." in form
        answered = await client.post(f"{PARTS}/answer", data=hidden(form) | {"text": "Mara lit the lamp. " * 8})
        assert answered.status_code == 200, answered.text
        run = await until(client, "finished", "failed")
        assert run["state"] == "finished", run["message"]
        assert "Mara lit the lamp." in (folder / "tale/story.md").read_text()
        refused = await client.post(f"{RUNS}/{run['id']}/answers", json={"name": "../x", "text": "x"})
        assert refused.status_code == 404


async def test_a_model_that_is_gone_in_the_middle_of_its_answer_is_said_in_words(tmp_path: Path) -> None:
    async with FakeProvider([Answer(cut=2)] * 20) as server:
        model = "openai-chat:tale-1"
        folder = project(tmp_path, model=model, models={model: {"base_url": server.openai_url}})
        async with studio_here(folder, {"OPENAI_API_KEY": "sk-a-secret-of-tests"}) as client:
            await client.post(f"{PARTS}/start", data={})
            run = await until(client, "failed", "finished", "killed")
            assert run["state"] == "failed"
            assert "tale-1" in run["message"]
            assert run["kind_of_error"] in ("ModelUnavailableError", "OverloadedError")
            kinds = [e["type"] for e in (await client.get(f"{RUNS}/{run['id']}/events")).json()["events"]]
            assert "call_retried" in kinds
            assert "Continue" in (await client.get(f"{PARTS}/run")).text


async def test_the_api_says_what_is_wrong_with_an_order(tmp_path: Path) -> None:
    async with studio_here(project(tmp_path)) as client:
        for verb, body, status in (
            ("dance", {}, 404),
            ("write", {"play": "me"}, 422),
            ("check", {"approve": "all"}, 422),
            ("write", {"budget_usd": -1}, 422),
            ("write", {"words": "a lot"}, 202),
        ):
            response = await client.post(f"/api/v1/projects/tale/{verb}", json=body)
            if status == 202:  # what only the verb itself knows, its run says
                run = await until(client, "failed", "finished")
                assert "'a lot' is not a number of words" in run["message"]
                continue
            assert response.status_code == status
            assert response.json()["error"]["message"]
        wrong = await client.post(f"{PARTS}/start", data={"usd": "a lot"})
        assert (wrong.status_code, "is not a number of dollars" in wrong.text) == (400, True)
        assert (await client.get(f"{RUNS}/nothing")).status_code == 404
        assert (await client.post("/api/v1/projects/none/write", json={})).status_code == 404


async def test_events_are_given_from_any_number_on_without_following(tmp_path: Path) -> None:
    everything = {"after": "0", "follow": "false"}
    async with studio_here(project(tmp_path)) as client:
        await client.post("/api/v1/projects/tale/plan", json={})
        await until(client, "finished", "failed")
        async with asyncio.timeout(SECONDS):
            response = await client.get("/api/v1/events", params=everything)
            while "run_ended" not in response.text:
                response = await client.get("/api/v1/events", params=everything)
        assert response.headers["content-type"].startswith("text/event-stream")
        found = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: ")]
        assert [event["n"] for event in found] == list(range(1, len(found) + 1))
        assert {event["project"] for event in found} == {"tale"}
        later = await client.get("/api/v1/events", params={"follow": "false"}, headers={"last-event-id": "5"})
        assert later.text.startswith("id: 6\n")


async def test_a_project_that_a_command_line_holds_is_said_to_be_in_use(tmp_path: Path) -> None:
    folder = project(tmp_path)
    async with studio_here(folder) as client:
        with ProjectFolder.open(folder / "tale").lock():
            await client.post(f"{PARTS}/start", data={})
            run = await until(client, "failed", "finished")
        assert run["state"] == "failed"
        assert f"is in use by process {os.getpid()}. Wait for it to finish, or stop it." in run["message"]
        assert "Continue" in (await client.get(f"{PARTS}/run")).text


async def test_a_cap_stops_a_run_in_words(tmp_path: Path) -> None:
    async with studio_here(project(tmp_path)) as client:
        await client.post(f"{PARTS}/start", data={"tokens": "100"})
        run = await until(client, "failed", "finished")
        assert (run["state"], run["kind_of_error"]) == ("failed", "BudgetError")
        assert "100" in run["message"]


async def test_a_finished_story_is_written_again_by_another_seed_only_where_a_person_says_so(tmp_path: Path) -> None:
    folder = project(tmp_path)
    async with studio_here(folder) as client:
        await client.post(f"{PARTS}/start", data={})
        assert (await until(client, "finished", "failed"))["state"] == "finished"
        settings = folder / "tale" / "fabula.toml"
        settings.write_text(f"seed = 9\n{settings.read_text()}")
        await client.post(f"{PARTS}/start", data={})
        run = await until(client, "failed", "finished")
        assert (run["state"], run["kind_of_error"]) == ("failed", "WrittenBeforeError")
        assert run["message"].startswith("The story is finished. With other settings (seed), 9 existing texts would")
        assert asked(folder) == CALLS
        form = (await client.get(f"{PARTS}/run")).text
        assert "Rewrite existing texts" in form
        await client.post(f"{PARTS}/again", data=hidden(form))
        run = await until(client, "finished", "failed")
        assert (run["state"], run["arguments"]["anew"]) == ("finished", True)
        assert asked(folder) == 2 * CALLS
