"""Projects and experiments of somebody else: nothing in them runs or leaves before a person has allowed it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fabula.cli.terminal import Terminal
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.project.trust import Trust, TrustError, acts_in
from fabula.story import Brief

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("x")
def speak(request):
    return "A lamp stood on the rock, and nobody came to light it, and so the night was dark and long for all of them."
"""
COMMANDS = (
    ("write", "theirs"),
    ("update", "theirs", "--yes"),
    ("write", "--dry-run", "theirs"),
    ("chat", "theirs", "--as", "Mara", "--with", "Tobias"),
    ("serve", "theirs", "--port", "0"),
    ("text", "continue", "story", "-C", "theirs"),
)


def foreign(folder: Path, settings: str) -> Path:
    """A project that somebody else has made."""
    home = folder / "theirs"
    home.mkdir()
    (home / "brief.md").write_text("Mara keeps a lamp. Tobias brings Mara a letter.\n", encoding="utf-8")
    (home / "fabula.toml").write_text(settings, encoding="utf-8")
    (home / "evil.py").write_text(EVIL, encoding="utf-8")
    return home


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


PLAY = 'system = "end-to-end"\n[roles.writer]\nplay = "evil.py:speak"\n'
EVERY = 'system = "vanilla"\nmodel = "smollm2"\n[sampling]\nplay = "evil.py:speak"\n'
ORDER = 'system = "agents-room"\n[config]\norchestrator = "evil.py:speak"\n'
LEAK = """system = "end-to-end"
model = "openai-chat:m"
[models."openai-chat:m"]
base_url = "http://127.0.0.1:9/v1"
key_env = "HOME"
"""


@pytest.mark.parametrize("settings", [PLAY, EVERY, ORDER, LEAK])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_does_what_a_foreign_project_says(cli: Cli, command: tuple[str, ...], settings: str) -> None:
    home = foreign(cli.folder, settings)
    ran = cli(*command)
    assert not (home / "ran").exists()
    if command[0] in {"chat", "serve"} and settings in {PLAY, ORDER}:
        return  # one does not talk to these systems, so their roles and their order are not used
    assert ran.code == 2
    assert "and you have not allowed this. If you trust its author, run `fabula trust theirs`" in ran.err
    told = "run the program" if "evil" in settings else "the value of the variable HOME, to http://127.0.0.1:9/v1"
    assert told in ran.err


def test_a_status_says_what_stands_in_the_way(cli: Cli) -> None:
    home = foreign(cli.folder, PLAY)
    assert "run `fabula trust theirs`" in cli("status", "theirs").out
    assert not (home / "ran").exists()


def test_what_is_trusted_runs_until_it_changes(cli: Cli) -> None:
    home = foreign(cli.folder, PLAY)
    said = cli("trust", "theirs")
    assert said.out == f"From now on theirs/fabula.toml may\n  run the program {home.resolve()}/evil.py:speak\n"
    assert cli("write", "theirs").code == 0  # also from another folder: its paths start at the project
    assert (home / "ran").exists()
    assert cli("trust", "--list").out.startswith(str(home.resolve()))
    (home / "evil.py").write_text(EVIL + "# changed\n", encoding="utf-8")
    assert "you have not allowed this." in cli("write", "theirs").err
    cli("trust", "theirs")
    assert cli("trust", "theirs", "--forget").out == "theirs/fabula.toml is no longer trusted.\n"
    assert cli("write", "theirs").code == 2
    assert cli("trust", "--list").out == "Only what you type is trusted.\n"


def test_what_is_trusted_stands_outside_the_project_and_goes_for_its_place_alone(cli: Cli, tmp_path: Path) -> None:
    home = foreign(cli.folder, PLAY)
    cli("trust", "theirs")
    assert (tmp_path / "state/fabula/trust.json").is_file()
    home.rename(cli.folder / "elsewhere")
    assert cli("write", "elsewhere").code == 2


def test_a_project_that_does_nothing_needs_no_trust(cli: Cli) -> None:
    foreign(cli.folder, 'system = "end-to-end"\n')
    assert cli("trust", "theirs").out == (
        "theirs/fabula.toml does not run programs or connect to servers of its own, so it does not need your trust.\n"
    )


def test_what_the_person_types_is_trusted_and_stays_so_where_it_is_stored(cli: Cli) -> None:
    (cli.folder / "mine.py").write_text(EVIL, encoding="utf-8")
    (cli.folder / "mine.md").write_text("A lamp.\n", encoding="utf-8")
    assert cli("write", "mine.md", "--system", "end-to-end", "--play", "writer=mine.py:speak").code == 0
    assert cli("update", "mine", "--yes").code == 0
    foreign(cli.folder, 'system = "end-to-end"\n')
    assert cli("write", "theirs", "--play", "writer=mine.py:speak").code == 0


def test_another_player_on_the_command_line_makes_a_foreign_program_harmless(cli: Cli) -> None:
    home = foreign(cli.folder, PLAY)
    (cli.folder / "mine.py").write_text(EVIL, encoding="utf-8")
    assert cli("write", "theirs", "--play", "writer=mine.py:speak").code == 0
    assert not (home / "ran").exists()


@pytest.mark.parametrize(("said", "trusted"), [("y\n", True), ("n\n", False), ("", False)])
def test_on_a_terminal_it_is_asked_once(cli: Cli, monkeypatch: pytest.MonkeyPatch, said: str, trusted: bool) -> None:  # noqa: FBT001 - a case
    home = foreign(cli.folder, PLAY)
    monkeypatch.setattr(Terminal, "interactive", property(lambda self: self.environ is not None))
    ran = cli("write", "--dry-run", "theirs", stdin=said)
    assert "would\n  run the program" in ran.err
    assert (home / "ran").exists() is trusted
    assert ran.code == (0 if trusted else 2)
    if trusted:
        assert "would" not in cli("write", "--dry-run", "theirs").err


def test_a_foreign_experiment_runs_nothing(cli: Cli) -> None:
    home = foreign(cli.folder, "")
    told = '{ system = "end-to-end", settings = { roles = { writer = { play = "evil.py:speak" } } } }'
    (home / "exp.toml").write_text(
        f'briefs = ["brief.md"]\nsystems = [{told}]\nmodels = ["smollm2"]\n', encoding="utf-8"
    )
    ran = cli("lab", "experiment", "theirs/exp.toml")
    assert "run `fabula trust theirs/exp.toml`" in ran.err, ran
    assert not (home / "ran").exists()
    assert cli("trust", "theirs/exp.toml").code == 0


def test_the_python_interface_asks_too(tmp_path: Path) -> None:
    home = foreign(tmp_path, PLAY)
    settings = ProjectFolder.open(home).settings
    with pytest.raises(TrustError):
        settings.check_trusted()
    with pytest.raises(TrustError):
        settings.model_copy(update={"seed": 2}).check_trusted()
    Settings.of({"roles": {"writer": {"play": str(home / "evil.py:speak")}}}, "a caller").check_trusted()
    mine = ProjectFolder.create(
        tmp_path / "mine", Brief("A lamp."), {"sampling": {"play": str(home / "evil.py:speak")}}
    )
    mine.settings.check_trusted()


@pytest.mark.parametrize(
    ("table", "free"),
    [
        ({"base_url": "http://localhost:11434/v1"}, True),
        ({"base_url": "http://127.0.0.1:8080/v1"}, True),
        ({"base_url": "http://[::1]:8080/v1"}, True),
        ({"base_url": "http://localhost.evil.example/v1"}, False),
        ({"base_url": "http://127.0.0.1@evil.example/v1"}, False),
        ({"base_url": "http://localhost/v1", "key_env": "HOME"}, False),
        ({"key_env": "HOME"}, False),
        ({"parallel": 3}, True),
    ],
)
def test_an_address_on_this_machine_without_a_key_is_free(tmp_path: Path, table: dict[str, str], free: bool) -> None:  # noqa: FBT001 - a case
    assert (not acts_in({"models": {"openai-chat:m": table}}, tmp_path)) is free
    if "base_url" in table:  # the key of a named provider goes nowhere else, not even to this machine
        assert acts_in({"models": {"anthropic:m": table}}, tmp_path)


def test_a_damaged_record_of_trust_is_said(tmp_path: Path) -> None:
    (tmp_path / "trust.json").write_text("[" * 5000, encoding="utf-8")
    with pytest.raises(
        Exception,
        match=r"trust.json cannot be read. Delete it, and fabula will ask for your trust "
        r"again.",
    ):
        Trust(tmp_path / "trust.json").all()
    assert sys.getrecursionlimit() < 5000


@pytest.mark.parametrize("name", ["brief.md", "fabula.toml", "story.md", "plan", "story/02-more.md", ".fabula", "chat"])
def test_a_link_out_of_a_project_is_not_followed(cli: Cli, name: str) -> None:
    home = foreign(cli.folder, "")
    mine = cli.folder / "mine"
    mine.mkdir()
    (mine / "key.md").write_text("my key\n", encoding="utf-8")
    (home / "story").mkdir()
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(mine / "key.md" if "." in name[1:] else mine)
    for command in (("status", "theirs"), ("update", "theirs", "--yes"), ("export", "theirs")):
        ran = cli(*command)
        assert ran.code == 2
        assert "is a link to a place outside theirs. Replace the link with the file itself." in ran.err
    assert sorted(file.name for file in mine.iterdir()) == ["key.md"]


def test_links_within_a_project_are_its_own(cli: Cli) -> None:
    home = foreign(cli.folder, 'system = "end-to-end"\n')
    (home / "notes.md").write_text("A note.\n", encoding="utf-8")
    (home / "plan").mkdir()
    (home / "plan" / "notes.md").symlink_to("../notes.md")
    (home / "elsewhere").symlink_to(cli.folder)
    assert cli("status", "theirs").code == 0


def test_a_folder_for_prompts_that_lies_elsewhere_needs_trust(cli: Cli) -> None:
    home = cli.folder / "theirs"
    home.mkdir()
    (home / "brief.md").write_text("Mara keeps a lamp.\n", encoding="utf-8")
    (home / "fabula.toml").write_text('[sampling]\nmodel = "files:../elsewhere"\n', encoding="utf-8")
    ran = cli("write", "theirs")
    assert ran.code
    elsewhere = (cli.folder / "elsewhere").resolve()
    assert f"would write prompts to {elsewhere}, which is outside its folder" in ran.err
    assert not elsewhere.exists()
