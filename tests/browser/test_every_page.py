"""Every page with a story that means harm: on a wide screen and on a phone, at 200 %, and for the keyboard."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from commandline import BRIEF, EXPERIMENT, REPLIES, script_of
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.server.studio.pages import routers
from fabula.server.studio.rendering import PAGES
from fabula.story import Brief
from studio import SAMPLE, chromium, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from studio import Tab, There

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


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shelf with the sample, in whose texts something hostile stands, and with a project from a hostile name."""
    home = tmp_path_factory.mktemp("hostile")
    project = copy_sample(home / SAMPLE)
    ProjectFolder.create(home / "<img src=x onerror=alert(1)>", Brief(EVIL, EVIL), {"model": "hand"})
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


KEYS: Final = 12
FOCUSED: Final = "(document.activeElement?.textContent || document.activeElement?.tagName).trim()"


def problems_of(tab: Tab) -> list[str]:
    """What is wrong with the page that is open: on a wide screen, at 200 %, on a phone, for who has no mouse."""
    wrong = list(tab.problems)
    tab.problems.clear()
    if tab.page.evaluate("window.ran === true"):
        wrong.append("a script of the story ran")
    if tab.page.evaluate("document.body.checkVisibility()") is not True:
        wrong.append("it is hidden")
    reached = set()
    for _ in range(KEYS):
        tab.page.keyboard.press("Tab")
        reached.add(tab.page.evaluate(FOCUSED))
    if "Skip to the main content" not in reached and len(reached) <= 8:
        wrong.append(f"keys reach only {reached}")
    for width in (1280, 640, 360):
        tab.page.set_viewport_size({"width": width, "height": 450})
        wide = tab.page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(f"it is {wide} pixels wide on a screen of {width}")
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    return wrong


def test_every_page_is_for_everybody_and_runs_nothing_of_a_story(there: There) -> None:
    """What `axe` finds on them, `test_barriers` asks."""
    found: dict[str, list[str]] = {}
    with chromium() as browser:
        tab = sign_in(browser, there)
        for path in PATHS:
            tab.open(path)
            found[path] = problems_of(tab)
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
