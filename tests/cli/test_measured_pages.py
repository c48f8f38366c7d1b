"""What was measured, in the browser: a project's reports, and an experiment down to a single verdict."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from commandline import BRIEF, ENDING, EXPERIMENT, LAMP
from fabula.app.reports import pairs_of, read_report, reports_in
from fabula.base.extras import installing
from fabula.measure.ratings import Rating, write_ratings
from fabula.models.adapters import GGUF
from fabula.project.learned import Learned, learned_for, place_of
from fabula.project.sample import copy_sample
from fabula.project.settings import Settings
from fabula.server.runs.record import RunRecord
from fabula.stats.estimate import Estimate
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


@pytest.fixture
def experiment(cli: Cli, here: Path) -> Path:
    """A folder with one experiment in it: two stories, and what a judge says of them."""
    (here / "brief.md").write_text(BRIEF, encoding="utf-8")
    (here / "exp.toml").write_text(EXPERIMENT, encoding="utf-8")
    with (here / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f"writer = {json.dumps(LAMP)}\njudge = {json.dumps(ENDING)}\n")
    assert cli("lab", "experiment", "exp.toml", "--out", "shelf/exp").code == 0
    return here / "shelf"


async def test_an_experiment_is_shown_down_to_a_single_verdict(experiment: Path) -> None:
    async with studio_here(experiment) as client:
        shelf = (await client.get("/")).text
        assert 'href="/experiments/exp"' in shelf
        assert "Two &lt;rooms&gt;" in shelf
        grid = (await client.get("/experiments/exp")).text
        cell = 'href="/experiments/exp/runs/brief/end-to-end-faithful-script-1"'
        assert cell in grid
        assert "baseline" in grid
        report = (await client.get("/experiments/exp/reports/evaluation/pairwise/pairwise")).text
        assert "strength/overall" in report
        assert "<svg" in report
        assert "depends on the order" in report  # a judge that always prefers the first
        assert cell in report
        story = (await client.get("/experiments/exp/runs/brief/end-to-end-faithful-script-1")).text
        assert "The boats came home" in story
        assert "Shown first" in story
        assert story.count('class="one-verdict"') == 10  # five questions in both orders
        asked = re.search(r'href="(/experiments/exp/verdict-of/[^"]*)"', story)
        assert asked is not None
        call = (await client.get(asked[1])).text
        assert "Plot: A" in call
        assert "The boats came home" in call
        assert (await client.get("/experiments/exp/verdict-of/evaluation/pairwise/pairwise?call=x")).status_code == 404
        for text in (grid, report, story, call):
            assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*src=)", text)
        assert (await client.get("/experiments/epx")).status_code == 404
        assert (await client.get("/experiments/exp/runs/../../../brief.md")).status_code == 404
        assert (await client.get("/experiments/exp/runs/brief%2f..%2f..%2f..%2fbrief")).status_code == 404
        assert (await client.get("/experiments/exp/reports/evaluation/nothing")).status_code == 404


async def test_a_judge_is_put_beside_people(experiment: Path) -> None:
    at = "/experiments/exp/beside-people/evaluation/pairwise/pairwise"
    runs = [f"brief/{who}-faithful-script-1" for who in ("agents-room", "end-to-end")]
    people = [
        Rating(rater=f"p{n}", kind="person", items=tuple(runs), question="plot", shown="A", answer=runs[0])
        for n in range(3)
    ]
    async with studio_here(experiment) as client:
        report = (await client.get("/experiments/exp/reports/evaluation/pairwise/pairwise")).text
        assert f'hx-post="{at}"' in report
        judged = json.loads((experiment / "exp/evaluation/pairwise/ratings.jsonl").read_text().splitlines()[0])
        assert set(judged["items"]) == set(runs)
        sent = {"ratings": ("ratings.jsonl", write_ratings(people).encode())}
        compared = await client.post(at, files=sent)
        assert compared.status_code == 200, compared.text
        assert "plot: pairs: accuracy" in compared.text
        assert "The judge compared with people" in compared.text
        assert "baseline" in compared.text
        for wrong, says in ((b"<script>", "line 1"), (b"", "contains no ratings.")):
            refused = await client.post(at, files={"ratings": ("x<b>.jsonl", wrong)})
            assert refused.status_code == 400, refused.text
            assert says in refused.text


async def test_results_that_cannot_be_read_are_said_in_words(experiment: Path) -> None:
    (experiment / "exp" / "report.json").write_text("[]")
    async with studio_here(experiment) as client:
        broken = await client.get("/experiments/exp", headers={"accept": "text/html"})
        assert "is not the report of an experiment." in broken.text
        assert "Run `fabula lab experiment` in a terminal again." in broken.text
        assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize(
    "data",
    [
        {"briefs": 7, "contenders": {}, "runs": "x"},
        {"briefs": [[]], "contenders": [1, {"total": [], "done": "x"}], "runs": [{"run": {}, "words": 1e999}]},
        {"experiment": "<script>\x1b[31m", "contenders": [{"total": {"cost": "x", "calls": -1.5}}], "runs": [None]},
    ],
)
async def test_an_experiment_of_somebody_else_is_shown_whatever_its_report_says(
    tmp_path: Path, data: dict[str, object]
) -> None:
    folder = tmp_path / "shelf" / "exp"
    (folder / "runs").mkdir(parents=True)
    (folder / "experiment.toml").touch()
    (folder / "report.json").write_text(json.dumps({"format": 1, **data}), "utf-8")
    async with studio_here(tmp_path / "shelf") as client:
        grid = await client.get("/experiments/exp")
        assert grid.status_code == 200
        assert "<script>" not in grid.text
        assert "\x1b" not in grid.text
        assert (await client.get("/")).status_code == 200


async def test_the_reports_of_a_project_are_shown_with_their_verdicts(tmp_path: Path) -> None:
    copy_sample(tmp_path / "home" / "sample")
    async with studio_here(tmp_path / "home") as client:
        newest = (await client.get("/projects/sample/measure")).text
        assert "findings per 10,000 words" in newest
        assert "share of suspicions, Wilson interval" in newest
        assert "Individual verdicts" in newest
        assert "<strong>Ivan&#39;s kettle had left his cab by 9 January / " in newest, "not the key of the finding"
        assert "<strong>A suspicion</strong>: no error" in newest
        named = (await client.get("/projects/sample/measure/evaluation/atlas")).text
        assert 'aria-current="page">atlas' in named
        unknown = await client.get("/projects/sample/measure/evaluation/altas")
        assert (unknown.status_code, "Did you mean" in unknown.text) == (404, True)


async def test_a_project_without_reports_says_how_to_come_by_one(cli: Cli, project: Path, here: Path) -> None:
    async with studio_here(project) as client:
        assert "Nothing has been measured yet" in (await client.get("/projects/lamp/measure")).text


def test_what_is_no_report_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "evaluation"
    folder.mkdir()
    for name, text in {
        "list": "[]",
        "deep": "[" * 100_000,
        "other": '{"format": 2, "evaluator": "x", "rows": []}',
        "odd": '{"format": 1, "evaluator": [], "rows": []}',
        "good": '{"format": 1, "evaluator": "x", "rows": [{"of": "a", "what": "b", "value": null, "n": 1}, 7]}',
    }.items():
        (folder / f"{name}.json").write_text(text)
    (folder / "link.json").symlink_to(tmp_path / "elsewhere.json")
    assert [one.name for one in reports_in(tmp_path)] == ["evaluation/good"]


def test_a_report_is_read_as_it_was_written() -> None:
    text = (
        '{"format": 1, "evaluator": "x", "how": {"preset": "faithful"}, "notes": ["few"], "details": {}, "rows": '
        '[{"of": "a", "what": "b", "value": 1.5, "n": 3, "low": 1.0, "high": 2.0, "level": 0.9, "method": "mean"}]}'
    )
    report = read_report(text)
    assert report is not None
    assert report.rows[0].as_data() == json.loads(text)["rows"][0]


def test_verdicts_in_both_orders_belong_together() -> None:
    def said(*items: str, answer: str) -> Rating:
        return Rating(rater="j", kind="model", items=items, question="plot", shown="A", answer=answer)

    (pair,) = pairs_of([said("a", "b", answer="a"), said("b", "a", answer="b")])
    assert (pair.items, len(pair.verdicts), pair.agree) == (("a", "b"), 2, False)


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"kind": "check"}, {}),
        ({"kind": "evaluate", "evaluator": "surface", "against": "x"}, {"evaluator": "surface"}),
        ({"kind": "judge", "against": "other", "tokens": "1000"}, {"against": "other", "budget_tokens": 1000}),
    ],
)
async def test_measuring_is_begun_as_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], asked: dict[str, Any]
) -> None:
    started = []

    def start(_: object, project: str, verb: str, arguments: dict[str, Any]) -> RunRecord:
        started.append((project, verb, arguments))
        return RunRecord(id="20260101-000000-abcdef", verb=verb, arguments=arguments)

    monkeypatch.setattr("fabula.server.runs.children.Runs.start", start)
    copy_sample(tmp_path / "home" / "sample")
    async with studio_here(tmp_path / "home") as client:
        answer = await client.post("/projects/sample/measure", data=fields | {"evaluator": "surface"})
        assert "20260101-000000-abcdef" in answer.text
    ((project, verb, arguments),) = started
    assert (project, verb) == ("sample", fields["kind"])
    assert {name: value for name, value in arguments.items() if value} == asked


@pytest.mark.parametrize("fields", [{"tokens": "many"}, {"tokens": "-1"}, {"kind": "judge"}])
async def test_what_cannot_be_measured_is_said_in_words(tmp_path: Path, fields: dict[str, str]) -> None:
    copy_sample(tmp_path / "home" / "sample")
    async with studio_here(tmp_path / "home") as client:
        answer = await client.post("/projects/sample/measure", data=fields, headers={"hx-request": "true"})
    assert (answer.status_code, answer.text.startswith('<p class="problem">')) == (400, True), answer.text


async def test_what_measuring_would_take_is_said_before(cli: Cli, project: Path) -> None:
    async with studio_here(project) as client:
        free = await client.post("/projects/lamp/measure-estimate", data={"kind": "evaluate", "evaluator": "surface"})
        assert "No call is needed" in free.text
        asked = await client.post("/projects/lamp/measure-estimate", data={"kind": "check"})
        assert re.search(r"About <strong>\d+ calls?</strong>", asked.text), asked.text
        assert "<strong>at no cost</strong>" in asked.text
        wrong = {"kind": "evaluate", "evaluator": "atlsa"}
        answer = await client.post("/projects/lamp/measure-estimate", data=wrong, headers={"hx-request": "true"})
        assert (answer.status_code, "Did you mean &#39;atlas&#39;?" in answer.text) == (404, True), answer.text


async def test_stories_are_ranked_from_the_page(cli: Cli, project: Path, here: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(project, here / "shelf" / name)
    async with studio_here(here / "shelf") as client:
        form = (await client.get("/projects/one/measure")).text
        assert 'name="beside" value="two"' in form
        fields = {"kind": "rank", "model": f"scripted:{here / 'script.toml'}", "beside": ["two"]}
        asked = await client.post("/projects/one/measure-estimate", data=fields)
        assert "6 calls" in asked.text, asked.text
        assert "by scripted" in asked.text
        alone = await client.post("/projects/one/measure-estimate", data={"kind": "rank"})
        assert (alone.status_code, "beside" in alone.text and "must not be empty" in alone.text) == (400, True)


@pytest.fixture
def measured_again(cli: Cli, project: Path) -> Path:
    """A project that was measured several times, and changed in between."""
    story = project / "story.md"
    for text in ("The lamp was dark. Nobody came.", "The lamp was lit. Everybody came at once, and stayed.") * 2:
        story.write_text(f"# The Lamp\n\n{text}\n", "utf-8")
        for _ in range(2):  # the same again is no other report
            assert cli("evaluate", "surface", str(project), "--out", str(project / "evaluation")).code == 0
    return project


async def test_a_report_that_another_one_replaced_is_kept_and_shown(measured_again: Path) -> None:
    project = measured_again
    earlier = [one for one in reports_in(project) if one.is_earlier]
    assert 1 <= len(earlier) <= 3  # those of one second have one name
    async with studio_here(project) as client:
        at = f"/projects/{project.name}/measure"
        listed = (await client.get(at)).text
        assert "Earlier reports" in listed
        shown = (await client.get(f"{at}/{earlier[0].name}")).text
        assert '<span class="chip">earlier</span>' in shown
        assert (await client.get(f"{at}/evaluation/nothing")).status_code == 404


async def test_what_was_learned_is_shown_switched_off_and_on_and_forgotten(tmp_path: Path) -> None:
    copy_sample(tmp_path / "home" / "sample")
    place = place_of("", os.environ)
    learned = Learned("", "2026-11-12", "k", "embedded:smollm2", "d", ("writer",), 40, "0" * 16, better=True)
    place.make()
    place.write(learned)
    place.report.write_text("Better. <b>The tuned model</b>\n", "utf-8")
    adapter = place.adapter(learned.adapter)
    adapter.mkdir(parents=True)
    (adapter / GGUF).write_text("weights", "utf-8")
    async with studio_here(tmp_path / "home") as client:
        at = "/projects/sample/measure/learning"
        stands = (await client.get(at)).text
        assert "Learned from 40 pairs of texts, on 2026-11-12, for embedded:smollm2." in stands
        assert "used in new projects</span>" in stands
        assert "Better. &lt;b&gt;" in stands
        if find_spec("torch") is None:
            assert escape(installing("train")).replace("&#x27;", "&#39;") in stands
        off = (await client.post(f"{at}/use", data={"on": ""})).text
        assert "switched off" in off
        assert learned_for(Settings(), ["writer"], os.environ) is None
        assert place.read() == replace(learned, off=True)
        on = (await client.post(f"{at}/use", data={"on": "yes"})).text
        assert "used in new projects</span>" in on
        assert place.read() == learned
        api = (await client.put("/api/v1/projects/sample/learning", json={"use": False})).json()
        assert (api["learned"] is not None, api["in_use"], api["usable"]) == (True, False, True)
        gone = (await client.post(f"{at}/forget")).text
        assert "Everything was removed." in gone
        assert not place.folder.exists()
        again = await client.post(f"{at}/use", data={"on": "yes"}, headers={"hx-request": "true"})
        assert (again.status_code, "Nothing was learned from author." in again.text) == (400, True)
        place.make()
        (place.folder / "learned.json").write_text("[]", "utf-8")
        assert "is damaged" in (await client.get(at)).text


async def test_learning_is_begun_as_a_run_and_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(_: object, project: str, verb: str, arguments: dict[str, Any]) -> RunRecord:
        started.append((verb, arguments))
        return RunRecord(id="20260101-000000-abcdef", verb=verb, arguments=arguments)

    copy_sample(tmp_path / "home" / "sample")
    async with studio_here(tmp_path / "home") as client:
        at = "/projects/sample/measure/learning"
        asked = await client.post(f"{at}/estimate", data={"how": "quick"}, headers={"hx-request": "true"})
        assert (asked.status_code, "whose weights are not on this machine" in asked.text) == (400, True), asked.text
        few = await client.post(f"{at}/estimate", data={"base": f"embedded:{tiny(tmp_path)}"})
        assert "Learning requires 12 or more," in few.text, few.text
        monkeypatch.setattr("fabula.server.runs.children.Runs.start", start)
        monkeypatch.setattr("fabula.server.runs.children.Runs.get", lambda _, __, ___: RunRecord(id="x", verb="learn"))
        begun = await client.post(f"{at}/begin", data={"base": " smollm2 ", "how": "thorough", "anyway": "yes"})
        assert "data-begun" in begun.text
    assert started == [("learn", {"beside": [], "base": "smollm2", "quick": False, "use_anyway": True})]


def tiny(folder: Path) -> Path:
    """Weights of which nothing but a digest is looked at."""
    file = folder / "tiny.gguf"
    file.write_bytes(b"GGUF")
    return file


def test_numbers_that_nobody_measured_are_said_to_be_none() -> None:
    rows = (
        '[{"of": "a", "what": "b", "value": 1e999, "n": -3}, {"value": NaN, "n": 1e80}, '
        '{"value": 1, "low": {}, "high": 2},'
        f' {{"value": {"9" * 400}}}, {{"value": true}}, '
        '{"value": 2, "low": 3, "high": 1, "n": 2}, 7, "x\\u001b[31my"]'
    )
    report = read_report(f'{{"format": 1, "evaluator": "x\\u202ey", "rows": {rows}, "notes": ["{"n" * 30_000}"]}}')
    assert report is not None
    assert report.evaluator == "xy"
    assert [isinstance(row.scored, Estimate) for row in report.rows] == [
        *(False, False, True),
        *(False,) * 2,
        True,
        *(False,) * 2,
    ]
    assert [row.scored.low for row in report.rows if isinstance(row.scored, Estimate)] == [None, None]
    assert report.notes[0].endswith("n ... (10,000 more characters are in the file)")
    deep = "[" * 500 + "]" * 500
    assert read_report(f'{{"format": 1, "evaluator": "x", "rows": [], "how": {{"a": {deep}}}}}') is None
    many = ", ".join(['{"of": "a", "what": "b", "value": 1, "n": 1}'] * 20_001)
    long = read_report(f'{{"format": 1, "evaluator": "x", "rows": [{many}]}}')
    assert long is not None
    assert (len(long.rows), long.notes) == (20_000, ("The file contains 1 more numbers, which are not shown.",))


async def test_verdicts_that_cannot_be_read_leave_the_report(tmp_path: Path) -> None:
    copy_sample(tmp_path / "home" / "sample")
    ratings = tmp_path / "home" / "sample" / "evaluation" / "ratings.jsonl"
    for broken in ("not json\n", "\x00\x01" * 50):
        ratings.write_text(broken, "utf-8")
        async with studio_here(tmp_path / "home") as client:
            page = await client.get("/projects/sample/measure")
        assert page.status_code == 200
        assert "findings per 10,000 words" in page.text
        assert "The verdicts cannot be shown." in page.text
    ratings.unlink()
    ratings.symlink_to("/etc/passwd")
    async with studio_here(tmp_path / "home") as client:
        page = await client.get("/projects/sample/measure")
        assert "root:" not in page.text
