"""The frame of the studio in a browser: signing in, the look, what a keyboard and a screen reader meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio import SAMPLE, browsing, chromium, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_the_look_is_chosen_and_remembered(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open("/")
        tab.page.click("text=Dark")
        expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
        tab.open("/")
        expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(tab.page.locator("[data-switch-theme]")).to_have_text("Light")
        tab.check()


def test_the_first_key_leads_past_the_navigation(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        tab.open("/")
        tab.page.keyboard.press("Tab")
        expect(tab.page.get_by_text("Skip to the main content")).to_be_focused()
        tab.page.keyboard.press("Enter")
        expect(tab.page.locator("#main")).to_be_focused()


def test_a_link_on_another_sites_page_signs_in(tmp_path: Path) -> None:
    """After a redirect the browser would not send a strict cookie along."""
    with studio_there(tmp_path) as there, chromium() as browser:
        page = browser.new_page()
        page.route("http://mail.example/", lambda route: route.fulfill(body=f"<a href='{there.link}'>the studio</a>"))
        page.goto("http://mail.example/")
        page.click("a")
        page.wait_for_url(f"{there.address}/")
        expect(page.locator("h1")).to_have_text("Your stories")


def test_a_page_of_another_site_gets_nothing_and_changes_nothing(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page, body = tab.page, f"<form method=post action='{there.address}/sample'><button>x</button></form>"
        page.route("http://evil.example/", lambda route: route.fulfill(body=body, content_type="text/html"))
        page.goto("http://evil.example/")
        read = "address => fetch(address).then(() => 'read', () => 'refused')"
        assert page.evaluate(read, there.address) == "refused"
        page.click("button")
        expect(page.locator("main")).to_contain_text("came from another website")
        assert there.state.shelf.names == [SAMPLE]
