"""The report of an experiment, opened as a file: it sorts, filters and leads on, on a wide screen and on a phone."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.reporting import write_report
from fabula.app.experiment.working import How, run_experiment
from studio import chromium

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EVIL = "</script><img src=x onerror='window.ran = true'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 240 runs by two contenders, whose texts mean harm."""
    home = tmp_path_factory.mktemp("exp")
    (home / "briefs").mkdir()
    for number in range(60):
        (home / "briefs" / f"b{number:02}.md").write_text(f"# B {number}\n\nWrite of {number}. {EVIL}\n", "utf-8")
    (home / "script.toml").write_text(f'[replies]\nwriter = "The lamp was lit. {EVIL}"\n', "utf-8")
    (home / "judge.toml").write_text(f'[replies]\njudge = "{EVIL}\\n\\nOverall: A"\n', "utf-8")
    (home / "exp.toml").write_text(
        f'name = "{EVIL}"\nbriefs = ["briefs"]\npreset = "faithful"\nreplicates = 2\nbaseline = false\n'
        'systems = ["end-to-end", { system = "end-to-end", label = "twin" }]\n'
        'models = [{ model = "scripted:script.toml", label = "small" }]\n'
        'evaluators = [{ evaluator = "pairwise", model = "scripted:judge.toml", preset = "faithful" }]\n',
        "utf-8",
    )
    experiment = read_experiment(home / "exp.toml", {})
    with ThreadPoolExecutor(1) as thread:  # the browser of tests before this one has its event loop here
        results = thread.submit(lambda: asyncio.run(run_experiment(experiment, How()))).result()
    return write_report(results)["html"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_sorts_filters_and_leads_to_a_run_without_a_server(report: Path, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    expect = import_module("playwright.sync_api").expect
    with chromium() as browser:
        tab = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(report.as_uri())
        runs = tab.locator("#runs-here")
        rows, count = runs.locator("tbody tr"), runs.locator("p.faint")
        expect(rows).to_have_count(100)
        expect(count).to_have_text("100 of 240 runs")
        runs.get_by_role("button", name="Show 100 more").click()
        expect(rows).to_have_count(200)
        runs.get_by_label("brief").fill("b07")
        expect(count).to_have_text("4 of 4 runs")
        runs.get_by_label("contender").select_option("twin-faithful-small")
        expect(count).to_have_text("2 of 2 runs")
        runs.get_by_label("ended").select_option("failed")
        expect(count).to_have_text("0 of 0 runs")
        runs.get_by_label("ended").select_option("")
        board = tab.locator(".leaderboard")
        tab.get_by_role("searchbox", name="contender").fill("twin")
        expect(board.locator("tbody tr:visible")).to_have_count(1)
        tab.get_by_role("searchbox", name="contender").fill("")
        board.get_by_role("button", name="contender").click()
        expect(board.locator("th").first).to_have_attribute("aria-sort", "descending")
        expect(board.locator("tbody tr").first).to_contain_text("twin")
        _fits(tab, axe, width)
        runs.get_by_role("link", name="b07/twin-faithful-small-1").click()
        expect(tab.locator(":target h2")).to_have_text("b07/twin-faithful-small-1")
        _fits(tab, axe, width)
        tab.locator(":target").get_by_text("Verdicts (").click()
        tab.locator(":target li a").first.click()
        expect(tab.locator("tr:has(:target)")).to_contain_text(EVIL)
        assert not tab.evaluate("window.ran")
        assert said == []


def _fits(tab: Any, axe: Any, width: int) -> None:  # noqa: ANN401 - playwright's, and axe's
    """See that the page is as wide as the screen, and breaks no rule of axe."""
    assert not axe.run(tab).violations_count
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
