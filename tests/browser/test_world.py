"""The World page as a person goes: a fact is clicked and its sentence read, a finding is dismissed, another mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.evaluators.atlas.dismissed import read_dismissed
from patience import wait_until
from studio import browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Dialog

    from studio import Tab


pytestmark = pytest.mark.slow
WORLD = "/projects/sample/world"


def test_a_fact_that_is_clicked_in_the_graph_shows_its_sentence(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(f"{WORLD}?search=certificate")
        tab.page.wait_for_selector("#graph[data-drawn='1']")
        # Two nodes and an edge fill the graph; the pixel of an edge is found where cytoscape has it.
        where = tab.page.evaluate(
            """() => { const canvas = document.querySelector('#graph'); const box = canvas.getBoundingClientRect();
            const one = canvas._cyreg.cy.edges()[0].renderedMidpoint(); return [box.x + one.x, box.y + one.y]; }"""
        )
        tab.page.mouse.click(*where)
        tab.page.wait_for_selector("[data-sentence]")
        expect(tab.page.locator("[data-sentence]")).to_have_text("under certificate number 217")
        expect(tab.page.locator("#status")).to_contain_text("The sentence: under certificate number 217")
        assert tab.page.eval_on_selector("tr.chosen", "row => row.id").startswith("row-")
        tab.check()


def test_facts_are_looked_at_by_scene_with_the_keyboard(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(WORLD)
        every = tab.page.locator("#facts tbody tr").count()
        tab.page.focus("[data-scene='-1']")
        for _ in range(5):
            tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("#facts caption:has-text('scene 1')")
        expect(tab.page.locator("#facts tbody tr")).not_to_have_count(every)
        expect(tab.page.locator("#status")).to_contain_text("at the end of scene 1")
        tab.check()


def test_a_finding_is_dismissed_and_counted_again(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(f"{WORLD}/findings")
        tab.page.click("text=This is intended")
        tab.page.fill("input[name=reason]", "He had a second kettle.")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("text=On purpose:")
        folder = there.state.shelf["sample"].folder / "evaluation"
        assert [one.reason for one in read_dismissed(folder).values()] == ["He had a second kettle."]
        expect(tab.page.locator("#status")).to_contain_text("The finding was dismissed")
        tab.page.click("text=Count it again")
        tab.page.wait_for_selector("text=This is intended")
        assert read_dismissed(folder) == {}
        tab.check()


def test_an_entry_of_the_codex_is_read_by_scene_changed_and_removed(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(f"{WORLD}/codex")
        tab.page.click("summary:has-text('Ivan Utting')")
        tab.page.wait_for_selector("text=owner-driver for Peckover")
        tab.page.click("text=Write an entry of your own")
        tab.page.fill("textarea[name=secret]", "He wrote the ticket.")
        tab.page.fill("textarea[name=known_to]", "Wendy Clabburn")
        tab.page.click("text=Save")
        tab.page.wait_for_selector("text=Ivan Utting is in your codex.")
        (ivan,) = there.state.shelf["sample"].codex(name="Ivan").entries
        assert ivan.own is not None
        assert (ivan.own.secret, ivan.own.known_to) == ("He wrote the ticket.", ("Wendy Clabburn",))
        tab.page.wait_for_selector("text=Change your entry")
        tab.page.select_option("#at", "1")
        tab.page.wait_for_selector("details[hx-get*='at=1']")
        tab.page.click("summary:has-text('vehicle 31')")
        tab.page.click("text=Write an entry of your own")
        tab.page.click("text=Do not show")
        tab.page.wait_for_selector("text=vehicle 31 is no longer shown.")
        tab.page.click("summary:has-text('Add an entry')")
        tab.page.fill("#new-entry", "The long rule")
        tab.page.focus("#new-kind")
        tab.page.keyboard.press("r")
        tab.page.fill("#new-aliases", "the rule\nRule 7")
        tab.page.fill("#new-secret", "It was never signed.")
        tab.page.focus("#new-notes")
        tab.page.keyboard.press("Tab")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("text=The long rule is in your codex.")
        expect(tab.page.locator("#new-entry")).to_have_value("")
        assert not tab.axe()
        (rule,) = there.state.shelf["sample"].codex(name="Rule 7").entries
        assert rule.own is not None
        assert (rule.kind, rule.aliases, rule.own.secret) == ("rule", ("the rule", "Rule 7"), "It was never signed.")
        tab.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_mention_is_quoted_and_leads_to_its_passage(tmp_path: Path, width: int) -> None:
    with studio_there(tmp_path) as there, browsing(there, width=width) as tab:
        tab.open(f"{WORLD}/codex?name=Ivan%20Utting")
        mention = tab.page.locator("#entries li:has(a:has-text('Exposition'))")
        expect(mention).to_contain_text("(2): Vehicle 31 was Ivan Utting, who had his own lorry")
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        assert not tab.axe()
        mention.get_by_role("link").click()
        expect(tab.page.locator("#status")).to_have_text("The sentence is marked in the text.")
        marked = tab.page.locator("#text").evaluate("t => t.value.slice(t.selectionStart, t.selectionEnd)")
        assert marked.startswith("Vehicle 31 was Ivan Utting")
        assert marked.endswith("Ten Mile Bank.")
        tab.check()


def test_an_entry_that_is_not_saved_is_not_left(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        asked: list[str] = []

        def stays(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        page.on("dialog", stays)
        tab.open(f"{WORLD}/codex")
        page.click("summary:has-text('Ivan Utting')")
        page.click("text=Write an entry of your own")
        page.fill("textarea[name=notes]:not(#new-notes)", "Older?")
        page.click("nav >> text=Plan", no_wait_after=True)
        wait_until(lambda: asked == ["beforeunload"], "the question")
        page.select_option("#at", "1")
        expect(page.locator("#status")).to_have_text("Save or cancel your changes first.")
        expect(page.locator("textarea[name=notes]:not(#new-notes)")).to_have_value("Older?")
        page.click("button[type=reset]")
        page.click("nav >> text=Plan")
        page.wait_for_url("**/plan")
        tab.check()


def test_a_sentence_is_mended_after_its_cost_is_shown(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(f"{WORLD}/findings")
        tab.page.click("text=Fix there")
        tab.page.fill("textarea", "He had brought me a mug of tea from his flask.")
        tab.page.click("text=What would change?")
        tab.page.wait_for_selector("[id^=expected-] p")
        tab.page.click("text=Save it")
        tab.page.wait_for_selector("text=1 settled: the text has changed since")
        assert "from his flask" in there.state.shelf["sample"].text("climax").text
        tab.check()


@pytest.mark.parametrize("width", [1280, 360])
def test_labels_of_the_graph_can_be_read_and_the_keyboard_makes_them_larger(tmp_path: Path, width: int) -> None:
    with studio_there(tmp_path) as there, browsing(there, width=width) as tab:
        tab.open(WORLD)
        tab.page.wait_for_selector("#graph[data-drawn]")
        assert zoom(tab) >= 0.9, "labels have 14 pixels and more at their full size"
        first = zoom(tab)
        tab.page.focus("text=Larger")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_function("first => Number(document.getElementById('graph').dataset.zoom) > first", arg=first)
        tab.page.wait_for_selector("#status:has-text('The graph is shown at')")
        tab.page.keyboard.press("ArrowLeft")
        tab.page.focus("text=Show all")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_function("first => Number(document.getElementById('graph').dataset.zoom) <= first", arg=first)
        assert tab.axe() == []
        tab.check()


def zoom(tab: Tab) -> float:
    """At what size the graph is shown."""
    return float(tab.page.get_attribute("#graph", "data-zoom"))
