"""The Plan page as a person goes: cards moved by mouse and by keyboard, and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from fabula.app.importing import import_manuscript, read_manuscript
from fabula.story.world import Fact, Moment, WorldState
from patience import wait_until
from studio import browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from studio import Tab

pytestmark = pytest.mark.slow
PLAN = "/projects/sample/plan"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def titles(tab: Tab) -> list[str]:
    found: list[str] = tab.page.eval_on_selector_all(".plan-cards > li", "all => all.map(one => one.dataset.title)")
    return found


def test_a_card_is_dragged_and_the_new_order_saved(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(PLAN)
        before = titles(tab)
        tab.page.drag_and_drop("#scene-1 h3", "#scene-3 h3")
        tab.page.wait_for_selector("#plan-change form")
        assert titles(tab)[:3] == [before[1], before[2], before[0]]
        expect(tab.page.locator("#status")).to_contain_text("It is not saved yet")
        assert list(there.state.shelf["sample"].plan().plan.names) == before
        tab.page.click("text=Save this")
        tab.page.wait_for_selector("[data-said]")
        tab.open(PLAN)
        assert titles(tab)[:3] == [before[1], before[2], before[0]]
        assert list(there.state.shelf["sample"].plan().plan.names) == titles(tab)
        tab.check()


def test_a_card_is_moved_by_keyboard_and_put_back(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(PLAN)
        before = titles(tab)
        tab.page.focus("#scene-2 [data-move='1']")
        tab.page.keyboard.press("ArrowRight")
        tab.page.keyboard.press("ArrowRight")
        expect(tab.page.locator("#status")).to_contain_text(f"{before[1]} is now scene 4 of 9")
        assert titles(tab)[3] == before[1]
        assert tab.page.evaluate("document.activeElement.closest('li').id") == "scene-2"
        tab.page.keyboard.press("Home")
        assert titles(tab)[0] == before[1]
        tab.page.keyboard.press("ArrowLeft")
        expect(tab.page.locator("#status")).to_contain_text("is already at the beginning")
        tab.page.wait_for_selector("#plan-change form")
        tab.page.click("text=Leave the plan as it is")
        wait_until(lambda: titles(tab) == before, "the old order")
        tab.check()


def test_the_lines_of_the_picture_lead_to_their_cards(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open(PLAN)
        tab.page.wait_for_selector(".timeline svg")
        tab.page.focus(".timeline a[href='#scene-4']:not([tabindex])")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/plan#scene-4")
        tab.check()


@pytest.mark.parametrize("width", [1280, 360])
def test_cards_read_from_the_texts_are_decided_by_keyboard(tmp_path: Path, width: int) -> None:
    (tmp_path / "novel.md").write_text("# L\n\n## One\n\nMara waits.\n\n## Two\n\nIvan comes.\n\n## Three\n\nEnd.\n")
    lamp, settings = tmp_path / "shelf/lamp", {"system": "end-to-end", "model": "scripted:replies.toml"}
    import_manuscript(lamp, read_manuscript(tmp_path / "novel.md"), "novel.md", settings)
    replies = {f"cards/{name}/read_card": f'{{"synopsis": "{EVIL} {name}"}}' for name in ("one", "two", "three")}
    (lamp / "replies.toml").write_text(script_of(replies), encoding="utf-8")
    with studio_there(tmp_path / "shelf") as there, browsing(there, width=width) as tab:
        page = tab.page
        tab.open("/projects/lamp/plan")
        expect(page.locator("#reading")).to_contain_text("3 calls to scripted")
        assert not tab.axe()
        page.focus("text=Read the texts")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-proposal]")
        tab.settled()
        assert not tab.axe()
        page.locator("#proposed-2").fill("Ivan comes late.")
        page.focus("#proposed-1")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_contain_text("The card is in the plan.")
        expect(page.locator("#scene-1 .summary")).to_have_text(f"{EVIL} one")
        assert page.evaluate("document.activeElement.closest('li').id") == "scene-1", "a keyboard goes on from there"
        expect(page.locator("#proposed-2")).to_have_value("Ivan comes late.")
        tab.settled()
        page.focus("#reading [hx-post$=undo]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#proposed-1")
        expect(page.locator("#proposed-2")).to_have_value("Ivan comes late.")
        tab.settled()
        page.focus("text=Accept all 3")
        page.keyboard.press("Enter")
        expect(page.locator("#plan")).to_contain_text("3 cards are in the plan.")
        tab.settled()
        page.click("#scene-2 [data-move='-1']")
        page.click("text=Save this")
        expect(page.locator("#plan")).to_contain_text("Saved. New order of telling")
        assert (lamp / "plan/chapters.md").read_text().index("Ivan comes late.") < 60
        assert not tab.axe()
        tab.check()


def test_hostile_plans_and_facts_stay_text(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        folder = there.state.shelf["sample"].folder
        plan = f"scenes:\n  - name: '{EVIL}'\n    place: '{EVIL}'\n    outline: ['{EVIL}']\n"
        (folder / "plan" / "plan.yaml").write_text(plan, encoding="utf-8")
        with WorldState(folder / ".fabula" / "world.db") as state:
            state.add([Fact(EVIL, EVIL, EVIL, Moment(1), about=(EVIL,), quote=EVIL, witnesses=(EVIL,))])
        tab.open(PLAN)
        tab.page.wait_for_selector("#knowing table")
        tab.page.wait_for_selector(".timeline svg")
        expect(tab.page.locator(".plan-cards")).to_contain_text(EVIL)
        tab.open("/projects/sample/world?search=onerror")
        tab.page.wait_for_selector("#graph[data-drawn]")
        tab.page.click("[data-fact]")
        tab.page.wait_for_selector("[data-shown]")
        expect(tab.page.locator("img[src=x]")).to_have_count(0)
        tab.check()
