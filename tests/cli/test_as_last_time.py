"""What a run was given on the command line holds for the next one, until the author says something else."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


@pytest.fixture
def with_seed(cli: Cli, project: Path) -> Path:
    """The project, written again with a seed that is not in its fabula.toml."""
    assert cli("write", "lamp", "--anew", "--seed", "9", "--json").json["asked"] == 9
    return project


@pytest.mark.parametrize("command", [("update", "--dry-run"), ("write",), ("write", "--dry-run"), ("status",)])
def test_the_next_command_keeps_the_options_of_the_last_run(
    cli: Cli, with_seed: Path, command: tuple[str, ...]
) -> None:
    data = cli(command[0], "lamp", *command[1:], "--json").json
    assert data.get("asked", 0) == 0
    assert data.get("estimate", data).get("total_calls", 0) == 0


@pytest.mark.parametrize("command", [("update", "--dry-run"), ("write",), ("write", "--dry-run")])
def test_it_is_said(cli: Cli, with_seed: Path, command: tuple[str, ...]) -> None:
    said = "Same options as last time: --seed 9. --forget uses only fabula.toml; --save stores them there.\n"
    assert said in cli(command[0], "lamp", *command[1:]).err


def test_it_lasts_over_several_runs(cli: Cli, with_seed: Path) -> None:
    (with_seed / "plan/characters.md").write_text("Mara, seventeen.\n")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 7
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_a_conversation_is_not_the_last_run_of_the_story(cli: Cli, with_seed: Path) -> None:
    with ProjectFolder.open(with_seed).journal as journal:
        journal.start_run("chat with vanilla", {"model": "hand", "system": "vanilla"})
        journal.end_run()
    assert cli("write", "lamp", "--json").json["asked"] == 0
    assert "Same options as last time: --seed 9." in cli("update", "lamp", "--dry-run").err


def test_forgetting_takes_the_settings_file_alone(cli: Cli, with_seed: Path) -> None:
    data = cli("update", "lamp", "--forget", "--yes", "--json").json
    assert (data["asked"], data["replayed"]) == (0, 9)  # the texts of the stored seed are in the journal
    assert "Same options as last time:" not in cli("update", "lamp").err


def test_what_the_author_changed_in_the_settings_since_goes_before(cli: Cli, with_seed: Path) -> None:
    settings = with_seed / "fabula.toml"
    settings.write_text("seed = 5\n" + settings.read_text())
    ran = cli("update", "lamp", "--dry-run")
    assert "Same options as last time:" not in ran.err
    assert "climax/section" in ran.out


def test_saving_stores_what_was_given_before(cli: Cli, with_seed: Path) -> None:
    cli("write", "lamp", "--save")
    assert tomllib.loads((with_seed / "fabula.toml").read_text())["seed"] == 9
    assert "Same options as last time:" not in cli("update", "lamp").err


def test_options_are_said_as_they_are_typed(cli: Cli, project: Path) -> None:
    options = ("--sampling", "climax.stop=END", "--set", "max_tokens=900", "--aids", "off")
    cli("write", "lamp", "--anew", *options)
    said = cli("update", "lamp", "--dry-run").err
    assert all(f"{name} {value}" in said for name, value in zip(options[::2], options[1::2], strict=True))


def test_planning_in_a_project_keeps_its_system(cli: Cli, project: Path) -> None:
    settings = project / "fabula.toml"
    settings.write_text('system = "dramatron"\npreset = "faithful"\nmodel = "scripted:script.toml"\n')
    cli("plan", "--from-brief", "brief.md", "--out", "lamp")
    assert cli("status", "lamp", "--json").json["settings"]["system"] == "dramatron"


def test_a_length_holds_until_the_brief_asks_for_another(cli: Cli, project: Path) -> None:
    brief = project / "brief.md"
    cli("write", "lamp", "--anew", "--words", "60-80")
    assert "Same options as last time: --words 60-80." in cli("update", "lamp", "--dry-run").err
    brief.write_text(brief.read_text().replace("will.", "will, on one island."))
    assert "Same options as last time: --words 60-80." in cli("update", "lamp", "--dry-run").err
    brief.write_text(brief.read_text() + "\nWrite about 500 words.\n")
    assert "Same options as last time:" not in cli("update", "lamp", "--dry-run").err


def test_a_run_that_failed_at_once_is_not_the_last(cli: Cli, project: Path, here: Path) -> None:
    (here / "empty.toml").write_text('[replies]\nnobody = "nothing"\n')
    assert cli("write", "lamp", "--anew", "--model", "scripted:empty.toml").code == 1
    ran = cli("update", "lamp", "--dry-run")
    assert "No call is needed." in ran.out
    assert "Same options as last time:" not in ran.err


def test_update_takes_options_and_names_every_text_that_they_change(cli: Cli, project: Path) -> None:
    ran = cli("update", "lamp", "--sampling", "climax.temperature=1")
    assert "To be rewritten: Climax, Falling action, Resolution.\n" in ran.out
    assert "No model was called" in ran.err
    # the same script answers: what was announced below the climax has not changed
    assert cli("update", "lamp", "--sampling", "climax.temperature=1", "--yes", "--json").json["asked"] == 1


def test_write_names_every_text_that_an_option_changes(cli: Cli, project: Path) -> None:
    ran = cli("write", "lamp", "--anew", "--sampling", "resolution.temperature=1")
    assert "To be rewritten: Resolution.\n" in ran.err


def test_a_model_that_is_named_for_a_role_plays_it_whoever_played_it_before(
    cli: Cli, project: Path, here: Path
) -> None:
    (here / "player.py").write_text("def said(request):\n    return 'The wind took the window and Mara held on.'\n")
    cli("write", "lamp", "--anew", "--play", "climax=player.py:said")
    assert "The wind took" in (project / "story/03-climax.md").read_text()
    assert "Same options as last time: --play climax=" in cli("update", "lamp", "--dry-run").err
    assert cli("write", "lamp", "--anew", "--model", "climax=scripted:script.toml").code == 0
    assert "The storm broke" in (project / "story/03-climax.md").read_text()


def test_of_another_system_only_what_it_has_is_kept(cli: Cli, project: Path) -> None:
    cli("write", "lamp", "--anew", "--seed", "9", "--set", "demands=2", "--sampling", "climax.temperature=1")
    ran = cli("write", "--dry-run", "lamp", "--system", "vanilla")
    assert "Same options as last time:" not in ran.err or "--seed 9" in ran.err


def test_a_person_who_was_cast_is_waited_for_again(cli: Cli, project: Path) -> None:
    cli.at_terminal()
    assert cli("write", "lamp", "--anew", "--play", "climax=me", "--seed", "4", stdin="").code == 0
    ran = cli("status", "lamp", "--json")
    assert ran.json["settings"]["roles"]["climax"]["play"] == "me"


def test_what_a_person_typed_is_trusted_again_and_what_somebody_elses_record_says_is_not(
    cli: Cli, project: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "mine"))
    (here / "player.py").write_text("def said(request):\n    return 'The wind took the window and Mara held on.'\n")
    cli("write", "lamp", "--anew", "--play", "climax=player.py:said")
    assert cli("update", "lamp", "--dry-run").code == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "of-another-reader"))
    for settings in (project / "fabula.toml", None):
        ran = cli("update", "lamp", "--dry-run")
        assert ran.code == 2
        assert "player.py:said, and you have not allowed this. If you trust its author, run `fabula trust" in ran.err
        if settings:
            settings.unlink()
    assert cli("trust", "lamp").code == 0
    assert "has not allowed" not in cli("update", "lamp", "--dry-run").err
