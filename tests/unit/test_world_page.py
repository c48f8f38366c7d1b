from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabula.evaluators.atlas.dismissed import read_dismissed
from fabula.story.world import Fact, Moment, WorldState
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import AsyncClient

    from fabula.verbs.home import Project

AT = "/projects/sample/world"
KEY = "dcf5212a-ae60"


def sample_of(client: AsyncClient) -> Project:
    """The sample project as the studio has it."""
    workspace: Project = client.state.shelf["sample"]  # type: ignore[attr-defined] # set by `studio_here`
    return workspace


async def post(client: AsyncClient, path: str, **fields: Any) -> Any:  # noqa: ANN401 - fields of a form
    return await client.post(f"{AT}/{path}", data=fields, headers={"hx-request": "true"})


def rows(html: str) -> int:
    return html.count('<tr id="row-')


async def test_the_facts_are_a_table_at_a_moment_for_a_character_and_by_words(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        every = (await client.get(AT)).text
        assert rows(every) == 21
        assert 'data-graph="/projects/sample/world/graph?at=&amp;of=&amp;search="' in every
        early = (await client.get(f"{AT}/facts", params={"at": "1"})).text
        assert 0 < rows(early) < 21
        known = (await client.get(f"{AT}/facts", params={"of": "Mr Rix", "at": "5"})).text
        assert "learned in" in known
        found = (await client.get(f"{AT}/facts", params={"search": "red book"})).text
        assert "the red book" in found
        assert rows(found) < 5
        assert (await client.get(f"{AT}/facts", params={"at": "never"})).status_code == 404
        assert (await client.get(f"{AT}/facts", params={"of": "Napoleon"})).status_code == 404


async def test_a_fact_shows_its_sentence_marked_in_its_scene(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        html = (await client.get(f"{AT}/facts", params={"search": "certificate"})).text
        number = re.search(r'data-fact="(\d+)"', html)
        assert number is not None
        shown = (await client.get(f"{AT}/facts/{number[1]}")).text
        assert "<mark data-sentence>under certificate number 217</mark>" in shown
        assert 'href="/projects/sample/edit/exposition"' in shown
        assert (await client.get(f"{AT}/facts/999999")).status_code == 400


async def test_of_five_thousand_facts_the_graph_shows_some_and_the_table_pages(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        folder = sample_of(client).folder
        with WorldState(folder / ".fabula" / "world.db") as state:
            state.add([Fact(f"thing {n % 700}", f"slot {n}", "<b>v</b>", Moment(1 + n % 5)) for n in range(5000)])
        html = (await client.get(AT)).text
        assert rows(html) == 100
        assert "5,021 facts" in html
        assert len(html) < 200_000
        graph = (await client.get(f"{AT}/graph")).json()
        assert (graph["drawn"], graph["total"]) == (150, 5021)
        assert {edge["fact"] for edge in graph["edges"]} >= {
            fact.id for fact in sample_of(client).known_facts().state.snapshot() if fact.about
        }  # fmt: skip
        last = (await client.get(f"{AT}/facts", params={"number": 51})).text
        assert rows(last) == 21
        assert "<b>v</b>" not in last


async def test_a_world_without_facts_offers_to_read_the_story_and_says_the_cost(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        sample_of(client).folder.joinpath(".fabula", "world.db").unlink()
        html = (await client.get(AT)).text
        assert "Nothing is known about this story" in html
        assert f'<a href="{AT}/codex">codex</a>' in html
        assert "<code>" not in html, "what to do is on these pages"
        assert f'hx-get="{AT}/expected/facts"' in html
        said = (await client.get(f"{AT}/expected/facts")).text
        assert "calls" in said or "cannot be estimated" in said


async def test_a_finding_has_both_sentences_and_is_mended_as_an_edit(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        html = (await client.get(f"{AT}/findings")).text
        assert "<mark>After the New Year it was the kettle" in html
        assert "<mark>He had brought me a mug of tea" in html
        leads = re.findall(r'href="/projects/sample/edit/climax#at=\d+&amp;words=He%20had%20brought%20me', html)
        assert len(leads) == 1, "each place leads to its sentence"
        form = (await client.get(f"{AT}/findings/{KEY}/mend/y")).text
        assert "He had brought me a mug of tea" in form
        wording = "He had brought me a mug of tea from his flask."
        shown = (await post(client, f"findings/{KEY}/mend/y/preview", wording=wording)).text
        assert "written again" in shown or "cannot be said" in shown
        workspace = sample_of(client)
        assert wording not in workspace.text("climax").text
        saved = (await post(client, f"findings/{KEY}/mend/y", wording=wording)).text
        assert "“Climax” is saved. You can undo this" in saved
        assert "No findings of the last check are left." in saved
        assert "1 settled: the text has changed since the check" in saved
        assert saved.count("<article") == saved.count('<span class="chip">settled</span>') == 1
        assert "Fix there" not in saved
        beside = (await client.get("/projects/sample/edit-parts/beside", params={"name": "climax"})).text
        assert "No findings left in this text" in beside
        assert wording in workspace.text("climax").text
        workspace.undo()
        again = (await client.get(f"{AT}/findings")).text
        assert "settled" not in again
        assert again.count("<article") == 1


async def test_a_dismissal_is_seen_by_the_command_line_and_taken_back(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        folder = sample_of(client).folder
        refused = await post(client, f"findings/{KEY}/dismiss", reason=" ")
        assert (refused.status_code, "is missing. Explain why" in refused.text) == (400, True)
        done = (await post(client, f"findings/{KEY}/dismiss", reason="<i>A second</i> kettle.")).text
        assert "&lt;i&gt;A second&lt;/i&gt; kettle." in done
        assert [(key, one.reason) for key, one in read_dismissed(folder / "evaluation").items()] == [
            (KEY, "<i>A second</i> kettle.")
        ]
        back = (await post(client, f"findings/{KEY}/count")).text
        assert "The finding counts again." in back
        assert read_dismissed(folder / "evaluation") == {}
        assert (await post(client, "findings/nothing/count")).status_code == 404


async def test_what_a_check_costs_is_said_before_it_begins(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        sample_of(client).folder.joinpath("evaluation", "atlas.json").unlink()
        assert "has not been checked yet" in (await client.get(f"{AT}/findings")).text
        said = (await client.get(f"{AT}/expected/check")).text
        assert "no call is needed, because all of it is already recorded" in said  # the sample's check is recorded
        assert (await client.get(f"{AT}/expected/nothing")).status_code == 422
