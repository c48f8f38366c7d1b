"""`/api/v1` over a project: what is answered where all is well, and what where it is not."""

from __future__ import annotations

import asyncio
import errno
import json
import multiprocessing
import os
import shutil
import sqlite3
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.findings import findings_of
from fabula.base import files
from fabula.base.errors import JournalError, LockedError
from fabula.base.files import held
from fabula.engine.journal import Journal
from fabula.project.folder import ProjectFolder
from fabula.server.faults import problem_for_author
from studio import SAMPLE, state_of, studio_here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from multiprocessing.synchronize import Event
    from pathlib import Path

    import httpx

PART = "exposition"
FILE = "story/01-exposition.md"
JSON = {"content-type": "application/json"}
HOSTILE = "<script>alert(1)</script> </textarea> \u202eevil\u202c \x1b[31mred\x1b[0m {{ 7 * 7 }} ' OR 1=1 --"


@dataclass
class Api:
    """A client of the project `sample`."""

    client: httpx.AsyncClient
    folder: Path

    async def __call__(self, method: str, path: str, status: int = 200, **body: Any) -> Any:  # noqa: ANN401 - JSON
        """What an address of the project answers, once its status is the one that is expected."""
        response = await self.raw(method, path, **body)
        assert response.status_code == status, response.text
        return response.json()

    async def raw(self, method: str, path: str, **body: Any) -> httpx.Response:  # noqa: ANN401 - JSON
        """The whole answer."""
        return await self.client.request(
            method, f"/api/v1/projects/{SAMPLE}{path}", json=None if method in ("GET", "DELETE") else body
        )

    async def error(self, method: str, path: str, status: int, **body: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON
        """The code and the message of an error, in the one shape."""
        data = await self(method, path, status, **body)
        assert set(data["error"]) == {"message", "type", "code", "param"}
        return data["error"]["code"], data["error"]["message"]


@asynccontextmanager
async def api_at(folder: Path) -> AsyncIterator[Api]:
    async with studio_here(folder) as client:
        yield Api(client, folder / SAMPLE)


# what works -----------------------------------------------------------------------------------------------------------


async def test_projects_are_listed_and_made(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        listed = (await api.client.get("/api/v1/projects")).json()["projects"]
        assert [(one["project"], one["title"], one["problem"]) for one in listed] == [
            (SAMPLE, "Sufficient Knowledge", "")
        ]
        view = await api("GET", "")
        assert view["folder"].endswith(f"/{SAMPLE}")
        assert view["undo"] == ""
        assert view["words"] > 3000
        new = {"brief": "# The Ferry\n\nA ferry that never lands.", "words": "500", "seed": 3, "preset": "faithful"}
        new |= {"model": "openai-chat:tale", "base_url": "http://127.0.0.1:9/v1"}
        made = await api.client.post("/api/v1/projects", json=new)
        assert (made.status_code, made.json()["project"]) == (200, "the-ferry")
        assert (tmp_path / "the-ferry" / "brief.md").is_file()
        settings = (tmp_path / "the-ferry" / "fabula.toml").read_text()
        assert 'base_url = "http://127.0.0.1:9/v1"' in settings
        assert all(line in settings for line in ("seed = 3", 'preset = "faithful"', 'words = "500"'))
        story = {"story": "# The Lamp\n\nMara lit the lamp. Nobody came."}
        assert (await api.client.post("/api/v1/projects", json=story)).json()["project"] == "the-lamp"
        assert (tmp_path / "the-lamp" / "brief.md").is_file()
        novel = {"text": "# One\n\nMara.\n\n# Two\n\nIvan.", "source": "novel.md", "title": "The Quay"}
        own = {**novel, "author": "Nora Vance", "own": True}
        line = (await api.client.post("/api/v1/manuscripts", json=own)).json()
        assert 'name = "Nora Vance"' in (tmp_path / "the-quay" / "fabula.toml").read_text()
        assert (tmp_path / "the-quay" / "voice" / "novel.md").read_text() == "# One\n\nMara.\n\n# Two\n\nIvan.\n"
        assert (line["project"], line["words"], line["system"]) == ("the-quay", 4, "end-to-end")
        texts = (await api.client.get("/api/v1/projects/the-quay/artefacts?folder=story")).json()["artefacts"]
        assert [(one["name"], one["stale"]) for one in texts] == [("one", False), ("two", False)]
        versions = (await api.client.get("/api/v1/projects/the-quay/versions/one")).json()["versions"]
        assert [(one["source"], one["note"]) for one in versions] == [("imported", "novel.md")]
        again = await api.client.post("/api/v1/samples")
        assert again.json()["project"] == "sample-2"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"brief": ""}, 400, "empty"),
        ({"brief": "A story.", "system": "agents-rom"}, 404, "agents-room"),
        ({"brief": "A story.", "system": "./evil"}, 400, "./evil' is a folder of code"),
        ({"brief": "A story.", "system": "vanilla", "words": "500"}, 404, "words"),  # it answers, and writes no stories
        ({"brief": "A story.", "story": "Another."}, 400, "not both"),
        ({"text": "# The Lamp"}, 400, "The manuscript is empty"),
        ({"text": "Mara.", "system": "ibsen"}, 400, "according to its own plan"),
        ({"brief": "A story.", "seed": "3"}, 422, "seed"),
        ({"brief": "A story.", "words": "many"}, 400, "many"),
        ({"brief": "A story.", "model": "nothing:x"}, 404, "nothing"),
        ({"brief": "A story.", "unknown": 1}, 422, "unknown"),
        ({"brief": "x" * 2_000_001}, 422, "brief"),
    ],
)
async def test_a_project_that_cannot_be_made_says_why(
    tmp_path: Path, body: dict[str, Any], status: int, said: str
) -> None:
    async with api_at(tmp_path) as api:
        address = "manuscripts" if "text" in body else "projects"
        response = await api.client.post(f"/api/v1/{address}", json=body)
        assert response.status_code == status, response.text
        assert said in response.json()["error"]["message"]
        assert [one["project"] for one in (await api.client.get("/api/v1/projects")).json()["projects"]] == [SAMPLE]


async def test_a_project_is_taken_away_whole_and_not_while_something_is_at_work_in_it(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        files = {one.relative_to(api.folder) for one in api.folder.rglob("*") if one.name != "lock"}
        with held(api.folder / ".fabula", "The project"):
            assert (await api.error("DELETE", "", 409))[0] == "locked"
        gone = await api("DELETE", "")
        assert gone == {"project": SAMPLE, "folder": str(tmp_path / ".removed" / SAMPLE)}
        assert (await api.client.get("/api/v1/projects")).json()["projects"] == []
        assert (await api.error("DELETE", "", 404))[0] == "not_found"
        assert {one.relative_to(gone["folder"]) for one in (tmp_path / ".removed" / SAMPLE).rglob("*")} >= files
        assert (await api.client.post("/api/v1/samples")).json()["project"] == SAMPLE
        assert (await api("DELETE", ""))["folder"] == str(tmp_path / ".removed" / f"{SAMPLE}-2")


def test_a_project_stays_while_a_run_has_begun_that_does_not_hold_it_yet(tmp_path: Path) -> None:
    state = state_of(tmp_path)
    assert state.runs.at_work_in in state.shelf.at_work
    state.shelf.at_work.append(lambda folder: "20261124-1" if folder.name == SAMPLE else "")
    with pytest.raises(LockedError, match=f"The run 20261124-1 is in progress in {SAMPLE}. Stop it, or wait"):
        state.shelf.take_away(SAMPLE)
    assert (tmp_path / SAMPLE).is_dir()


async def test_a_text_is_read_saved_compared_and_taken_back(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        listed = await api("GET", "/artefacts")
        assert listed["problem"] == ""
        assert not any(one["stale"] for one in listed["artefacts"])
        assert [one["file"] for one in (await api("GET", "/artefacts?folder=story&marks=false"))["artefacts"]][:1] == [
            FILE
        ]
        read = await api.raw("GET", f"/artefacts/{FILE}")
        text = read.json()
        again = await api.client.get(
            f"/api/v1/projects/{SAMPLE}/artefacts/{PART}", headers={"if-none-match": read.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        new = text["text"].replace("sixty-two", "sixty-three")
        saved = await api("PUT", f"/artefacts/{PART}", text=new, base=text["base"])
        assert (saved["changed"], saved["version"], saved["file"]) == (True, 2, FILE)
        assert (await api("PUT", f"/artefacts/{PART}", text=new, base=text["base"]))["changed"] is False
        versions = (await api("GET", f"/versions/{PART}"))["versions"]
        assert [(one["number"], one["source"], one["role"], one["holds"]) for one in versions] == [
            (1, "made", "exposition", False),
            (2, "edited", "", True),
        ]
        assert (await api("GET", f"/artefacts/{PART}?version=1"))["text"] == text["text"]
        places = (await api("GET", f"/diff?artefact={PART}&old=1"))["places"]
        assert "".join(one["new"] for one in places) == new
        (changed,) = [one for one in places if one["number"]]
        assert [one for one in changed["words"] if one["kind"] != "same"] == [
            {"kind": "gone", "text": "two"},
            {"kind": "new", "text": "three"},
        ]
        stale = [one["name"] for one in (await api("GET", "/artefacts"))["artefacts"] if one["stale"]]
        estimate = await api("POST", "/estimate")
        assert estimate["total_calls"] == len(estimate["calls"]) > 0
        assert set(stale) <= set(estimate["stale"])
        assert (await api("POST", "/undo"))["wording"] == "edit of Exposition"  # its title, never its name
        assert (await api("GET", f"/artefacts/{PART}"))["text"] == text["text"]
        assert (await api("POST", "/redo"))["artefacts"] == [PART]


async def test_what_is_not_saved_is_estimated_too(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        assert (await api("POST", "/estimate", pending={PART: "Another beginning."}))["total_calls"] > 0
        assert (await api("POST", "/estimate"))["total_calls"] == 0
        anew = await api("POST", "/estimate", pending={"setting": "A harbour."})
        fitted = await api("POST", "/estimate", pending={"setting": "A harbour."}, fit=True)
        assert anew["total_calls"] > 0
        assert fitted["total_calls"] > 0
        assert (await api.error("POST", "/estimate", 404, pending={"nothing": "x"}))[0] == "not_found"


async def test_texts_are_pinned_retaken_chosen_and_approved(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        assert await api("POST", "/pins", artefact=PART) == {"artefacts": [PART]}
        assert await api("GET", "/pins") == {"artefacts": [PART]}
        assert "is pinned" in (await api.error("POST", "/retakes", 400, artefact=PART))[1]
        assert await api("DELETE", f"/pins/{PART}") == {"artefacts": [PART]}
        assert "is not pinned" in (await api.error("DELETE", f"/pins/{PART}", 400))[1]
        assert len((await api("POST", "/pins", all=True))["artefacts"]) > 10
        await api("POST", "/undo")
        assert await api("GET", "/pins") == {"artefacts": []}
        assert "Specify an artefact" in (await api.error("POST", "/pins", 400))[1]
        taken = await api("POST", "/retakes", artefact=PART, note="Shorter, please.")
        assert taken == {"artefact": PART, "revised": True, "before": []}
        assert (await api.error("POST", "/retakes", 400, artefact=PART, anew=True))[0] == "invalid_request"
        text = await api("GET", f"/artefacts/{PART}")
        await api("PUT", f"/artefacts/{PART}", text="Mine.", base=text["base"])
        assert (await api("POST", "/choices", artefact=PART, version=1))["words"] == text["words"]
        assert [one["number"] for one in (await api("GET", f"/alternatives/{PART}"))["versions"]] == [1]
        assert (await api("POST", "/choices", artefact=PART))["words"] == text["words"]
        assert (await api.error("POST", "/choices", 404, artefact=PART, version=99))[0] == "not_found"
        assert await api("POST", "/approvals", artefact="climax") == {"artefacts": ["climax"]}
        assert await api("POST", "/approvals", artefact="climax") == {"artefacts": []}


async def test_edits_of_the_final_reading_are_refused_and_made_after_all(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        edits = (await api("GET", "/edits"))["edits"]
        first = next(one["id"] for one in edits if not one["refused"])
        refused = (await api("POST", "/edits", refuse=[first]))["edits"]
        assert next(one for one in refused if one["id"] == first)["refused"]
        assert (await api("POST", "/edits", accept=[first]))["edits"] == edits
        assert (await api.error("POST", "/edits", 404, refuse=["zzzzzz"]))[0] == "not_found"


async def test_plan_world_and_findings_are_looked_at_and_changed(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        plan = await api("GET", "/plan")
        names = [scene["name"] for scene in plan["plan"]["scenes"]]
        assert (sorted(plan["order"]), plan["order_from"]) == (sorted(names), "plan")
        await api("PUT", "/plan/order", scenes=names[::-1], base=plan["base"])
        assert [one["name"] for one in (await api("GET", "/plan"))["plan"]["scenes"]] == names[::-1]
        assert (await api.error("PUT", "/plan/order", 409, scenes=names, base=plan["base"]))[0] == "conflict"
        assert (await api.error("PUT", "/plan/order", 400, scenes=names[1:], base=plan["base"]))[0] == "invalid_request"
        world = await api("GET", "/world?most=3")
        assert len(world["facts"]) == 3 < world["total"]
        assert (await api("GET", "/world?most=3&after=3"))["facts"][0]["id"] != world["facts"][0]["id"]
        wendy = await api("GET", "/world?of=Wendy&at=1")
        assert [one["fact"]["id"] for one in wendy["known"]] == [one["id"] for one in wendy["facts"]]
        assert all("since" in one for one in wendy["known"])
        assert (await api.error("GET", "/world?of=Nobody", 404))[1].startswith("Unknown name 'Nobody'")
        assert (await api.error("GET", "/world?at=Elsewhere", 404))[0] == "not_found"
        listed = await api("GET", "/findings")
        assert listed["undecided"] == []
        (finding,) = listed["findings"][:1]
        known = findings_of(ProjectFolder.open(tmp_path / SAMPLE)).find(finding["key"])
        assert [one["where"] for one in finding["places"]] == [one.where for one in known.places]
        assert all(one["where"] for one in finding["places"])
        where = f"/findings/{finding['key']}/dismissal"
        dismissed = (await api("PUT", where, reason="He had two kettles."))["findings"]
        assert dismissed[0]["dismissed"] == "He had two kettles."
        assert [place["side"] for place in dismissed[0]["places"]] == ["x", "y"]
        assert (await api("DELETE", where))["findings"][0]["dismissed"] == ""
        assert (await api.error("DELETE", where, 404))[0] == "not_found"
        assert (await api.error("PUT", "/findings/none/dismissal", 404, reason="So."))[0] == "not_found"
        assert (await api.error("PUT", where, 400, reason=" ... "))[0] == "invalid_request"


async def test_the_story_is_had_as_a_file(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        for name in (await api("GET", "/exports"))["formats"]:
            made = await api.raw("GET", f"/exports/{name}")
            assert made.status_code == 200
            assert made.headers["content-disposition"].startswith('attachment; filename="sufficient-knowledge.')
            assert len(made.content) > 8_000  # some formats are packed
        assert (await api.error("GET", "/exports/pdf", 404))[0] == "not_found"


# two who write at once ------------------------------------------------------------------------------------------------


async def test_the_second_of_two_editors_gets_both_texts(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        base = (await api("GET", f"/artefacts/{PART}"))["base"]
        saved = await api("PUT", f"/artefacts/{PART}", text="The first was here.", base=base)
        refused = await api("PUT", f"/artefacts/{PART}", 409, text="The second was here.", base=base)
        assert refused["error"]["code"] == "conflict"
        assert refused["conflict"] == {"theirs": "The first was here.", "base": saved["base"]}
        merged = await api("PUT", f"/artefacts/{PART}", text="Both were here.", base=refused["conflict"]["base"])
        assert merged["changed"]


async def test_of_many_who_save_at_once_one_is_first_and_nothing_is_overwritten(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        base = (await api("GET", f"/artefacts/{PART}"))["base"]
        sent = [api.raw("PUT", f"/artefacts/{PART}", text=f"Text {number}.", base=base) for number in range(8)]
        answers = await asyncio.gather(*sent)
        assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]
        stands = (await api("GET", f"/artefacts/{PART}"))["text"]
        assert {answer.json()["conflict"]["theirs"] for answer in answers if answer.status_code == 409} == {stands}


async def test_a_file_changed_outside_is_seen_at_once_and_kept(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        base = (await api("GET", f"/artefacts/{PART}"))["base"]
        (api.folder / FILE).write_text("By hand.\n", encoding="utf-8")
        seen = await api("GET", f"/artefacts/{PART}")
        assert (seen["text"], seen["changed"]) == ("By hand.", True)
        assert await api("GET", "/changes") == {"changes": [{"artefact": PART, "file": FILE, "words": 2}]}
        assert [one["artefact"] for one in (await api("POST", "/estimate"))["changed"]] == [PART]
        conflict = (await api("PUT", f"/artefacts/{PART}", 409, text="Here.", base=base))["conflict"]
        assert conflict["theirs"] == "By hand."


def _hold(folder: Path, begun: Event, over: Event) -> None:
    with ProjectFolder.open(folder).lock():
        begun.set()
        over.wait(60)


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", f"/artefacts/{PART}", {"text": "Now.", "base": "x"}),
    ("PUT", "/artefacts/brief.md", {"text": "Now.", "base": "x"}),
    ("POST", "/pins", {"artefact": PART}),
    ("POST", "/pins", {"all": True}),
    ("DELETE", f"/pins/{PART}", {}),
    ("POST", "/retakes", {"artefact": PART}),
    ("POST", "/choices", {"artefact": PART, "version": 1}),
    ("POST", "/approvals", {}),
    ("POST", "/edits", {"refuse": ["b3a433"]}),
    ("POST", "/undo", {}),
    ("POST", "/redo", {}),
    ("PUT", "/findings/dcf5212a-ae60/dismissal", {"reason": "So."}),
    ("DELETE", "/findings/dcf5212a-ae60/dismissal", {}),
]
READS = (
    *("", "/artefacts", f"/artefacts/{PART}", f"/versions/{PART}", f"/diff?artefact={PART}&old=1", "/changes"),
    *("/story", "/pins", f"/alternatives/{PART}", "/edits", "/plan", "/world", "/findings", "/exports/text"),
    *("/calls", "/chats"),
)


async def test_a_project_that_a_command_holds_is_read_and_not_changed(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        spawned = multiprocessing.get_context("spawn")
        begun, over = spawned.Event(), spawned.Event()
        process = spawned.Process(target=_hold, args=(api.folder, begun, over))
        process.start()
        try:
            assert await asyncio.to_thread(begun.wait, 60)
            for method, path, body in CHANGES:
                code, message = await api.error(method, path, 409, **body)
                assert code == "locked", (path, message)
                assert f"in use by process {process.pid}" in message
            for path in READS:
                assert (await api.raw("GET", path)).status_code == 200, path
        finally:
            over.set()
            await asyncio.to_thread(process.join, 60)
        assert (await api("POST", "/pins", artefact=PART))["artefacts"] == [PART]


# what is wrong --------------------------------------------------------------------------------------------------------


async def test_without_the_token_nothing_is_answered(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        api.client.headers["authorization"] = "Bearer another-token-of-the-same-length"
        for method, path, body in [*CHANGES, *(("GET", path, {}) for path in READS)]:
            assert (await api.error(method, path, 401, **body))[0] == "invalid_api_key"
        assert (await api.client.post("/api/v1/samples")).status_code == 401
        assert (await api.client.get("/openapi.json")).status_code == 401


async def test_a_name_that_is_not_known_says_which_is_near(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        assert "Did you mean 'exposition'?" in (await api.error("GET", "/artefacts/expositoin", 404))[1]
        assert "version of exposition" in (await api.error("GET", f"/artefacts/{PART}?version=9", 404))[1]
        response = await api.client.get("/api/v1/projects/sampel")
        assert (response.status_code, "Did you mean 'sample'?" in response.text) == (404, True)
        for method, path, body in CHANGES[:1] + CHANGES[2:3] + CHANGES[5:8]:
            named = {name: "expositoin" if value == PART else value for name, value in body.items()} or {
                "artefact": "expositoin"
            }
            wrong = path.replace(PART, "expositoin")
            assert "Did you mean" in (await api.error(method, wrong, 404, **named))[1]
        assert (await api.client.get("/api/v1/nothing")).json()["error"]["code"] == "unknown_url"
        refused = await api.client.patch("/api/v1/projects")
        assert (refused.json()["error"]["code"], refused.headers["allow"]) == ("method_not_allowed", "GET, POST")
        lost = (await api.client.get("/api/v1/projekts")).json()["error"]["message"]
        assert "/openapi.json" in lost
        form = {"content-type": "application/x-www-form-urlencoded"}  # what curl sends where nobody says otherwise
        sent = await api.client.post("/api/v1/projects", content='{"brief": "A ferry."}', headers=form)
        assert (sent.status_code, sent.json()["error"]["code"]) == (415, "unsupported_media_type")
        assert "Content-Type: application/json" in sent.json()["error"]["message"]


async def test_a_project_that_was_deleted_is_gone(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        await api("GET", "")
        shutil.rmtree(api.folder)
        for method, path, body in [*CHANGES, *(("GET", path, {}) for path in READS)]:
            code, message = await api.error(method, path, 410, **body)
            assert (code, "no longer available" in message) == ("gone", True)
        assert not api.folder.exists()


async def test_a_full_disk_is_said_in_words_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_at(tmp_path) as api:
        text = await api("GET", f"/artefacts/{PART}")

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        monkeypatch.setattr(files, "_new_file", full)
        code, message = await api.error("PUT", f"/artefacts/{PART}", 507, text="New.", base=text["base"])
        assert (code, "The disk or quota is full" in message) == ("disk_full", True)
        assert (api.folder / FILE).read_text(encoding="utf-8").strip() == text["text"]
        monkeypatch.undo()
        await api("PUT", f"/artefacts/{PART}", text="New.", base=text["base"])  # the page sends it again
        assert (api.folder / FILE).read_text(encoding="utf-8") == "New.\n"


async def test_a_journal_whose_helping_file_has_no_room_is_a_full_disk(tmp_path: Path) -> None:
    for code, status in ((sqlite3.SQLITE_IOERR_SHMSIZE, 507), (sqlite3.SQLITE_IOERR_WRITE, 507), (5, 500)):
        cause = sqlite3.OperationalError("disk I/O error")
        cause.sqlite_errorcode = code
        error = JournalError(f"The journal {tmp_path} cannot be used.")
        error.__cause__ = cause
        problem = problem_for_author(error)
        assert (problem.status, problem.message.startswith("The disk or quota is full.")) == (status, status == 507)


async def test_a_journal_on_a_full_disk_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with api_at(tmp_path) as api:
        text = await api("GET", f"/artefacts/{PART}")
        begun = Journal.open

        def small(journal: Journal) -> None:
            begun(journal)
            journal._store.all("PRAGMA max_page_count = 1")

        monkeypatch.setattr(Journal, "open", small)
        code, message = await api.error("PUT", f"/artefacts/{PART}", 507, text="New. " * 9000, base=text["base"])
        assert (code, "The disk or quota is full" in message) == ("disk_full", True)
        monkeypatch.undo()
        assert (await api("GET", f"/artefacts/{PART}"))["text"] == text["text"]


@pytest.mark.parametrize(
    "name",
    [
        "..%2F..%2Fetc%2Fpasswd",
        "../../../etc/passwd",
        "%2Fetc%2Fpasswd",
        "story/..%2F..%2F.fabula/journal.db",
        ".fabula/journal.db",
        "fabula.toml",
        "story/%00.md",
        "CON.md",
        "%F0%9F%92%A3",
        "x" * 300,
    ],
)
async def test_no_name_leads_out_of_the_texts(tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret.md"
    async with api_at(tmp_path) as api:
        secret.write_text("A secret.", encoding="utf-8")
        assert (await api.raw("GET", f"/artefacts/{name}")).status_code in {404, 400}
        response = await api.raw("PUT", f"/artefacts/{name}", text="Mine now.", base="")
        assert response.status_code in {404, 400, 405}, response.text
        assert secret.read_text(encoding="utf-8") == "A secret."
        texts = [file.read_bytes() for file in await asyncio.to_thread(lambda: list(tmp_path.rglob("*.md")))]
        assert not any(b"Mine now." in text for text in texts)


async def test_hostile_texts_stand_as_text_or_are_refused(tmp_path: Path) -> None:
    async with api_at(tmp_path) as api:
        text = await api("GET", f"/artefacts/{PART}")
        saved = await api("PUT", f"/artefacts/{PART}", text=HOSTILE, base=text["base"])
        read = await api("GET", f"/artefacts/{PART}")
        assert read["text"] == "<script>alert(1)</script> </textarea> evil red {{ 7 * 7 }} ' OR 1=1 --"
        assert read["base"] == saved["base"]
        assert (api.folder / FILE).read_text(encoding="utf-8").strip() == read["text"]
        assert "binary data" in (await api.error("PUT", f"/artefacts/{PART}", 400, text="\0\1\2", base=read["base"]))[1]
        assert "empty" in (await api.error("PUT", f"/artefacts/{PART}", 400, text=" \n ", base=read["base"]))[1]
        long = await api.error("PUT", f"/artefacts/{PART}", 400, text="ü" * 1_500_000, base=read["base"])
        assert "larger than 2,000,000 bytes" in long[1]
        lone = json.dumps({"text": "half \ud83d a sign", "base": read["base"]}).encode()
        response = await api.client.put(f"/api/v1/projects/{SAMPLE}/artefacts/{PART}", content=lone, headers=JSON)
        assert response.status_code in {200, 422}
        windows = await api("GET", f"/artefacts/{PART}")
        await api("PUT", f"/artefacts/{PART}", text="One.\r\n\r\nTwo.\r\n", base=windows["base"])
        assert (await api("GET", f"/artefacts/{PART}"))["text"] == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no json", "invalid_json"),
        (b"[]", "invalid_field"),
        (b'{"text": 1, "base": ""}', "invalid_field"),
        (b'{"text": "x"}', "invalid_field"),
        (b'{"text": "x", "base": "", "more": 1}', "invalid_field"),
        (b'{"text": "x", "base": "", "sitting": "../x"}', "invalid_field"),
        (b"[" * 100_000, "invalid_request"),
    ],
)
async def test_a_body_that_is_none_says_what_is_wrong(tmp_path: Path, body: bytes, code: str) -> None:
    async with api_at(tmp_path) as api:
        response = await api.client.put(f"/api/v1/projects/{SAMPLE}/artefacts/{PART}", content=body, headers=JSON)
        assert response.status_code in {400, 422}, response.text
        assert response.json()["error"]["code"] == code
