"""An experiment on equal terms: a system takes what another one took on the same brief and seed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from commandline import BRIEF

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

STORY = "The lamp was dark. Mara lit it. The boats came home one after the other, and she slept."
EXPERIMENT = """\
briefs = ["brief.md", "second.md"]
systems = [
  {{ system = "self-revision", match = {match} }},
  {{ system = "best-of-n", match = "agents-room" }},
  "agents-room",
]
models = [{{ model = "scripted:script.toml", label = "script" }}]
preset = "faithful"
baseline = false
workers = 3
"""


@pytest.fixture
def exp(here: Path) -> Path:
    (here / "second.md").write_text(BRIEF.replace("A girl", "A tall girl of nineteen years"), encoding="utf-8")
    (here / "exp.toml").write_text(EXPERIMENT.format(match='{ system = "agents-room" }'), encoding="utf-8")
    with (here / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f'writer = {json.dumps(STORY)}\njudge = "A"\n')
    return here / "exp.toml"


def runs(folder: Path) -> dict[str, dict[str, Any]]:
    """Every run by its brief and system."""
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {run["run"].replace("-faithful-script-1", ""): run for run in data["runs"]}


def test_each_takes_what_the_room_took_on_the_same_brief(cli: Cli, exp: Path) -> None:
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 0, ran.err
    found = runs(exp.parent / "exp")
    took = {name: run["prompt"] + run["reply"] for name, run in found.items()}
    for brief in ("brief", "second"):
        room = took[f"{brief}/agents-room"]
        calls = found[f"{brief}/self-revision"]["calls"]
        assert abs(took[f"{brief}/self-revision"] - room) <= room / calls, "half a call, and some for their growth"
        assert abs(took[f"{brief}/best-of-n"] - room) <= 0.25 * room
    assert took["brief/agents-room"] != took["second/agents-room"]
    again = cli("lab", "experiment", "exp.toml")
    assert "no calls to make" in again.err
    assert runs(exp.parent / "exp") == found


def test_the_report_says_how_near_and_what_each_took_beside_the_others(cli: Cli, exp: Path) -> None:
    (exp.parent / "third.md").write_text(BRIEF.replace("A girl", "A girl and her sister"), encoding="utf-8")
    exp.write_text(exp.read_text(encoding="utf-8").replace('"second.md"', '"second.md", "third.md"'), encoding="utf-8")
    assert cli("lab", "experiment", "exp.toml").code == 0
    data = json.loads((exp.parent / "exp/report.json").read_text(encoding="utf-8"))
    costs = {(row["of"], row["what"]): row for row in data["costs"]}
    near = costs["self-revision-faithful-script", "took of agents-room-faithful-script"]
    each = runs(exp.parent / "exp")
    took = {name: run["prompt"] + run["reply"] for name, run in each.items()}
    shares = [took[f"{brief}/self-revision"] / took[f"{brief}/agents-room"] for brief in ("brief", "second", "third")]
    assert near["value"] == pytest.approx(sum(shares) / 3)
    assert (near["n"], near["low"] < near["value"] < near["high"]) == (3, True)
    assert f"single runs from {min(shares):.1%} to {max(shares):.1%}" in near["method"]
    apart = costs["best-of-n-faithful-script - agents-room-faithful-script", "difference/tokens"]
    assert apart["value"] == pytest.approx(
        sum(took[f"{brief}/best-of-n"] - took[f"{brief}/agents-room"] for brief in ("brief", "second", "third")) / 3
    )
    assert apart["low"] < apart["value"] < apart["high"]
    assert ("took of agents-room-faithful-script") in (exp.parent / "exp/report.csv").read_text(encoding="utf-8")
    page = (exp.parent / "exp/report.html").read_text(encoding="utf-8")
    assert "tokens per story" in page
    assert "took of agents-room" in page


def test_the_answer_is_told_at_the_terminal_and_in_tables_by_short_names(cli: Cli, exp: Path) -> None:
    text = (
        exp.read_text(encoding="utf-8") + 'evaluators = [{ evaluator = "pairwise", model = "scripted:judge.toml" }]\n'
    )
    exp.write_text(text, encoding="utf-8")
    for number in (3, 4):
        (exp.parent / f"{number}.md").write_text(BRIEF.replace("A girl", f"One of {number} girls"), encoding="utf-8")
    exp.write_text(text.replace('"second.md"', '"second.md", "3.md", "4.md"'), encoding="utf-8")
    verdict = "Plot: A\nCreativity: A\nDevelopment: A\nLanguage Use: A\nOverall: A\n"
    (exp.parent / "judge.toml").write_text(f"[replies]\njudge = {json.dumps(verdict)}\n", encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 0, ran.err
    told = [line.split() for line in ran.out.splitlines()]
    (near,) = [line for line in told if line[:4] == ["self-revision", "took", "of", "agents-room"]]
    apart = [line for line in told if line[1:2] == ["-"]]
    assert {line[0] for line in apart} <= {"agents-room", "self-revision", "best-of-n"}
    assert apart[0][3] == "overall"
    paper = (exp.parent / "exp/report.md").read_text(encoding="utf-8")
    assert f"| self-revision | took of agents-room | {near[4]} |" in paper
    assert "How close matched systems came" in (exp.parent / "exp/report.tex").read_text(encoding="utf-8")


def test_parts_have_their_share_of_each_contender_and_matched_runs_stay_together(cli: Cli, exp: Path) -> None:
    exp.write_text(exp.read_text(encoding="utf-8").replace("baseline = false", "replicates = 2"), encoding="utf-8")
    parts = [cli("lab", "experiment", "exp.toml", "--shard", f"{number}/2", "--json").json for number in (1, 2)]
    for part in parts:
        assert [one["runs"] for one in part["contenders"]] == [2] * 4
        assert [one["done"] for one in part["contenders"]] == [2] * 4
    assert cli("lab", "merge", "exp.toml").out.splitlines()[-1] == "16 of 16 runs ended, in exp"


def test_calls_can_be_what_is_matched(cli: Cli, exp: Path) -> None:
    exp.write_text(EXPERIMENT.format(match='{ system = "agents-room", by = "calls" }'), encoding="utf-8")
    assert cli("lab", "experiment", "exp.toml").code == 0
    found = runs(exp.parent / "exp")
    assert found["brief/self-revision"]["calls"] == found["brief/agents-room"]["calls"]


def test_an_estimate_takes_what_the_room_is_expected_to_take(cli: Cli, exp: Path) -> None:
    data = cli("lab", "experiment", "exp.toml", "--dry-run", "--json").json
    took = {line["of"]: line["prompt"] + line["reply"] for line in data["contenders"]}
    assert took["self-revision-faithful-script"] == pytest.approx(took["agents-room-faithful-script"], rel=0.2)
    assert not (exp.parent / "exp").exists()


def test_where_the_room_fails_those_that_wait_for_it_fail_too_until_it_is_tried_again(cli: Cli, exp: Path) -> None:
    script = exp.parent / "script.toml"
    whole = script.read_text(encoding="utf-8")
    script.write_text(f'[replies]\nwriter = {json.dumps(STORY)}\njudge = "A"\n', encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 1
    assert "brief/agents-room-faithful-script-1, with which this run is matched, failed. Fix the cause" in ran.err
    assert [run["state"] for run in runs(exp.parent / "exp").values()] == ["failed"] * 6
    script.write_text(whole, encoding="utf-8")
    assert cli("lab", "experiment", "exp.toml", "--retry").code == 0
    assert [run["state"] for run in runs(exp.parent / "exp").values()] == ["done"] * 6


def test_a_run_that_was_matched_with_another_amount_is_named(cli: Cli, exp: Path) -> None:
    cli("lab", "experiment", "exp.toml")
    exp.write_text(EXPERIMENT.format(match='{ system = "agents-room", by = "calls" }'), encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 2
    assert "was started with other settings (config.tokens was" in ran.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('{ system = "agents-room" }', '"dramatron"', "match: this file contains no other system named 'dramatron'."),
        ('{ system = "agents-room" }', '"best-of-n"', "match: 'best-of-n' is itself matched."),
        ('{ system = "agents-room" }', '{ system = "agents-room", by = "words" }', "`systems[1].match.by` must be"),
        ('{ system = "agents-room" }', '{ sistem = "agents-room" }', "did you mean 'system'"),
        (
            'system = "self-revision", match',
            'system = "end-to-end", match',
            "match: end-to-end does not accept an amount of tokens. Systems that can: best-of-n, self-rev",
        ),
        (
            'system = "self-revision", match',
            'system = "self-revision", config = { tokens = 9 }, match',
            "match: `config` also sets tokens. Remove one of them.",
        ),
    ],
)
def test_a_match_that_cannot_be_is_refused(cli: Cli, exp: Path, old: str, new: str, said: str) -> None:
    exp.write_text(exp.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 2
    assert said.casefold() in ran.err.replace("\n", " ").casefold()
