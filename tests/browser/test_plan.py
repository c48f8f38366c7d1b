"""The Plan page as a person goes: cards moved by mouse and by keyboard, and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.story.world import Fact, Moment, WorldState
from patience import wait_until
from studio import browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from studio import Tab

pytestmark = pytest.mark.slow
PLAN = "/projects/sample/plan"


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


def test_hostile_plans_and_facts_stay_text(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    with studio_there(tmp_path) as there, browsing(there) as tab:
        folder = there.state.shelf["sample"].folder
        plan = f"scenes:\n  - name: '{evil}'\n    place: '{evil}'\n    outline: ['{evil}']\n"
        (folder / "plan" / "plan.yaml").write_text(plan, encoding="utf-8")
        with WorldState(folder / ".fabula" / "world.db") as state:
            state.add([Fact(evil, evil, evil, Moment(1), about=(evil,), quote=evil, witnesses=(evil,))])
        tab.open(PLAN)
        tab.page.wait_for_selector("#knowing table")
        tab.page.wait_for_selector(".timeline svg")
        expect(tab.page.locator(".plan-cards")).to_contain_text(evil)
        tab.open("/projects/sample/world?search=onerror")
        tab.page.wait_for_selector("#graph[data-drawn]")
        tab.page.click("[data-fact]")
        tab.page.wait_for_selector("[data-shown]")
        expect(tab.page.locator("img[src=x]")).to_have_count(0)
        tab.check()
