"""A client of the Model Context Protocol talks with a character, in the session that `fabula chat` has, too."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import CreateMessageResult, TextContent

import fabula
from commandline import BRIEF
from fabula.app.checking import OUT
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.server.mcp_server import server
from fabula.server.mcp_tools import Projects
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

NARRATIVE = (
    "Mara kept the lamp of the lighthouse on the cape. On Monday the boy Tobias brought her a letter from the office. "
    "She read it standing, and then Tobias asked what stood in it. The lamp was to go dark, said Mara."
)


class Talker:
    """A client's model that is Mara, and says another thing each time it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> CreateMessageResult:  # noqa: ANN401 - the SDK's
        del context
        prompt = params.messages[-1].content.text
        if "JSON schema" in prompt:
            text = json.dumps({"sentences": [{"sentence": n, "witnesses": ["Mara", "Tobias"]} for n in range(1, 5)]})
            return CreateMessageResult(role="assistant", content=TextContent(type="text", text=text), model="theirs")
        self.asked.append(prompt)
        text = f"[Mara: (folds the letter) The lamp goes dark on day {len(self.asked)}.]"
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text=text), model="theirs")


class Own:
    """A model of the same kind, for Python."""

    name = "mara"

    def reply(self, prompt: str) -> str:
        del prompt
        return "[Mara: (looks up) It is you again.]"


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


def said(result: Any) -> Any:  # noqa: ANN401 - JSON data
    assert not result.is_error, result.content[0].text
    return json.loads(result.content[0].text)


def failed(result: Any) -> str:  # noqa: ANN401 - the SDK's
    assert result.is_error, result.content[0].text
    return str(result.content[0].text)


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """A folder with one project, whose model is the client's, and in which one talks without a plan."""
    ProjectFolder.create(tmp_path / "lamp", Brief.parse(NARRATIVE), {"model": "client", "system": "vanilla"})
    return tmp_path


def client_of(folder: Path, sampler: Any, mode: str) -> Client:  # noqa: ANN401 - the SDK's
    return Client(server(Projects(folder, {}), str), sampling_callback=sampler, mode=mode)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_talks_with_a_character_with_its_own_model(lamp: Path, mode: str) -> None:
    talker = Talker()

    async def work() -> None:
        async with client_of(lamp, talker, mode) as client:
            to_mara = {"project": "lamp", "others": ["Mara"], "player": "Tobias"}
            first = said(await client.call_tool("chat", {**to_mara, "line": "What stands in it?"}))
            assert (first["player"], first["turn"]["who"], first["place"]["turns"]) == ("Tobias", "Mara", 1)
            assert first["turn"]["answer"] == "(folds the letter) The lamp goes dark on day 1."
            second = said(await client.call_tool("chat", {"project": "lamp", "line": "And then?"}))
            assert (second["conversation"], second["place"]["turns"]) == (first["conversation"], 2)
            of_first = {"project": "lamp", "conversation": first["conversation"]}
            assert len(talker.asked) == len({*talker.asked}) == 2, "no prompt is asked twice"
            again = said(await client.call_tool("chat", {"project": "lamp", "move": "another"}))
            assert (again["place"]["turns"], again["turn"]["answer"]) == (
                2,
                "(folds the letter) The lamp goes dark on day 3.",
            )
            back = said(await client.call_tool("take_back", of_first))
            assert [turn["answer"] for turn in back["turns"]] == [first["turn"]["answer"]]
            assert len(talker.asked) == 3
            beside = {**to_mara, "line": "Good evening.", "conversation": "evening"}
            assert said(await client.call_tool("chat", beside))["place"]["turns"] == 1
            listed = said(await client.call_tool("conversations", {"project": "lamp"}))["chats"]
            names = [one["name"] for one in listed]
            assert names == ["evening", first["conversation"]]
            text = said(await client.call_tool("transcript", of_first))["text"]
            assert "What stands in it?" in text
            assert "And then?" not in text

    run(work)


def test_it_is_the_conversation_that_one_has_at_the_terminal_and_from_python(lamp: Path) -> None:
    with fabula.chat(lamp / "lamp", "Mara", model=Own()) as chat:
        chat.say("It is me.")

    async def work() -> None:
        async with client_of(lamp, Talker(), "legacy") as client:
            on = said(await client.call_tool("chat", {"project": "lamp", "line": "What stands in it?"}))
            assert (on["conversation"], on["place"]["turns"]) == (chat.name, 2)

    run(work)
    with fabula.chat(lamp / "lamp", "Mara", model=Own()) as chat:
        assert [turn.said for turn in chat.turns] == ["It is me.", "What stands in it?"]


def test_what_cannot_be_said_is_said_in_words(lamp: Path) -> None:
    async def work() -> None:
        async with client_of(lamp, Talker(), "legacy") as client:
            for wrong, why in (
                ({"others": ["Jonas"], "line": "x"}, "'Jonas'"),
                ({"others": ["Mara"], "line": "x" * 5000}, "the limit is 4,000"),
                ({"others": ["Mara"], "move": "another"}, "no "),
                ({"player": "Mara", "line": "x"}, "Also specify the character that answers"),
                ({"others": ["Mara"], "line": "x", "conversation": "../out"}, "out"),
            ):
                assert why in failed(await client.call_tool("chat", {"project": "lamp", **wrong}))
            gone = {"project": "lamp", "conversation": "gone"}
            assert "gone" in failed(await client.call_tool("conversation", gone))

    run(work)
    assert not list(lamp.glob("out*"))


def test_a_finding_is_read_and_dismissed_and_what_it_costs_is_said_before(tmp_path: Path) -> None:
    """The sample project has been checked; what it holds is read without any model."""
    copy_sample(tmp_path / "lamp")

    async def work() -> None:
        async with Client(server(Projects(tmp_path, {}), str)) as client:
            found = said(await client.call_tool("findings", {"project": "lamp"}))
            assert found["checked"]
            first = found["findings"][0]
            assert len(first["places"]) == 2
            assert first["dismissed"] == ""
            reason = {"project": "lamp", "finding": first["key"], "reason": "She lies here."}
            assert said(await client.call_tool("dismiss", reason))["findings"][0]["dismissed"] == "She lies here."
            now = said(await client.call_tool("findings", {"project": "lamp"}))["findings"]
            assert now[0]["dismissed"] == "She lies here."
            assert "The reason for" in failed(await client.call_tool("dismiss", {**reason, "reason": " "}))
            for tool in ("write", "check"):
                coming = said(await client.call_tool(tool, {"project": "lamp", "dry_run": True}))
                assert {"done", "total_calls", "tokens", "cost"} <= coming.keys()
                assert not coming["done"]

    run(work)
    assert "She lies here." in (tmp_path / "lamp" / OUT / "findings-dismissed.jsonl").read_text(encoding="utf-8")


def test_a_finished_story_is_not_written_again_by_the_clients_model_unasked(tmp_path: Path) -> None:
    given = {"model": "client", "system": "end-to-end", "preset": "faithful"}
    ProjectFolder.create(tmp_path / "lamp", Brief.parse(BRIEF), given)
    fabula.write(tmp_path / "lamp", model=Teller())
    talker = Talker()

    async def work() -> None:
        async with client_of(tmp_path, talker, "legacy") as client:
            for tool in ("write", "update"):
                asked = {"project": "lamp", "use_client_model": True, "dry_run": False}
                why = failed(await client.call_tool(tool, asked))
                assert "The story is finished. With other settings (model), story/01-story.md would be rewritten" in why
                assert "`anew` rewrites them" in why
            assert talker.asked == []
            done = said(await client.call_tool("write", {**asked, "anew": True}))
            assert (done["done"], done["asked"]) == (True, 1)

    run(work)


class Teller:
    """A model that tells a short story."""

    name = "teller"

    def reply(self, prompt: str) -> str:
        del prompt
        return "Mara went up to the lamp, lit it for the last time, and Tobias held the letter against the wind."
