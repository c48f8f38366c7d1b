"""The Measure page as a person goes: measuring, its result, and verdicts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fabula.measure.ratings import Rating, write_ratings
from fabula.measure.report import Report, Row
from fabula.project.sample import copy_sample
from fabula.stats.estimate import Estimate
from studio import browsing, expect, studio_there

if TYPE_CHECKING:
    from pathlib import Path

    from studio import Tab

pytestmark = pytest.mark.slow

MEASURE = "/projects/one/measure"
SAID = "It keeps what it promised.\n\nPlot: {0}\nCreativity: {0}\nDevelopment: Same\nLanguage Use: A\nOverall: {0}\n"


def two_projects(tmp_path: Path) -> Path:
    shelf = tmp_path / "shelf"
    for name in ("one", "two"):
        copy_sample(shelf / name)
        (shelf / name / "brief.md").write_text(f"# Story {name}\n\nA kettle is lent.\n", "utf-8")
    return shelf


def judge(tmp_path: Path, answer: str) -> str:
    script = tmp_path / f"judge-{answer}.toml"
    script.write_text(f"[replies]\njudge = {json.dumps(SAID.format(answer))}\n", "utf-8")
    return f"scripted:{script}"


def judged(tab: Tab, model: str) -> None:
    """Have the story judged beside the other one, and wait for the report."""
    page = tab.page
    page.select_option("#kind", "judge")
    page.fill("#model", model)
    page.click("text=Estimate the cost")
    expect(page.locator("#begun")).to_contain_text("6 calls")
    expect(page.locator("#begun")).to_contain_text("at no cost")
    page.click("#begin")
    expect(page).to_have_url(re.compile(r"/measure/evaluation/pairwise$"))
    expect(page.locator("#measuring")).to_contain_text("finished")


def test_a_story_is_judged_and_verdicts_are_shown(tmp_path: Path) -> None:
    with studio_there(two_projects(tmp_path)) as there, browsing(there) as tab:
        page = tab.page
        tab.open(MEASURE)
        judged(tab, judge(tmp_path, "A"))
        expect(page.locator("#verdicts")).to_contain_text("30 verdicts on 5 questions.")
        page.click("#verdicts summary >> nth=0")
        expect(page.locator("#verdicts blockquote >> nth=0")).to_contain_text("It keeps what it promised.")
        tab.check()


def test_a_measurement_that_waits_is_stopped_and_goes_on(tmp_path: Path) -> None:
    with studio_there(two_projects(tmp_path)) as there, browsing(there) as tab:
        page = tab.page
        tab.open(MEASURE)
        page.select_option("#kind", "judge")
        page.fill("#model", f"files:{tmp_path / 'asked'}")
        page.click("text=Estimate the cost")
        expect(page.locator("#begin")).to_be_visible()  # a process says it, which takes a while to begin
        page.click("#begin")
        expect(page.locator("#measuring")).to_contain_text("The run is waiting for answers from a person.")
        page.click("#stop-run")
        expect(page.locator("#measuring")).to_have_attribute("data-state", "stopped")
        assert tab.axe() == []
        page.click("#again-run")
        expect(page.locator("#measuring")).to_contain_text("The run is waiting for answers from a person.")
        page.click("#stop-run")
        expect(page.locator("#measuring")).to_have_attribute("data-state", "stopped")
        tab.check()


def hostile(folder: Path) -> None:
    """Reports and verdicts as somebody may send them who means no good."""
    mark = "<img src=x onerror=alert(1)>\u202e\x1b[31m"
    rows = tuple(
        Row(f"{mark}{n}", f"measure {mark} {what}", Estimate(n, 5, n - 1, n + 1, mark))
        for n in range(3)
        for what in ("a", "b" * 300)
    )
    report = Report("surface", {mark: mark, "deep": [[[mark]]]}, rows, notes=(mark, "long " * 5000))
    (folder / "surface.json").write_text(json.dumps(report.as_data()), "utf-8")
    numbers = (
        '[{"of": 1, "what": [], "value": 1e999, "n": -3}, {"value": NaN, "n": 1e80}, {"value": -1e308, "low": {}}]'
    )
    odd = f'{{"format": 1, "evaluator": "odd", "how": {{}}, "notes": [], "details": {{}}, "rows": {numbers}}}'
    (folder / "odd.json").write_text(odd, "utf-8")
    said = (
        Rating(rater=mark, kind="model", items=(mark, "b"), question=mark, answer="b", reason=mark * 50, call=mark),
        Rating(rater="r", kind="model", items=("b", mark), question=mark, answer=mark, evaluator="surface"),
        Rating(rater="r", kind="model", items=(), question="q" * 500, answer=1e300, evaluator="surface"),
    )
    (folder / "ratings.jsonl").write_text(write_ratings(said), "utf-8")


def test_reports_and_verdicts_are_for_everybody(tmp_path: Path) -> None:
    shelf = two_projects(tmp_path)
    hostile(shelf / "one" / "evaluation")
    hostile(shelf / "two" / "evaluation")
    pages = (
        f"{MEASURE}/evaluation/atlas",
        f"{MEASURE}/evaluation/surface",
        f"{MEASURE}/evaluation/odd",
        f"{MEASURE}/learning",
    )
    with studio_there(shelf) as there, browsing(there) as tab:
        found: list[str] = []
        for address in pages:
            tab.open(address)
            found += [f"{address}: {one}" for one in tab.axe()]
            for width in (360, 1280):
                tab.page.set_viewport_size({"width": width, "height": 900})
                if tab.page.evaluate("document.documentElement.scrollWidth") > width:
                    found.append(f"{address}: wider than {width} pixels")
        assert found == []
        tab.check()
