"""`--dry-run`, the same everywhere: it says what would be asked, asks nobody, and leaves everything as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, PLAN, REPLIES, script_of
from fabula.cli.lazy import COMMANDS, load

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml")
STORY = "The lamp was dark.\n\nMara lit it, and the boats came home."
ASKING = (
    ("write", "brief.md", *SCRIPT, *BY_PARTS),
    ("write", "brief.md", *SCRIPT, "--system", "end-to-end", "--play", "writer=me.py:speak"),
    ("write", "--plan", "plan.yaml", *SCRIPT, "--system", "character-simulation"),
    ("write", "lamp", "--seed", "3"),
    ("update", "lamp", "--seed", "3"),
    ("plan", "--from-brief", "brief.md", *SCRIPT),
    ("plan", "--from-story", "a.md", *SCRIPT),
    ("text", "rewrite", "lamp", "climax", "--passage", "The storm ... hands."),
    ("check", "a.md", *SCRIPT),
    ("check", "lamp", *SCRIPT),
    ("evaluate", "pairwise", "a.md", "b.md", *SCRIPT),
    ("evaluate", "snap-ratings", "a.md", "--narrative", "b.md", *SCRIPT),
    ("evaluate", "editorial,rubric", "a.md", "b.md", *SCRIPT),
    ("evaluate", "ttcw", "a.md", *SCRIPT),
    ("lab", "inject", "a.md", "--out", "made", "--n", "1", *SCRIPT),
    ("data", "backtranslate", "a.md", "--brief", "brief.md", "--out", "made", *SCRIPT),
)


@pytest.fixture
def stories(cli: Cli, project: Path) -> Path:
    """A folder with two stories, a plan, a program that plays a role, and a written project."""
    home = cli.folder
    (home / "a.md").write_text(STORY + " Tobias saw it.", encoding="utf-8")
    (home / "b.md").write_text(STORY + " Nobody saw it, and Tobias slept.", encoding="utf-8")
    (home / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (home / "script.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (home / "me.py").write_text("def speak(request):\n    raise SystemExit('asked')\n", encoding="utf-8")
    return home


def _files(folder: Path) -> dict[str, bytes]:
    """Every file, but those of the databases' own that come and go with reading."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm")) and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("command", ASKING, ids=lambda words: " ".join(words[:3]))
def test_nobody_is_asked_and_nothing_changes(command: tuple[str, ...], cli: Cli, stories: Path) -> None:
    before = _files(stories)
    ran = cli(*command, "--dry-run")
    assert ran.code == 0, ran.err
    assert "role" in ran.out or "system" in ran.out
    data = cli(*command, "--dry-run", "--json").json
    assert data.get("calls") or data.get("runs"), data
    assert _files(stories) == before


def test_an_experiment_is_estimated_with_the_same_option(cli: Cli, stories: Path) -> None:
    (stories / "grid.toml").write_text(
        'name = "grid"\nbriefs = ["brief.md"]\nsystems = ["end-to-end"]\nmodels = ["scripted:script.toml"]\n',
        encoding="utf-8",
    )
    new = cli("lab", "experiment", "grid.toml", "--dry-run", "--json")
    assert new.code == 0, new.err
    assert new.json == cli("lab", "experiment", "grid.toml", "--dry-run", "--json").json


def test_estimate_is_the_old_name_of_a_dry_run(cli: Cli, stories: Path) -> None:
    old, new = cli("write", "--dry-run", "lamp", "--seed", "3"), cli("write", "lamp", "--seed", "3", "--dry-run")
    assert (old.code, old.out) == (0, new.out)


def test_a_dry_run_takes_nothing_that_would_change_something(cli: Cli, stories: Path) -> None:
    assert "--dry-run does not change anything." in cli("write", "lamp", "--save", "--dry-run").err
    ran = cli("write", "lamp", "--plan", "plan.yaml", "--system", "character-simulation", "--dry-run")
    assert (ran.code, "--dry-run does not change anything." in ran.err) == (2, True)
    (stories / "verdicts.jsonl").write_text(json.dumps({}), encoding="utf-8")
    assert (
        "--dry-run would have no effect" in cli("evaluate", "pairwise", "--ratings", "verdicts.jsonl", "--dry-run").err
    )


def test_every_command_that_may_spend_has_a_dry_run() -> None:
    talking = {"chat", "serve"}  # a person's turns are not known before
    for name in COMMANDS:
        options = {one for parameter in load(name).params for one in parameter.opts}
        if "--budget-usd" in options and name not in talking:
            assert "--dry-run" in options, name


def test_a_brief_on_standard_input_is_written(cli: Cli) -> None:
    ran = cli("write", "-", "--out", "mine", *SCRIPT, *BY_PARTS, stdin="# The Lamp\n\nA girl lights a lamp.")
    assert ran.code == 0, ran.err
    assert (cli.folder / "mine" / "brief.md").read_text(encoding="utf-8").startswith("# The Lamp")
    assert "Specify the project's folder with --out DIR." in cli("write", "-", *SCRIPT, stdin="A lamp.").err
