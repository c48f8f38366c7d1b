"""Every page in every state that a person meets: for a keyboard, a screen reader, a phone, large letters, both looks.

A page is brought into a state once, and looked at with each of its parts: on a wide screen or on a phone, light or
dark, as its name draws; `make simulate` looks at all of them in all four ways.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zlib import crc32

import pytest

from commandline import BRIEF, BY_PARTS, ENDING, EXPERIMENT, LAMP, REPLIES, script_of
from fabula.app.studies import assign
from fabula.app.writing import Options
from fabula.base.errors import DiskFullError
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import ORGANISER, Study, StudyItem, form_text, write_study
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.server.study.conversations import RatersConversations
from fabula.story import Brief
from patience import wait_until
from raters import characters_here, study_here, study_there
from studio import SAMPLE, chromium, expect, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from studio import Tab, There

pytestmark = pytest.mark.slow

EVERY: Final = [False]  # whether each page is looked at in every way
WIDE, PHONE, ZOOMED = 1280, 360, 640  # pixels; the last is a screen of 1280 at 200 %
SCREENS: Final = tuple(product((WIDE, PHONE), ("light", "dark")))
PROGRAM: Final = Path(__file__).parents[1] / "support" / "long_work.py"
AT: Final = f"/projects/{SAMPLE}"
CHAT: Final = "joanne-starling-wendy-clabburn"

STATES: Final[dict[str, Callable[[Tab, There], None]]] = {}
_WIDE_THINGS: Final = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return "";
  const out = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > wide + 1);
  const which = out.slice(-2).map((one) => one.outerHTML.slice(0, 120));
  return `it is ${document.documentElement.scrollWidth} pixels wide: ${which}`;
}"""


def state(words: str) -> Callable[[Callable[[Tab, There], None]], Callable[[Tab, There], None]]:
    """A state of a page, brought about by what a person does."""

    def add(does: Callable[[Tab, There], None]) -> Callable[[Tab, There], None]:
        STATES[words] = does
        return does

    return add


def plain(words: str, path: str, wait: str = "main") -> None:
    """A page as it is when it is opened; `wait` stands on it when it has fetched what it shows."""

    def opens(tab: Tab, _there: There) -> None:
        tab.open(path)
        tab.page.wait_for_selector(wait)

    state(words)(opens)


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.simulation)], ids=["one-look", "every-look"])
def _looks(request: pytest.FixtureRequest) -> None:
    EVERY[0] = request.param


def barriers(tab: Tab, words: str) -> list[str]:
    """What shuts somebody out of the page as it is now; its name says in which of the ways it is looked at."""
    found = []
    for width, look in SCREENS if EVERY[0] else [SCREENS[crc32(words.encode()) % len(SCREENS)]]:
        tab.page.emulate_media(color_scheme=look, reduced_motion="reduce")
        tab.page.set_viewport_size({"width": width, "height": 900})
        parts = tab.page.locator(".tabs > button:visible")
        for part in range(max(parts.count(), 1)):
            if parts.count():
                parts.nth(part).click()
            found += [f"{width} {look}: {one}" for one in (tab.page.evaluate(_WIDE_THINGS), *tab.axe()) if one]
    tab.page.set_viewport_size({"width": ZOOMED, "height": 450})
    found += [f"200 %: {wide}" for wide in [tab.page.evaluate(_WIDE_THINGS)] if wide]
    tab.page.set_viewport_size({"width": WIDE, "height": 900})
    return found


# the studio -----------------------------------------------------------------------------------------------------------

plain("shelf", "/")
plain("new from a brief", "/new")
plain("new from a story", "/new?kind=story")
plain("new from a manuscript", "/new?kind=manuscript")
plain("write", f"{AT}/write", "#expected form")
plain("print", f"{AT}/print", "article h1")
plain("write, nothing yet", "/projects/letter/write", "#expected form")
plain("edit, a list", f"{AT}/edit/plan")
plain("edit, nothing yet", "/projects/letter/edit")
plain("plan, nothing yet", "/projects/letter/plan")
plain("plan that cannot be read", "/projects/broken/plan")
plain("world, nothing yet", "/projects/letter/world")
plain("findings, nothing yet", "/projects/letter/world/findings")
plain("talk, nobody yet", "/projects/letter/talk")
plain("talk", f"{AT}/talk")
plain("prompts", f"{AT}/calls")
plain("prompts, none like that", f"{AT}/calls?search=zeppelin")
plain("prompts, none", "/projects/letter/calls")
plain("a prompt", f"{AT}/calls/5")
plain("measure, nothing yet", "/projects/letter/measure")
plain("experiment", "/experiments/exp")
plain("a report of an experiment", "/experiments/exp/reports/evaluation/pairwise/pairwise")
plain("a story of an experiment", "/experiments/exp/runs/brief/end-to-end-faithful-script-1")


@state("new, what it would take")
def _estimated(tab: Tab, _there: There) -> None:
    tab.open("/new")
    tab.page.fill("#text", "A keeper finds a letter in a bottle.")
    tab.page.fill("#model", "embedded:smollm2")
    tab.page.get_by_role("button", name="Estimate the cost").click()
    tab.page.wait_for_selector("#takes")
    tab.page.click("text=By role")


@state("new, refused")
def _refused(tab: Tab, _there: There) -> None:
    tab.open("/new")
    tab.page.get_by_role("button", name="Estimate the cost").click()
    tab.page.wait_for_selector(".problem")
    tab.problems.clear()


def work(there: There, **environ: str) -> None:
    """Have runs be played by a program that does this."""
    there.state.runs.command = (sys.executable, str(PROGRAM))
    there.state.runs.environ = {**os.environ, **environ}


@state("write, at work")
def _at_work(tab: Tab, there: There) -> None:
    work(there, ROLES="3", TOKENS="100000", PAUSE="0.05")
    tab.open("/projects/lamp/write")
    tab.page.click("text=Start a run")
    tab.page.wait_for_selector("#roles .log >> text=0.9")


@state("write, stopped")
def _stopped(tab: Tab, _there: There) -> None:
    tab.page.click("#run >> text=Stop")
    tab.page.wait_for_selector("#run[data-state=stopped]")
    tab.page.wait_for_selector("#expected form")


@state("write, failed")
def _failed(tab: Tab, there: There) -> None:
    work(there, WORK="fail")
    tab.page.click("text=Start a run")
    tab.page.wait_for_selector("#run[data-state=failed] >> text=Earlier runs")
    tab.page.click("text=Earlier runs")


@state("write, finished")
def _finished(tab: Tab, there: There) -> None:
    work(there, ROLES="2")
    tab.page.click("text=Start a run")
    tab.page.wait_for_selector("#run[data-state=finished]")
    tab.page.wait_for_selector("#expected form")


@state("edit, with all that can be opened")
def _edit(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/edit")
    for closed in tab.page.query_selector_all(".inspector summary"):
        closed.click()
    tab.page.wait_for_selector("#expected >> text=Nothing")
    tab.settled()


@state("edit, all texts beside each other")
def _takes(tab: Tab, _there: There) -> None:
    tab.page.get_by_role("button", name="Compare all versions").click()
    tab.page.wait_for_selector("#review article")


@state("edit, what would change")
def _stale(tab: Tab, _there: There) -> None:
    tab.open("/projects/lamp/edit/setting")
    tab.page.fill("#text", "A lighthouse on a rock in the south sea, in spring. It rains.")
    tab.page.wait_for_selector("#expected table")


@state("edit, two versions")
def _compared(tab: Tab, _there: There) -> None:
    tab.page.click("summary >> text=History")
    tab.page.wait_for_selector(".inspector details[open] form button, .inspector details[open] table")
    tab.page.locator(".inspector details[open] button", has_text="Changes").click()
    tab.page.wait_for_selector("#review .changes")


@state("edit, beside each other")
def _beside(tab: Tab, _there: There) -> None:
    tab.page.click("#review >> text=Side by side")
    tab.page.wait_for_selector("#review table")


@state("edit, what the last run changed")
def _reviewed(tab: Tab, _there: There) -> None:
    tab.open("/projects/lamp/edit/setting")
    tab.page.click("text=What the last run changed")
    tab.page.wait_for_selector("#review h2")


@state("edit, changed elsewhere too")
def _torn(tab: Tab, there: There) -> None:
    file = there.state.shelf["lamp"].folder / "plan" / "conflict.md"
    tab.open("/projects/lamp/edit/conflict")
    tab.type_over("Mara must swim. Nobody helps her.", "conflict", file, "Mara must row.\n")
    tab.page.wait_for_selector("#review h2")
    tab.problems.clear()


@state("edit, the disk is full")
def _full(tab: Tab, _there: There) -> None:
    tab.open("/projects/lamp/edit/plot")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fabula.project.folder.write_atomically", _no_space)
        tab.page.fill("#text", "She climbs.")
        tab.page.wait_for_selector("#trouble .problem")
    tab.problems.clear()


def _no_space(*_: object, **__: object) -> None:
    raise DiskFullError("The disk or quota is full.")


@state("plan, with all that can be opened")
def _plan(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/plan")
    tab.page.wait_for_selector("#knowing table")
    tab.page.wait_for_selector(".timeline svg")
    tab.page.click("#scene-1 [hx-get]")
    tab.page.wait_for_selector("#form-1 form")
    for closed in tab.page.query_selector_all("summary"):
        closed.click()


@state("plan, what a move would change")
def _moved(tab: Tab, _there: There) -> None:
    tab.page.focus("#scene-2 [data-move='1']")
    tab.page.keyboard.press("ArrowRight")
    tab.page.wait_for_selector("#plan-change form")


@state("world, a fact")
def _fact(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/world")
    tab.page.wait_for_selector("#graph[data-drawn]")
    tab.page.click("[data-fact] >> nth=0")
    tab.page.wait_for_selector("[data-shown]")


@state("world, as somebody knows it")
def _known(tab: Tab, _there: There) -> None:
    tab.page.select_option("#of", index=1)
    tab.page.wait_for_selector("#facts caption:has-text('believes')")


@state("findings, being mended")
def _mended(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/world/findings")
    tab.page.click("text=Fix here")
    tab.page.wait_for_selector("#findings textarea")
    tab.page.locator(".mend textarea").fill("The kettle stood in the cab.")
    tab.page.click("text=What would change?")
    for closed in tab.page.query_selector_all("summary"):
        closed.click()
    tab.settled()


@state("talk, why it was said")
def _why(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/talk/{CHAT}")
    tab.page.locator(".turn summary").last.click()
    tab.page.wait_for_selector(".why summary")
    for closed in tab.page.query_selector_all(".why summary, .inspector summary"):
        closed.click()
    tab.settled()


@state("measure, with all that can be opened")
def _measure(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/measure")
    for closed in tab.page.query_selector_all("summary"):
        closed.click()
    tab.page.get_by_role("button", name="Estimate the cost").click()
    tab.page.wait_for_selector("#begun .note, .problem")
    tab.problems.clear()


@state("a problem said above the page")
def _problem(tab: Tab, _there: There) -> None:
    tab.open(f"{AT}/measure")
    tab.page.fill("#tokens", "many")
    tab.page.get_by_role("button", name="Estimate the cost").click()
    tab.page.wait_for_selector("#problem .problem")
    tab.problems.clear()


@state("no such page")
def _not_there(tab: Tab, _there: There) -> None:
    tab.open("/projects/nothing/write")
    tab.problems.clear()


@state("signed out")
def _signed_out(tab: Tab, _there: There) -> None:
    tab.page.context.clear_cookies()
    tab.open("/")
    tab.problems.clear()


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    """A shelf with the sample, a story that was written, one that is not begun, a broken one, and an experiment."""
    home = tmp_path_factory.mktemp("barriers")
    shelf = home / "shelf"
    copy_sample(shelf / SAMPLE)
    ProjectFolder.create(shelf / "letter", Brief("A keeper finds a letter.", "The Letter"), {"model": "hand"})
    broken = ProjectFolder.create(
        shelf / "broken", Brief("A lamp.", "Broken"), {"model": "hand", "system": "ibsen"}
    ).folder
    (broken / "plan").mkdir(exist_ok=True)
    (broken / "plan" / "plan.yaml").write_text("scenes: [1, {", encoding="utf-8")
    (home / "script.toml").write_text(script_of({**REPLIES, "writer": LAMP, "judge": ENDING}), encoding="utf-8")
    (home / "brief.md").write_text(BRIEF, encoding="utf-8")
    (home / "exp.toml").write_text(EXPERIMENT, encoding="utf-8")
    model = f"scripted:{home / 'script.toml'}"
    for line in (
        ["write", "brief.md", "--out", "shelf/lamp", "--quiet", "--model", model, *BY_PARTS],
        ["lab", "experiment", "exp.toml", "--out", "shelf/exp"],
    ):
        subprocess.run([sys.executable, "-m", "fabula", *line], cwd=home, check=True, timeout=120, capture_output=True)
    with studio_there(shelf) as served:
        yield served


@pytest.mark.usefixtures("_looks")
def test_no_page_of_the_studio_shuts_anybody_out(there: There) -> None:
    found: dict[str, list[str]] = {}
    with chromium() as browser:
        tab = sign_in(browser, there)
        for words, bring_about in STATES.items():
            bring_about(tab, there)
            found[words] = [*barriers(tab, words), *tab.problems]
            tab.problems.clear()
    assert {words: wrong for words, wrong in found.items() if wrong} == {}


# what a keyboard and a screen reader need -----------------------------------------------------------------------------


def test_the_focus_stays_where_it_was_when_a_piece_of_the_page_is_loaded_anew(there: There) -> None:
    with chromium() as browser:
        tab = sign_in(browser, there)
        page = tab.page
        work(there, ROLES="2", TOKENS="100000", PAUSE="0.05")
        tab.open("/projects/letter/write")
        page.fill("#usd", "2")
        page.click("#expected form button.primary")
        page.wait_for_selector("#run[data-state=running] >> text=Stop")
        page.focus("#run >> text=Stop")
        page.evaluate("window.htmx.ajax('GET', location.pathname + '-parts/run', {target: '#run', swap: 'outerHTML'})")
        tab.settled()
        assert focused(tab) == "Stop"
        page.keyboard.press("Enter")
        page.wait_for_selector("#run[data-state=stopped]")
        wait_until(lambda: focused(tab), "a focus")  # the button is gone: what stands there now is read
        tab.open(f"{AT}/plan")
        page.click("#scene-1 [hx-get]")
        page.wait_for_selector("#form-1 :focus")
        page.get_by_role("button", name="Cancel").click()
        wait_until(lambda: focused(tab) == "Change Two questions")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#plan-change h3:focus")
        page.get_by_role("button", name="Leave the plan as it is").click()
        wait_until(lambda: focused(tab) == "Scenes as they are told")
        tab.open(f"{AT}/world")
        page.locator("[data-fact]").first.press("Enter")
        page.wait_for_selector("[data-shown]")
        wait_until(lambda: focused(tab).endswith("show the sentence"))
        tab.open(f"{AT}/world/findings")
        page.locator("summary >> text=This is intended").press("Enter")
        page.fill("input[name=reason]", "He had two.")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-said]:focus")
        page.get_by_role("button", name="Count it again").press("Enter")
        page.wait_for_selector("#findings >> text=This is intended")
        wait_until(lambda: focused(tab), "a focus")
        tab.check()


def focused(tab: Tab) -> str:
    """The name of what has the focus, empty for nothing."""
    return str(
        tab.page.evaluate(
            "(() => { const at = document.activeElement; return at === document.body ? '' : "
            "at.getAttribute('aria-label') ?? at.textContent.trim(); })()"
        )
    )


def test_saving_by_itself_is_not_read_out_but_what_was_asked_for_is(there: There) -> None:
    with chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/projects/lamp/edit/plot")
        tab.page.wait_for_selector("#expected p:not(.faint)")
        tab.page.focus("#text")
        tab.page.keyboard.type("And ")
        tab.page.wait_for_selector("#saved:has-text('Not saved yet')")
        tab.page.wait_for_selector("#saved >> text='Saved'")
        expect(tab.page.locator("#status")).to_have_text("")
        tab.page.keyboard.press("Control+s")
        tab.page.wait_for_selector("#status:has-text('Saved.')")
        tab.check()


# the study ------------------------------------------------------------------------------------------------------------

LONG: Final = "\n\n".join(
    ["A keeper finds a letter in a bottle, in her own hand, from a winter still to come. " * 3] * 12
)


def in_study(study: Study, rater: str = "", conversations: RatersConversations | None = None) -> Iterator[Tab]:
    """A rater who takes part."""
    with study_there(study, rater, conversations) as served, chromium() as browser:
        tab = sign_in(browser, served)
        tab.open("/organiser" if rater == ORGANISER else "/")
        yield tab


def begin(tab: Tab, found: dict[str, list[str]]) -> None:
    found["the first page"] = barriers(tab, "the first page")
    tab.page.click("text=I have read this and agree to take part")
    tab.page.wait_for_selector(".bar")


def opened(tab: Tab) -> None:
    for closed in tab.page.query_selector_all("summary"):
        closed.click()


joined = contextmanager(in_study)


@pytest.mark.usefixtures("_looks")
def test_no_page_of_a_study_of_pairs_shuts_anybody_out(tmp_path: Path) -> None:
    study, found = study_here(tmp_path / "study"), dict[str, list[str]]()
    with joined(study) as tab:
        begin(tab, found)
        opened(tab)
        found["a task"] = barriers(tab, "a task")
        tab.open("/")
        opened(tab)
        found["withdrawing"] = barriers(tab, "withdrawing")
        tab.open("/task/0")
        found["no such page"] = barriers(tab, "no such page")
        for number in range(5):
            tab.open("/task")
            for name in ("plot", "creativity", "development", "language use", "overall"):
                tab.page.check(f"input[name='{name}'][value=S]")
            tab.page.click("#send")
            if number < 4:
                tab.page.wait_for_selector(f"h1:has-text('{number + 2} of 5')")
        tab.page.wait_for_selector("text=Enough for this sitting")
        found["enough for now"] = barriers(tab, "enough for now")
    with joined(study, ORGANISER) as tab:
        found["organiser"] = barriers(tab, "organiser")
    assert {words: wrong for words, wrong in found.items() if wrong} == {}


@pytest.mark.usefixtures("_looks")
def test_no_page_of_the_other_studies_shuts_anybody_out(tmp_path: Path) -> None:
    found: dict[str, list[str]] = {}
    entries = {
        "findings": [StudyItem(id="f", prompt="p", claim=f"No. {LONG}", label="date", passages=(LONG, "Two."))],
        "rubric": [StudyItem(id=name, prompt="p", asked=LONG, text=LONG, system=name) for name in "xy"],
    }
    for kind, of in entries.items():
        write_study(tmp_path / kind, form_text(kind, kind), of)
        study, _ = assign(Study.open(tmp_path / kind), AssignmentOptions(), datetime.now(UTC))
        with joined(study) as tab:
            begin(tab, found)
            opened(tab)
            found[kind] = barriers(tab, kind)
    study = characters_here(tmp_path)
    with joined(study, "", RatersConversations(study, lambda: Options(environ={}))) as tab:
        begin(tab, found)
        found["talk"] = barriers(tab, "talk")
        for side in "AB":
            talk = tab.page.locator(f"[aria-label='Character {side}']")
            talk.locator("textarea").fill("Is it true?")
            talk.locator("text=Say it").click()
            tab.page.wait_for_selector(f"[aria-label='Character {side}'] strong >> nth=1")
            found[f"talk with {side}"] = barriers(tab, f"talk with {side}")
            tab.page.locator(f"[aria-label='Character {side}'] >> text=End this conversation").click()
            tab.page.wait_for_selector(f"[aria-label='Character {side}'] >> text=This conversation has ended.")
        opened(tab)
        found["talk, to be rated"] = barriers(tab, "talk, to be rated")
    assert {words: wrong for words, wrong in found.items() if wrong} == {}
