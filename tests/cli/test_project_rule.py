"""One rule for the project of a command: its first argument, `-C`, or the folder one is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.cli.lazy import COMMANDS, LazyGroup, load

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

ON_ARTEFACTS = (
    ("show",),
    ("edit", "--text", "It was dark."),
    ("text", "pin"),
    ("text", "retake"),
    ("text", "continue"),
    ("text", "approve"),
    ("show", "--versions"),
    ("text", "rewrite", "--passage", "The storm ... hands.", "--yes", "--json"),
)
ON_PROJECTS = (
    ("show",),
    ("status",),
    ("update",),
    ("undo",),
    ("export",),
    ("write", "--dry-run"),
    ("doctor",),
    ("trust",),
)
AT_HOME = (
    "write",
    "update",
    "show",
    "status",
    "world",
    "edit",
    "undo",
    "redo",
    "export",
    "check",
    "chat",
    "serve",
    "studio",
    "doctor",
    "trust",
    "plan",
    "learn",
)


def _words(command: tuple[str, ...], *places: str) -> tuple[str, ...]:
    named = tuple(word for word in command[:2] if not word.startswith("-"))
    return (*named, *places, *command[len(named) :])


@pytest.mark.parametrize("command", ON_ARTEFACTS, ids=" ".join)
def test_an_artefact_is_named_in_five_ways(
    command: tuple[str, ...], cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = {
        cli(*_words(command, "lamp", "climax")).code,
        cli(*_words(command, "climax", "lamp")).code,
        cli(*_words(command, "climax", "-C", "lamp")).code,
        cli(*_words(command, "lamp", "climax", "-C", str(project))).code,
    }
    said = cli(*_words(command, "lamp", "nobody")).err
    assert "artefact 'nobody'" in said
    said = cli(*_words(command, "lamp", "climax", "-C", "empty")).err
    assert "You specified two projects, lamp and -C empty. Use only one." in said
    assert "There is no folder nowhere" in cli(*_words(command, "nowhere", "climax")).err
    assert "There are too many arguments:" in cli(*_words(command, "lamp", "climax", "plot")).err
    monkeypatch.chdir(project)
    codes.add(cli(*_words(command, "climax")).code)
    assert len(codes) == 1 or command[1:2] == ("continue",)  # it waits to be continued already


@pytest.mark.parametrize("command", ON_PROJECTS, ids=" ".join)
def test_a_project_is_named_in_three_ways(
    command: tuple[str, ...], cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [cli(*_words(command, "lamp")).code, cli(*_words(command, "-C", "lamp")).code]
    monkeypatch.chdir(project)
    codes.append(cli(*command).code)
    assert len(set(codes)) == 1, codes


def test_an_artefact_that_has_to_be_named_is_asked_for(cli: Cli, project: Path) -> None:
    ran = cli("text", "unpin", "lamp")
    assert (ran.code, ran.err) == (
        2,
        "fabula: Specify a text after the project lamp. To list the texts, run `fabula status lamp`.\n",
    )


def test_commands_that_are_on_no_project_take_no_folder() -> None:
    for name in COMMANDS:
        command = load(name)
        if isinstance(command, LazyGroup) or hasattr(command, "commands"):
            continue
        takes = any("-C" in one.opts for one in command.params)
        assert takes == (
            name in AT_HOME
            or (name.startswith(("text ", "codex ")) and name != "text card")
            or name in ("measure", "lab snap")
        ), name


def test_stories_and_a_project_are_not_named_together(cli: Cli, project: Path) -> None:
    ran = cli("measure", "brief.md", "-C", "lamp")
    assert (ran.code, "brief.md and -C lamp cannot be used together." in ran.err) == (2, True)
    assert cli("measure", "-C", "lamp").code == 0


def test_a_name_that_is_no_folder_is_named_where_there_is_no_project(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here / "empty")
    ran = cli("show", "lmap")
    assert ran.code == 1
    assert "fabula: lmap is not a project folder, and there is no project here with a text of that name." in ran.err


def test_a_text_is_named_after_its_project_from_outside(cli: Cli, project: Path) -> None:
    assert cli("show", "lamp", "climax").code == 0
    assert cli("show", "lamp", "climax", "--versions").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("text", "replace", "lamp", "coal", "peat"), "project after -C: `fabula text replace coal peat -C lamp`."),
        (("text", "replace", "lamp", "coal"), "lamp is a project folder, which this command takes after -C"),
        (("text", "replace"), "Write `fabula text replace OLD NEW -C PROJECT`."),
        (("text", "snapshot", "lamp"), "lamp is a project folder, which this command takes after -C"),
        (("codex", "show", "Mara"), "If it is the name of an entry, write `fabula codex show --name Mara`."),
        (("codex", "set", "Mara Quist"), "Write `fabula codex set --name 'Mara Quist'`."),
        (("codex", "remove", "lamp"), "Write `fabula codex remove lamp --name TEXT`."),
        (
            ("text", "note", "lamp", "climax", "Too", "dark."),
            "Write `fabula text note lamp climax --text 'Too dark.'`.",
        ),
        (("text", "pin", "climax"), "before it, `FOLDER climax`, or after -C: `climax -C FOLDER`."),
    ],
)
def test_a_message_says_what_to_type_where_a_project_or_a_name_is_in_the_wrong_place(
    cli: Cli, project: Path, line: tuple[str, ...], said: str
) -> None:
    (cli.folder / "brief.md").unlink()  # it would make this folder a project
    ran = cli(*line)
    assert (ran.code == 0, said in ran.err) == (False, True), ran.err
