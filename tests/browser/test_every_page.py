"""Every page, for everybody: in both looks, on a wide screen and on a phone, with a story that means harm."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from commandline import BRIEF, EXPERIMENT, REPLIES, script_of
from fabula.project.folder import Project
from fabula.project.sample import copy_sample
from fabula.server.studio.pages import routers
from fabula.server.studio.rendering import PAGES
from fabula.story import Brief
from studio import SAMPLE, chromium, looks, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from studio import There

pytestmark = pytest.mark.slow

EVIL: Final = (
    '<script>window.ran = true</script> <img src=x onerror="window.ran = true"> </textarea></title> '
    "<svg onload=alert(1)> "
    '" onfocus="window.ran = true" autofocus=" [x](javascript:alert(1)) ![p](http://evil.example/p.png) '
    "<style>body{display:none}</style> <iframe src=http://evil.example></iframe> {{ 7 * 7 }} {% raw %} &lt;b&gt; "
)
PATHS: Final = (
    "/",
    "/new",
    "/new?kind=story",
    *(f"/projects/{SAMPLE}/{page}" for page, _ in PAGES if page in routers()),
    "/experiments/rooms",
    "/experiments/rooms/reports/evaluation/pairwise/pairwise",
    "/experiments/rooms/runs/brief/end-to-end-faithful-script-1",
)
SETTLED: Final = 700  # milliseconds in which a page has fetched what it shows


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shelf with the sample, in whose texts something hostile stands, and with a project of a hostile name."""
    home = tmp_path_factory.mktemp("hostile")
    project = copy_sample(home / SAMPLE)
    Project.create(home / "<img src=x onerror=alert(1)>", Brief(EVIL, EVIL), {"model": "hand"})
    for file in (project.folder / "story").glob("*.md"):
        file.write_text(EVIL + "\n\n" + file.read_text("utf-8"), "utf-8")
    for name in ("plan/conflict.md", "plan/setting.md", "world.yaml", "brief.md"):
        file = project.folder / name
        text = file.read_text("utf-8")
        file.write_text(text.replace("Ivan", "Ivan <script>window.ran = true</script>"), "utf-8")
    findings = project.folder / "evaluation" / "atlas.json"
    findings.write_text(findings.read_text("utf-8").replace("Ivan", "Ivan <img src=x onerror='window.ran = true'>"))
    experiment(tmp_path_factory.mktemp("work"), home)
    return home


def experiment(work: Path, home: Path) -> None:
    """An experiment on the shelf: two stories, one of them hostile, and what a judge says of them."""
    verdict = "".join(
        f"{dimension}: A\n" for dimension in ("Plot", "Creativity", "Development", "Language Use", "Overall")
    )
    replies = f"writer = {json.dumps(EVIL)}\njudge = {json.dumps(EVIL + chr(10) + verdict)}\n"
    named = EXPERIMENT.replace("<rooms>", "rooms <script>window.ran = true</script>")
    for name, text in {"brief.md": BRIEF, "exp.toml": named, "script.toml": script_of(REPLIES) + replies}.items():
        (work / name).write_text(text, encoding="utf-8")
    line = [sys.executable, "-m", "fabula", "lab", "experiment", "exp.toml", "--out", str(home / "rooms"), "--quiet"]
    subprocess.run(line, cwd=work, check=True, timeout=120, capture_output=True)


@pytest.fixture(scope="module")
def there(hostile: Path) -> Iterator[There]:
    with studio_there(hostile) as served:
        yield served


@looks
def test_every_page_is_for_everybody_and_runs_nothing_of_a_story(there: There, width: int, *, dark: bool) -> None:
    found: dict[str, Any] = {}
    with chromium() as browser:
        tab = sign_in(browser, there, dark=dark, width=width)
        for path in PATHS:
            tab.open(path)
            tab.page.wait_for_timeout(SETTLED)
            wrong = [*tab.axe(), *tab.problems]
            if tab.page.evaluate("window.ran === true"):
                wrong.append("a script of the story ran")
            wide = tab.page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                wrong.append(f"it is {wide} pixels wide")
            if tab.page.evaluate("document.body.checkVisibility()") is not True:
                wrong.append("it is hidden")
            tab.problems.clear()
            if wrong:
                found[path] = wrong
    assert found == {}


def test_pages_hold_at_twice_the_size(there: There) -> None:
    with chromium() as browser:
        tab = sign_in(browser, there, width=640, height=450)  # a screen of 1280 by 900, at 200 %
        for path in PATHS:
            tab.open(path)
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 640, path


def test_every_page_is_reached_by_keyboard(there: There) -> None:
    with chromium() as browser:
        tab = sign_in(browser, there)
        for path in PATHS:
            tab.open(path)
            reached = set()
            for _ in range(12):
                tab.page.keyboard.press("Tab")
                reached.add(
                    tab.page.evaluate("(document.activeElement?.textContent || document.activeElement?.tagName).trim()")
                )
            assert "Skip to the page itself" in reached or len(reached) > 8, (path, reached)
