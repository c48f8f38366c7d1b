"""Conversations over `/api/v1`: moves that are streamed, answers to choose among, branches, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import httpx
import pytest

from fabula.app.live_turns import LiveTurn
from fabula.app.people import people_in
from fabula.base.errors import LockedError, ModelError
from fabula.craft.conversation import Log, log_file
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.server.runs.children import Runs
from serving import MODEL, Engine, SnapEngine, project, there
from serving import TOKEN as SERVED
from studio import studio_here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.server.conversations import Conversations
    from fabula.server.runs.children import RunProcess

CHATS = "/api/v1/projects/lamp/chats"
TURNS = "/api/v1/projects/lamp/turns"


@dataclass
class Here:
    """A studio with the project `lamp`, whose models are scripted."""

    client: httpx.AsyncClient
    engine: Engine

    @property
    def conversations(self) -> Conversations:
        found: Conversations = self.client.state.conversations("lamp")  # type: ignore[attr-defined] # of the fixture
        return found

    async def begin(self, *others: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a request
        response = await self.client.post(CHATS, json={"others": others or ("Mara",), "player": "Tobias"} | more)
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def move(self, chat: str, move: str = "say", **more: Any) -> list[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - fields of a request
        """The events of a move."""
        response = await self.client.post(TURNS, json={"conversation": chat, "move": move} | more)
        assert response.status_code == 200, response.text
        return events_in(response.text)

    async def view(self, chat: str) -> dict[str, Any]:
        return dict((await self.client.get(f"{CHATS}/{chat}")).json())


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The server-sent events of a text."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("event: ")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]


@asynccontextmanager
async def here(folder: Path, engine: Engine | None = None, **settings: Any) -> AsyncIterator[Here]:  # noqa: ANN401 - fields of a request
    engine = engine or Engine()
    project(folder, **settings)
    with mock.patch("fabula.project.casting.open_model", return_value=engine):
        async with studio_here(folder) as client:
            studio = Here(client, engine)
            studio.conversations.linger = 0.0
            yield studio


async def test_a_conversation_from_its_beginning_to_its_transcript(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        listed = (await studio.client.get(CHATS)).json()
        assert listed == {"chats": [], "characters": ["Mara", "Tobias"], "named": [], "was_read": False, "personas": []}
        chat = (await studio.begin())["name"]
        assert chat == "tobias-mara"
        first = await studio.move(chat, "begin")
        assert first[-1][0] == "done"
        assert {data["who"] for kind, data in first if kind == "piece"} == {"Mara"}
        said = await studio.move(chat, line="Is there light?", version=first[-1][1]["version"])
        pieces = "".join(data["text"] for kind, data in said if kind == "piece")
        view = await studio.view(chat)
        assert [turn["said"] for turn in view["turns"]] == ["", "Is there light?"]
        assert pieces == view["turns"][1]["answer"]
        assert view["moving"] is None
        text = (await studio.client.get(f"{CHATS}/{chat}/transcript")).json()["text"]
        assert text.startswith("# Tobias and Mara\n")
        assert "**Tobias:** Is there light?" in text


async def test_answers_are_drawn_and_chosen_and_turns_taken_back(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        await studio.move(chat, "another")
        await studio.move(chat, "another")
        view = await studio.view(chat)
        assert (len(view["alternatives"]), view["chosen"]) == (3, 3)
        assert len({turn["answer"] for turn in view["alternatives"]}) == 3
        back = (await studio.client.post(f"{CHATS}/{chat}/choose", json={"number": 1})).json()
        assert back["chosen"] == 1
        assert back["turns"][0]["answer"] == view["alternatives"][0]["answer"]
        undone = (await studio.client.post(f"{CHATS}/{chat}/undo", json={})).json()
        assert undone["turns"] == []
        refused = await studio.client.post(f"{CHATS}/{chat}/undo", json={})
        assert refused.status_code == 400
        assert refused.json()["error"]["message"] == "There is no turn to take back."


async def test_another_conversation_branches_off_from_any_turn(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        for text in ("One.", "Two.", "Three."):
            await studio.move(chat, line=text)
        branch = (await studio.client.post(f"{CHATS}/{chat}/branch", json={"after": 2})).json()
        assert (branch["name"], branch["branched_from"], branch["branched_after"]) == (f"{chat}-2", chat, 2)
        await studio.move(branch["name"], line="Else.")
        assert [turn["said"] for turn in (await studio.view(chat))["turns"]] == ["One.", "Two.", "Three."]
        assert [one["name"] for one in (await studio.view(chat))["branches"]] == [f"{chat}-2"]
        again = (await studio.client.post(f"{CHATS}/{chat}-2/branch", json={"after": 0})).json()
        assert again["name"] == f"{chat}-3"
        why = (await studio.client.get(f"{CHATS}/{chat}-2/turns/1/why")).json()
        assert why["calls"]  # made for the conversation that it came from


async def test_a_client_that_goes_away_does_not_lose_the_turn(tmp_path: Path) -> None:
    async with here(tmp_path, Engine(gate=asyncio.Event())) as studio:
        chat = (await studio.begin())["name"]
        live = await studio.conversations.chat("Is there light?", conversation=chat)
        gone = asyncio.ensure_future(anext(live.follow(10.0)))
        await studio.engine.begun(1)
        gone.cancel()
        view = await studio.view(chat)
        assert view["moving"] == {"kind": "say", "said": "Is there light?", "who": "", "text": "", "problem": ""}
        busy = await studio.client.post(TURNS, json={"conversation": chat, "line": "Hello?"})
        assert busy.status_code == 409
        assert busy.json()["error"]["code"] == "busy"
        listening = asyncio.create_task(studio.client.get(f"{CHATS}/{chat}/turns/live"))
        async with asyncio.timeout(120):
            while not live._news._waiters:  # noqa: ASYNC110 - it listens when it waits
                await asyncio.sleep(0.01)
        assert studio.engine.gate is not None
        studio.engine.gate.set()
        assert events_in((await listening).text)[-1][0] == "done"
        assert len((await studio.view(chat))["turns"]) == 1
        assert events_in((await studio.client.get(f"{CHATS}/{chat}/turns/live")).text) == [("idle", {})]


async def test_what_came_before_a_model_failed_is_kept_and_the_turn_can_be_tried_again(tmp_path: Path) -> None:
    class Failing(Engine):
        async def ask(self, request: Any, on_text: Any = None) -> Any:  # noqa: ANN401 - as its base
            if self.fails is not None and "/turn/" in request.path:
                on_text("[Mara: (looks up) The lamp was lit. It was cold. And then the wind ")
                raise self.fails
            fails, self.fails = self.fails, None
            try:
                return await super().ask(request, on_text)
            finally:
                self.fails = fails

    async with here(tmp_path, Failing(fails=ModelError("The server of the model was ended.", model="m"))) as studio:
        chat = (await studio.begin())["name"]
        failed = await studio.move(chat, line="Is there light?")
        assert [kind for kind, _ in failed] == ["piece", "failed"]
        assert failed[-1][1]["error"]["message"] == "The server of the model was ended."
        assert failed[-1][1]["said"] == "Is there light?"
        assert "The lamp was lit" in failed[-1][1]["text"]
        moving = (await studio.view(chat))["moving"]
        assert moving["problem"] == "The server of the model was ended."
        assert moving["text"] == failed[-1][1]["text"]
        studio.engine.fails = None
        assert (await studio.move(chat, line="Is there light?"))[-1][0] == "done"
        assert (await studio.view(chat))["moving"] is None


async def test_two_windows_of_one_conversation_do_not_talk_past_each_other(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = await studio.begin()
        await studio.move(chat["name"], line="One.", version=chat["version"])
        late = {"conversation": chat["name"], "line": "Two.", "version": chat["version"]}
        stale = await studio.client.post(TURNS, json=late)
        assert stale.status_code == 409
        assert stale.json()["error"]["code"] == "stale"
        assert "another window" in stale.json()["error"]["message"]
        assert len((await studio.view(chat["name"]))["turns"]) == 1


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"others": ["Sigrid"]}, 404, "Unknown character 'Sigrid'"),
        ({"others": []}, 422, "others"),
        ({"others": ["Mara"], "player": "Mara"}, 400, "are the same"),
        ({"others": ["Mara"], "player": "Tobias", "name": "../out"}, 400, "cannot name a conversation"),
        ({"others": ["Mara"], "freedom": "wild"}, 422, "freedom"),
        ({"others": ["Mara"], "colour": "red"}, 422, "colour"),
    ],
)
async def test_a_conversation_that_cannot_be_is_refused_in_words(
    tmp_path: Path, body: dict[str, Any], status: int, message: str
) -> None:
    async with here(tmp_path) as studio:
        refused = await studio.client.post(CHATS, json=body)
        assert refused.status_code == status, refused.text
        assert message in refused.json()["error"]["message"]
        assert not list((tmp_path / "lamp").glob("chat/*"))


async def test_what_cannot_be_said_is_refused_in_words(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        for text, message in (("x" * 4001, "4,001 characters; the limit is 4,000"), (" ", "Your message is empty")):
            refused = await studio.client.post(TURNS, json={"conversation": chat, "line": text})
            assert refused.status_code == 400
            assert message in refused.json()["error"]["message"]
        unknown = await studio.client.post(TURNS, json={"conversation": "nobody"})
        assert unknown.status_code == 404
        assert "Unknown conversation 'nobody'" in unknown.json()["error"]["message"]
        for path in ("..%2f..%2fbrief", "a" * 300):
            assert (await studio.client.get(f"{CHATS}/{path}")).status_code in (404, 422)


async def test_a_conversation_that_was_deleted_or_written_by_another_is_seen_as_it_is(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        studio.conversations.linger = 60.0  # it is still in memory
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        await studio.move(chat, line="Two.")
        log = Log.of(tmp_path / "lamp", chat)
        log.undo()
        await studio.move(chat, line="Three.")
        assert [turn["said"] for turn in (await studio.view(chat))["turns"]] == ["One.", "Three."]
        log_file(tmp_path / "lamp", chat).unlink()
        assert (await studio.client.get(f"{CHATS}/{chat}")).status_code == 404
        assert (await studio.client.post(TURNS, json={"conversation": chat})).status_code == 404
        again = await studio.begin(name=chat)
        assert again["turns"] == []


async def test_a_conversation_is_deleted_with_its_transcript_and_its_branch_stays(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        studio.conversations.linger = 60.0  # it is still in memory
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        branch = (await studio.client.post(f"{CHATS}/{chat}/branch", json={"after": 1})).json()["name"]
        log = log_file(tmp_path / "lamp", chat)
        log.with_suffix(".md").write_text("# As it was", encoding="utf-8")
        assert (await studio.client.delete(f"{CHATS}/{chat}")).status_code == 200
        assert not log.exists()
        assert not log.with_suffix(".md").exists()
        assert [one["name"] for one in (await studio.client.get(CHATS)).json()["chats"]] == [branch]
        assert (await studio.client.delete(f"{CHATS}/{chat}")).status_code == 404
        assert (await studio.begin(name=chat))["turns"] == []
        gone = await studio.client.post(f"/projects/lamp/talk-parts/{branch}/delete")
        assert (gone.status_code, gone.headers["hx-redirect"]) == (204, "/projects/lamp/talk")
        with ProjectFolder.open(tmp_path / "lamp").journal as journal:
            assert len(journal.calls)


async def test_a_conversation_is_not_deleted_while_it_is_talked_in(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        with mock.patch.dict(studio.conversations.workspace.turns.by_conversation, {chat: LiveTurn("say", "Two.")}):
            refused = await studio.client.delete(f"{CHATS}/{chat}")
        assert refused.status_code == 409
        assert "An answer is being written in this conversation." in refused.json()["error"]["message"]
        assert (await studio.client.get(f"{CHATS}/{chat}")).status_code == 200


async def test_who_is_there_and_how_free_one_is_can_be_set(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin("Mara", "Henrik"))["name"]
        await studio.move(chat, line="One.")
        body = {"present": ["Henrik"], "freedom": "guided"}
        place = (await studio.client.put(f"{CHATS}/{chat}/scene", json=body)).json()["place"]
        assert (place["present"], place["absent"], place["freedom"]) == (["Henrik"], ["Mara"], "guided")
        refused = await studio.client.put(f"{CHATS}/{chat}/scene", json={"freedom": "loose"})
        assert refused.status_code == 400
        assert "cannot be set to 'loose' here" in refused.json()["error"]["message"], "the baseline knows of none"
        nobody = await studio.client.put(f"{CHATS}/{chat}/scene", json={"present": []})
        assert nobody.status_code == 400
        assert "A conversation needs" in nobody.json()["error"]["message"]


def is_held(project: ProjectFolder) -> bool:
    try:
        with project.lock():
            return False
    except LockedError:
        return True


async def test_a_project_is_let_go_between_turns(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        lamp = studio.conversations.workspace.project()
        async with asyncio.timeout(120):
            while is_held(lamp):  # noqa: ASYNC110 - a file's lock
                await asyncio.sleep(0.01)
        with lamp.lock():  # as a run does
            locked = await studio.move(chat, line="Two.")
            assert locked[-1][0] == "failed"
            assert locked[-1][1]["error"]["code"] == "locked"
            assert (await studio.view(chat))["turns"][0]["said"] == "One."  # it can still be read
            assert (await studio.client.get(f"{CHATS}/{chat}/turns/1/why")).json()["story"]
        assert (await studio.move(chat, line="Two."))[-1][0] == "done"


async def test_the_plan_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    async with here(tmp_path, SnapEngine(), system="snap") as studio:
        chat = (await studio.begin())["name"]
        await studio.move(chat, "begin")
        view = await studio.view(chat)
        assert view["plan"] is None
        assert "Tobias asks Mara for light" not in json.dumps(view)
        plan = (await studio.client.get(f"{CHATS}/{chat}?plan=true")).json()["plan"]
        assert [point["stands"] for point in plan] == ["now", "ahead"]
        why = (await studio.client.get(f"{CHATS}/{chat}/turns/1/why")).json()
        assert why["who"] == "Mara"
        assert why["story"]
        call = (await studio.client.get(f"/api/v1/projects/lamp/calls/{why['calls'][0]}")).json()
        assert call["chat"] == {"name": chat, "cell": 1, "turn": 1}


async def test_calls_are_searched_and_shown_whole(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        for text in ("The heron?", "One.", "Two."):
            await studio.move(chat, line=text)
        calls = "/api/v1/projects/lamp/calls"
        every = (await studio.client.get(calls)).json()
        assert every["total"] == len(every["calls"])
        found = (await studio.client.get(calls, params={"search": "HERON"})).json()["calls"]
        assert found
        assert "The heron?" in found[-1]["found"]
        page = (await studio.client.get(calls, params={"most": 2})).json()
        older = (await studio.client.get(calls, params={"most": 2, "before": page["older"]})).json()["calls"]
        assert older[0]["id"] < page["calls"][-1]["id"]
        newest = page["calls"][0]["id"]
        whole = (await studio.client.get(f"{calls}/{newest}")).json()
        assert (whole["newer"], whole["older"]) == (None, page["calls"][1]["id"])
        assert whole["took"]["prompt"] == 400
        assert "the lamp stays dark" in whole["reply"]
        assert any(message["text"] for message in whole["messages"])
        missing = await studio.client.get(f"{calls}/99999")
        assert missing.status_code == 404


async def test_the_prompt_of_a_text_is_one_address_away(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        first = await client.get("/projects/sample/prompt-of", params={"name": "drafts/climax", "version": 1})
        assert first.status_code == 303
        shown = (await client.get(first.headers["location"])).text
        assert "drafts/climax/section" in shown
        assert "Source texts" in shown
        brief = await client.get("/projects/sample/prompt-of", params={"name": "nothing-of-this-name"})
        assert brief.status_code == 404


async def test_another_model_can_be_named_for_a_turn(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        with mock.patch("fabula.project.casting.open_model", return_value=Engine(identity="another")) as opened:
            assert (await studio.move(chat, line="One.", model="openai-chat:llama"))[-1][0] == "done"
            assert "openai-chat:llama" in str(opened.call_args_list)
            opened.reset_mock()
            assert (await studio.client.get(f"{CHATS}/{chat}/turns/1/why")).json()["story"]
            await studio.client.post(f"{CHATS}/{chat}/undo", json={})
            assert "scripted" not in str(opened.call_args_list)  # who only looks opens no other model
        unknown = await studio.move(chat, line="One.", model="nonsense:llama")
        assert unknown[-1][0] == "failed"
        assert "nonsense" in unknown[-1][1]["error"]["message"]


async def test_a_run_that_begins_is_let_in_before_its_time(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        studio.conversations.linger = 60.0
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        with pytest.raises(LockedError), studio.conversations.workspace.project().lock():
            pass
        await studio.conversations.let_go()
        with studio.conversations.workspace.project().lock():
            pass
        assert (await studio.move(chat, line="Two."))[-1][0] == "done"


async def test_a_project_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    async with here(tmp_path) as studio:
        chat = (await studio.begin())["name"]
        await studio.move(chat, line="One.")
        (tmp_path / "lamp").rename(tmp_path / "away")
        for answer in (
            await studio.client.get(f"{CHATS}/{chat}"),
            await studio.client.post(TURNS, json={"conversation": chat}),
            await studio.client.get("/api/v1/projects/lamp/calls"),
        ):
            assert answer.status_code == 410, answer.text


def test_beside_the_chat_server_the_same_conversations_are_gone_on_with(tmp_path: Path) -> None:
    headers = {"authorization": f"Bearer {SERVED}"}
    with (
        there(tmp_path) as server,
        httpx.Client(base_url=server.address.removesuffix("/v1"), headers=headers, timeout=120) as client,
    ):
        chat = client.post(CHATS, json={"others": ["Mara"], "player": "Tobias"}).json()["name"]
        body = {"conversation": chat, "line": "Is there light?"}
        assert events_in(client.post(TURNS, json=body).text)[-1][0] == "done"
        said = {"model": MODEL, "messages": [{"role": "user", "content": "And now?"}]}
        again = client.post("/v1/chat/completions", json=said, headers={"x-fabula-session": chat})
        assert again.status_code == 200, again.text
        turns = client.get(f"{CHATS}/{chat}").json()["turns"]
        assert [turn["said"] for turn in turns] == ["Is there light?", "And now?"]
        assert len(client.post(f"{CHATS}/{chat}/undo", json={}).json()["turns"]) == 1
        said["messages"] = [{"role": "user", "content": "And then?"}]
        client.post("/v1/chat/completions", json=said, headers={"x-fabula-session": chat}).raise_for_status()
        turns = client.get(f"{CHATS}/{chat}").json()["turns"]
        assert [turn["said"] for turn in turns] == ["Is there light?", "And then?"], "what was taken back is gone"
        whole = client.post(TURNS, json={**body, "line": "More."}, headers={"accept": "application/json"}).json()
        assert (whole["turn"]["number"], whole["place"]["turns"]) == (3, 3)
        assert whole["version"] == client.get(f"{CHATS}/{chat}").json()["version"]
        other = client.post(TURNS, json={**body, "model": "openai:gpt-4o"})
        assert "You cannot choose others." in events_in(other.text)[-1][1]["error"]["message"]


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("/api/v1/projects/lamp/update", {"json": {}}),
        ("/projects/lamp/write-parts/start", {"data": {"kind": "update"}}),
        ("/projects/lamp/measure", {"data": {"kind": "check"}}),
    ],
)
async def test_a_run_begins_at_once_beside_a_conversation_wherever_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, body: dict[str, Any]
) -> None:
    begun: list[str] = []

    def begin(runs: Runs, child: RunProcess) -> None:
        del runs
        with studio.conversations.workspace.project().lock():  # as the run's process does
            begun.append(child.run.verb)

    monkeypatch.setattr(Runs, "_begin", begin)
    async with here(tmp_path) as studio:
        studio.conversations.linger = 60.0
        await studio.move((await studio.begin())["name"], line="One.")
        answered = await studio.client.post(address, **body)
        assert answered.is_success, answered.text
    assert begun == [next(iter(body.values())).get("kind", "update")]


def test_others_are_those_whom_the_plan_or_the_world_has_as_persons(tmp_path: Path) -> None:
    sample = copy_sample(tmp_path / "sample")
    known, others = people_in(sample)
    assert known[:2] == ["Wendy Clabburn", "Ivan Utting"]
    assert others == ["Derek Peckover", "Pauline Peckover"], "no place, month or thing that has a capital letter"
    (sample.folder / ".fabula" / "world.db").write_text("no database", encoding="utf-8")
    assert people_in(sample)[1] == [], "a world that cannot be read names nobody"
    (sample.folder / "plan" / "plan.yaml").unlink()
    assert people_in(sample) == ([], []), "nobody is guessed from capital letters"


async def test_a_conversation_in_which_nothing_was_said_is_not_listed(tmp_path: Path) -> None:
    """One whose first turn failed, or was killed, stood in Talk as a conversation of 0 turns."""
    sample = copy_sample(tmp_path / "sample")
    log = log_file(sample.folder, "begun")
    log.parent.mkdir(exist_ok=True)
    record = {"format": 1, "player": "Tobias", "others": ["Mara"], "freedom": "guided"}
    log.write_text(json.dumps(record) + "\n", encoding="utf-8")
    async with studio_here(tmp_path) as client:
        assert "begun" not in (await client.get("/projects/sample/talk")).text
        listed = (await client.get("/api/v1/projects/sample/chats")).json()
    assert "begun" not in [one["name"] for one in listed["chats"]]
