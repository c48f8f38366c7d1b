"""Systems and evaluators of one's own at the command line: made, tried, listed, run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.testing.__main__ import main as tried
from outside import install, lay

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

BRIEF = "Write a story of about 90 words about Mara, who keeps a lighthouse. It ends with hope.\n"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_new_system_keeps_the_rules_and_writes_a_story(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    made = cli("new-system", "my-room")
    assert made.out == "my_room is ready. Its README.md explains which file to change first.\n"
    assert "python -m fabula.testing ./my_room" in made.err
    assert tried(["./my_room"]) == 0
    assert "./my_room: all 17 rules hold." in capsys.readouterr().out
    (cli.folder / "brief.md").write_text(BRIEF, encoding="utf-8")
    ran = cli("write", "brief.md", "--system", "./my_room", "--model", "scripted:my_room/script.toml")
    assert ran.code == 0, ran.err
    assert (cli.folder / "brief" / "story.md").read_text(encoding="utf-8").count("<!-- scene: Part") == 3
    (cli.folder / "brief" / "plan" / "outline.md").write_text("Another outline.\n", encoding="utf-8")
    again = cli("update", "brief", "--yes")  # what was typed stays trusted where it is stored
    assert again.code == 0, again.err


def test_a_new_evaluator_keeps_the_rules_and_makes_a_report(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli("new-system", "my-grades", "--evaluator", "--json").json == {"folder": "my_grades", "kind": "evaluator"}
    assert tried(["--json", "./my_grades"]) == 0
    outcomes = json.loads(capsys.readouterr().out)["tried"]["./my_grades"]
    assert len(outcomes) == 12
    assert not any(one["broken"] for one in outcomes)
    (cli.folder / "one.md").write_text("The lamp was dark. Mara lit it.\n", encoding="utf-8")
    ran = cli(
        "evaluate", "./my_grades", "one.md", "--model", "scripted:my_grades/script.toml", "--set", "temperature=0.5"
    )
    assert "one  readable      2 " in ran.out
    report = json.loads((cli.folder / "evaluation" / "my-grades.json").read_text(encoding="utf-8"))
    assert report["how"]["temperature"] == 0.5
    assert (cli.folder / "evaluation" / "my-grades.html").is_file()
    again = cli("evaluate", "./my_grades", "one.md", "--model", "scripted:my_grades/script.toml", "--json").json
    assert ([*again["reports"]], again["asked"], again["replayed"]) == (["my-grades"], 1, 0)  # another preset's prompt


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My room!", "cannot be the name of a system. Use lower-case letters"),
        ("snap", "fabula has its own system named snap. Choose another name."),
        ("there", "there already exists. Choose another name, or remove the existing folder."),
    ],
)
def test_a_name_that_will_not_do_is_refused(cli: Cli, name: str, said: str) -> None:
    (cli.folder / "there").mkdir()
    ran = cli("new-system", name)
    assert ran.code == 2
    assert said in ran.err
    assert not (cli.folder / name).exists() or name == "there"


def test_evaluate_runs_every_evaluator_lists_and_describes_them(cli: Cli) -> None:
    (cli.folder / "one.md").write_text("The lamp was dark. Mara lit it.\n", encoding="utf-8")
    listed = cli("evaluate", "--json").json
    assert {"surface", "atlas", "pairwise"} <= {one["name"] for one in listed["methods"]}
    assert {one["source"] for one in listed["methods"]} == {"fabula"}
    assert "Settings (--set FIELD=VALUE)" in cli("evaluate", "surface").out
    ran = cli("evaluate", "surface", "one.md", "--set", "more=false", "--out", "numbers")
    assert ran.code == 0, ran.err
    assert (cli.folder / "numbers" / "surface.csv").is_file()
    assert "Did you mean 'surface'?" in cli("evaluate", "surfase", "one.md").err


def test_what_packages_bring_is_listed_with_where_it_is_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path, monkeypatch, {"fabula.systems": {"my-paper": "ours_and_more.my_paper", "gone": "ours_and_more.x"}}
    )
    ran = cli("systems")
    assert "my-paper comes from more-papers 1.2." in ran.out
    assert "The system 'gone' of more-papers 1.2 is left out" in ran.err
    shown = cli("systems", "my-paper")
    assert "From:  more-papers 1.2." in shown.out
    named = {one["name"]: one["source"] for one in cli("systems", "--json").json["methods"]}
    assert (named["my-paper"], named["snap"]) == ("more-papers 1.2", "fabula")


def test_a_project_of_somebody_else_runs_no_folder_unasked(cli: Cli) -> None:
    home = cli.folder / "theirs"
    folder = lay(home / "my_paper")
    ran = home / "ran"
    evil = f"from pathlib import Path\nPath({str(ran)!r}).write_text('x')\n"
    for name in ("__init__.py", "config.py", "algorithm.py"):
        (folder / name).write_text(
            evil + (folder / name).read_text(encoding="utf-8").replace("from __future__ import annotations\n", ""),
            encoding="utf-8",
        )
    (home / "brief.md").write_text("Mara keeps a lamp.\n", encoding="utf-8")
    (home / "fabula.toml").write_text('system = "./my_paper"\n', encoding="utf-8")
    for command in ("write", "update", "write --dry-run", "status", "show", "chat", "plan"):
        said = cli(*command.split(), "theirs") if command not in {"chat", "plan"} else cli(command, "-C", "theirs")
        assert not ran.exists(), command
        if command in {"write", "update", "write --dry-run"}:
            assert "would run the code in" in said.err, command
    script = cli.folder / "s.toml"
    script.write_text('[replies]\nwriter = "The lamp was dark, and Mara lit it again."\n', encoding="utf-8")
    assert "run the code in" in cli("trust", "theirs").out
    assert cli("write", "theirs", "--model", f"scripted:{script}").code == 0
    assert ran.exists()
    ran.unlink()
    (folder / "README.md").write_text("Changed.\n", encoding="utf-8")
    assert "would run the code in" in cli("update", "theirs").err
    assert not ran.exists()


def test_an_experiment_takes_folders_with_trust(cli: Cli) -> None:
    cli("new-system", "my-room")
    cli("new-system", "my-grades", "--evaluator")
    (cli.folder / "brief.md").write_text(BRIEF, encoding="utf-8")
    (cli.folder / "exp.toml").write_text(
        'briefs = ["brief.md"]\nsystems = ["./my_room"]\nmodels = ["scripted:my_room/script.toml"]\nbaseline = false\n'
        '[[evaluators]]\nevaluator = "./my_grades"\nmodel = "scripted:my_grades/script.toml"\n',
        encoding="utf-8",
    )
    refused = cli("lab", "experiment", "exp.toml")
    assert refused.err.count("run the code in") == 2
    assert cli("trust", "exp.toml").code == 0
    ran = cli("lab", "experiment", "exp.toml")
    assert ran.code == 0, ran.err
    assert list((cli.folder / "exp" / "evaluation" / "my-grades").glob("*.json"))


@pytest.mark.parametrize(
    ("file", "old", "new", "rule", "said"),
    [
        (
            "config.py",
            "        temperature: temperature of all calls.\n",
            "",
            "every setting says what it is for",
            "temperature",
        ),
        ("paper.toml", 'planner = "makes the outline"\n', "", "writes a story from its script", "planner is asked"),
        ("paper.toml", "year = 2026", "", "", "year is missing"),
        ("script.toml", "[[cases]]", "[[case]]", "script.toml has cases to try it on", "has no [[cases]]"),
        ("prompts/outline.jinja", "{{ parts }}", "{{ partz }}", "writes a story from its script", "partz"),
        (
            "improved.py",
            '"number": number, "parts": parts}',
            '"number": number, "parts": parts, "hue": 1}',
            "every prompt is used, every field read",
            "`hue`",
        ),
    ],
)
def test_a_broken_rule_is_said_in_words(
    cli: Cli, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, rule: str, said: str
) -> None:
    cli("new-system", "my-room")
    path = cli.folder / "my_room" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    capsys.readouterr()
    code = tried(["./my_room"])
    printed = capsys.readouterr()
    assert code == (1 if rule else 2)
    assert said in " ".join((printed.out + printed.err).split())
    assert f"BROKEN  {rule}" in printed.out or not rule


def test_the_rules_say_how_they_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(["--help"]) == 0
    assert "python -m fabula.testing" in capsys.readouterr().out
    assert tried([]) == 2
    assert tried(["no-such-thing"]) == 2
    assert "Unknown system or evaluator 'no-such-thing'" in capsys.readouterr().err


def test_completing_runs_no_folder(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay(cli.folder / "theirs" / "my_paper")
    ran = cli.folder / "ran"
    (folder / "__init__.py").write_text(f"open({str(ran)!r}, 'w').close()\n", encoding="utf-8")
    (cli.folder / "theirs" / "brief.md").write_text("A lamp.\n", encoding="utf-8")
    (cli.folder / "theirs" / "fabula.toml").write_text('system = "./my_paper"\n', encoding="utf-8")
    for words in (
        "write theirs --set ",
        "write --system ./theirs/my_paper --set ",
        "evaluate ./theirs/my_paper --set ",
    ):
        monkeypatch.setenv("_FABULA_COMPLETE", "complete_zsh")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"fabula {words}")
        cli()
        assert not ran.exists(), words
