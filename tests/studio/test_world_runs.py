"""The World page begins a run that reads the story, and shows what it has found."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import AsyncClient

pytestmark = pytest.mark.slow
AT = "/projects/lamp/world"
FACT = {"about": "the lamp", "property": "state", "value": "lit", "quote": "lit the lamp", "known_to": ["Mara"]}
READ = json.dumps({"characters": ["Mara", "Tobias"], "facts": [FACT]})


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf" / "lamp"
    folder.mkdir(parents=True)
    (folder / "replies.toml").write_text(script_of({"reader:read": READ, "verifier": "{}"}), encoding="utf-8")
    (folder / "fabula.toml").write_text('model = "scripted:replies.toml"\n', encoding="utf-8")
    (folder / "brief.md").write_text("A lamp.\n", encoding="utf-8")
    (folder / "story.md").write_text("<!-- scene: one -->\nAt six Mara lit the lamp.\n", encoding="utf-8")
    return tmp_path / "shelf"


async def ended(client: AsyncClient) -> dict[str, Any]:
    """The project's only run, when it has ended."""
    for _ in range(600):
        (run,) = (await client.get("/api/v1/projects/lamp/runs")).json()["runs"]
        if run["state"] not in ("queued", "running"):
            found: dict[str, Any] = run
            return found
        await asyncio.sleep(0.1)
    raise AssertionError("The run does not end.")


async def test_a_story_without_facts_is_read_after_its_cost_is_said(shelf: Path) -> None:
    async with studio_here(shelf) as client:
        assert "Nothing is known about this story" in (await client.get(AT)).text
        said = (await client.get(f"{AT}/expected/facts")).text
        assert "<strong>1</strong> call to " in said, said
        begun = await client.post(f"{AT}/run/facts", headers={"hx-request": "true"})
        assert "continues if you close this page" in begun.text
        run = await ended(client)
        assert run["state"] == "finished", run
        html = (await client.get(AT)).text
        assert "the lamp" in html
        assert "1 fact." in html
        assert "Extract the facts from the current story" in html
        again = (await client.get(f"{AT}/expected/facts")).text
        assert "no call is needed" in again
        (shelf / "lamp" / "story.md").write_text("<!-- scene: one -->\nAt seven Mara lit the lamp.\n", encoding="utf-8")
        again = (await client.get(f"{AT}/expected/facts")).text
        assert "<strong>1</strong> call to " in again
        fact = (await client.get(f"{AT}/facts/1")).text
        assert "At seven Mara <mark data-sentence>lit the lamp</mark>." in fact
        graph = (await client.get(f"{AT}/graph")).json()
        assert (graph["drawn"], len(graph["edges"])) == (1, 1)


@pytest.mark.parametrize("kind", ["facts", "check"])
async def test_a_reading_that_failed_says_why_and_takes_another_model(shelf: Path, kind: str) -> None:
    right = (shelf / "lamp" / "fabula.toml").read_text()
    (shelf / "lamp" / "fabula.toml").write_text('model = "embedded:/nowhere/at/all.gguf"\n', encoding="utf-8")
    async with studio_here(shelf) as client:
        assert "The last run" not in (await client.get(f"{AT}/expected/{kind}")).text
        await client.post(f"{AT}/run/{kind}", headers={"hx-request": "true"})
        run = await ended(client)
        assert run["state"] == "failed", run
        said = (await client.get(f"{AT}/expected/{kind}")).text
        assert "The last run failed. There is no model file at /nowhere/at/all.gguf" in said
        assert "Another model" in said
        (shelf / "lamp" / "fabula.toml").write_text(right, encoding="utf-8")
        named = {"model": "embedded:/not/here.gguf"}
        await client.post(f"{AT}/run/{kind}", headers={"hx-request": "true"}, data=named)
        runs = (await client.get("/api/v1/projects/lamp/runs")).json()["runs"]
        assert runs[0]["arguments"]["model"] == named["model"]


async def test_a_check_from_the_measure_page_leads_to_the_findings(shelf: Path) -> None:
    script = script_of({"reader:read": '{"findings": []}', "verifier": "{}"})
    (shelf / "lamp" / "replies.toml").write_text(script, encoding="utf-8")
    async with studio_here(shelf) as client:
        await client.post("/projects/lamp/measure", headers={"hx-request": "true"}, data={"kind": "check"})
        run = await ended(client)
        assert run["state"] == "finished", run
        measured = (await client.get("/projects/lamp/measure-run", params={"run": run["id"]})).text
        assert f'data-result="{AT}/findings"' in measured
        assert f'<a href="{AT}/findings">The findings</a>' in measured
        written = (await client.get("/projects/lamp/write-parts/run")).text
        assert f'href="{AT}/findings">Read the findings</a>' in written


async def test_a_wording_is_proposed_after_its_cost_is_said_and_not_saved(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        workspace = client.state.shelf["sample"]  # type: ignore[attr-defined] # set by `studio_here`
        passage = "He had brought me a mug of tea from a flask."
        (workspace.folder / "replies.toml").write_text(script_of({"climax:rewrite_passage": passage}), encoding="utf-8")
        (workspace.folder / "fabula.toml").write_text(
            'system = "agents-room"\nmodel = "scripted:replies.toml"\n', encoding="utf-8"
        )
        at = "/projects/sample/world/findings/dcf5212a-ae60/propose/y"
        said = (await client.post(f"{at}/expected", headers={"hx-request": "true"})).text
        assert "1 call" in said, said
        new = await client.post(at, headers={"hx-request": "true"})
        assert passage in new.text, new.text
        assert passage not in workspace.text("climax").text
