"""A rater in a browser: a whole sitting by keyboard, a reload, a narrow screen, withdrawal; for everybody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from fabula.app.studies import assign
from fabula.app.writing import Options
from fabula.measure.ratings import read_ratings
from fabula.measure.studies.answering import Answers
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import ORGANISER, Study, StudyItem, form_text, write_study
from fabula.server.study.conversations import RatersConversations
from raters import SAID, characters_here, study_here, study_there
from studio import chromium, expect, sign_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_a_whole_sitting_of_five_by_keyboard(tmp_path: Path) -> None:
    study = study_here(tmp_path / "study", prompts=7)
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        keys = tab.page.keyboard
        tab.page.focus("text=I have read this and agree to take part")
        keys.press("Enter")
        for number in range(5):
            tab.page.wait_for_selector(f"h1:has-text('{number + 1} of 5')")
            tab.page.wait_for_selector("#send:disabled")
            expect(tab.page.locator("#answers input[type=radio]:checked")).to_have_count(0)
            keys.press("q")
            assert tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Story A"
            keys.press("End")
            keys.press("w")
            keys.press("End")
            for question, answer in zip("12345", "aasbb", strict=True):
                keys.press(question)
                keys.press(answer)
            keys.press("u")
            expect(tab.page.locator("#send")).to_be_disabled()
            tab.page.wait_for_selector("#status:has-text('1 left to answer.')")
            keys.press("5")
            keys.press("b")
            expect(tab.page.locator("#send")).to_be_enabled()
            tab.page.wait_for_selector("#status:has-text('Saved.')")
            keys.press("Enter")
        tab.page.wait_for_selector("text=Enough for this sitting")
        assert tab.axe() == []
        tab.check()
    ratings = read_ratings(study.ratings_file)
    assert len(ratings) == 25
    assert [one.shown for one in ratings[:5]] == ["A", "A", "about the same", "B", "B"]


def test_clicks_are_there_after_a_reload_and_an_answer_can_be_changed(tmp_path: Path) -> None:
    study = study_here(tmp_path / "study")
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        tab.page.click("input[name=plot][value=A]")
        tab.page.click("input[name=overall][value=S]")
        tab.page.fill("textarea[name=comment]", "A long thought.")
        with tab.page.expect_response(lambda answer: "poor" in (answer.request.post_data or "")) as kept:
            tab.page.check("input[name=poor]")
        assert kept.value.ok
        tab.page.wait_for_timeout(1000)  # it is read for a second
        tab.page.reload()
        expect(tab.page.locator("input[name=plot][value=A]")).to_be_checked()
        expect(tab.page.locator("input[name=overall][value=S]")).to_be_checked()
        expect(tab.page.locator("input[name=poor]")).to_be_checked()
        expect(tab.page.locator("textarea[name=comment]")).to_have_value("A long thought.")
        for name in ("creativity", "development", "language use"):
            tab.page.click(f"input[name='{name}'][value=B]")
        tab.page.click("#send")
        tab.page.click("text=Back to the previous task")
        tab.page.click("input[name=plot][value=B]")
        tab.page.dblclick("#send")
        tab.page.wait_for_selector("h1:has-text('2 of 5')")
        tab.check()
    given = {one.question: one.shown for one in read_ratings(study.ratings_file)}
    assert given["plot"] == "B"
    task = study.tasks_of[study.raters[0]][0]
    seen = Answers(study, lambda: "", writes=False).progress[task.rater].seen[task.key]
    assert seen.seconds > 1  # with the time before the reload
    assert len(study.ratings_file.read_text().splitlines()) == 10


def test_two_stories_stand_beside_each_other_and_on_a_phone_behind_tabs(tmp_path: Path) -> None:
    study = study_here(tmp_path / "study")
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        tab.page.wait_for_selector("#send:disabled")
        a, b = (tab.page.locator(f"[aria-label='Story {side}']").bounding_box() for side in "AB")
        assert abs(a["width"] - b["width"]) < 1
        tab.page.set_viewport_size({"width": 360, "height": 740})
        expect(tab.page.locator("[aria-label='Story B']")).to_be_hidden()
        tab.page.click(".tabs >> text=B")
        expect(tab.page.locator("[aria-label='Story A']")).to_be_hidden()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
        tab.check()


@pytest.mark.parametrize(
    ("kind", "passages", "heads", "third"),
    [
        ("findings", ("One.", "Two."), ["The claim", "Earlier", "Later"], "grounded"),
        ("comments", ("She **lit** the lamp.",), ["The comment", "The passage"], "unsure"),
    ],
)
def test_the_other_kinds_are_for_everybody(
    tmp_path: Path, kind: str, passages: tuple[str, ...], heads: list[str], third: str
) -> None:
    entries = [
        StudyItem(
            id=f"f{n}", prompt="ferry", claim=f"It cannot be ({n}).", label="date", passages=passages, group="decoys"
        )
        for n in range(3)
    ]
    write_study(tmp_path / "verify", form_text(kind, "Verify"), entries)
    study, _ = assign(Study.open(tmp_path / "verify"), AssignmentOptions(), datetime.now(UTC))
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there, width=360)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        for _ in entries:
            tab.page.wait_for_selector("#send:disabled")
            assert tab.axe() == []
            expect(tab.page.locator(".claim h2, .text h2")).to_have_text(heads)
            assert "decoy" not in tab.page.content()
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
            tab.page.keyboard.press("n")
            tab.page.keyboard.press("3")
            with tab.page.expect_navigation():
                tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("h1:has-text('Thank you')")
        assert tab.axe() == []
        tab.check()
    with study_there(study, ORGANISER) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/organiser")
        assert tab.axe() == []
        tab.page.click("text=Show the systems (this is logged)")
        tab.page.wait_for_selector("text=not named")
    assert {one.answer for one in read_ratings(study.ratings_file)} == {third}


def test_talk_with_two_characters_and_rate_them(tmp_path: Path) -> None:
    study = characters_here(tmp_path)
    with (
        study_there(study, conversations=RatersConversations(study, lambda: Options(environ={}))) as there,
        chromium() as browser,
    ):
        tab = sign_in(browser, there)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        for side, item in zip("AB", study.tasks_of[study.raters[0]][0].items, strict=True):
            talk = tab.page.locator(f"[aria-label='Character {side}']")
            talk.locator("textarea").fill("Is it <b>true</b>?")
            talk.locator("text=Say it").click()
            tab.page.wait_for_selector(f"[aria-label='Character {side}'] >> text={SAID[item]}")
            expect(talk.locator("b")).to_have_count(0)
            assert tab.axe() == []
            tab.page.locator(f"[aria-label='Character {side}'] >> text=End this conversation").click()
            tab.page.wait_for_selector(f"[aria-label='Character {side}'] >> text=This conversation has ended.")
        tab.page.wait_for_selector("#send:disabled")
        for _ in range(4):
            for number in "42":
                tab.page.keyboard.press("n")
                tab.page.keyboard.press(number)
        tab.page.keyboard.press("n")
        tab.page.keyboard.press("a")
        assert tab.axe() == []
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("h1:has-text('Thank you')")
        tab.check()
    ratings = read_ratings(study.ratings_file)
    assert [one.answer for one in ratings[:8]] == [4.0, 2.0] * 4
    assert ratings[8].answer == ratings[8].items[0]


def test_a_line_has_75_characters_at_most(tmp_path: Path) -> None:
    """In any font: 55 digits are as wide as 66 letters of Times or DejaVu Serif, and as 74 of Georgia."""
    study = study_here(tmp_path / "study")
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there, width=2400)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        tab.page.wait_for_selector("#answers")
        tab.page.wait_for_function("getComputedStyle(document.querySelector('.text p')).maxWidth !== 'none'")
        for font in ("serif", "sans-serif", "monospace"):
            digits = tab.page.evaluate(
                """font => {
                  const text = document.querySelector(".text p"), digits = document.createElement("span");
                  text.style.fontFamily = font;
                  const line = text.getBoundingClientRect().width;
                  digits.textContent = "0".repeat(100);
                  text.append(digits);
                  digits.style.whiteSpace = "nowrap";
                  const width = digits.getBoundingClientRect().width / 100;
                  digits.remove();
                  return line / width;
                }""",
                font,
            )
            assert 40 < digits < 55.5, font


def test_who_withdraws_in_the_browser_leaves_nothing(tmp_path: Path) -> None:
    study = study_here(tmp_path / "study")
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        tab.page.click("text=I have read this and agree to take part")
        for name in ("plot", "creativity", "development", "language use", "overall"):
            tab.page.click(f"input[name='{name}'][value=A]")
        tab.page.click("#send")
        tab.page.wait_for_selector("h1:has-text('2 of 5')")
        assert len(read_ratings(study.ratings_file)) == 5
        tab.page.click("text=First page")
        tab.page.click("summary:has-text('Withdraw')")
        tab.page.check("input[name=sure]")
        tab.page.click("button:has-text('Withdraw')")
        tab.page.wait_for_selector("text=You have withdrawn")
        tab.check()
    assert read_ratings(study.ratings_file) == ()
