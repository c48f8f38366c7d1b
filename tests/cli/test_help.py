"""Help at the terminal, and the groups of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.cli.lazy import COMMANDS, LazyGroup, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commandline import Cli

SCREEN = 40  # lines of 80 columns
LIST = 29


def every(name: str, command: Any) -> Iterator[tuple[list[str], Any]]:  # noqa: ANN401 - typer's command type is private
    """A command and, where it is a group with a module of its own, those in it."""
    yield name.split(), command
    if not isinstance(command, LazyGroup):
        for inner, one in getattr(command, "commands", {}).items():
            yield from every(f"{name} {inner}", one)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_fits_one_screen_and_leaves_nothing_unnamed(
    name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words, command in every(name, load(name)):
        short, long = cli(*words, "-h"), cli(*words, "--help")
        assert (short.code, short.out) == (0, long.out)
        lines = short.out.splitlines()
        assert len(lines) <= SCREEN, words
        assert max(map(len, lines)) <= 80, words
        whole = short.out if not command.callback or hasattr(command, "commands") else cli(*words, "--help-all").out
        for option in (one for one in command.params if one.param_type_name == "option" and not one.hidden):
            assert option.opts[-1] in short.out or option.name == "help_all", words
            assert option.opts[-1] in whole, words
            assert option.help, (words, option.opts)


def test_the_commands_fit_on_a_small_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = cli("-h").out
    listed = shown[shown.index("Commands:") :].splitlines()
    assert len([line for line in listed if line]) <= LIST
    assert len(shown.splitlines()) <= SCREEN
    assert all(name in shown for name in COMMANDS if " " not in name)


def test_a_group_by_itself_lists_its_commands(cli: Cli) -> None:
    ran = cli("lab")
    assert ran.code == 0
    assert "experiment" in ran.out
    assert "Options: -h." in ran.out
    assert cli("data").out.startswith("Usage: fabula data")


def test_a_misspelt_command_is_named_with_its_group(cli: Cli) -> None:
    assert "Did you mean 'evaluate'?" in cli("evalaute").err
    assert "There is no command `fabula text retkae`. Did you mean 'retake'?" in cli("text", "retkae").err
    assert cli("text", "retkae").code == 2


@pytest.mark.parametrize(
    ("typed", "meant"), [("writ", "write"), ("staus", "status"), ("exprot", "export"), ("exp", "")]
)
def test_a_name_is_suggested_only_where_it_is_near(typed: str, meant: str, cli: Cli) -> None:
    said = cli(typed).err
    assert (f"Did you mean {meant!r}?" in said) == bool(meant)
    assert "Did you mean" not in cli("frobnicate").err
