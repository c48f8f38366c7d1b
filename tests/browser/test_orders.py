"""Answers in another order than they were asked for, and what a person does meanwhile: nothing is lost or overtaken.

Each test holds an answer back, so that the order is the same on every machine.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from commandline import REPLIES, script_of
from fabula.measure.studies.answering import Answers
from fabula.project.sample import copy_sample
from patience import wait_until
from raters import study_here, study_there
from studio import SAMPLE, There, browsing, chromium, expect, sign_in, studio_there, turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Route

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[1] / "support" / "long_work.py"
AT = f"/projects/{SAMPLE}"
START = "#expected form p > button"


class Held:
    """Answers of the server that the page gets when they are let go.

    Attributes:
        page: playwright's.
        routes: what waits.
    """

    def __init__(self, page: Any, address: str, method: str = "GET", most: int = 1) -> None:  # noqa: ANN401 - playwright's
        self.page, self.method, self.most = page, method, most
        self.routes = list[tuple[Any, Any]]()
        page.route(re.compile(address), self.hold)

    def hold(self, route: Route) -> None:
        if route.request.method != self.method or not self.most:
            route.fallback()
            return
        self.most -= 1
        self.routes.append((route, route.fetch()))

    def come(self) -> None:
        """Wait until one waits."""
        wait_until(lambda: self.routes, "a request", lambda: self.page.wait_for_timeout(20))

    def go(self) -> None:
        """Let the first go, and wait until the page has taken it."""
        self.come()
        route, answer = self.routes.pop(0)
        with self.page.expect_response(lambda one: one.request == route.request):
            route.fulfill(response=answer)
        turn(self.page)


@contextmanager
def at_work(there: There, **environ: str) -> Iterator[There]:
    """A studio whose runs are done by the program that stands in for `fabula`."""
    there.state.runs.command = (sys.executable, str(PROGRAM))
    there.state.runs.environ = {**there.state.runs.environ, **environ}
    yield there


def test_the_fact_that_was_chosen_last_is_shown_though_an_older_answer_comes_after_it(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open(f"{AT}/world")
        older, newer = (page.locator("[data-fact]").nth(n).get_attribute("data-fact") for n in (0, 3))
        held = Held(page, f"/facts/{older}$")
        page.click(f"[data-fact='{older}']")
        held.come()
        page.click(f"[data-fact='{newer}']")
        expect(page.locator(f"#fact [data-shown='{newer}']")).to_be_visible()
        held.go()
        expect(page.locator(f"#fact [data-shown='{newer}']")).to_be_visible()
        expect(page.locator(f"#fact [data-shown='{older}']")).to_have_count(0)
        tab.check()


def test_what_is_typed_about_one_finding_stays_when_the_answer_about_another_comes(tmp_path: Path) -> None:
    report = copy_sample(tmp_path / SAMPLE).folder / "evaluation" / "atlas.json"
    data = json.loads(report.read_text(encoding="utf-8"))
    found = data["details"]["stories"][0]["findings"]
    found.append(found[0] | {"id": 2, "key": "dcf5212b"})
    report.write_text(json.dumps(data), encoding="utf-8")
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open(f"{AT}/world/findings")
        held = Held(page, "/dismiss$", "POST")
        first, second = (page.locator("article.finding").nth(n).get_attribute("id") for n in (0, 1))
        page.click(f"#{first} summary")
        page.fill(f"#{first} input[name=reason]", "He had two.")
        page.keyboard.press("Enter")
        held.come()
        page.click(f"#{second} summary")
        page.fill(f"#{second} input[name=reason]", "She came by night.")
        page.keyboard.press("ArrowLeft")
        held.go()
        expect(page.locator("[data-said]")).to_contain_text("The finding was dismissed")
        expect(page.locator(f"#{second} input[name=reason]")).to_have_value("She came by night.")
        expect(page.locator(f"#{second} input[name=reason]")).to_be_focused()
        page.keyboard.type("!")
        expect(page.locator(f"#{second} input[name=reason]")).to_have_value("She came by night!.")
        tab.check()


def test_a_run_that_ends_before_the_page_knows_it_has_begun_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(script_of(REPLIES), encoding="utf-8")
    settings = copy_sample(tmp_path / "shelf" / SAMPLE).folder / "fabula.toml"
    settings.write_text(
        re.sub(r"(?m)^model = .*", f'model = "scripted:{script}"', settings.read_text("utf-8")), "utf-8"
    )
    with studio_there(tmp_path / "shelf") as there, browsing(there) as tab, at_work(there):
        page = tab.page
        tab.open(f"{AT}/world/findings")
        held = Held(page, "/world/run/check$", "POST")
        page.get_by_role("button", name="Check the story").click()
        held.come()
        with there.client() as client:
            wait_until(
                lambda: client.get(f"/api/v1{AT}/runs").json()["runs"][0]["state"] == "finished",
                pause=lambda: page.wait_for_timeout(50),
            )
        expect(page.locator("#status")).to_contain_text("A run has ended.")
        with page.expect_navigation():
            held.go()


def test_a_problem_stays_until_the_person_goes_on(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab, at_work(there, ROLES="2"):
        page = tab.page
        tab.open(f"{AT}/write")
        page.fill("#usd", "much")
        page.click(START)
        expect(page.locator("#problem")).to_contain_text("is not a number of dollars")
        with there.client() as client:
            client.post(f"/api/v1{AT}/write", json={}).raise_for_status()
        expect(page.locator("#run[data-state=finished]")).to_be_visible()
        expect(page.locator("#problem")).to_contain_text("is not a number of dollars")
        page.fill("#usd", "2")
        page.click(START)
        expect(page.locator("#problem")).to_be_empty()


def test_a_text_that_somebody_marks_is_loaded_anew_when_they_are_done(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab, at_work(there, ROLES="2"):
        page, asked = tab.page, list[str]()
        page.on("request", lambda request: asked.append(request.url.partition("/write-parts/")[2].partition("?")[0]))
        tab.open(f"{AT}/write")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#text'))")
        page.click(START)
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#text'))")
        expect(page.locator("#run[data-state=finished]")).to_be_visible()
        tab.settled()
        assert "text" not in asked
        with page.expect_request(re.compile("/write-parts/text")):
            page.evaluate("getSelection().removeAllRanges()")


def test_a_second_click_begins_no_second_run(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab, at_work(there):
        page = tab.page
        tab.open(f"{AT}/write")
        held = Held(page, "/start$", "POST")
        page.dblclick(START)
        held.go()
        expect(page.locator("#run[data-state=finished]")).to_be_visible()
        with there.client() as client:
            assert len(client.get(f"/api/v1{AT}/runs").json()["runs"]) == 1


def test_a_move_that_was_taken_back_is_not_shown_when_its_answer_comes(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open(f"{AT}/plan")
        page.focus("#scene-2 [data-move='1']")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#plan-change form")).to_be_visible()
        held = Held(page, "/plan/preview$", "POST")
        page.keyboard.press("ArrowRight")
        held.come()
        page.get_by_role("button", name="Leave the plan as it is").click()
        held.go()
        expect(page.locator("#plan-change form")).to_have_count(0)
        tab.check()


def test_what_is_asked_last_about_the_plan_is_shown(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open(f"{AT}/plan")
        held = Held(page, "/plan/preview$", "POST")
        page.focus("#scene-2 [data-move='1']")
        page.keyboard.press("ArrowRight")
        held.come()
        page.click("#scene-4 [data-remove]")
        held.go()
        expect(page.locator("#plan-change")).to_contain_text("Removed scene")
        expect(page.locator("#plan-change")).not_to_contain_text("New order")
        tab.check()


def test_a_page_does_not_say_that_nobody_answers_when_somebody_does_again(tmp_path: Path) -> None:
    with studio_there(tmp_path) as there, browsing(there) as tab:
        page, asked = tab.page, list[Any]()

        def refuse(route: Route) -> None:
            asked.append(route)
            if len(asked) == 1:
                route.fulfill(status=503, body="")

        held = Held(page, r"/api/v1/events\?follow=false")
        page.route(re.compile(r"/api/v1/events\?after="), refuse)
        tab.open(f"{AT}/write")
        expect(page.locator("#connection")).not_to_have_attribute("hidden", "")
        held.come()
        wait_until(lambda: len(asked) > 1, "the stream asked for again", lambda: page.wait_for_timeout(20))
        asked[1].fallback()
        expect(page.locator("#connection")).to_have_attribute("hidden", "")
        held.go()
        expect(page.locator("#connection")).to_have_attribute("hidden", "")


def test_a_thought_that_is_typed_just_before_the_page_is_left_is_kept(tmp_path: Path) -> None:
    study = study_here(tmp_path / "study")
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        page = tab.page
        page.click("text=I have read this and agree to take part")
        page.wait_for_selector("#send:disabled")  # as its script leaves it
        page.fill("textarea[name=comment]", "A last thought.")
        page.goto("about:blank")
        task = study.tasks_of[study.raters[0]][0]
        draft = wait_until(
            lambda: Answers(study, lambda: "", writes=False).progress[task.rater].drafts.get(task.key),
            pause=lambda: page.wait_for_timeout(50),
        )
        assert draft is not None
        assert draft.comment == "A last thought."
