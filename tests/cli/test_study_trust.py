"""A study of somebody else: raters meet nothing private and no program runs before a person has allowed it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.studies import acts_of_study, assign, character_settings, check_trusted, study_of_characters
from fabula.base.errors import UsageError
from fabula.cli.terminal import Terminal
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import Study
from fabula.project.folder import ProjectFolder
from fabula.project.trust import Trust, TrustError
from fabula.story import Brief

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

from datetime import UTC, datetime

STORY = "Mara kept the lamp of the cape. Tobias brought Mara a letter."
PROGRAM = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("x")
def speak(request):
    return "[Mara: (looks up) No.]"
"""
PLAY = '\n[roles.npc]\nplay = "evil.py:speak"\n'


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def project(folder: Path, more: str = "") -> Path:
    """A project of a character, as a person here has made it."""
    settings = {"system": "vanilla", "model": "scripted:none.toml", "config": {"player": "Tobias", "npc": "Mara"}}
    ProjectFolder.create(folder, Brief(STORY), settings)
    (folder / "evil.py").write_text(PROGRAM, encoding="utf-8")
    with (folder / "fabula.toml").open("a", encoding="utf-8") as file:
        file.write(more)
    return folder


def study(folder: Path, *more: str) -> Study:
    """A study of two characters whose raters have their tasks."""
    places = [project(folder / "made" / name, settings) for name, settings in zip("ab", (*more, "", ""), strict=False)]
    made = study_of_characters(folder / "theirs", "Talk", places, "Tobias", "Mara").study
    return assign(made, AssignmentOptions(), datetime.now(UTC))[0]


def with_project(made: Study, place: str) -> Study:
    """The study as somebody has changed it, who names this project for its first character."""
    file = made.folder / "items.jsonl"
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[0]["project"] = place
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return Study.read(made.folder)


def test_a_program_of_a_character_needs_trust_once_for_the_whole_study(cli: Cli) -> None:
    made = study(cli.folder, PLAY, PLAY)
    programs = [made.folder.resolve() / "characters" / number / "evil.py" for number in "12"]
    ran = cli("study", "serve", "theirs", "--port", "0")
    assert ran.code == 2
    message = ran.err.replace("\n", " ")
    assert message.count("run the program") == 2
    assert all(str(program) in ran.err.replace("\n", "") for program in programs)
    assert "and you have not allowed this. If you trust its author, run `fabula trust theirs`" in message
    assert not any(program.with_name("ran").exists() for program in programs)
    said = cli("trust", "theirs").out
    assert said.startswith("From now on theirs/study.toml may\n")
    assert all(f"  run the program {program}:speak\n" in said for program in programs)
    check_trusted(made)
    for entry in made.entries.values():
        character_settings(made, entry).check_trusted()
    programs[0].write_text(PROGRAM + "# changed\n", encoding="utf-8")
    with pytest.raises(TrustError, match="run the program"):
        check_trusted(made)
    assert cli("trust", "theirs", "--forget").out == "theirs/study.toml is no longer trusted.\n"


@pytest.mark.parametrize("place", ["../private", "{here}/private", "characters/linked"])
def test_a_project_elsewhere_is_shown_to_raters_only_where_a_person_allows_it(cli: Cli, place: str) -> None:
    project(cli.folder / "private")
    made = study(cli.folder)
    (made.folder / "characters" / "linked").symlink_to(cli.folder / "private")
    changed = with_project(made, place.format(here=cli.folder))
    ran = cli("study", "serve", "theirs", "--port", "0")
    told = f"let raters talk with the characters of {(cli.folder / 'private').resolve()}"
    assert ran.code == 2
    assert told in ran.err.replace("\n", " ")
    first = next(iter(changed.entries.values()))
    with pytest.raises(TrustError, match="which is another project"):
        character_settings(changed, first)
    assert cli("study", "new", "next", "--from", "theirs").code == 2
    assert not (cli.folder / "next").exists()
    assert cli("trust", "theirs").code == 0
    assert character_settings(changed, first).system == "vanilla"
    assert cli("study", "new", "next", "--from", "theirs").code == 0  # with a copy of it
    assert (cli.folder / "next/characters/1/brief.md").read_text(encoding="utf-8").strip() == STORY
    assert not acts_of_study(Study.read(cli.folder / "next"))


@pytest.mark.parametrize("place", [".study", "conversations/R1/k-A/project"])
def test_what_raters_said_and_the_key_of_their_links_are_no_character(tmp_path: Path, place: str) -> None:
    made = study(tmp_path)
    shutil.copytree(tmp_path / "made/a", made.folder / place, dirs_exist_ok=True)
    with pytest.raises(TrustError, match="let raters talk with the characters of"):
        check_trusted(with_project(made, place))


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (".", "which contains the study itself"),
        ("..", "which contains the study itself"),
        ("a\nb", "does not specify the folder of a project"),
        ("loop", "cannot be resolved|is not a fabula project"),
    ],
)
def test_a_project_that_cannot_be_one_is_refused_in_words(tmp_path: Path, place: str, told: str) -> None:
    made = study(tmp_path)
    (made.folder / "loop").symlink_to("loop")
    with pytest.raises(Exception, match=told):
        check_trusted(with_project(made, place))


@pytest.mark.parametrize("name", ["ratings.jsonl", "log.jsonl", "conversations", ".study"])
def test_a_link_out_of_a_study_is_neither_read_nor_written(tmp_path: Path, name: str) -> None:
    made = study(tmp_path)
    shutil.rmtree(made.folder / name, ignore_errors=True)
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    (made.folder / name).unlink(missing_ok=True)
    (made.folder / name).symlink_to(tmp_path / "mine")
    with pytest.raises(UsageError, match="is a link to a place outside"):
        Study.open(made.folder)


def test_projects_that_a_person_trusts_are_trusted_as_copies_in_their_study(tmp_path: Path) -> None:
    mine = [project(tmp_path / name, PLAY) for name in "ab"]
    for place in mine:
        settings = ProjectFolder.open(place).settings
        with pytest.raises(TrustError) as refused:
            settings.check_trusted()
        Trust().give(place / "fabula.toml", refused.value.acts)
    check_trusted(study_of_characters(tmp_path / "talk", "Talk", mine, "Tobias", "Mara").study)


@pytest.mark.parametrize(("said", "trusted"), [("y\n", True), ("n\n", False)])
def test_on_a_terminal_it_is_asked_once(cli: Cli, monkeypatch: pytest.MonkeyPatch, said: str, trusted: bool) -> None:  # noqa: FBT001 - a case
    study(cli.folder, PLAY)
    monkeypatch.setattr(Terminal, "interactive", property(lambda self: self.environ is not None))
    ran = cli("study", "new", "next", "--from", "theirs", stdin=said)
    assert "would\n  run the program" in ran.err
    assert ran.code == (0 if trusted else 2)
    assert (cli.folder / "next").exists() is trusted
