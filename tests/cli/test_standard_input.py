"""`-` is the story on standard input, wherever a command reads stories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.cli.lazy import COMMANDS, load

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

STORY = "# The Cape\n\nMara lit the lamp against the order. In the morning the boat came home.\n"
SCRIPT = """
[replies]
judge = '''
The first has a storm.

Plot: A
Creativity: A
Development: Same
Language Use: B
Overall: A
'''
"""
JUDGE = ("--model", "scripted:judge.toml", "--preset", "faithful", "--json")


@pytest.fixture(autouse=True)
def other(here: Path) -> Path:
    (here / "judge.toml").write_text(SCRIPT, encoding="utf-8")
    (here / "other.md").write_text("There was a lamp. Mara lit it and it was a good lamp.", encoding="utf-8")
    return here


def test_a_judge_reads_one_of_two_stories_there(cli: Cli) -> None:
    judged = cli("evaluate", "pairwise", "-", "other.md", *JUDGE, stdin=STORY).json
    assert judged["asked"] == 2
    assert set(judged["reports"]["pairwise"]["details"]["names"]) == {"the-cape", "other"}


def test_stories_are_ranked_and_measured_from_there(cli: Cli) -> None:
    assert cli("evaluate", "pairwise", "-", "other.md", *JUDGE, stdin=STORY).json["asked"] == 2
    measured = cli("measure", "-", "other.md", "--json", stdin=STORY).json
    assert [one["of"] for one in measured["reports"]["surface"]["rows"] if one["what"] == "words"] == [
        "the-cape",
        "other",
    ]
    assert "the-cape" in cli("evaluate", "surface", "-", stdin=STORY).out


def test_a_check_reads_it(cli: Cli) -> None:
    ran = cli("check", "-", "--model", "scripted:judge.toml", "--dry-run", stdin=STORY)
    assert ran.code == 0, ran.err
    assert "reader" in ran.out


@pytest.mark.parametrize("command", [("check", "-"), ("measure", "-"), ("evaluate", "pairwise", "-", "other.md")])
def test_nothing_there_is_said(command: tuple[str, ...], cli: Cli) -> None:
    ran = cli(*command, stdin=" \n")
    assert (ran.code, ran.err) == (2, "fabula: There is no story on standard input. Use a text that contains words.\n")


def test_it_holds_one_story(cli: Cli) -> None:
    ran = cli("evaluate", "pairwise", "-", "-", *JUDGE, stdin=STORY)
    assert "Standard input is specified twice, but it can contain only one story." in ran.err


def test_the_help_of_each_of_these_says_so() -> None:
    for name in (
        "check",
        "measure",
        "evaluate",
    ):
        assert name in COMMANDS
        arguments = [one for one in load(name).params if one.param_type_name == "argument"]
        assert any("- reads stdin" in (one.help or "") for one in arguments), name
