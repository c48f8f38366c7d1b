"""A first story, as a person comes to it: an empty shelf, a brief, what it would take, and the story."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from studio import SAMPLE, browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

BRIEF = "Mara keeps the lamp of the cape. One night a letter comes that she wrote herself."
STORY = "The lamp was dark. Mara lit it. The boats came home one after the other, and she slept. " * 12


def test_from_an_empty_shelf_to_a_story(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(f"[replies]\nwriter = {json.dumps(STORY)}\n", "utf-8")
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        shutil.rmtree(tmp_path / "home" / SAMPLE)
        tab.open("/")
        page = tab.page
        page.click("text=Begin with a brief")
        page.fill("#text", BRIEF)
        page.fill("#title", "The Letter")
        page.fill("#words", "150-250")
        page.fill("#model", f"scripted:{script}")
        page.click("text=Who writes it, and how")
        page.check("input[value='end-to-end']")
        page.click("text=Estimate the cost")
        page.wait_for_selector("text=Estimate for writing this story")
        expect(page.locator("#estimate")).to_contain_text("at no cost: the model runs on this machine")
        page.click("text=Begin writing")
        page.wait_for_url("**/projects/the-letter/write")
        page.wait_for_selector("#tree a >> text='Story'")
        page.wait_for_selector("text=The boats came home")
        tab.open("/")
        page.wait_for_selector("text=150 to 250 requested")
        expect(page.locator("#cards")).to_contain_text("The Letter")
        tab.check()
    assert "The boats came home" in (tmp_path / "home" / "the-letter" / "story.md").read_text("utf-8")


NOVEL = """\
# The Lamp

## Chapter 1: The Letter

The letter had lain on the table since Monday. Mara knew it by heart.

* * *

Ivan came at noon.

## Chapter 2: The Storm

On Saturday the wind turned, and the boat was late.
"""


def test_from_a_manuscript_to_a_passage_of_ones_own_that_is_changed(tmp_path: Path) -> None:
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open("/new")
        page = tab.page
        page.click("text=Start from your manuscript instead")
        novel = {"name": "novel.md", "mimeType": "text/markdown", "buffer": NOVEL.encode()}
        page.set_input_files("#file", novel)
        page.click("text=See how it would be divided")
        expect(page.locator("#estimate")).to_contain_text("“The Lamp” in 2 parts")
        expect(page.locator("#estimate")).to_contain_text("02-chapter-2-the-storm.md")
        tab.check()
        page.click("#estimate >> text=Create the project")
        page.wait_for_url("**/projects/the-lamp/write")
        expect(page.locator("#tree a", has_text="Chapter 1: The Letter")).to_have_count(1)
        expect(page.locator(".primary")).to_have_text("Edit the story")
        page.get_by_role("button", name="Export").press("Enter")
        expect(page.locator("#export a").first).to_have_text("Markdown .md")
        assert tab.axe() == []
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == "the-lamp.docx"
        page.keyboard.press("Escape")
        expect(page.locator("#export")).to_be_hidden()
        page.locator(".primary").press("Enter")
        page.wait_for_url("**/projects/the-lamp/edit")
        tab.open("/projects/the-lamp/edit/chapter-2-the-storm")
        expect(page.locator("#text")).to_have_value(re.compile("On Saturday the wind turned, and the boat was late."))
        page.fill("#text", "## Chapter 2: The Storm\n\nOn Sunday the wind turned.")
        expect(page.locator("#state")).to_contain_text("edited")  # which it is once the text is saved
    file = tmp_path / "home" / "the-lamp" / "story" / "02-chapter-2-the-storm.md"
    assert file.read_text("utf-8").endswith("On Sunday the wind turned.\n")


def test_what_is_wrong_is_said_above_the_form_and_nothing_typed_is_lost(tmp_path: Path) -> None:
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open("/new")
        tab.page.fill("#text", BRIEF)
        tab.page.fill("#model", "scripted:nowhere.toml")
        tab.page.click("text=Estimate the cost")
        tab.page.wait_for_selector("#problem .problem")
        expect(tab.page.locator("#problem")).to_contain_text("nowhere.toml")
        expect(tab.page.locator("#text")).to_have_value(BRIEF)
        tab.page.click("#problem [data-close]")
        expect(tab.page.locator("#problem")).to_have_text("")


def test_the_sample_is_one_click_away(tmp_path: Path) -> None:
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open("/")
        tab.page.click("text=Copy the sample")
        tab.page.wait_for_url("**/projects/sample-2/*")
        tab.page.wait_for_selector("text=Sufficient Knowledge")
        tab.check()
