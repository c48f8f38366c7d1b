"""The frame of the studio in a browser: signing in, the look, what a keyboard and a screen reader meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio import browsing, studio_there

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_shelf_is_for_everybody(tmp_path: Path, width: int, *, dark: bool) -> None:
    with studio_there(tmp_path) as there, browsing(there, dark=dark, width=width) as tab:
        tab.open("/")
        assert tab.axe() == []
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        tab.check()


def test_the_look_is_chosen_and_remembered(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.page.click("text=Dark")
        assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
        tab.open("/")
        assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert tab.page.inner_text("[data-switch-theme]") == "Light"
        tab.check()


def test_the_first_key_leads_past_the_navigation(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the page itself"
        tab.page.keyboard.press("Enter")
        assert tab.page.evaluate("document.activeElement.id") == "main"
