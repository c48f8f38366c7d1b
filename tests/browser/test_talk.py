"""The Talk page and the Prompt page in a browser: swipes, branches, failures, hostile text, a phone, keys."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from fabula.base.errors import ModelError
from fabula.models.base import Reply, Usage
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.story.cards import parse_card
from fabula.story.cards.png import plain_picture
from patience import wait_until
from serving import Engine, project
from studio import browsing, chromium, expect, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from studio import There

pytestmark = pytest.mark.slow
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> **bold** [a](javascript:alert(1))'


class Talker(Engine):
    """Answers with its number, in pieces; or fails in the middle of an answer."""

    text = "I have told you {} times that the lamp stays dark."
    waits = False  # in the middle of an answer

    async def ask(self, request: Any, on_text: Any = None) -> Reply:  # noqa: ANN401 - as its base
        if "/turn/" not in request.path:
            fails, self.fails = self.fails, None
            try:
                return await super().ask(request, on_text)
            finally:
                self.fails = fails
        self.started += 1
        text = f"[Mara: (looks up) {self.text.format(self.started)} Go home, and wait there for the morning.]"
        if on_text is not None:
            on_text(text[: len(text) // 2])
        while self.waits:  # noqa: ASYNC110 - it is set in another thread
            await asyncio.sleep(0.01)
        if self.fails is not None:
            raise self.fails
        if on_text is not None:
            on_text(text[len(text) // 2 :])
        return Reply(text, Usage(prompt=100, cached=40, reply=20), model=self.identity)


@contextmanager
def lamp(folder: Path, engine: Engine | None = None) -> Iterator[There]:
    """A studio with the project `lamp`, whose models are scripted."""
    project(folder)
    with (
        mock.patch("fabula.project.casting.open_model", return_value=engine or Talker()),
        studio_there(folder) as there,
    ):
        yield there


def begin(page: Any) -> None:  # noqa: ANN401 - playwright's
    """Begin a conversation with Mara, as Tobias, and let her speak first."""
    page.select_option("#player", "Tobias")
    page.click("button:text-is('Begin')")
    page.click("text=let Mara begin")
    page.wait_for_selector(".swipes")


def say(page: Any, text: str) -> None:  # noqa: ANN401 - playwright's
    """Say something, and wait for the answer."""
    turns = page.locator(".turn").count()
    page.fill("#words", text)
    page.keyboard.press("Enter")
    there_are(page, ".turn:not(.live)", turns + 1)
    page.wait_for_selector("#talk[aria-busy=false]")


def there_are(page: Any, selector: str, count: int) -> None:  # noqa: ANN401 - playwright's
    """Wait until so many elements are there. A function in the page would have to be evaluated, which it forbids."""
    expect(page.locator(selector)).to_have_count(count)


def answer(page: Any) -> str:  # noqa: ANN401 - playwright's
    return str(page.locator(".turn .line:not(.own)").last.inner_text())


def test_a_chat_with_swipes_and_a_branch(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        assert "(looks up) I have told you 1 times" in answer(page)
        say(page, "Is there light?")
        first = answer(page)
        expect(page.locator("#status")).to_have_text(re.compile(r"^Mara: \(looks up\)"))
        expect(page.locator("#words")).to_have_value("")
        page.locator(".turn").last.locator("summary").first.click()
        page.focus("#words")
        page.keyboard.press("ArrowRight")  # the field is empty
        page.wait_for_selector("text=2 of 2")
        assert answer(page) != first
        expect(page.locator(".turn").last.locator(".why")).to_contain_text("tokens read")
        page.click("[aria-label='The previous answer']")
        page.wait_for_selector("text=1 of 2")
        assert answer(page) == first
        page.locator("article").first.locator("text=Branch from here").click()
        page.wait_for_url("**/talk/tobias-mara-2")
        page.wait_for_selector("text=This conversation branched from tobias-mara after turn 1.")
        say(page, "And the boat?")
        page.click(".inspector >> text=tobias-mara")
        page.wait_for_selector("text=Is there light?")
        expect(page.locator(".inspector >> text=after turn 1, now 2 turns")).to_have_count(1)
        page.click("text=Take back")
        there_are(page, ".turn", 1)
        tab.check()


def test_why_somebody_said_something_leads_to_the_prompt(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        say(page, "Where is the heron?")
        page.locator(".turn").last.locator("summary").first.click()
        page.wait_for_selector(r".why >> text=/[\d,]+ tokens read \(40 of them cached\), 20 written/")
        page.click("text=What Mara knows of this part of the story")
        expect(page.locator(".why .prose")).to_have_text(re.compile("^Mara kept the lamp"))
        page.click(".why >> text=the prompt")
        page.wait_for_selector("h1:not([hidden]) >> text=chat/tobias-mara")
        expect(page.locator("main")).to_contain_text("Where is the heron?")
        assert tab.axe() == []
        page.click("text=All calls")
        page.fill("#search", "HERON")
        there_are(page, ".calls li", 1)
        page.click(".calls a")
        page.wait_for_selector("text=All calls of this search")
        expect(page.locator("a[rel=prev]")).to_have_count(0)
        tab.check()


def test_what_came_stays_where_a_model_fails_and_it_can_be_tried_again(tmp_path: Path) -> None:
    engine = Talker()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        engine.fails = ModelError("The model's server was ended.", model="m")
        page.fill("#words", "Is there light?")
        page.click("#send")
        page.wait_for_selector(".broken >> text=The model's server was ended. The conversation is unchanged.")
        expect(page.locator(".broken")).to_contain_text("(looks up)")
        expect(page.locator(".broken")).to_contain_text("Is there light?")
        page.reload()
        expect(page.locator(".broken")).to_contain_text("(looks up)")
        engine.fails = None
        page.click("text=Try again")
        page.wait_for_selector("#talk[aria-busy=false] .turn:nth-of-type(2) .swipes")
        expect(page.locator(".broken")).to_have_count(0)
        assert tab.axe() == []


def test_a_page_that_is_loaded_again_in_mid_answer_loses_nothing(tmp_path: Path) -> None:
    engine = Talker()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        engine.waits = True
        page.fill("#words", "Is there light?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".live >> text=(looks up)")
        page.reload()
        page.wait_for_selector(".live >> text=(looks up)")
        expect(page.locator(".live")).to_contain_text("Is there light?")
        page.keyboard.press("ArrowRight")  # no second answer while one is made
        engine.waits = False
        page.wait_for_selector("#talk[aria-busy=false] #turn-2 .swipes >> text=1 of 1")
        assert answer(page).endswith("wait there for the morning.")
        assert engine.started == 2
        tab.check()


def test_an_answer_can_be_stopped(tmp_path: Path) -> None:
    engine = Talker()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        engine.waits = True
        page.fill("#words", "Is there light?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".live >> text=(looks up)")
        page.fill("#words", "And now?")
        page.keyboard.press("Enter")
        page.wait_for_selector("#status >> text=Your words stay here")
        expect(page.locator("#words")).to_have_value("And now?")
        page.click("text=Stop")
        page.wait_for_selector(".broken >> text=The answer was stopped. The conversation is unchanged.")
        expect(page.locator("#status")).to_have_text("The answer was stopped. The conversation is unchanged.")
        engine.waits = False
        page.click("text=Try again")
        page.wait_for_selector("#talk[aria-busy=false] #turn-2")
        tab.check()


def test_a_conversation_by_keyboard_alone(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there, width=360, height=740) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        page.focus("#player")
        page.keyboard.type("Tobias")
        page.keyboard.press("Tab")
        tab.settled()  # what it would take is asked anew, and the button comes with it
        page.keyboard.press("Tab")  # someone new
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#nothing")
        page.focus("#nothing button")
        page.keyboard.press("Enter")
        page.wait_for_selector(".swipes")
        page.focus("#words")
        page.keyboard.type("Is there light?")
        page.keyboard.press("Enter")
        page.wait_for_selector("#talk[aria-busy=false] #turn-2")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=2 of 2")
        expect(page.locator("#words")).to_be_focused()
        page.wait_for_selector("#status >> text=I have told you 3 times", state="attached")
        assert page.get_attribute("#log", "role") == "log"
        assert page.get_attribute("#log", "aria-live") == "off"
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("text=1 of 2")
        page.wait_for_selector("#status >> text=Answer 1 of 2. Mara: (looks up)", state="attached")
        tab.check()


def test_words_that_cannot_be_said_stay_in_the_field(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        page.fill("#words", "x" * 4100)
        expect(page.locator("#length")).to_have_text("100 characters too many.")
        page.click("#send")
        page.wait_for_selector("text=Your message has 4,100 characters; the limit is 4,000.")
        expect(page.locator("#words")).to_have_value("x" * 4100)
        page.reload()
        expect(page.locator("#words")).to_have_value("x" * 4100)


def held(page: Any, address: str, method: str = "GET") -> list[Any]:  # noqa: ANN401 - playwright's
    """The first request to an address, which goes to the server when it is let go."""
    found, taken = list[Any](), list[Any]()

    def hold(route: Any) -> None:  # noqa: ANN401 - playwright's
        if taken or route.request.method != method:
            route.fallback()
        else:
            taken.append(route)
            found.append(route)

    page.route(re.compile(address), hold)
    return found


def come(page: Any, found: list[Any]) -> Any:  # noqa: ANN401 - playwright's
    """Wait for a request that is held back."""
    wait_until(lambda: found, "a request", lambda: page.wait_for_timeout(20))
    return found.pop()


def test_what_is_typed_while_a_message_is_on_its_way_stays(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        message = held(page, "/turns$", "POST")
        page.fill("#words", "Is there light?")
        page.keyboard.press("Enter")
        sent = come(page, message)
        page.keyboard.type("And the boat?")
        sent.continue_()
        there_are(page, ".turn:not(.live)", 2)
        expect(page.locator("#words")).to_have_value("And the boat?")
        tab.check()


def test_the_next_message_waits_until_the_answer_stands_on_the_page(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        turns = held(page, "/talk-parts/tobias-mara$")
        page.fill("#words", "Is there light?")
        page.keyboard.press("Enter")
        fetched = come(page, turns)
        page.fill("#words", "And the boat?")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_contain_text("Your words stay here")
        fetched.continue_()
        page.wait_for_selector("#talk[aria-busy=false]")
        expect(page.locator("#words")).to_have_value("And the boat?")
        page.focus("#words")
        page.keyboard.press("Enter")
        there_are(page, ".turn:not(.live)", 3)
        expect(page.locator("#problem")).to_be_empty()
        tab.check()


def test_what_another_window_did_meanwhile_is_shown_afterwards(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/projects/lamp/talk")
        begin(tab.page)
        other = tab.page.context.new_page()
        other.goto(tab.page.url)
        turns = held(tab.page, "/talk-parts/tobias-mara$")
        tab.page.fill("#words", "Is there light?")
        tab.page.keyboard.press("Enter")
        fetched = come(tab.page, turns)
        answer_now = fetched.fetch()  # as it is before the other window does something
        there_are(other, ".turn", 2)
        other.click("text=Take back")
        there_are(other, ".turn", 1)
        fetched.fulfill(response=answer_now)
        there_are(tab.page, ".turn", 1)
        tab.check()


def test_two_windows_show_the_same_conversation(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/projects/lamp/talk")
        begin(tab.page)
        other = tab.page.context.new_page()
        other.goto(tab.page.url)
        say(tab.page, "Is there light?")
        other.wait_for_selector("text=Is there light?")
        wait_until(lambda: answer(other) == answer(tab.page), "the same answer")
        tab.check()


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    class Hostile(Talker):
        text = HOSTILE.replace("{", "{{").replace("}", "}}")

    made = project(tmp_path)
    card = {"spec": "chara_card_v2", "spec_version": "2.0"}
    card["data"] = {"name": f"Mara {HOSTILE}"[:60], "description": HOSTILE, "first_mes": HOSTILE}  # type: ignore[assignment] # JSON
    (made.folder / "cards").mkdir()
    (made.folder / "cards" / "mara.json").write_text(json.dumps(card), "utf-8")
    with lamp(tmp_path, Hostile()) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        expect(page.locator("main")).to_contain_text("<img src=x")
        (made.folder / "cards" / "mara.json").unlink()
        tab.open("/projects/lamp/talk")
        begin(page)
        say(page, HOSTILE)
        expect(page.locator(".turn:last-of-type .line.own")).to_contain_text(HOSTILE)
        assert "<script>document.title=2</script>" in answer(page)
        page.locator(".turn").last.locator("summary").first.click()
        page.click(".why >> text=the prompt")
        page.wait_for_selector("h1:not([hidden]) >> text=chat/tobias-mara")
        expect(page.locator("main")).to_contain_text(HOSTILE)
        assert page.title() not in ("1", "2")
        expect(page.locator("main img, main script")).to_have_count(0)
        tab.check()


def test_any_message_can_be_edited_where_it_stands(tmp_path: Path) -> None:
    engine = Talker()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        say(page, "Is there light?")
        say(page, "And the boat?")
        page.click("[aria-label='Edit what Mara said in turn 2']")
        field = page.locator(".editing textarea")
        expect(field).to_be_focused()
        expect(field).to_have_value(re.compile(r"^\(looks up\) I have told you"))
        page.keyboard.press("Escape")
        expect(page.locator("[aria-label='Edit what Mara said in turn 2']")).to_be_focused()
        page.keyboard.press("Enter")
        field.fill(f"No. {HOSTILE}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#turn-2 .line:not(.own) .words")).to_have_text(f"No. {HOSTILE}")
        page.focus("#words")
        page.keyboard.press("ArrowUp")  # my last message
        expect(field).to_have_value("And the boat?")
        field.fill("And the goose?")
        page.fill("#words", "Well?")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_text("Save or cancel your edit first.")
        expect(field).to_be_focused()
        page.click("text=Save")
        expect(page.locator("#turn-3 .own .words")).to_have_text("And the goose?")
        say(page, "Well?")
        page.click("text=Restore the first words of turn 2")
        expect(page.locator("#turn-2 .line:not(.own)")).to_contain_text("(looks up)")
        assert tab.axe() == []
        tab.check()


def test_a_draft_waits_in_the_field_until_it_is_sent(tmp_path: Path) -> None:
    class Both(Talker):
        async def ask(self, request: Any, on_text: Any = None) -> Reply:  # noqa: ANN401 - as its base
            if request.role == "player":
                return Reply(f"[Tobias: Is it {request.sampling.seed}?]", Usage(), model=self.identity)
            return await super().ask(request, on_text)

    with lamp(tmp_path, Both()) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        begin(page)
        page.click("text=Draft")
        expect(page.locator("#words")).to_have_value(re.compile(r"^Is it \d+\?$"))
        expect(page.locator("#words")).to_be_focused()
        first = page.input_value("#words")
        page.click("text=Draft")
        expect(page.locator("#words")).not_to_have_value(first)
        there_are(page, ".turn", 1)
        page.keyboard.press("Enter")
        there_are(page, ".turn:not(.live)", 2)
        tab.check()


def test_nothing_is_asked_before_somebody_speaks(tmp_path: Path) -> None:
    engine = Talker()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        page.wait_for_selector("text=No model is called before you speak.")
        page.select_option("#player", "Tobias")
        page.click("button:text-is('Begin')")
        page.wait_for_selector("#nothing")
        tab.settled()
        assert (engine.started, engine.asked) == (0, [])
        say(page, "Is there light?")
        assert engine.started == 1


def dropped(page: Any, name: str, data: bytes) -> None:  # noqa: ANN401 - playwright's
    """Drop a file on the page."""
    handle = page.evaluate_handle(
        "([name, data]) => { const t = new DataTransfer();"
        " t.items.add(new File([Uint8Array.from(data)], name)); return t; }",
        [name, list(data)],
    )
    page.dispatch_event("main", "drop", {"dataTransfer": handle})


def test_a_card_dropped_on_the_page_is_somebody_to_talk_with_as_oneself(tmp_path: Path) -> None:
    card = {"spec": "chara_card_v2", "spec_version": "2.0"}
    card["data"] = {"name": "Sigrid", "description": "A pilot.", "first_mes": "Who calls?"}  # type: ignore[assignment] # JSON
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        dropped(page, "sigrid.png", parse_card(json.dumps(card).encode()).as_png())
        page.wait_for_url("**/talk?with=Sigrid")
        expect(page.locator("input[value=Sigrid]")).to_be_checked()
        picture = page.locator("label:has(input[value=Sigrid]) img.face")
        wait_until(lambda: picture.evaluate("one => one.naturalWidth") == 240, "the picture")
        dropped(page, "cape.json", json.dumps({"entries": {"0": {"key": ["reef"], "content": "Bells."}}}).encode())
        page.wait_for_selector("text=cape is a lorebook with 1 entry.")
        assert tab.axe() == []
        page.click("text=Be someone new")
        page.fill("#own", "Kai")
        page.fill("#persona", "A surveyor, soaked to the skin.")
        page.wait_for_selector("text=The first answer of Sigrid costs 1 call")
        page.click("button:text-is('Begin')")
        expect(page.locator("#nothing .line")).to_have_text("Sigrid: Who calls?")
        page.click("text=Who you are")
        expect(page.locator("#persona")).to_have_value("A surveyor, soaked to the skin.")
        page.fill("#persona", "A pilot.")
        page.click("aside button:text-is('Save')")
        tab.settled()
        page.click("text=Pictures")
        page.set_input_files("#picture", {"name": "kai.png", "mimeType": "image/png", "buffer": plain_picture()})
        expect(page.locator("#about li:has-text('Kai (you)') img.face")).to_have_count(1)
        page.fill("#words", "Good evening.")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-2 .own img.face")).to_have_count(1)
        expect(page.locator("#turn-1 .line")).to_have_text("Sigrid: Who calls?")
        page.wait_for_selector("#talk[aria-busy=false]")
        assert "A pilot." in (tmp_path / "lamp/cards/persona-kai.json").read_text("utf-8")
        assert tab.axe() == []
        tab.check()


def test_a_file_that_is_no_card_is_refused_with_its_name(tmp_path: Path) -> None:
    with lamp(tmp_path) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        page.set_input_files("#card", {"name": "notes.json", "mimeType": "application/json", "buffer": b"{}"})
        page.wait_for_selector("text=notes.json contains JSON but no character card")
        expect(page.locator("#card")).to_be_enabled()


class PeopleReader(Talker):
    """As its base; asked who is in a story, it names two people and somebody who is not in it."""

    async def ask(self, request: Any, on_text: Any = None) -> Reply:  # noqa: ANN401 - as its base
        if request.path.endswith("/read_people"):
            self.asked.append(request)
            return Reply(
                json.dumps({"people": ["Grete", "Knut", "Herr Niemand"]}), Usage(prompt=90, reply=9), model="-"
            )
        return await super().ask(request, on_text)


def test_where_nobody_is_known_a_reading_is_offered_with_its_price_and_a_name_can_be_typed(tmp_path: Path) -> None:
    story = "Am Wehr stand Grete und rief nach Knut. Der Schlüssel brach. Am Wehr lag der Schlüssel, und Knut kam."
    ProjectFolder.create(tmp_path / "lamp", Brief(story), {"system": "vanilla", "model": "scripted:none"})
    engine = PeopleReader()
    with lamp(tmp_path, engine) as there, browsing(there) as tab:
        page = tab.page
        tab.open("/projects/lamp/talk")
        page.wait_for_selector("text=Find the characters")
        offered = page.inner_text("main")
        assert "No characters are known" in offered
        assert "1 call, about" in offered
        assert "Wehr" not in offered
        assert "Schlüssel" not in offered
        expect(page.locator("text=Begin")).to_have_count(0)
        page.fill("#somebody", "Knut")
        page.wait_for_selector("text=The first answer of Knut costs")
        expect(page.locator("button:text-is('Begin')")).to_have_count(1)
        assert engine.asked == []
        page.click("text=Find the characters")
        page.wait_for_selector("input[value=Grete]")
        assert [box.get_attribute("value") for box in page.locator("input[type=checkbox]").all()] == ["Grete", "Knut"]
        page.wait_for_selector("text=The first answer of Grete costs")
        assert [request.path.rpartition("/")[2] for request in engine.asked] == ["read_people"]
        tab.check()
