"""The book on the Edit page: texts moved, split and merged; words replaced; notes; only the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.app.importing import import_manuscript, read_manuscript
from studio import browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from studio import Tab

pytestmark = pytest.mark.slow

NOVEL = """\
# The Lamp

# PART ONE

## The Letter

The letter had lain on the table since Monday. Mara knew it by heart.

Ivan came at noon.

## The Storm

On Saturday the wind turned. Mara waited.

# PART TWO

## The Boat

In the morning the boat came home.
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with a project `lamp` made of a manuscript."""
    (tmp_path / "novel.md").write_text(NOVEL, encoding="utf-8")
    import_manuscript(
        tmp_path / "shelf/lamp", read_manuscript(tmp_path / "novel.md"), "novel.md", {"system": "end-to-end"}
    )
    return tmp_path / "shelf"


def shown(tab: Tab) -> list[str]:
    """The texts and volumes in the list, in their order."""
    return [one.split("\n")[0] for one in tab.page.locator("[data-book] > li").all_inner_texts()]


def test_texts_are_moved_split_and_merged_and_all_is_undone(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page, story = tab.page, shelf / "lamp/story.md"
        before = story.read_text(encoding="utf-8")
        tab.open("/projects/lamp/edit/the-letter")
        assert shown(tab) == ["PART ONE", "The Letter", "The Storm", "PART TWO", "The Boat"]
        expect(page.locator("[data-text='the-letter']")).to_contain_text("22 words")
        expect(page.locator("#expected")).to_contain_text("Nothing would change")
        page.locator("[data-text='the-storm'] a").focus()
        page.keyboard.press("Alt+ArrowUp")
        expect(page.locator("[data-book] > li").nth(1)).to_contain_text("The Storm")
        expect(page.locator("[data-text='the-storm'] a")).to_be_focused()
        assert story.read_text(encoding="utf-8").index("## The Storm") < before.index("## The Storm")
        page.locator("[data-text='the-letter']").drag_to(
            page.locator("[data-text='the-boat']"), target_position={"x": 9, "y": 40}
        )
        expect(page.locator("[data-book] > li").nth(4)).to_contain_text("The Letter")
        for _ in range(2):
            page.get_by_role("button", name="Undo").click()
            expect(page.locator("#done")).to_contain_text("Taken back")
        expect(page.locator("[data-book] > li").nth(1)).to_contain_text("The Letter")
        assert story.read_text(encoding="utf-8") == before

        page.get_by_text("Divide and move").click()
        expect(page.locator("[data-arrange][aria-disabled=true]")).to_have_text(["Move up"])
        expect(page.locator("#text")).to_have_value(re.compile("^# PART ONE"))  # what was undone is shown
        page.get_by_label("Title of the second text").fill("Noon")
        page.locator("#text").evaluate(
            "box => { const at = box.value.indexOf('Ivan'); box.setSelectionRange(at, at); }"
        )
        page.get_by_role("button", name="Split at the cursor").click()
        expect(page.locator("[data-text='noon']")).to_contain_text("Noon")
        expect(page.locator("#text")).to_have_value(
            "# PART ONE\n\n## The Letter\n\nThe letter had lain on the table since Monday. Mara knew it by heart."
        )
        page.get_by_role("button", name="Merge with the next").click()
        expect(page.locator("[data-text='noon']")).to_have_count(0)
        tab.check()


def test_words_are_replaced_after_a_preview_by_keyboard(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/the-letter")
        page.locator("#text").evaluate(
            "box => { box.focus(); const at = box.value.indexOf('Mara'); box.setSelectionRange(at, at + 4); }"
        )
        page.keyboard.press("Alt+r")
        expect(page.get_by_label("Find", exact=True)).to_be_focused()
        expect(page.get_by_label("Find", exact=True)).to_have_value("Mara")
        page.keyboard.type(" ")
        page.keyboard.press("Enter")
        expect(page.locator("#find-old:invalid")).to_have_attribute("title", "At least one character besides spaces.")
        page.get_by_label("Find", exact=True).fill("mara")
        page.get_by_label("Replace with").fill("Jo")
        page.keyboard.press("Enter")
        expect(page.locator("#review")).to_contain_text("2 places in 2 texts.")
        page.get_by_label("Replace with").fill("Nora")
        expect(page.locator("input[name='take']")).to_have_count(0)
        page.keyboard.press("Enter")
        expect(page.locator("input[name='take']").first).to_be_focused()
        page.keyboard.press("r")
        page.get_by_role("button", name="Replace", exact=True).click()
        expect(page.locator("#review")).to_contain_text("Replaced in 1 of 2 places. Undo takes all of it back.")
        text = (shelf / "lamp/story.md").read_text(encoding="utf-8")
        assert ("Mara knew" in text, "Nora waited" in text) == (True, True)
        tab.check()


def test_only_the_text_is_shown_and_notes_are_saved(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/edit/the-storm")
        page.locator("#text").focus()
        page.keyboard.press("F8")
        expect(page.locator("#tree")).to_be_hidden()
        expect(page.get_by_role("button", name="Focus")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Escape")
        expect(page.locator("#tree")).to_be_visible()
        page.get_by_text("Status and notes").click()
        page.get_by_label("Your notes").fill("Cut it?")
        page.get_by_label("Status").fill("revised")
        page.get_by_label("Status").press("Tab")
        expect(page.locator("#status")).to_contain_text("Noted.")
        page.get_by_label("Target in words").fill("-5")
        page.get_by_label("Target in words").press("Tab")
        expect(page.locator("#status")).to_contain_text("greater than or equal to 1")
        page.get_by_label("Target in words").fill("1500")
        page.get_by_label("Target in words").press("Tab")
        expect(page.locator("[data-text='the-storm']")).to_contain_text("of 1,500 words, revised")
        assert (shelf / "lamp/notes/the-storm.md").read_text(encoding="utf-8") == "Cut it?\n"
        tab.check()


def test_a_snapshot_is_taken_looked_at_and_restored(shelf: Path) -> None:
    with studio_there(shelf) as there, browsing(there) as tab:
        page, file = tab.page, shelf / "lamp/story/02-the-storm.md"
        before = file.read_text(encoding="utf-8")
        tab.open("/projects/lamp/edit/the-storm")
        page.get_by_text("Snapshots of the book").click()
        page.get_by_label("Name the present state").fill("before <b>the cut</b>")
        page.get_by_role("button", name="Take a snapshot").click()
        expect(page.get_by_role("button", name="before <b>the cut</b>")).to_be_visible()
        page.locator("#text").fill("## The Storm\n\nNothing.")
        expect(page.locator("#saved")).to_have_text("Saved")
        page.get_by_role("button", name="before <b>the cut</b>").click()
        expect(page.locator("#review")).to_contain_text("changed")
        page.get_by_role("button", name="Restore all").click()
        expect(page.locator("#review")).to_contain_text("1 text is as in “before <b>the cut</b>”.")
        expect(page.locator("#text")).to_have_value(before.strip())
        tab.check()
