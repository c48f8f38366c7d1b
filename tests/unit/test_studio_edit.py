"""The Edit page without a browser: what it shows of a text, and what its forms do."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from html import unescape
from typing import TYPE_CHECKING

import pytest

from fabula.app.bills import Estimate
from fabula.app.editing import beside, last_rewritten, stages, written_again
from fabula.app.workspace import ArtefactVersion
from fabula.engine.dry_run import DryRun, PlannedCall
from fabula.engine.journal import Journal
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from fabula.verbs.home import Project

PAGE = f"/projects/{SAMPLE}/edit"
PARTS = f"/projects/{SAMPLE}/edit-parts"
HOSTILE = (
    "</textarea><script>alert(1)</script>\n\n<img src=x onerror=alert(2)> &amp; &lt; {{ 7*7 }} {% if %}\n\n"
    "שלום עולם, مرحبا.\n\n\tA tab.  Two blanks. “Quotes” — and 字。"
)


def space_of(client: httpx.AsyncClient) -> Project:
    found: Project = client.state.shelf[SAMPLE]  # type: ignore[attr-defined] # see `studio_here`
    return found


async def save(space: Project, text: str) -> None:
    await asyncio.to_thread(space.edit, "setting", text, space.text("setting").base)


def text_in(page: str) -> str:
    """The text that a browser has in the box."""
    found = re.search(r"<textarea id=\"text\"[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert found is not None
    return unescape(found[1])


# the page -------------------------------------------------------------------------------------------------------------


async def test_the_page_begins_with_the_first_text_of_the_story(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        page = await client.get(PAGE)
        assert page.status_code == 200
        assert 'data-name="exposition"' in page.text
        assert text_in(page.text) == space_of(client).text("exposition").text
        assert 'data-low="530" data-high="710"' in page.text
        assert page.text.index("<h1") < page.text.index("<h2")
        assert 'href="/projects/sample/edit/drafts/edits"' in page.text


async def test_a_text_is_named_by_its_file_too_and_a_wrong_name_is_told(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert 'data-name="setting"' in (await client.get(f"{PAGE}/plan/setting.md")).text
        assert 'data-name="brief.md"' in (await client.get(f"{PAGE}/brief.md")).text
        wrong = await client.get(f"{PAGE}/seting", headers={"accept": "text/html"})
        assert wrong.status_code == 404
        assert "setting" in wrong.text


@pytest.mark.parametrize("text", [HOSTILE, "\n\nfirst lines are empty", "a" * 1_900_000, "&amp;amp; &#0; &quot;"])
async def test_a_hostile_text_comes_back_as_it_was_typed(tmp_path: Path, text: str) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        address = f"/api/v1/projects/{SAMPLE}/artefacts/setting"
        saved = await client.put(address, json={"text": text, "base": space.text("setting").base})
        assert saved.status_code == 200
        page = (await client.get(f"{PAGE}/setting")).text
        assert text_in(page) == text.strip("\n")
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        stands = (space.folder / "plan" / "setting.md").read_bytes()
        assert stands == f"{text.strip()}\n".encode()
        for part in ("history", "takes", "compare"):
            shown = await client.get(f"{PARTS}/{part}", params={"name": "setting", "old": 1, "new": 2})
            assert shown.status_code == 200
            assert "<script>" not in shown.text


async def test_line_ends_of_windows_and_unseen_signs_are_made_plain(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        base = space.text("setting").base
        address = f"/api/v1/projects/{SAMPLE}/artefacts/setting"
        saved = await client.put(address, json={"text": "One.\r\nTwo.\u202e\x07", "base": base})
        assert saved.status_code == 200
        assert space.text("setting").text == "One.\nTwo."
        half = json.dumps({"text": "One \ud800.", "base": saved.json()["base"]})  # the page puts U+FFFD in its place
        refused = await client.put(address, content=half, headers={"content-type": "application/json"})
        assert refused.status_code == 422
        assert refused.json()["error"]["param"] == "text"


# what belongs to a text -----------------------------------------------------------------------------------------------


async def test_beside_a_text_stand_its_cards_the_facts_and_the_findings(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        page = (await client.get(f"{PAGE}/climax")).text
        assert 'hx-get="/projects/sample/edit-parts/beside"' in page
        assert "In the plan: " not in page, "the page itself does not wait for it"
        shown = (await client.get(f"{PARTS}/beside", params={"name": "climax"})).text
        assert "In the plan: By subtraction" in shown
        assert 'href="/projects/sample/plan#scene-' in shown
        assert 'href="/projects/sample/world?of=Ivan%20Utting&amp;at=3">Ivan Utting</a>' in shown
        told, _, before = shown.partition("Known before, about those in it")
        assert re.search(r'href="/projects/sample/world\?fact=\d+&amp;at=3">the kettle, place: in the cab</a>', told)
        assert "Ivan Utting, health: dying" in before
        assert "All 18 facts at the end of this scene" in shown
        assert "1 finding in this text" in shown
        assert shown.count("<mark>") == 2
        assert shown.index("Fix there") < shown.index("Fix here"), "the later sentence stands in this text"
        assert 'data-sentence="He had brought me a mug of tea from the kettle in his cab' in shown
        assert 'hx-post="/projects/sample/world/findings/dcf5212a-ae60/dismiss?of=climax"' in shown


async def test_beside_other_texts_stands_what_there_is(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        assert "edit-parts/beside" not in (await client.get(f"{PAGE}/conflict")).text
        several = (await client.get(f"{PARTS}/beside", params={"name": "rising-action"})).text
        assert several.count("In the plan: ") > 1
        assert "finding" not in (await client.get(f"{PARTS}/beside", params={"name": "resolution"})).text
        assert "1 finding in this text" in (await client.get(f"{PARTS}/beside", params={"name": "story.md"})).text
        nothing = await client.get(f"{PARTS}/beside", params={"name": "no-such-text"})
        assert (nothing.status_code, nothing.text.strip()) == (200, "")
        folder = space_of(client).folder
        (folder / ".fabula" / "world.db").unlink()
        without = (await client.get(f"{PARTS}/beside", params={"name": "climax"})).text
        assert "Facts at this point of the story" not in without
        assert "In the plan: By subtraction" in without
        (folder / "evaluation" / "atlas.json").write_text("{}", encoding="utf-8")
        (folder / ".fabula" / "world.db").write_text("no database", encoding="utf-8")
        broken = (await client.get(f"{PARTS}/beside", params={"name": "climax"})).text
        assert broken.count('<p class="note">') == 2
        assert "is not a report of a check" in broken


async def test_a_finding_is_mended_or_dismissed_beside_its_text(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        at = "/projects/sample/world/findings/dcf5212a-ae60"
        form = (await client.get(f"{at}/mend/x", params={"of": "climax"})).text
        assert f'hx-post="{at}/mend/x?of=climax"' in form
        done = await client.post(f"{at}/dismiss?of=climax", data={"reason": "Two."})
        assert json.loads(done.headers["hx-trigger"]) == {"fabula:look": True, "fabula:saved": True}
        assert "No findings of the last check are left here." in done.text
        assert f'hx-post="{at}/count?of=climax"' in done.text
        assert "On purpose:" not in (await client.post(f"{at}/count?of=climax")).text
        wording = {"wording": "After the New Year it was the gas ring."}
        saved = await client.post(f"{at}/mend/x?of=climax", data=wording)
        assert "“Rising action” is saved." in saved.text
        assert "the text has changed since" in saved.text
        elsewhere = await client.post(f"{at}/dismiss?of=resolution", data={"reason": "Two."})
        assert "<article" not in elsewhere.text


async def test_what_a_plan_says_beside_a_text_is_text(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        plan = space_of(client).folder / "plan" / "plan.yaml"
        nasty = "<img src=x onerror=alert(1)>"
        plan.write_text(plan.read_text(encoding="utf-8").replace("By subtraction", nasty), encoding="utf-8")
        shown = (await client.get(f"{PARTS}/beside", params={"name": "climax"})).text
        assert "In the plan: &lt;img src=x" in shown
        assert nasty not in shown


# what would change ----------------------------------------------------------------------------------------------------


async def test_what_would_change_is_said_with_calls_tokens_and_cost(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        before = (await client.get(f"{PARTS}/expected", params={"name": "setting"})).text
        assert "Nothing would change, because no text is older than what it was made from." in before
        space = space_of(client)
        read = space.text("setting")
        await save(space, f"{read.text} The fen was flooded.")
        after = (await client.get(f"{PARTS}/expected", params={"name": "setting"})).text
        assert "<strong>6 calls</strong>, at most 16," in after
        assert "Draft of Climax" in after
        assert "without a call: Exposition" in after
        assert 'id="tree" hx-swap-oob="true"' in after
        assert after.count('<span class="chip stale">') > 5
        assert "Undo reverts: edit of Setting." in after
        fitted = (await client.get(f"{PARTS}/expected", params={"name": "setting", "fit": "1"})).text
        assert "Texts that the next run revises to fit" in fitted
        assert 'data-run="revise"' in fitted


def test_calls_are_counted_with_the_texts_that_they_are_for() -> None:
    def call(path: str, cost: float | None) -> PlannedCall:
        return PlannedCall(path, "writer", "m", 10, 5, cost)

    dry = DryRun(planned=[call("a/section", 0.5), call("a/more", 0.25), call("ab/x", None), call("elsewhere", 1.0)])
    dry.stale = ["a", "ab", "c"]
    found = [
        (one.name, one.calls, one.tokens, one.cost, one.follows)
        for one in written_again(Estimate.of(dry), {"a": "a.md"})
    ]
    assert found == [
        ("a", 2, 30, 0.75, False),
        ("ab", 1, 15, None, False),
        ("c", 0, 0, 0.0, True),
        ("", 1, 15, 1.0, False),
    ]


# changes, taken one by one --------------------------------------------------------------------------------------------


async def test_three_of_five_changes_are_taken(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        old = "Mara woke. The lamp was out. She heard the sea. Nobody called. The door stood open."
        new = "Mara woke late. The lamp was lit. She heard the wind. Nobody called her. The door was shut."
        await save(space, old)
        await save(space, new)
        shown = (await client.get(f"{PARTS}/compare", params={"name": "setting", "old": 2, "new": 3})).text
        assert shown.count('name="take"') == 5
        assert '<del><span class="unseen">removed: </span>out<span class="unseen"> end</span></del>' in shown
        form = {"name": "setting", "old": "2", "new": "3", "base": space.text("setting").base, "take": ["1", "3", "5"]}
        done = await client.post(f"{PARTS}/take", data=form)
        assert "“Setting”: 3 of 5 changes accepted." in done.text
        assert done.headers["hx-trigger"] == '{"fabula:look": true, "fabula:saved": true}'
        taken = "Mara woke late. The lamp was out. She heard the wind. Nobody called. The door was shut."
        assert space.text("setting").text == taken
        again = await client.post(f"{PARTS}/take", data=form)  # from a page that is older than that
        assert again.status_code == 200
        refused = await client.post(f"{PARTS}/take", data=form | {"take": []})
        assert refused.status_code == 409
        assert space.text("setting").text == taken


def test_what_the_last_run_changed_is_found_until_its_author_changes_it() -> None:
    with Journal() as journal:
        journal.start_run("vanilla", {})
        for path in ("one", "two", "three"):
            journal.artefacts.keep(path, f"The first {path}.", "made")
            journal.artefacts.place(path, f"story/{path}.md")
        journal.end_run()
        journal.start_run("vanilla", {})
        journal.artefacts.keep("one", "The second one.", "made")
        journal.artefacts.keep("two", "The second two.", "made")
        journal.artefacts.keep("three", "Something else.", "made")
        journal.artefacts.keep("three", "The first three.", "made")
        journal.end_run()
        assert [(one.name, one.old, one.new) for one in last_rewritten(journal)] == [("one", 1, 2), ("two", 1, 2)]
        journal._store.run = 0
        journal.artefacts.keep("two", "As its author wants it.", "edited")
        assert [one.name for one in last_rewritten(journal)] == ["one"]


def test_of_what_the_last_run_changed_the_story_comes_first() -> None:
    with Journal() as journal:
        for text in ("The first.", "The second."):
            journal.start_run("vanilla", {})
            for path, folder in (("draft", "drafts"), ("scene", "story")):
                journal.artefacts.keep(path, text, "made")
                journal.artefacts.place(path, f"{folder}/{path}.md")
            journal.end_run()
        assert [one.name for one in last_rewritten(journal)] == ["scene", "draft"]


async def test_the_box_of_a_change_stands_at_its_own_words_and_not_behind_the_paragraph_before(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        await save(space_of(client), "The lamp was out.\n\nNobody came.\n")
        await save(space_of(client), "The lamp was out.\n\nThe boat lay in the mud.\n\nNobody came.\n")
        shown = (await client.get(f"{PARTS}/compare?name=setting")).text
        assert re.search(r"out\.\n\n<span class=\"change\"[^>]*><input[^>]*><ins>.*?The boat lay in the mud\.", shown)


async def test_only_a_text_that_was_written_for_its_author_can_go_back_to_that(tmp_path: Path) -> None:
    back = "Restore the written text"
    async with studio_here(tmp_path) as client:
        assert back not in (await client.get(f"{PAGE}/setting")).text
        await save(space_of(client), "A lamp.\n")
        assert back in (await client.get(f"{PAGE}/setting")).text
        assert back in (await client.get(f"{PARTS}/expected?name=setting")).text
        (space_of(client).folder / "story" / "06-epilogue.md").write_text("Years later.\n", encoding="utf-8")
        page = await client.get(f"{PAGE}/epilogue")
        assert (page.status_code, back in page.text) == (200, False)


async def test_two_versions_stand_beside_each_other(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        await save(space, "One.\n\nTwo was here.\n\nThree.")
        await save(space, "One.\n\nTwo is here.\n\nThree.")
        shown = await client.get(f"{PARTS}/compare", params={"name": "setting", "old": 2, "new": 3, "view": "beside"})
        assert "<td>One.</td><td>One.</td>" in shown.text
        assert "Two <del>was</del> here." in shown.text
        assert "Two <ins>is</ins> here." in shown.text


def test_rows_hold_both_texts() -> None:
    old, new = "One.\n\nTwo was here. So it was.\n\nThree.", "One.\n\nTwo is here.\n\nThree.\n\nFour."
    rows = beside(old, new)
    for side, text in (("left", old), ("right", new)):
        joined = "".join("".join(piece.text for piece in getattr(row, side)) for row in rows)
        assert joined.replace("\n", "") == text.replace("\n", "")


# versions and decisions -----------------------------------------------------------------------------------------------


async def test_history_says_who_and_an_earlier_version_is_picked(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        first = space.text("setting").text
        await save(space, "Another place.")
        shown = (await client.get(f"{PARTS}/history", params={"name": "setting"})).text
        assert "written by setting (hand)" in shown
        assert "you, 2 words" in shown
        takes = (await client.get(f"{PARTS}/takes", params={"name": "setting"})).text
        assert "Another place." in takes
        assert "Pick version 1" in takes
        done = await client.post(f"{PARTS}/pick", data={"name": "setting", "version": "1"})
        assert "Version 1 of “Setting” was restored." in done.text
        assert space.text("setting").text == first


def test_what_was_saved_while_its_author_typed_is_one_stage() -> None:
    def made(number: int, source: str, minute: int) -> ArtefactVersion:
        return ArtefactVersion(number, source, f"2026-01-01T10:{minute:02}:00+00:00", 5)

    versions = [made(1, "made", 0), made(2, "edited", 1), made(3, "edited", 2), made(4, "edited", 6)]
    versions += [made(5, "edited", 20), made(6, "revised", 21), made(7, "edited", 22)]
    assert [(one.made.number, one.before) for one in stages(versions)] == [(1, 0), (4, 2), (5, 0), (6, 0), (7, 0)]


async def test_the_history_can_show_what_was_saved_on_the_way(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        for text in ("One.", "One, two.", "One, two, three."):
            await save(space_of(client), text)
        short = (await client.get(f"{PARTS}/history", params={"name": "setting"})).text
        assert "saved 2 times in between" in short
        assert short.count('name="old"') == 2
        whole = (await client.get(f"{PARTS}/history", params={"name": "setting", "all_": "1"})).text
        assert whole.count('name="old"') == 4


async def test_what_is_decided_on_the_page_is_said_and_taken_back(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:

        async def decide(what: str) -> str:
            answer = await client.post(f"{PARTS}/decide", data={"what": what, "name": "setting"})
            return answer.text

        assert "“Setting” is pinned" in await decide("pin")
        assert "Taken back: pin of Setting." in await decide("undo")
        assert "Redone: pin of Setting." in await decide("redo")
        assert "“Setting” can change again" in await decide("unpin")
        assert "Approved: setting." in await decide("approve")
        retake = await client.post(f"{PARTS}/retake", data={"name": "setting", "note": "colder"})
        assert "The next run will revise setting according to your note." in retake.text
        refused = await client.post(f"{PARTS}/decide", data={"what": "revert", "name": "setting"})
        assert refused.status_code == 400
        assert "no edit to undo" in refused.text


async def test_a_change_of_the_final_reading_is_refused_and_made_after_all(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        final = space_of(client).final_edits()
        edits, refused = final.edits, final.refused
        assert len(edits) > len(refused)
        one = next(edit.id for edit in edits if edit.id not in refused)
        shown = (await client.get(f"{PARTS}/final")).text
        assert shown.count("Refuse it") == len(edits) - len(refused)
        await client.post(f"{PARTS}/final", data={"edit": one, "what": "refuse"})
        assert one in space_of(client).final_edits().refused
        await client.post(f"{PARTS}/final", data={"edit": one, "what": "accept"})
        assert one not in space_of(client).final_edits().refused


# two who edit ---------------------------------------------------------------------------------------------------------


async def test_the_second_of_two_sees_both_texts_and_one_with_both_changes(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        was = "One stays. Two stays.\n\nThree stays.\n\nFour stays."
        await save(space, was)
        await save(space, was.replace("Four stays", "Four went away"))
        body = {"name": "setting", "base": was, "mine": was.replace("One stays", "One sleeps")}
        shown = (await client.post(f"{PARTS}/merge", json=body)).text
        assert "“Setting” was also changed elsewhere" in shown
        assert shown.count('name="take"') == 1
        merged = "One sleeps. Two stays.\n\nThree stays.\n\nFour went away."
        assert merged in shown
        form = {"name": "setting", "base": space.text("setting").base, "mine": body["mine"], "merged": merged}
        done = await client.post(f"{PARTS}/merged", data=form | {"what": "both", "take": "1"})
        assert "saved with both changes" in done.text
        assert "fabula:settled" in done.headers["hx-trigger"]
        assert space.text("setting").text == merged


async def test_a_merge_of_what_was_changed_again_meanwhile_overwrites_nothing(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        base = space.text("setting").base
        await save(space, "A third was here.")
        form = {"name": "setting", "base": base, "mine": "Mine.", "what": "mine"}
        refused = await client.post(f"{PARTS}/merged", data=form)
        assert refused.status_code == 409
        assert space.text("setting").text == "A third was here."
        kept = await client.post(f"{PARTS}/merged", data=form | {"what": "theirs"})
        assert "Yours is not saved" in kept.text
        assert space.text("setting").text == "A third was here."


async def test_words_that_both_changed_are_shown(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        space = space_of(client)
        await save(space, "The lamp fell. It was cold.")
        body = {"name": "setting", "base": "The lamp went out. It was cold.", "mine": "The lamp burned. It was cold."}
        shown = (await client.post(f"{PARTS}/merge", json=body)).text
        assert "In 1 place, both versions changed the same words, and yours are shown" in shown
        assert "The lamp fell." in shown


async def test_a_project_that_is_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    async with studio_here(tmp_path) as client:
        shutil.rmtree(space_of(client).folder)
        gone = await client.get(PAGE, headers={"accept": "text/html"})
        assert gone.status_code == 410
        assert "is no longer available" in unescape(gone.text)
