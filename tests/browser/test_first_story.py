"""A first story, as a person comes to it: an empty shelf, a brief, what it would take, and the story."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from studio import SAMPLE, browsing, studio_there

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
        page.click("text=What would it take?")
        page.wait_for_selector("text=Writing this story would take")
        assert "nothing: the model runs on this machine" in page.inner_text("#estimate")
        page.click("text=Begin writing")
        page.wait_for_url("**/projects/the-letter/write")
        page.wait_for_selector("text=01-story.md")
        page.wait_for_selector("text=The boats came home")
        tab.open("/")
        page.wait_for_selector("text=150 to 250 asked")
        assert "The Letter" in page.inner_text("#cards")
        tab.check()
    assert "The boats came home" in (tmp_path / "home" / "the-letter" / "story.md").read_text("utf-8")


def test_what_is_wrong_is_said_above_the_form_and_nothing_typed_is_lost(tmp_path: Path) -> None:
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open("/new")
        tab.page.fill("#text", BRIEF)
        tab.page.fill("#model", "scripted:nowhere.toml")
        tab.page.click("text=What would it take?")
        tab.page.wait_for_selector("#problem .problem")
        assert "nowhere.toml" in tab.page.inner_text("#problem")
        assert tab.page.input_value("#text") == BRIEF
        tab.page.click("#problem [data-close]")
        assert tab.page.inner_text("#problem") == ""


def test_the_sample_is_one_click_away(tmp_path: Path) -> None:
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.page.click("text=Copy the sample")
        tab.page.wait_for_url("**/projects/sample-2/*")
        tab.page.wait_for_selector("text=Sufficient Knowledge")
        tab.check()
