"""Projects over the Model Context Protocol, with the SDK's own client: in memory, in both of its dialects."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CreateMessageResult, ErrorData, TextContent

from commandline import BRIEF, REPLIES
from fabula.app.checking import OUT, dismiss, stored_check
from fabula.cli.terminal import Terminal
from fabula.project.folder import ProjectFolder
from fabula.server.mcp_server import server
from fabula.server.mcp_tools import Projects
from fabula.story import Brief
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

MARKS = {
    "central conflict of the story": "conflict",
    "Describe each of the characters": "character",
    "Describe the setting": "setting",
    "Set out the key plot points": "plot",
    "Write the Exposition, part": "exposition",
    "Write the Rising Action, part": "rising_action",
    "Write the Climax, part": "climax",
    "Write the Falling Action, part": "falling_action",
    "Write the Resolution, part": "resolution",
}
SETTINGS = {"model": "client", "system": "agents-room", "config": {"final_reading": False}}


class Sampler:
    """A client's model: answers from the script of a room, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    async def __call__(self, context: Any, params: Any) -> CreateMessageResult | ErrorData:  # noqa: ANN401 - the SDK's
        del context
        text = params.messages[-1].content.text
        self.asked.append(text)
        if self.fails:
            return ErrorData(code=-1, message="The user declined.")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=reply_to(text)),
            model="theirs",
            stop_reason="endTurn",
        )


def reply_to(text: str) -> str:
    return next((REPLIES[role] for mark, role in MARKS.items() if mark in text), '{"findings": []}')


def projects(folder: Path, model: str = "client") -> Projects:
    return Projects(folder, {"OPENAI_API_KEY": "sk-very-secret-indeed"}, model)


def said(result: Any) -> Any:  # noqa: ANN401 - JSON data
    assert not result.is_error, result.content[0].text
    return json.loads(result.content[0].text)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """A folder with one project, whose model is the client's."""
    ProjectFolder.create(tmp_path / "lamp", Brief.parse(BRIEF), SETTINGS)
    return tmp_path


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_writes_edits_updates_and_checks_with_its_own_model(lamp: Path, mode: str) -> None:
    sampler, heard = Sampler(), list[tuple[float, float | None, str | None]]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def work() -> None:
        async with Client(server(projects(lamp), str), sampling_callback=sampler, mode=mode) as client:
            written = said(await client.call_tool("write", {"project": "lamp"}, progress_callback=hear))
            assert (written["done"], written["words"]) == (True, 69)
            assert len(sampler.asked) == 9
            assert len({*sampler.asked}) == 9, "no prompt is asked twice"
            standing = said(await client.call_tool("status", {"project": "lamp"}))
            assert standing["estimate"]["total_calls"] == 0
            names = [one["name"] for one in standing["artefacts"]]
            assert "conflict" in names
            text = said(await client.call_tool("text", {"project": "lamp", "artefact": "climax"}))["text"]
            assert text == REPLIES["climax"]
            new = "Mara must put the lamp out."
            edited = said(
                await client.call_tool("edit", {"project": "lamp", "artefact": "conflict", "text": new, "base": None})
            )
            assert edited["changed"]
            coming = said(await client.call_tool("update", {"project": "lamp", "dry_run": True}))
            assert (coming["done"], coming["total_calls"]) == (False, 8)
            updated = said(await client.call_tool("update", {"project": "lamp"}))
            assert (updated["done"], len(sampler.asked)) == (True, 17)
            assert new in (lamp / "lamp/plan/conflict.md").read_text()
            assert said(await client.call_tool("undo", {"project": "lamp"}))["artefacts"] == ["conflict"]
            coming = said(await client.call_tool("update", {"project": "lamp", "dry_run": True}))
            assert coming["total_calls"] == 0
            retaken = said(await client.call_tool("retake", {"project": "lamp", "artefact": "climax"}))
            assert retaken["artefact"] == "climax"
            assert said(await client.call_tool("estimate", {"project": "lamp"}))["total_calls"] > 0
            said(await client.call_tool("undo", {"project": "lamp"}))
            file = said(await client.call_tool("export", {"project": "lamp", "format": "txt"}))["file"]
            assert (lamp / file).read_text()
            found = said(await client.call_tool("check", {"project": "lamp"}))
            assert found["done"]
            assert found["found"]["findings"] == []
            assert (lamp / "lamp/evaluation/atlas.html").is_file(), "the page that `fabula check` makes"
            story = await client.read_resource("fabula://lamp/story")
            assert REPLIES["climax"] in story.contents[0].text  # type: ignore[union-attr] # it is text
            for name in ("plan", "world", "findings"):
                await client.read_resource(f"fabula://lamp/{name}")

    run(work)
    assert heard
    assert [done for done, _, _ in heard] == sorted({done for done, _, _ in heard})
    assert any("conflict" in (message or "") for _, _, message in heard)


def test_a_finding_that_the_author_dismissed_is_not_found_again(tmp_path: Path) -> None:
    script = ROOT / "src/fabula/evaluators/atlas/script.toml"
    story = next(text for text in script.read_text(encoding="utf-8").split('"""') if "Mara Voss climbed" in text)
    project = ProjectFolder.create(tmp_path / "lamp", Brief.parse(BRIEF), {"model": f"scripted:{script}"})
    (project.folder / "story.md").write_text(story, encoding="utf-8")

    door = projects(tmp_path).opened("lamp")
    first, *rest = door.check().found.findings
    dismiss(project.folder / OUT, stored_check(project.folder / OUT), {first.key: "He has two of them."})
    again = door.check().found.findings
    assert [one.key for one in again if not one.dismissed] == [one.key for one in rest]
    assert "He has two of them." in (project.folder / OUT / "findings-story.md").read_text(encoding="utf-8")


def failed(result: Any) -> str:  # noqa: ANN401 - the SDK's
    assert result.is_error, result.content[0].text
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_that_declines_goes_on_later_with_the_same_story(lamp: Path, mode: str) -> None:
    sampler = Sampler()

    async def work() -> None:
        async with Client(server(projects(lamp), str), sampling_callback=sampler, mode=mode) as client:
            sampler.fails = True
            if mode == "legacy":
                why = failed(await client.call_tool("write", {"project": "lamp"}))
                assert "The client's model did not answer: The user declined." in why
            else:
                with pytest.raises(MCPError, match="The user declined"):
                    await client.call_tool("write", {"project": "lamp"})
            sampler.fails = False
            assert said(await client.call_tool("write", {"project": "lamp"}))["words"] == 69
            assert len(sampler.asked) == 10

    run(work)


def test_a_long_story_takes_several_calls_of_a_client_that_counts_rounds(
    lamp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.mcp_server._ROUNDS", 4)
    sampler = Sampler()

    async def work() -> None:
        async with Client(
            server(projects(lamp), str), sampling_callback=sampler, mode="auto", input_required_max_rounds=4
        ) as client:
            results = [said(await client.call_tool("write", {"project": "lamp"})) for _ in range(3)]
            assert [one["done"] for one in results] == [False, False, True]
            assert results[0]["next"] == "4 prompts were answered and are kept. Call this tool again to continue."
            assert len(sampler.asked) == len({*sampler.asked}) == 9

    run(work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_without_a_model_is_told_what_to_do(lamp: Path, mode: str) -> None:
    async def work() -> None:
        async with Client(server(projects(lamp), str), mode=mode) as client:
            assert "No client with a model is connected." in failed(
                await client.call_tool("write", {"project": "lamp"})
            )

    run(work)


def test_a_write_is_cancelled_and_gone_on_with(lamp: Path) -> None:
    asked: list[str] = []
    reached = asyncio.Event()

    async def slow(context: Any, params: Any) -> CreateMessageResult:  # noqa: ANN401 - the SDK's
        del context
        asked.append(params.messages[-1].content.text)
        if len(asked) == 3:
            reached.set()
            await asyncio.sleep(60)
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=reply_to(asked[-1])), model="m"
        )

    async def work() -> None:
        async with Client(server(projects(lamp), str), sampling_callback=slow, mode="legacy") as client:
            task = asyncio.create_task(client.call_tool("write", {"project": "lamp"}))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            done = said(await client.call_tool("write", {"project": "lamp"}))
            assert (done["asked"], done["replayed"]) == (7, 2)

    run(work)


@pytest.mark.parametrize("name", ["../lamp", "/etc", "lamp/../..", "lamp/plan", "", "gone", "link", "a\x1bb"])
def test_no_name_leads_out_of_the_folder(lamp: Path, name: str) -> None:
    (lamp / "root").mkdir()
    (lamp / "lamp").rename(lamp / "root" / "lamp")
    ProjectFolder.create(lamp / "secret", Brief.parse(BRIEF), {})
    (lamp / "root" / "link").symlink_to(lamp / "secret")

    async def work() -> None:
        async with Client(server(projects(lamp / "root"), str), mode="auto") as client:
            for tool in ("status", "text", "write", "update", "check", "undo", "export"):
                assert failed(await client.call_tool(tool, {"project": name}))
            assert failed(await client.call_tool("edit", {"project": name, "artefact": "x", "text": "y", "base": None}))
            listed = said(await client.call_tool("projects", {}))["projects"]
            assert [one["project"] for one in listed] == ["lamp"]
            made = said(await client.call_tool("new", {"title": name or "A", "brief": "A lamp.", "words": "60"}))
            assert (lamp / "root" / made["project"] / "brief.md").is_file()

    run(work)
    assert sorted(path.name for path in lamp.iterdir()) == ["root", "secret"]


def test_a_link_shows_nobody_elses_files_and_one_bad_project_hides_no_other(lamp: Path) -> None:
    (lamp / "secret").mkdir()
    (lamp / "secret/findings-story.md").write_text("My diary.")
    (lamp / "lamp/evaluation").symlink_to(lamp / "secret")
    ProjectFolder.create(lamp / "tale", Brief.parse(BRIEF), SETTINGS)
    ProjectFolder.create(lamp / "torn", Brief.parse(BRIEF), SETTINGS)
    (lamp / "torn/fabula.toml").write_text("[[[")

    async def work() -> None:
        async with Client(server(projects(lamp), str), mode="auto") as client:
            with pytest.raises(MCPError, match="is a link to a place outside"):
                await client.read_resource("fabula://lamp/findings")
            assert "is a link to a place outside" in failed(await client.call_tool("check", {"project": "lamp"}))
            found = said(await client.call_tool("projects", {}))["projects"]
            assert [one["project"] for one in found] == ["lamp", "tale", "torn"]
            assert [bool(one["problem"]) for one in found] == [True, False, True]

    run(work)
    assert [file.name for file in (lamp / "secret").iterdir()] == ["findings-story.md"]


def test_what_would_leave_a_project_that_cannot_be_opened_is_refused(lamp: Path) -> None:
    async def work() -> None:
        async with Client(server(projects(lamp), str), sampling_callback=Sampler(), mode="auto") as client:
            for made, why in (
                ({"title": "a" * 300, "brief": "A lamp."}, "at most 200 characters"),
                ({"title": "tale", "brief": "A lamp. " * 100_000}, "larger than 200 kB"),
                ({"title": "tale", "brief": "A lamp.", "words": "9" * 39}, "is not a number of words"),
            ):
                assert why in failed(await client.call_tool("new", made))
            said(await client.call_tool("write", {"project": "lamp"}))
            huge = {"project": "lamp", "artefact": "climax", "text": "word " * 500_000, "base": None}
            assert "is larger than 2,000,000 bytes. Use a shorter text." in failed(await client.call_tool("edit", huge))
            assert said(await client.call_tool("estimate", {"project": "lamp"}))["total_calls"] == 0

    run(work)
    assert [file.name for file in lamp.iterdir()] == ["lamp"]


def test_a_client_names_no_folder_with_code(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/paper.toml").write_text('title = "My diary')

    async def work() -> None:
        async with Client(server(projects(tmp_path), str), mode="auto") as client:
            for system in (str(tmp_path / "paper"), "./paper", "~"):
                made = {"title": "tale", "brief": BRIEF, "system": system}
                assert "Use the name of an installed system." in failed(await client.call_tool("new", made))

    run(work)
    assert not (tmp_path / "tale").exists()


def test_a_new_project_is_written_by_the_clients_model(tmp_path: Path) -> None:
    async def work() -> None:
        async with Client(server(projects(tmp_path), str), mode="auto") as client:
            made = {"title": "tale", "brief": BRIEF, "system": "end-to-end", "words": "60"}
            assert said(await client.call_tool("new", made))["project"] == "tale"
            standing = said(await client.call_tool("status", {"project": "tale"}))
            assert (standing["system"], standing["model"], standing["estimate"]["total_calls"] > 0) == (
                "end-to-end",
                "client",
                True,
            )
            assert "Did you mean" in failed(
                await client.call_tool("new", {"title": "other", "brief": "x", "system": "end-to-ned"})
            )
            assert "There is no story yet" in failed(await client.call_tool("story", {"project": "tale"}))

    run(work)


def test_programs_of_others_are_not_run_and_keys_not_shown(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(lamp / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    (lamp / "lamp/evil.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    (lamp / "lamp/fabula.toml").write_text('[roles.plot]\nplay = "evil.py:speak"\n')

    async def work() -> None:
        async with Client(server(projects(lamp), Terminal().shown), mode="auto") as client:
            standing = said(await client.call_tool("status", {"project": "lamp"}))
            assert "you have not allowed this." in standing["problem"]
            for tool in ("write", "estimate", "update"):
                assert "you have not allowed this." in failed(await client.call_tool(tool, {"project": "lamp"}))
            (lamp / "lamp/story.md").write_text("# The Lamp\n\nThe key is sk-very-secret-indeed.\n")
            story = said(await client.call_tool("text", {"project": "lamp"}))["text"]
            assert "The key is [key]." in story

    run(work)
    assert not (lamp / "lamp/ran").exists()


def test_a_client_starts_the_command_and_talks_over_its_pipes(lamp: Path) -> None:
    sampler = Sampler()
    environ = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "fabula", "mcp", str(lamp)], env=environ | {"XDG_STATE_HOME": str(lamp)}
    )

    async def work() -> None:
        async with Client(command, sampling_callback=sampler) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools >= {"projects", "write", "edit", "update", "check", "undo", "export"}
            assert said(await client.call_tool("write", {"project": "lamp"}))["words"] == 69

    run(work)
    assert len(sampler.asked) == 9
