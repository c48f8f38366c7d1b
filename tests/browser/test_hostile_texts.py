"""What a model writes that means harm, on every page that shows it: it stays text, while it comes and afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

from fabula.app.studies import assign
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import ORGANISER, Study, StudyItem, form_text, write_study
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from patience import wait_until
from raters import study_there
from studio import SAMPLE, browsing, chromium, expect, sign_in, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from studio import Tab, There

pytestmark = pytest.mark.slow

EVIL: Final = (
    "The lamp <script>window.ran = true</script> was <img src=x onerror='window.ran = true'> dark. "
    "</textarea></title></script></select></button></template><svg onload=window.ran=true> She lit it. "
    '" onfocus="window.ran = true" autofocus=" <a hx-get="/api/v1/projects" hx-trigger="load" hx-swap="none">x</a> '
    "<base href=http://evil.example><meta http-equiv=refresh content='0;url=http://evil.example'> She slept. "
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example> {{ 7 * 7 }} ${7 * 7} "
    "[x](javascript:window.ran=true) [y](data:text/html,<script>1</script>) ![p](http://evil.example/p.png) --> <!-- "
)
WHOLE: Final = (
    f"{EVIL}\n\nIn the morning the boats came home, one after the other, and nobody asked who had kept the light. The "
    "keeper's daughter carried the oil up the ninety steps, counted what was left of the wicks, and wrote both into "
    f"the book. Then the fog went, and the cape stood where it had always stood. {EVIL[::-1]}\n"
)
ASKED: Final = "Write of a night <script>window.ran = true</script><img src=x onerror='window.ran = true'> at the cape."
STRAY: Final = (
    "object:not([type]), iframe, main script, main style, main base, main meta, main img, main link, "
    "a[href^='javascript'], a[href^='data'], main [hx-get='/api/v1/projects'], [onfocus], [onerror], [onload]"
)


def harmless(tab: Tab) -> None:
    """See that nothing of a text became a part of the page."""
    tab.settled()
    assert tab.page.evaluate("window.ran") is None
    assert tab.page.evaluate("s => [...document.querySelectorAll(s)].map(one => one.outerHTML)", STRAY) == []
    assert tab.page.evaluate("document.body.checkVisibility()") is True
    tab.check()


def hostile_project(home: Path) -> None:
    """A project whose writer is a model that means harm."""
    home.mkdir()
    script = home / "script.toml"
    script.write_text(f"[replies]\nwriter = {json.dumps(WHOLE)}\n", "utf-8")
    brief = Brief(ASKED, title=ASKED)
    ProjectFolder.create(home / SAMPLE, brief, {"model": f"scripted:{script}", "system": "end-to-end"})


def written(there: There) -> dict[str, Any]:
    """The run, ended."""
    runs = f"/api/v1/projects/{SAMPLE}/runs"
    with there.client() as client:

        def ended() -> dict[str, Any] | None:
            run: dict[str, Any] = client.get(runs).json()["runs"][0]
            return None if run["state"] in ("queued", "running") else run

        run = wait_until(ended)
        assert run is not None
        return run


def test_what_a_model_writes_stays_text_while_it_comes_and_on_every_page_afterwards(tmp_path: Path) -> None:
    hostile_project(tmp_path / "home")
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open(f"/projects/{SAMPLE}/write")
        tab.page.click("#expected form p > button")
        tab.page.wait_for_function(
            "() => Object.values(window.fabulaRoom?.texts() ?? {}).join('').includes('She slept')"
        )
        expect(tab.page.locator("#roles")).to_contain_text("<script>window.ran = true</script>")
        harmless(tab)
        run = written(there)
        assert run["state"] == "finished", run["message"]
        with there.client() as client:
            call = client.get(f"/api/v1/projects/{SAMPLE}/calls").json()["calls"][0]["id"]
            texts = client.get(f"/api/v1/projects/{SAMPLE}/artefacts").json()["artefacts"]
        story = next(one["name"] for one in texts if one["folder"] == "story")
        for path in (
            *("write", f"edit/{story}", "edit/brief.md", "calls", f"calls/{call}", "plan", "world", "talk", "measure"),
            *("calls?search=%3Cscript%3E", "calls?search=%22%3E%3Cimg+src%3Dx+onerror%3Dwindow.ran%3D1%3E"),
            f"write?text={story}",
        ):
            tab.open(f"/projects/{SAMPLE}/{path}")
            tab.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            harmless(tab)
        tab.open("/")
        harmless(tab)


EVENTS: Final[tuple[Any, ...]] = (
    {"type": "run_started", "system": EVIL, "roles": [EVIL]},
    {"type": "call_started", "path": EVIL, "role": EVIL, "performer": EVIL},
    {"type": "text_arrived", "path": EVIL, "text": EVIL},
    {"type": "call_started", "path": None, "role": None},
    {"type": "text_arrived", "path": {"a": 1}, "text": ["x"]},
    {"type": "call_finished", "role": "__proto__", "path": EVIL},
    {"type": "call_retried"},
    {"type": "kept"},
    {"type": "kept", "path": EVIL, "words": "many"},
    {"type": EVIL},
    {"type": "text_arrived", "path": EVIL, "text": "And it goes on."},
    {"type": "command_ended", "exit_code": 1, "kind": EVIL, "message": EVIL},
)


def test_a_log_of_somebody_else_stays_text_and_stops_no_page(tmp_path: Path) -> None:
    hostile_project(tmp_path / "home")
    place = tmp_path / "home" / SAMPLE / ".fabula/runs/20260101-000000-abcdef"
    place.mkdir(parents=True)
    (place / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in EVENTS), "utf-8")
    record = {"id": place.name, "verb": "write", "state": "failed", "message": EVIL}
    (place / "run.json").write_text(json.dumps(record), "utf-8")
    with studio_there(tmp_path / "home") as there, browsing(there) as tab:
        tab.open(f"/projects/{SAMPLE}/write")
        tab.page.click("text=Show how it was written")
        tab.page.wait_for_selector("#roles >> text=And it goes on.")
        expect(tab.page.locator("#roles")).to_contain_text("The lamp <script>")
        harmless(tab)
        tab.page.click("#expected form p > button")
        tab.page.wait_for_selector("#run[data-state=finished]")
        expect(tab.page.locator("#roles")).to_contain_text("She slept")
        harmless(tab)


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "findings"])
def test_what_is_rated_stays_text_on_raters_pages(kind: str, tmp_path: Path) -> None:
    entries = [
        StudyItem(
            id=f"{number} {system}",
            system=EVIL + system,
            prompt=f"{EVIL} {number}",
            asked=EVIL,
            text=EVIL if kind != "findings" else "",
            claim=EVIL if kind == "findings" else "",
            label=EVIL if kind == "findings" else "",
            passages=(EVIL, EVIL) if kind == "findings" else (),
        )
        for number in range(3)
        for system in (("a", "b") if kind != "findings" else ("",))
    ]
    write_study(tmp_path / "study", form_text(kind, "Lamps"), entries)
    study, _ = assign(Study.open(tmp_path / "study"), AssignmentOptions(), datetime.now(UTC))
    with study_there(study) as there, chromium() as browser:
        tab = sign_in(browser, there)
        tab.open("/")
        harmless(tab)
        tab.page.click("text=I have read this and agree to take part")
        tab.page.wait_for_selector("#send")
        expect(tab.page.locator("main")).to_contain_text("<script>window.ran = true</script>")
        tab.page.fill("[name=comment]", EVIL)
        tab.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        harmless(tab)
        tab.page.fill("[name=skip]", EVIL[:150])
        with tab.page.expect_navigation():
            tab.page.click("text=Skip >> nth=-1")
        harmless(tab)
        tab.page.goto(f"{there.address}/login?token={study.token(ORGANISER)}")
        tab.page.wait_for_url("**/organiser")
        harmless(tab)
        with tab.page.expect_navigation():
            tab.page.click("button >> nth=0")
        harmless(tab)
