"""The Edit page in a browser: texts that save themselves, changes taken one by one, takes, and two who edit one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from commandline import BRIEF, BY_PARTS, REPLIES, script_of
from fabula.base.errors import DiskFullError
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from patience import wait_until
from studio import browsing, chromium, expect, sign_in, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Route

    from studio import Tab, There

pytestmark = pytest.mark.slow

OLD = "The storm broke. Mara held the flame. It was cold. Nobody came. The window rattled."
NEW = "The storm broke early. Mara lost the flame. It was warm. Nobody came at all. The window broke."
SETTING = "A lighthouse on a rock in the north sea, autumn, a hundred years ago."


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script, and with a project that it has written."""
    home = tmp_path_factory.mktemp("written")
    script(home, OLD)
    (home / "brief.md").write_text(BRIEF, encoding="utf-8")
    line = [sys.executable, "-m", "fabula", "write", "brief.md", "--out", "shelf/lamp", "--quiet", *BY_PARTS]
    line += ["--model", f"scripted:{home / 'script.toml'}"]
    subprocess.run(line, cwd=home, check=True, timeout=300, capture_output=True)
    return home


@pytest.fixture
def shelf(written: Path, tmp_path: Path) -> Path:
    """A folder with a project `lamp` that is written."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    settings = tmp_path / "shelf" / "lamp" / "fabula.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(str(written), str(tmp_path)), encoding="utf-8")
    return tmp_path / "shelf"


def script(folder: Path, climax: str, **more: str) -> None:
    """What the models say; all the same but the climax."""
    (folder / "script.toml").write_text(script_of(REPLIES | {"climax": climax} | more), encoding="utf-8")


def type_into(tab: Tab, words: str) -> None:
    """Type at the end of the text, and wait until it is saved."""
    tab.page.locator("#text").focus()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.type(words)
    expect(tab.page.locator("#saved")).to_have_text("Saved")


def test_an_edit_is_saved_marked_and_written_again_and_three_of_five_sentences_are_taken(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/setting")
        expect(page.locator("#expected")).to_contain_text("Nothing would change, because no text is older")
        type_into(tab, " It rains.")
        assert (shelf / "lamp/plan/setting.md").read_text(encoding="utf-8") == f"{SETTING} It rains.\n"
        expect(page.locator("#expected")).to_contain_text("calls, at most")
        expect(page.locator("#expected table")).to_contain_text("Climax")
        expect(page.locator("#tree li", has_text="Climax")).to_contain_text("stale")
        script(shelf.parent, NEW)
        page.get_by_role("button", name="Rewrite 5 texts").click()
        expect(page.locator("#review h2")).to_have_text("What the last run changed")
        expect(page.locator("#review h2")).to_be_focused()
        page.get_by_role("button", name="Climax", exact=True).click()
        expect(page.locator("#review h2")).to_be_focused()
        expect(page.locator("#review .change")).to_have_count(5)
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("r")  # the second; goes on to the third
        page.keyboard.press("j")
        page.keyboard.press("Space")  # leaves the fourth
        expect(page.locator("#status")).to_have_text("3 of 5 changes are accepted.")
        assert tab.axe() == []
        page.get_by_role("button", name="Save with these changes").click()
        expect(page.locator("#status")).to_contain_text("3 of 5 changes accepted")
        taken = "The storm broke early. Mara held the flame. It was warm. Nobody came. The window broke."
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{taken}\n"
        tab.check()


def test_a_retake_is_one_of_two_texts_and_the_first_is_picked(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        page.get_by_text("Write it another way").click()
        page.get_by_label("Your note", exact=True).fill("warmer")
        page.get_by_label("Start from scratch, ignoring this text").check()
        script(shelf.parent, NEW)
        page.get_by_role("button", name="Ask for it").click()
        expect(page.locator("#done")).to_contain_text("The next run will rewrite climax.")
        page.get_by_role("button", name="Rewrite 5 texts").click()
        expect(page.locator("#review h2")).to_have_text("What the last run changed")
        expect(page.locator("#text")).to_have_value(NEW)
        page.get_by_role("button", name="Compare all versions").click()
        expect(page.locator("#review article")).to_have_count(2)
        assert tab.axe() == []
        page.get_by_role("button", name="Pick version 1").click()
        expect(page.locator("#text")).to_have_value(OLD)
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{OLD}\n"
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(page.locator("#text")).to_have_value(NEW)
        tab.check()


def newest_run(there: There, project: str = "lamp") -> dict[str, Any]:
    with there.client() as client:
        found: dict[str, Any] = client.get(f"/api/v1/projects/{project}/runs").json()["runs"][0]
    return found


def at(page: Any, words: str, end: str = "") -> None:  # noqa: ANN401 - playwright's
    """Put the cursor behind words of the text, or select from them to `end`."""
    page.locator("#text").focus()
    begin = "const at = box.value.indexOf(words) + (end ? 0 : words.length)"
    select = "box.setSelectionRange(at, end ? box.value.indexOf(end) : at)"
    page.locator("#text").evaluate(f"(box, [words, end]) => {{ {begin}; {select} }}", [words, end])


CURSOR = """box => {
  const copy = document.createElement("div"), look = getComputedStyle(box), mark = document.createElement("span");
  for (const name of ["font", "padding", "border", "boxSizing", "overflowWrap", "width"]) copy.style[name] = look[name];
  copy.style.whiteSpace = "pre-wrap";
  copy.textContent = box.value.slice(0, box.selectionStart);
  mark.textContent = "|";
  copy.append(mark);
  document.body.append(copy);
  const down = mark.getBoundingClientRect().bottom - copy.getBoundingClientRect().top;
  copy.remove();
  return box.getBoundingClientRect().top + down;
}"""
BAR = "document.getElementById('suggest').getBoundingClientRect()"


@pytest.mark.parametrize("width", [1280, 390])
def test_suggestions_cover_neither_the_line_with_the_cursor_nor_the_passage_they_are_for(
    shelf: Path, width: int
) -> None:
    script(shelf.parent, OLD, **{"climax:rewrite_passage": "Mrs. Rix lost the *flame.* She sat."})
    with studio_there(shelf) as there, browsing(there, width=width, height=800) as tab:
        page, box = tab.page, tab.page.locator("#text")
        tab.open("/projects/lamp/edit/climax")
        box.fill("\n\n".join(f"Line {number} of the storm." for number in range(60)))
        expect(page.locator("#saved")).to_have_text("Saved")
        box.focus()
        page.keyboard.press("Control+Home")
        for _ in range(80):
            page.keyboard.press("ArrowDown")
            assert box.evaluate(CURSOR) <= page.evaluate(f"{BAR}.top")
        page.keyboard.press("Shift+End")
        page.keyboard.press("Control+Enter")
        first = page.locator("#suggestions li[data-n] >> nth=0 >> .sentence")
        expect(first).to_have_text(["Mrs. Rix lost the *flame.* ", "She sat."])
        assert 0 < box.evaluate(CURSOR) <= page.evaluate(f"{BAR}.top")
        status = page.evaluate("document.getElementById('status').getBoundingClientRect().top")
        assert page.evaluate(f"{BAR}.bottom") <= status + 1, "what is said stands below the suggestions"
        use = page.get_by_role("button", name="Use 1").bounding_box()
        assert use["y"] + use["height"] <= status, "a suggestion is seen whole, before the buttons that ask for one"
        page.get_by_role("button", name="Use 1").click()
        expect(page.locator("#status")).to_have_text("The words are in your text. Ctrl+Z or Undo takes them back.")
        page.locator("#suggest summary").click()
        box.focus()
        page.keyboard.press("Control+End")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.locator("#suggest summary").click()
        expect(page.get_by_role("button", name="Five ideas")).to_be_visible()
        wait_until(lambda: box.evaluate(CURSOR) <= page.evaluate(f"{BAR}.top"), "the end of the text to be seen")
        tab.check()


def test_a_selected_passage_is_reworded_and_undone_in_the_browser(shelf: Path) -> None:
    script(shelf.parent, OLD, **{"climax:rewrite_passage": "Mara lost the flame."})
    with studio_there(shelf) as there, browsing(there) as tab:
        page, box = tab.page, tab.page.locator("#text")
        tab.open("/projects/lamp/edit/climax")
        page.get_by_text("Suggestions", exact=True).click()
        at(page, "Mara", " It was")
        expect(page.locator("#marked")).to_have_text("Selected: 4 words.")
        expect(page.locator("#suggest-cost")).to_contain_text("costs about")
        page.get_by_label("What you want").fill("shorter")
        page.get_by_role("button", name="Three other wordings").click()
        expect(page.locator("#suggestions")).to_contain_text("Mara lost the flame.")
        expect(box).to_have_value(OLD)
        assert tab.axe() == []
        page.get_by_role("button", name="Use 1").click()
        expect(box).to_have_value(OLD.replace("held", "lost"))
        expect(page.locator("#suggestions li")).to_have_count(0)
        page.keyboard.press("Control+z")
        expect(box).to_have_value(OLD)
        tab.check()


def test_an_undo_takes_back_a_suggestion_alone_and_not_what_was_typed_before(shelf: Path) -> None:
    script(shelf.parent, OLD, **{"climax:suggest": "The glass broke."})
    with studio_there(shelf) as there, browsing(there) as tab:
        page, box = tab.page, tab.page.locator("#text")
        tab.open("/projects/lamp/edit/climax")
        at(page, "flame.")
        page.keyboard.type(" She sat.")
        expect(page.locator("#saved")).to_have_text("Saved")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="The glass broke.").first.click()
        typed = OLD.replace("flame.", "flame. She sat.")
        expect(box).to_have_value(typed.replace("sat.", "sat. The glass broke."))
        expect(page.locator("#saved")).to_have_text("Saved")
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(box).to_have_value(typed)
        tab.check()


def test_what_follows_the_cursor_is_taken_sentence_by_sentence_with_the_keyboard(shelf: Path) -> None:
    script(shelf.parent, OLD, **{"climax:suggest": "The glass broke.\n\nShe did not move."})
    with studio_there(shelf) as there, browsing(there) as tab:
        page, box = tab.page, tab.page.locator("#text")
        tab.open("/projects/lamp/edit/climax")
        at(page, "flame.")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="She did not move.").first.click()
        expect(box).to_have_value(OLD.replace("flame.", "flame. She did not move."))
        page.keyboard.press("Alt+1")
        expect(box).to_have_value(
            OLD.replace("flame.", "flame. She did not move. The glass broke.\n\nShe did not move.")
        )
        expect(page.locator("#saved")).to_have_text("Saved")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#suggestions")).to_contain_text("The glass broke.")
        assert tab.axe() == []
        page.keyboard.press("Escape")
        expect(page.locator("#suggestions li")).to_have_count(0)
        tab.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_style_sheet_is_shown_before_it_is_saved_and_undone_with_the_keyboard(tmp_path: Path, width: int) -> None:
    folder = copy_sample(tmp_path / "shelf/sample").folder
    (folder / "voice").mkdir()
    (folder / "voice/own.md").write_text(ProjectFolder.open(folder).story().text, encoding="utf-8")
    with studio_there(tmp_path / "shelf") as there, browsing(there, width=width) as tab:
        page = tab.page

        def press(name: str, part: str = "") -> None:
            if part and width == 390:
                page.get_by_role("button", name=part, exact=True).press("Enter")
            page.get_by_role("button", name=name, exact=True).press("Enter")

        tab.open("/projects/sample/edit")
        press("Describe my style", "Texts")
        expect(page.locator("#review-title")).to_be_focused()
        expect(page.locator("#review")).to_contain_text("Nothing is saved yet.")
        assert not tab.axe()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        press("Cancel")
        expect(page.locator("#review")).to_be_empty()
        assert not (folder / "style.md").exists()
        press("Describe my style", "Texts")
        expect(page.locator("#review-title")).to_be_focused()
        tab.settled()
        press("Accept it")
        page.wait_for_url("**/edit/style.md")
        tab.settled()
        press("Undo", "Details")
        wait_until(lambda: not (folder / "style.md").exists(), "the undo")
        tab.check()


def test_a_model_that_reads_the_samples_can_be_stopped_and_its_proposal_is_shown_before_it_is_saved(
    tmp_path: Path,
) -> None:
    folder = copy_sample(tmp_path / "shelf/sample").folder
    (folder / "voice").mkdir()
    (folder / "voice/own.md").write_text(ProjectFolder.open(folder).story().text, encoding="utf-8")
    settings = folder / "fabula.toml"
    settings.write_text('system = "end-to-end"\nmodel = "files:answers"\n', encoding="utf-8")
    with studio_there(tmp_path / "shelf") as there, browsing(there) as tab:
        page = tab.page

        def read() -> None:
            page.get_by_role("button", name="Describe my style", exact=True).click()
            page.get_by_role("button", name="Have a model read them", exact=True).click()

        tab.open("/projects/sample/edit")
        read()
        expect(page.locator("#run")).to_contain_text("The run is writing.")
        wait_until(lambda: any((folder / "answers").glob("*")), "the question to the model")
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("body")).to_contain_text("Stopped. Every finished call is kept.")
        newest = newest_run(there, "sample")
        assert (newest["verb"], newest["state"]) == ("style", "stopped")
        reply = {"person": "third", "tense": "past", "does": ["Ends on a <b>bare</b> fact."], "avoids": []}
        (folder / "script.toml").write_text(script_of({"reader:read_voice": json.dumps(reply)}), encoding="utf-8")
        settings.write_text('system = "end-to-end"\nmodel = "scripted:script.toml"\n', encoding="utf-8")
        tab.open("/projects/sample/edit")
        read()
        expect(page.locator("#review")).to_contain_text("A model has read this in your samples.")
        expect(page.locator("#review")).to_contain_text("Ends on a <b>bare</b> fact.")
        expect(page.locator("#review-title")).to_be_focused()
        assert not (folder / "style.md").exists()
        page.get_by_role("button", name="Accept it", exact=True).click()
        page.wait_for_url("**/edit/style.md")
        assert "bare" in (folder / "style.md").read_text(encoding="utf-8")
        tab.check()


@pytest.mark.parametrize("how", ["Escape", "leave"])
def test_a_suggestion_ends_when_nobody_waits_for_it_and_never_keeps_the_text_from_being_saved(
    shelf: Path, how: str
) -> None:
    settings = shelf / "lamp/fabula.toml"
    settings.write_text(re.sub(r'"scripted:[^"]*"', '"files:answers"', settings.read_text(encoding="utf-8")))
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        at(page, "flame.")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#run")).to_contain_text("The run is writing.")
        page.locator("#text").focus()
        page.keyboard.type("So ")
        expect(page.locator("#saved")).to_have_text("Saved")
        if how == "leave":
            tab.open("/projects/lamp/write")
        else:
            page.keyboard.press("Escape")
        for _ in range(600):
            newest = newest_run(there)
            if newest["state"] == "stopped":
                break
            page.wait_for_timeout(50)
        assert (newest["verb"], newest["state"]) == ("suggest", "stopped")
        tab.check()


def test_a_suggestion_is_about_the_text_on_the_page_and_waits_for_no_save(shelf: Path) -> None:
    script(shelf.parent, OLD, **{"climax:suggest": "The glass broke."})
    with studio_there(shelf) as there, browsing(there) as tab:
        page, box, held = tab.page, tab.page.locator("#text"), []
        tab.open("/projects/lamp/edit/climax")
        page.route(
            "**/artefacts/climax", lambda one: held.append(one) if one.request.method == "PUT" else one.continue_()
        )
        page.locator("#text").focus()
        page.keyboard.press("Control+End")
        page.keyboard.type(" She sat. ")
        page.keyboard.press("Control+Enter")
        use = page.get_by_role("button", name="The glass broke.").first
        expect(use).to_be_visible()
        asked = newest_run(there)["arguments"]
        assert (asked["unsaved"], asked["at"]) == (f"{OLD} She sat.", len(f"{OLD} She sat."))
        page.wait_for_function("() => document.getElementById('saved').textContent === 'Saving …'")
        while held:
            held.pop().continue_()
        expect(page.locator("#saved")).to_have_text("Saved")
        use.click()
        expect(box).to_have_value(f"{OLD} She sat. The glass broke.")
        page.unroute("**/artefacts/climax")
        expect(page.locator("#saved")).to_have_text("Saved")
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(box).to_have_value(f"{OLD} She sat.")
        tab.check()


WRITES = """() => {
  window.writes = 0;
  new MutationObserver((all) => { window.writes += all.length; })
    .observe(document.getElementById("suggestions"), { childList: true, subtree: true, characterData: true });
}"""

# Pieces as another tab passes them on, numbered far above those of the server.
ARRIVE = """([run, words]) => {
  const about = { type: "text_arrived", project: "lamp", run, path: "climax/suggest/1/suggest" };
  const events = words.map((text, at) => JSON.stringify({ ...about, n: 1e6 + at, text }));
  new BroadcastChannel("fabula-events").postMessage({ events });
}"""
KEYS = """() => {
  window.writes = window.counted = window.keys = 0;
  const observer = new MutationObserver((all) => { window.writes += all.length; });
  for (const id of ["saved", "marked"]) observer.observe(document.getElementById(id), { childList: true });
  addEventListener("input", () => requestAnimationFrame(() => { window.counted = window.writes; window.keys += 1; }));
}"""


def test_words_that_arrive_together_are_shown_together_and_a_key_writes_nothing_anew(shelf: Path) -> None:
    settings = shelf / "lamp/fabula.toml"
    settings.write_text(re.sub(r'"scripted:[^"]*"', '"files:answers"', settings.read_text(encoding="utf-8")))
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        at(page, "flame.")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#run")).to_contain_text("The run is writing.")
        page.evaluate(WRITES)
        run = newest_run(there)["id"]
        words = [f"word{number} " for number in range(60)]
        page.evaluate(ARRIVE, [run, words])
        expect(page.locator("#suggestions p")).to_have_text("".join(words))
        assert page.evaluate("window.writes") <= 3, "a card, its first words, and all others in one frame"
        page.locator("#text").focus()
        page.keyboard.type("a")
        expect(page.locator("#saved")).to_have_text("Not saved yet")
        page.evaluate(KEYS)
        page.keyboard.type("bcd")
        page.wait_for_function("() => window.keys === 3")
        assert page.evaluate("window.counted") == 0, "what stands on the page already is not written again"
        page.keyboard.press("Escape")


def test_only_what_differs_in_the_list_of_texts_is_touched(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/setting")
        expect(page.locator("#expected")).to_contain_text("Nothing would change")
        page.evaluate("() => { for (const one of document.querySelectorAll('#tree li')) one.stays = true; }")
        type_into(tab, " It rains.")
        expect(page.locator("#tree li", has_text="Climax")).to_contain_text("stale")
        assert page.evaluate("() => [...document.querySelectorAll('#tree li')].every((one) => one.stays)")
        tab.check()


def test_an_answer_that_comes_late_does_not_replace_a_newer_message(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page, held = tab.page, list[Any]()
        tab.open("/projects/lamp/edit/climax")
        page.get_by_text("Status and notes").click()
        page.route("**/edit-parts/mark", lambda one: held.insert(0, one))
        page.get_by_label("Status", exact=True).fill("revised")
        page.get_by_label("Target in words").fill("0")  # which sends the status
        page.get_by_label("Target in words").blur()
        expect(page.locator("#status")).not_to_be_empty()
        wrong = page.locator("#status").inner_text()
        assert len(held) == 1
        held[0].continue_()
        expect(page.locator("#done")).to_have_text("Noted.")
        expect(page.locator("#status")).to_have_text(wrong)
        tab.check()


def test_a_name_in_the_text_says_who_it_is_by_this_scene_with_pointer_and_keyboard(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open("/projects/sample/edit/exposition")
        at = tab.page.evaluate("document.querySelector('#text').value.indexOf('Ivan')")
        tab.page.evaluate(
            f"(t => {{ t.focus(); t.setSelectionRange({at + 2}, {at + 2}); }})(document.querySelector('#text'))"
        )
        tab.page.keyboard.press("Alt+KeyW")
        expect(tab.page.locator("#who strong")).to_have_text("Ivan Utting (person)")
        expect(tab.page.locator("#who")).to_contain_text("owner-driver for Peckover")
        expect(tab.page.locator("#who")).not_to_contain_text("60 kg")
        tab.check()
        tab.page.keyboard.press("Escape")
        expect(tab.page.locator("#who")).to_be_empty()
        tab.page.evaluate("document.querySelector('#text').setSelectionRange(1, 1)")
        tab.page.keyboard.press("Alt+KeyW")
        expect(tab.page.locator("#who")).to_have_text("The codex has no entry for this word.")
        tab.page.keyboard.press("Escape")
        tab.page.fill("#text", "Ivan Ivan Ivan Ivan Ivan")
        tab.page.mouse.move(0, 0)
        box = tab.page.locator("#text").bounding_box()
        assert box is not None
        tab.page.mouse.move(box["x"] + 70, box["y"] + 42)
        expect(tab.page.locator("#who strong")).to_have_text("Ivan Utting (person)")


def test_a_text_is_written_on(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/resolution")
        page.get_by_text("Write it another way").click()
        page.get_by_label("Approximate number of words to add").fill("30")
        page.get_by_role("button", name="Continue this text").click()
        expect(page.locator("#done")).to_contain_text("The next run will add about 30 words")
        expect(page.locator("#state")).to_contain_text("to be continued")
        expect(page.locator("#expected")).to_contain_text("calls, at most")
        tab.check()


def test_the_second_of_two_browsers_sees_both_texts_and_merges(shelf: Path) -> None:
    with studio_there(shelf) as there, chromium() as browser:
        one, two = sign_in(browser, there), sign_in(browser, there)
        for tab in (one, two):
            tab.open("/projects/lamp/edit/climax")
            expect(tab.page.locator("#expected")).to_contain_text("Nothing")
        two.page.locator("#text").fill(OLD.replace("It was cold", "It was bitter"))
        one.page.locator("#text").fill(f"{OLD} Then it was over.")
        one.page.keyboard.press("Control+s")
        expect(one.page.locator("#saved")).to_have_text("Saved")
        expect(two.page.locator("#review h2")).to_have_text("“Climax” was also changed elsewhere")
        expect(two.page.locator("#saved")).to_have_text("Changed elsewhere")
        assert f"{OLD} Then it was over.\n" == (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8")
        assert two.axe() == []
        shelf.joinpath("lamp/story/03-climax.md").write_text(
            f"{OLD} Then it was over. And a third was here.\n", "utf-8"
        )
        two.page.get_by_role("button", name="Save both").click()  # in vain, since a third one was quicker
        expect(two.page.locator("#review")).to_contain_text("And a third was here.")
        two.page.get_by_role("button", name="Save both").click()
        both = f"{OLD.replace('It was cold', 'It was bitter')} Then it was over. And a third was here."
        expect(two.page.locator("#text")).to_have_value(both)
        expect(one.page.locator("#text")).to_have_value(both)  # which had nothing unsaved
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{both}\n"


def test_a_file_that_is_changed_outside_is_seen_and_not_overwritten(shelf: Path) -> None:
    file = shelf / "lamp/story/03-climax.md"
    with studio_there(shelf) as there, browsing(there) as tab:
        tab.open("/projects/lamp/edit/climax")
        expect(tab.page.locator("#expected")).to_contain_text("Nothing")
        file.write_text("Changed in another program.\n", encoding="utf-8")
        expect(tab.page.locator("#text")).to_have_value("Changed in another program.")
        expect(tab.page.locator("#status")).to_contain_text("changed elsewhere")
        type_into(tab, " And here.")
        assert file.read_text(encoding="utf-8") == "Changed in another program. And here.\n"
        tab.check()


def test_a_full_disk_is_said_and_the_text_stays_in_the_page_and_after_a_reload(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise DiskFullError(f"Cannot write {path.name}. The disk or quota is full. Free some space.")

    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        expect(page.locator("#expected")).to_contain_text("Nothing")
        with monkeypatch.context() as patch:
            patch.setattr("fabula.project.folder.write_atomically", full)
            page.locator("#text").focus()
            page.keyboard.press("Control+End")
            page.keyboard.type(" Kept.")
            expect(page.locator("#trouble")).to_contain_text("Not saved: ")
            expect(page.locator("#trouble")).to_contain_text("The disk or quota is full")
            expect(page.locator("#trouble")).to_contain_text("stays on this page and in this browser")
            expect(page.locator("#saved")).to_have_text("Not saved")
            expect(page.locator("#text")).to_have_value(f"{OLD} Kept.")
            assert tab.axe() == []
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks at what stands there
            with page.expect_response(lambda answer: answer.request.method == "PUT"):
                page.keyboard.type(" Longer.")  # which is tried, too, from the text that the journal has kept
            expect(page.locator("#saved")).to_have_text("Not saved")
            page.on("dialog", lambda dialog: dialog.accept())
            page.reload()
            expect(page.locator("#text")).to_have_value(f"{OLD} Kept. Longer.")
        expect(page.locator("#saved")).to_have_text("Saved")
        type_into(tab, " And more.")
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{OLD} Kept. Longer. And more.\n"


def saved_unheard(tab: Tab, text: str) -> Any:  # noqa: ANN401 - playwright's
    """The answer to the first text that is saved, which the page itself never has."""
    page, lost = tab.page, list[Any]()

    def lose(route: Route) -> None:
        if route.request.method == "PUT" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.fallback()

    page.route("**/artefacts/climax", lose)
    tab.open("/projects/lamp/edit/climax")
    expect(page.locator("#expected")).to_contain_text("Nothing")
    page.locator("#text").fill(text)
    expect(page.locator("#saved")).to_have_text("Not saved")
    return lost[0]


def test_an_answer_that_never_came_does_not_set_a_writer_against_their_own_text(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        assert saved_unheard(tab, f"{OLD} One.").ok
        page.locator("#text").fill(f"{OLD} One. Two.")
        expect(page.locator("#saved")).to_have_text("Saved")
        expect(page.locator("#review h2")).to_have_count(0)
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{OLD} One. Two.\n"


def test_a_text_that_is_put_back_is_saved_though_the_server_has_another_one_by_now(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        saved_unheard(tab, f"{OLD} One.")
        page.locator("#text").fill(OLD)
        expect(page.locator("#saved")).to_have_text("Saved")
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == f"{OLD}\n"


def test_who_types_is_not_taken_away_when_a_run_ends(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/setting")
        type_into(tab, " It rains.")
        page.get_by_role("button", name="Rewrite 5 texts").dblclick()
        page.locator("#text").focus()
        expect(page.locator("#review h2")).to_have_text("What the last run changed")
        expect(page.locator("#text")).to_be_focused()
        with there.client() as client:
            runs = client.get("/api/v1/projects/lamp/runs").json()["runs"]
            # of two clicks one run, and before it the command that wrote the story
            assert [one["verb"] for one in runs] == ["update", "write"]
        tab.check()


def test_two_texts_that_are_to_be_put_together_stay_on_the_page(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        expect(page.locator("#expected")).to_contain_text("Nothing")
        tab.type_over(f"{OLD} Here.", "climax", shelf / "lamp/story/03-climax.md", f"{OLD} There.\n")
        expect(page.locator("#review h2")).to_contain_text("was also changed elsewhere")
        page.get_by_role("button", name="What the last run changed").click()
        expect(page.locator("#status")).to_have_text("First choose which of the two texts to keep.")
        expect(page.locator("#review h2")).to_contain_text("was also changed elsewhere")
        page.get_by_role("button", name="Save only mine").click()
        expect(page.locator("#saved")).to_have_text("Saved")
        expect(page.locator("#text")).to_have_value(f"{OLD} Here.")


def test_what_is_typed_while_a_run_holds_the_project_is_saved_when_it_ends(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        expect(page.locator("#expected")).to_contain_text("Nothing")
        with ProjectFolder.open(shelf / "lamp").lock():
            page.locator("#text").fill("Typed meanwhile.")
            expect(page.locator("#saved")).to_have_text("Waiting for the run")
            expect(page.locator("#status")).to_contain_text("saved when the run ends")
        expect(page.locator("#saved")).to_have_text("Saved")
        assert (shelf / "lamp/story/03-climax.md").read_text(encoding="utf-8") == "Typed meanwhile.\n"


def test_what_was_typed_in_one_go_is_undone_as_one_and_a_pin_apart(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        type_into(tab, " One.")
        type_into(tab, " Two.")
        page.get_by_role("button", name="Pin").click()
        expect(page.locator("#state .chip")).to_have_text("pinned")
        undo = page.get_by_role("button", name="Undo", exact=True)
        undo.click()
        expect(page.locator("#state .chip")).to_have_text("edited")
        expect(page.locator("#text")).to_have_value(f"{OLD} One. Two.")
        undo.click()
        expect(page.locator("#text")).to_have_value(OLD)
        page.get_by_role("button", name="Redo").click()
        expect(page.locator("#text")).to_have_value(f"{OLD} One. Two.")
        tab.check()


def test_hostile_text_stays_text_wherever_it_is_shown(shelf: Path) -> None:
    hostile = (
        "</textarea><script>document.title='gone'</script> <img src=x onerror=\"document.title='gone'\"> &amp; שלום"
    )
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        page.locator("#text").fill(f"{hostile}\n\nA \u202ehidden turn.")
        expect(page.locator("#status")).to_contain_text("without invisible characters")
        expect(page.locator("#text")).to_have_value(f"{hostile}\n\nA hidden turn.")
        page.reload()
        expect(page.locator("#text")).to_have_value(f"{hostile}\n\nA hidden turn.")
        page.get_by_text("History").click()
        for how in ("Changes", "Side by side"):
            page.get_by_role("button", name=how).first.click()
            expect(page.locator("#review")).to_contain_text("<script>document.title='gone'</script>")
        assert "gone" not in page.title()
        tab.check()


def test_a_server_that_ends_and_a_session_that_is_over_are_said(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/climax")
        page.context.clear_cookies()
        page.locator("#text").fill("Written without a session.")
        expect(page.locator("#trouble")).to_contain_text("You are not signed in here")
        page.route("**/api/v1/**", lambda route: route.abort())
        page.locator("#text").focus()
        page.keyboard.press("Control+s")
        expect(page.locator("#trouble")).to_contain_text("The server cannot be reached.")
        assert page.evaluate("localStorage.getItem('fabula-draft:lamp:climax')") is not None


def test_what_belongs_to_a_scene_stands_beside_it_and_a_finding_is_mended_there(tmp_path: Path) -> None:
    with studio_there(tmp_path / "shelf") as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/sample/edit/climax")
        beside = page.locator("#beside")
        expect(beside.get_by_text("In the plan: By subtraction")).to_be_visible()
        expect(beside.get_by_role("link", name="the kettle, place: in the cab")).to_be_visible()
        assert not tab.axe()
        beside.get_by_text("This is intended").click()
        beside.get_by_role("textbox", name="Why it is not an error").fill("He has two.")
        beside.get_by_role("button", name="Dismiss it").click()
        expect(beside.locator(".finding")).to_contain_text("On purpose: He has two.")
        expect(page.locator("#status")).to_contain_text("The finding was dismissed")
        beside.get_by_role("button", name="Count it again").click()
        expect(beside.get_by_text("This is intended")).to_be_visible()
        beside.get_by_role("button", name="Fix here").click()
        expect(page.locator("#text")).to_be_focused()
        marked = "() => { const box = document.getElementById('text');"
        marked += " return box.value.slice(box.selectionStart, box.selectionEnd) }"
        assert page.evaluate(marked).startswith("He had brought me a mug of tea from the kettle in his cab")
        page.keyboard.type("He had brought me a mug of tea from his flask.")
        expect(page.locator("#saved")).to_have_text("Saved")
        beside.get_by_role("button", name="Fix there").click()
        wording = beside.get_by_role("textbox", name="The sentence in")
        expect(wording).to_be_focused()
        beside.get_by_role("button", name="Cancel").click()
        expect(beside.get_by_role("button", name="Fix there")).to_be_focused()
        beside.get_by_role("button", name="Fix there").click()
        wording.fill("After the New Year it was the gas ring.")
        beside.get_by_role("button", name="Save it").click()
        expect(beside).to_contain_text("1 settled: the text has changed since")
        assert "it was the gas ring" in there.state.shelf["sample"].text("rising-action").text
        assert "from his flask" in there.state.shelf["sample"].text("climax").text
        tab.check()


def test_what_belongs_to_a_scene_is_folded_on_a_phone(tmp_path: Path) -> None:
    with studio_there(tmp_path / "shelf") as there, browsing(there, width=360, dark=True) as tab:
        page = tab.page
        tab.open("/projects/sample/edit/climax")
        page.get_by_role("button", name="Details", exact=True).click()
        summary = page.get_by_text("In the plan: By subtraction")
        expect(summary).to_be_visible()
        card = page.get_by_role("link", name="Open the card")
        expect(card).to_be_hidden()
        summary.click()
        expect(card).to_be_visible()
        with page.expect_response("**/beside?*"):  # as when something is changed elsewhere
            page.evaluate("document.body.dispatchEvent(new CustomEvent('fabula:checked'))")
        tab.settled()
        expect(card).to_be_visible()
        page.get_by_text("Facts at this point of the story").click()
        page.get_by_text("1 finding in this text").click()
        expect(page.locator("#beside > details:not([open])")).to_have_count(0)
        assert not tab.axe()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator("#beside").get_by_role("button", name="Fix here").click()
        expect(page.locator("#text")).to_be_visible()
        page.get_by_role("button", name="Details", exact=True).click()
        card.click()
        expect(page.locator(".plan-cards li", has_text="By subtraction")).to_be_in_viewport()
        tab.check()
