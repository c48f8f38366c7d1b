"""A verb is said once, and every door opens on it: at home, over HTTP, from far away, in MCP, on the command line."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client as McpClient
from mcp_types import TextContent

from commandline import BRIEF, REPLIES, script_of
from fabula.app.bills import Estimate
from fabula.app.saving import Saved
from fabula.app.writing import WrittenStory
from fabula.base.errors import BudgetError, PausedError, UsageError
from fabula.cli.documents import DOCUMENTS
from fabula.cli.main import main
from fabula.engine.events import CallFinished, RunStarted
from fabula.project.folder import ProjectFolder as FolderProject
from fabula.project.sample import copy_sample
from fabula.server.client import Client, RemoteProject
from fabula.server.mcp_server import server
from fabula.server.mcp_tools import Projects
from fabula.server.studio.application import document
from fabula.story import Brief
from fabula.verbs.base import File, every
from fabula.verbs.doors import ShelfVerbs, Verbs
from fabula.verbs.home import Home, Project
from studio import SAMPLE, TOKEN, studio_there
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabula.engine.events import Event
    from studio import There

PART, FILE = "exposition", "story/01-exposition.md"
SOURCE = ROOT / "src/fabula"
NEW_VERB = 40
"""Most lines that a new verb takes."""


@pytest.fixture
def there(tmp_path: Path) -> Iterator[There]:
    with studio_there(tmp_path / "shelf") as running:
        yield running


@pytest.mark.parametrize("name", every())
def test_both_doors_for_python_have_every_verb_blocking_and_async(name: str) -> None:
    of_project = every()[name].of_project
    for door in (Project, RemoteProject) if of_project else (Home, Client):
        for method in (getattr(door, name), getattr(door, f"{name}_async")):
            owner = Verbs if of_project else ShelfVerbs
            assert method is getattr(owner, method.__name__), f"{door.__name__} says {name} a second time"
            taken = [one for one in inspect.signature(method).parameters if one not in ("self", "on_event")]
            assert taken == list(every()[name].signature.parameters)
        assert inspect.iscoroutinefunction(getattr(door, f"{name}_async"))


def test_a_verb_is_imported_when_it_is_first_used() -> None:
    check = """
import sys, fabula
fabula.read, fabula.Home
print(sorted(name for name in sys.modules if name.startswith("fabula.verbs.")))
print(fabula.Project.undo.__doc__.splitlines()[0], *(f"fabula.verbs.{name}" in sys.modules for name in ("undo", "pin")))
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "['fabula.verbs.base', 'fabula.verbs.doors', 'fabula.verbs.home']",
        "Undo the last decision, regardless of the door it was made through. True False",
    ]


def test_the_types_of_the_doors_are_those_of_the_verbs() -> None:
    stub = ast.parse((SOURCE / "verbs/doors.pyi").read_text(encoding="utf-8"))
    written = {
        (one.name, method.name)
        for one in stub.body
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    owners = {name: "Verbs" if verb.of_project else "ShelfVerbs" for name, verb in every().items()}
    own = {("Door", "do"), ("Door", "do_async")} | {("Verbs", one) for one in ("estimated", "dry_run", "dry_run_async")}
    assert written - own == {(owners[name], name + end) for name in every() for end in ("", "_async")}


def test_every_verb_is_an_address_and_its_result_is_in_the_document() -> None:
    paths = document()["paths"]
    for verb in every().values():
        operation = paths[f"/api/v1{verb.address.replace(':path', '')}"][verb.method.lower()]
        given = operation["responses"]["202" if verb.long else "200"]["content"]
        if issubclass(verb.result, File):
            assert given["application/octet-stream"]["schema"] == {"type": "string", "format": "binary"}
        else:
            named = given["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert named == ("RunRecord" if verb.long else verb.result.__name__)
        told = operation.get("parameters", [])
        assert all(one.get("description") for one in told if one["name"] != "project"), verb.name
        documents = (verb.result, Estimate) if verb.long else (verb.result,)
        assert not verb.command or DOCUMENTS[verb.command] == documents


def test_every_tool_and_each_of_its_parameters_is_described(tmp_path: Path) -> None:
    async def work() -> None:
        async with McpClient(server(Projects(tmp_path, {}), str), mode="auto") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(every()) <= set(tools)
        for tool in tools.values():
            assert tool.description
            for name, about in tool.input_schema.get("properties", {}).items():
                assert about.get("description"), (tool.name, name)

    asyncio.run(work())


def test_a_new_verb_is_one_function_and_what_its_command_says() -> None:
    said = ("async def rename(", "\ndef rename(", '"text rename"')
    places = [
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if any(words in file.read_text("utf-8") for words in said)
    ]
    assert sorted(places) == ["cli/commands/decide.py", "cli/lazy.py", "verbs/edit.py"]
    assert len(inspect.getsource(every()["rename"].function).splitlines()) <= NEW_VERB


def _title(folder: Path) -> str:
    return (folder / FILE).read_text(encoding="utf-8").partition("\n")[0]


def test_a_new_verb_reaches_every_door(there: There, capsys: pytest.CaptureFixture[str]) -> None:
    folder = there.state.shelf.folder(SAMPLE)
    home, far = Project.open(folder), Client(there.address, TOKEN).project(SAMPLE)
    before = home.text(PART)
    assert home.rename(PART, "At home").changed
    assert _title(folder) == "# At home"
    saved = asyncio.run(far.rename_async(PART, "Far away"))
    assert type(saved) is Saved
    assert (saved.changed, saved.base) == (True, home.text(PART).base)
    assert _title(folder) == "# Far away"

    async def by_tool() -> dict[str, Any]:
        async with McpClient(server(Projects(folder.parent, {}), str), mode="auto") as client:
            asked = {"project": folder.name, "artefact": PART, "title": "By a tool"}
            (content,) = (await client.call_tool("rename", asked)).content
            assert isinstance(content, TextContent)
            return dict(json.loads(content.text))

    assert asyncio.run(by_tool())["changed"] is True
    assert _title(folder) == "# By a tool"
    assert main(["text", "rename", PART, "--title", "By hand", "-C", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == FILE
    assert _title(folder) == "# By hand"
    for _ in range(4):
        far.undo()
    assert home.text(PART).text == before.text


def test_what_is_read_is_the_same_at_home_and_far_away(there: There) -> None:
    shelf = Home.open(there.state.shelf.folder(SAMPLE).parent)
    client = Client(there.address, TOKEN)
    for door in (shelf, client):
        assert [one.project for one in door.projects().projects] == [SAMPLE]
        assert {"agents-room", "end-to-end"} <= {one.name for one in door.systems().methods}
        assert {"atlas", "surface"} <= {one.name for one in door.evaluators().methods}
        assert "final_reading" in {one.field for one in door.system("agents-room").settings}
        assert door.evaluator("atlas").paper["title"]
        assert "seed" in door.settings().form["properties"]
        assert door.models().known
        with pytest.raises(UsageError, match="Did you mean 'agents-room'"):
            door.system("agents-rom")
    home, far = shelf.project(SAMPLE), client.project(SAMPLE)
    assert home.story() == far.story()
    assert home.story().scenes[0].text.startswith(home.text(PART).text[:40])
    assert home.text().text == far.text().text
    assert home.artefacts() == far.artefacts()
    assert home.status() == far.status()
    assert home.export("epub") == far.export("epub")
    for project in (home, far):
        assert project.estimate().most == project.estimate().total_calls == 0
        coming = project.estimate({"setting": "A harbour."})
        assert coming.most > coming.total_calls > 0


def test_projects_are_made_and_taken_away_at_home_and_far_away(there: There) -> None:
    shelf = Home.open(there.state.shelf.folder(SAMPLE).parent)
    for door in (shelf, Client(there.address, TOKEN)):
        made = door.new("# The Ferry\n\nA ferry.", words="300", model="hand", system="end-to-end")
        assert (made.project, made.title, made.model, made.system) == ("the-ferry", "The Ferry", "hand", "end-to-end")
        assert door.import_manuscript("# One\n\nMara.\n\n# Two\n\nIvan.", title="The Quay").words == 4
        assert door.sample().project == "sample-2"
        for name in ("the-ferry", "the-quay", "sample-2"):
            assert door.remove(name).project == name
        assert [one.project for one in door.projects().projects] == [SAMPLE]


async def test_a_tool_names_no_address_that_a_key_could_be_sent_to(tmp_path: Path) -> None:
    async with McpClient(server(Projects(tmp_path, {}), str), mode="auto") as client:
        tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
    assert "model" in tools["new"]
    assert "base_url" not in tools["new"]
    assert "base_url" in every()["new"].signature.parameters


@pytest.fixture
def lamp(tmp_path: Path) -> Iterator[tuple[Project, RemoteProject, Path]]:
    """A project whose model answers from a script, here and over HTTP, and the folder that holds it."""
    folder = tmp_path / "shelf/lamp"
    copy_sample(tmp_path / "shelf" / SAMPLE)
    made = FolderProject.create(
        folder, Brief.parse(BRIEF), {"model": "scripted:replies.toml", "config": {"final_reading": False}}
    )
    (made.folder / "replies.toml").write_text(script_of(REPLIES), encoding="utf-8")
    with studio_there(tmp_path / "shelf") as running:
        yield Project.open(folder), Client(running.address, TOKEN).project("lamp"), folder


def test_what_takes_long_gives_the_same_at_home_far_away_and_to_a_tool(
    lamp: tuple[Project, RemoteProject, Path],
) -> None:
    home, far, folder = lamp
    foreseen = far.dry_run("write")
    assert foreseen.total_calls == home.dry_run("write").total_calls > 0
    assert not (folder / "story.md").exists(), "nobody was asked"
    heard: list[Event] = []
    written = far.write(on_event=heard.append)
    assert type(written) is WrittenStory
    assert (written.asked, written.replayed) == (foreseen.total_calls, 0)
    assert {"RunStarted", "CallFinished", "RunFinished"} <= {type(event).__name__ for event in heard}
    assert sum(event.usage.reply for event in heard if isinstance(event, CallFinished)) == written.total["reply"] > 0
    told: list[Event] = []
    again = home.write(on_event=told.append)
    assert (again.asked, again.words, again.files) == (0, written.words, written.files)
    assert isinstance(told[0], RunStarted)

    async def by_tool() -> dict[str, Any]:
        async with McpClient(server(Projects(folder.parent, {}), str), mode="auto") as client:
            (content,) = (await client.call_tool("write", {"project": "lamp"})).content
            assert isinstance(content, TextContent)
            return dict(json.loads(content.text))

    by_a_tool = asyncio.run(by_tool())
    assert (by_a_tool["done"], by_a_tool["asked"], by_a_tool["words"]) == (True, 0, written.words)


def test_what_stands_in_the_way_is_the_same_error_at_home_and_far_away(
    lamp: tuple[Project, RemoteProject, Path],
) -> None:
    for door in lamp[:2]:
        with pytest.raises(BudgetError, match="10 tokens"):
            door.write(budget_tokens=10)
        with pytest.raises(PausedError) as paused:
            door.write(approve="plans")
        assert paused.value.path == "conflict"
        with pytest.raises(UsageError, match="Did you mean 'atlas'"):
            door.evaluate("atlsa")


async def test_what_is_cancelled_ends_and_what_is_finished_is_kept(lamp: tuple[Project, RemoteProject, Path]) -> None:
    home, far, _ = lamp
    whole = home.dry_run("write").total_calls
    for door in (home, far):
        heard = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hear(event: Event, heard: asyncio.Event = heard, loop: asyncio.AbstractEventLoop = loop) -> None:
            if isinstance(event, CallFinished | RunStarted):
                loop.call_soon_threadsafe(heard.set)

        work = asyncio.create_task(door.write_async(on_event=hear))
        await heard.wait()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
    last = far.runs().runs[0]
    assert last.verb == "write"
    written = await far.write_async()
    assert written.asked + written.replayed >= whole, "it goes on where it was"


def test_stories_are_measured_and_compared_through_every_door(lamp: tuple[Project, RemoteProject, Path]) -> None:
    home, far, folder = lamp
    home.write()
    there = far.evaluate("surface", ["sample"])
    assert there.report.report.evaluator == "surface"
    here = home.evaluate("surface", [str(folder.parent / "sample")])
    assert here.report.rows == there.report.rows
    assert far.report("evaluation/surface").rows == here.report.rows
    assert home.reports() == far.reports()
    assert home.findings().checked is False
    with pytest.raises(UsageError, match="Unknown project"):
        far.judge("../sample")


def test_a_value_that_does_not_fit_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    copy_sample(tmp_path / "sample")
    home = Home.open(tmp_path)
    sample = home.project("sample")
    refused: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
        ("artefact", sample.text, {"artefact": 7}),
        ("text", sample.edit, {"artefact": PART, "text": b"Mara", "base": None}),
        ("artefact", sample.pin, {"artefact": "\ud800"}),
        ("words", sample.write, {"words": {}}),
        ("budget_tokens", sample.update, {"budget_tokens": "all"}),
        ("budget_usd", sample.update, {"budget_usd": float("nan")}),
        ("title", home.new, {"brief": "A lamp.", "title": "x" * 20_000}),
    ]
    for argument, method, given in refused:
        with pytest.raises(UsageError, match=f"The arguments of `{method.__name__}` do not fit. `{argument}`[ :]"):
            method(**given)
    assert sample.status().undo == ""
    assert [one.project for one in home.projects().projects] == ["sample"]
    file: Any = Path(FILE)
    assert sample.text(file).name == PART, "a path stands for its text"
