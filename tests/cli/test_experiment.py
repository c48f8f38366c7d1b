"""`fabula lab experiment`: the dry estimate, the run with its tables and reports, what failed, and no more money."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import BRIEF, script_of
from fabula.cli.commands.experiment import Watch
from fabula.cli.terminal import Terminal
from fabula.engine.events import CallFinished, CallRetried, RunFinished, RunStarted
from fabula.models.base import Usage

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

STORY = "The lamp was dark. Mara lit it. The boats came home one after the other, and she slept."
ENDING = "Plot: A\nCreativity: A\nDevelopment: A\nLanguage Use: A\nOverall: A\n"
EXPERIMENT = """\
name = "Two rooms"
briefs = ["brief.md", "second.md"]
systems = ["agents-room"]
models = [{ model = "scripted:script.toml", label = "script" }]
preset = "faithful"
"""


@pytest.fixture
def exp(here: Path) -> Path:
    """`exp.toml` with two briefs, a room and the baseline that is added."""
    (here / "second.md").write_text(BRIEF.replace("Lamp", "Second Lamp"), encoding="utf-8")
    (here / "exp.toml").write_text(EXPERIMENT, encoding="utf-8")
    with (here / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f"writer = {json.dumps(STORY)}\n")
    return here / "exp.toml"


def test_the_estimate_asks_nobody_and_says_what_comes(cli: Cli, exp: Path) -> None:
    ran = cli("lab", "experiment", "exp.toml", "--dry-run")
    assert ran.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.strip()}
    assert rows["agents-room-faithful-script"][:2] == ["2", "18"]
    assert rows["end-to-end-faithful-script"][:2] == ["2", "2"]
    assert rows["surface"][:2] == ["4", "0"]
    assert "No model was called. Next: `fabula lab experiment exp.toml`." in ran.err
    assert not (exp.parent / "exp").exists()
    there = cli("lab", "experiment", "exp.toml", "-o", "other place", "--dry-run").err
    assert "Next: `fabula lab experiment exp.toml -o 'other place'`." in there
    data = cli("lab", "experiment", "exp.toml", "--dry-run", "--json").json
    assert [line["calls"] for line in data["contenders"]] == [18, 2]
    assert data["cost"] == 0


def test_reports_beside_the_briefs_are_no_briefs(cli: Cli, exp: Path) -> None:
    (exp.parent / "lamps").mkdir()
    text = EXPERIMENT.replace('["brief.md", "second.md"]', '["lamps"]')
    (exp.parent / "lamps.toml").write_text(text, encoding="utf-8")
    (exp.parent / "second.md").rename(exp.parent / "lamps" / "lamp.md")
    assert cli("lab", "experiment", "lamps.toml").code == 0
    assert (exp.parent / "lamps" / "report.md").is_file()
    again = cli("lab", "experiment", "lamps.toml")
    assert again.code == 0
    assert "no calls to make" in again.err
    assert [path.name for path in (exp.parent / "lamps" / "runs").iterdir()] == ["lamp"]


def test_runs_are_told_one_by_one_and_the_reports_lie_in_the_folder(cli: Cli, exp: Path) -> None:
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 0
    assert "Two rooms, in exp: 4 runs of 4 to do, about 20 calls" in ran.err
    assert "[4/4] second/end-to-end-faithful-script-1  1 call" in ran.err
    assert "surface: measured" in ran.err
    assert "agents-room-faithful-script  2 of 2" in ran.out
    assert "exp/report.html" in ran.out
    folder = exp.parent / "exp"
    assert sorted(path.name for path in folder.glob("report.*")) == [
        f"report.{kind}" for kind in ("csv", "html", "json", "md", "tex")
    ]
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert data["complete"] is True
    assert [run["state"] for run in data["runs"]] == ["done"] * 4
    assert [c["baseline"] for c in data["contenders"]] == [False, True]
    assert (folder / "experiment.toml").read_text(encoding="utf-8") == EXPERIMENT
    again = cli("lab", "experiment", "exp.toml")
    assert "Two rooms, in exp: no calls to make" in again.err
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == data


def test_a_file_is_tried_with_one_model_and_few_briefs(cli: Cli, exp: Path) -> None:
    judge = '[[evaluators]]\nevaluator = "pairwise"\nmodel = "openai:gpt-5-mini"\npreset = "faithful"\n'
    printed = '[[published]]\ntable = "Table 2"\nmeasures = ["words"]\nvalues = { end-to-end = [1207] }\n'
    text = EXPERIMENT.replace("scripted:script.toml", "openai:gpt-5-mini") + judge + printed
    text = text.replace('["brief.md", "second.md"]', '"*.md"')
    exp.write_text(text, encoding="utf-8")
    with (exp.parent / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f"judge = {json.dumps(ENDING)}\n")
    ran = cli("lab", "experiment", "exp.toml", "--model", "scripted:script.toml", "--limit", "1", "--out", "try")
    assert ran.code == 0
    assert "2 runs of 2 to do" in ran.err
    assert "Compared with published values" in ran.out
    assert "Table 2" in ran.out


def test_json_holds_the_results_and_their_files(cli: Cli, exp: Path) -> None:
    ran = cli("lab", "experiment", "exp.toml", "--json", "--out", "elsewhere", "--workers", "3")
    assert ran.code == 0
    assert ran.json["asked"] == 20
    assert ran.json["files"]["html"] == "elsewhere/report.html"
    assert not [line for line in ran.err.splitlines() if "Next:" in line]


def test_a_failed_run_ends_with_1_and_is_tried_again_when_asked(cli: Cli, exp: Path) -> None:
    (exp.parent / "script.toml").write_text(script_of({"writer": STORY}), encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 1
    assert "failed: The script has no reply for the role 'conflict'" in ran.err
    assert "Failed (--retry tries runs again):" in ran.out
    assert (exp.parent / "exp" / "report.html").is_file()
    again = cli("lab", "experiment", "exp.toml")
    assert again.code == 1
    assert "no calls to make" in again.err
    assert "2 runs of 4 to do" in cli("lab", "experiment", "exp.toml", "--retry").err


def test_the_stories_of_an_experiment_are_ranked_without_its_failed_runs(cli: Cli, exp: Path) -> None:
    with (exp.parent / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f"judge = {json.dumps(ENDING)}\n")
    cli("lab", "experiment", "exp.toml")
    lost = exp.parent / "exp/runs/second/agents-room-faithful-script-1/.fabula/journal.db"
    lost.unlink()
    ran = cli("evaluate", "pairwise", "exp", "--model", "scripted:script.toml", "--preset", "faithful", "--json")
    assert ran.code == 0
    assert "Left out: 1 run of an experiment that have no story." in ran.err
    assert '"agents-room-faithful-script"' in ran.out
    assert '"end-to-end-faithful-script"' in ran.out


def test_verdicts_on_the_whole_story_stand_first(cli: Cli, exp: Path) -> None:
    with (exp.parent / "script.toml").open("a", encoding="utf-8") as script:
        script.write(f"judge = {json.dumps(ENDING)}\n")
    judge = '[[evaluators]]\nevaluator = "pairwise"\nmodel = "scripted:script.toml"\npreset = "faithful"\n'
    exp.write_text(EXPERIMENT + judge, encoding="utf-8")
    shown = cli("lab", "experiment", "exp.toml").out.partition("\npairwise\n")[2]
    assert shown.splitlines()[0].split()[:3] == ["strength", "overall", "plot"]


def test_the_end_of_the_budget_is_told_after_the_reports(cli: Cli, exp: Path) -> None:
    ran = cli("lab", "experiment", "exp.toml", "--budget-tokens", "2000")
    assert ran.code == 1
    assert "fabula: Stopped before the budget of 2,000 tokens is exceeded" in ran.err
    data = json.loads((exp.parent / "exp" / "report.json").read_text(encoding="utf-8"))
    assert data["complete"] is False
    assert data["stopped"]
    assert cli("lab", "experiment", "exp.toml").code == 0


def test_a_run_that_waits_for_a_person_is_told(cli: Cli, exp: Path) -> None:
    exp.write_text(EXPERIMENT + '[settings.roles.plot]\nplay = "me"\n', encoding="utf-8")
    exp.write_text(exp.read_text(encoding="utf-8") + "[settings.roles.plot.x]\n", encoding="utf-8")
    assert "exp.toml: settings: There is no field 'x' in `roles.plot`." in cli("lab", "experiment", "exp.toml").err
    mine = '{ system = "agents-room", settings = { roles = { plot = { play = "me" } } } }'
    exp.write_text(EXPERIMENT.replace('"agents-room"', mine), encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 0
    assert "You play plot" in ran.err
    assert (
        "Not finished. To continue, run the same command again. It measures the stories when all runs have ended: "
        "brief/agents-room"
    ) in ran.out
    again = cli("lab", "experiment", "exp.toml", "--json", stdin="A storm.\n.\nAnother storm.\n.\n")
    assert again.json["complete"] is True


def test_what_is_at_work_is_shown_live(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Terminal, "lively", property(lambda _: True))
    watch = Watch(Terminal(), 9, lambda: 12.0, over=2)
    with watch.alive():
        for number in range(8):
            watch.hear(f"lamp/room-{number}", RunStarted("agents-room"))
        watch.hear("lamp/room-0", CallFinished("plot", "plot", "m", Usage(prompt=700, reply=300), replayed=False))
        watch.hear("", CallRetried("m", 1, 4.0, "busy"))
        shown = watch.lines()
        with watch.aside():
            assert watch.lines() == shown
    assert shown[0] == "▸ lamp/room-0  1 call, 0 s"
    assert shown[-1] == "  2 of 9 runs finished, 8 at work · 1 call, 1,000 tokens"
    assert len(shown) == 7
    watch.hear("lamp/room-7", RunFinished("agents-room"))
    assert "7 at work" in watch.lines()[-1]
    assert "m failed (busy); try 2 in 4 s" in capsys.readouterr().err


def test_a_wrong_file_ends_with_2(cli: Cli, exp: Path) -> None:
    exp.write_text(EXPERIMENT.replace("agents-room", "agents-rom"), encoding="utf-8")
    ran = cli("lab", "experiment", "exp.toml")
    assert (ran.code, ran.err) == (
        2, "fabula: exp.toml: systems[1]: Unknown system 'agents-rom'. Did you mean 'agents-room'?\n",
    )  # fmt: skip
    assert cli("lab", "experiment", "none.toml").code == 2
    assert cli("lab", "experiment").code == 2
