"""Errors in settings, in fabula.toml and in the folder of a project say where the fault is, and what to do."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)
SMALL = ("--model", "smollm2")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_unknown_model_is_answered_with_the_models_that_are_here(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    said = cli("write", "brief.md", "--model", "nosuch").err
    assert said.startswith("fabula: Unknown model 'nosuch'. No model is on this machine yet.")
    assert "`fabula models pull NAME` downloads one: smollm2, qwen2.5-coder-1.5b, or hf:OWNER/REPO." in said
    assert "A model on a server needs its provider, as in ollama:NAME or openai:NAME" in said
    near = cli("write", "brief.md", "--model", "smolm2").err
    assert (
        near == "fabula: Unknown model 'smolm2'. Did you mean 'smollm2'? `fabula models pull smollm2` downloads it.\n"
    )
    monkeypatch.setattr("fabula.project.casting.installed", lambda name, _: name == "smollm2")
    said = cli("write", "brief.md", "--model", "nosuch").err
    assert "Unknown model 'nosuch'. On this machine: smollm2. `fabula models pull NAME` downloads one: qwen2.5" in said
    assert (
        cli("write", "brief.md", "--model", "smolm2").err == "fabula: Unknown model 'smolm2'. Did you mean 'smollm2'?\n"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            (*SMALL, "--set", "drafts=3"),
            "Known: chapters, max_tokens, words. Systems with this setting: best-of-n, chosen-draft.\n",
        ),
        (
            (*SMALL, "--model", "reader=smollm2"),
            "Unknown role 'reader'. Known: writer. The system is end-to-end. Systems with this role: ",
        ),
        ((*SMALL, "--set", "nosuch=3"), "Unknown end-to-end setting 'nosuch'. Known: chapters, max_tokens, words.\n"),
    ],
)
@pytest.mark.parametrize("command", [("write", "brief.md", "--out", "x"), ("new", "x", "--brief", "brief.md")])
def test_settings_are_checked_for_the_system_that_writes(
    cli: Cli, command: tuple[str, ...], given: tuple[str, ...], said: str
) -> None:
    ran = cli(*command, *given)
    assert ran.code == 2
    assert said in ran.err
    assert not (cli.folder / "x").exists()


def test_a_folder_with_only_a_brief_has_the_usual_system(cli: Cli) -> None:
    folder = cli.folder / "only"
    folder.mkdir()
    shutil.copy(cli.folder / "brief.md", folder)
    ran = cli("write", "only", *SMALL, "--words", "300", "--dry-run")
    assert (
        "Using the system end-to-end, which is the best for small models. To choose another, use --system." in ran.err
    )
    assert "With: --system end-to-end --words 300. --save stores them in a new fabula.toml." in ran.err
    assert "fabula.toml: " not in ran.err
    assert "story/story" in ran.out
    assert cli("write", "only", *SMALL, "--set", "drafts=3").err.startswith(
        "fabula: Unknown end-to-end setting 'drafts'."
    )
    found = cli("status", "only").out
    assert "(improved), " in found
    assert "From the last run" not in found
    assert names_in(folder) == ["brief.md"]  # nothing is created by looking


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("words = 900", "only/fabula.toml: There is no field 'words'. Known: adapters, aids, author"),
        ("words = 900", " If 'words' is a setting of the system, put its line under the line [config]."),
        ("modle = 'x'", "only/fabula.toml: There is no field 'modle'. Did you mean 'model'?"),
        ("[config]\nwords = 'abc'", "only/fabula.toml: 'abc' is not a number of words."),
        ("[config]\nnosuch = 1", "only/fabula.toml: Unknown agents-room setting 'nosuch'."),
        ("[config]\nmax_tokens = 'x'", "only/fabula.toml: `agents-room.max_tokens` must be a whole number, not 'x'."),
        ("system = 'nosuch'", "only/fabula.toml: Unknown system 'nosuch'."),
        ("model = 'smolm2'", "only/fabula.toml: Unknown model 'smolm2'. Did you mean 'smollm2'?"),
        ("[roles.writer]\nmodel = 'smollm2'", "only/fabula.toml: Unknown role 'writer'. Known: character, climax"),
        (
            "[roles]\nwriter = 'smollm2'",
            "be a table of fields, not 'smollm2'. Write the line [roles.writer] and, under it, `model = \"smollm2\"`.",
        ),
        (
            "words == 3",
            "(at line 1, column 8). Correct the line.",
        ),
    ],
)
def test_a_wrong_setting_names_its_file(cli: Cli, text: str, said: str) -> None:
    folder = cli.folder / "only"
    folder.mkdir()
    shutil.copy(cli.folder / "brief.md", folder)
    (folder / "fabula.toml").write_text(text + "\n")
    for command in (("status", "only"), ("write", "only", "--dry-run"), ("update", "only", "--seed", "3")):
        ran = cli(*command)
        shown = ran.out + ran.err
        assert said in shown
        assert shown.count("only/fabula.toml") == 1


def test_an_option_is_not_blamed_on_the_file(cli: Cli, project: Path) -> None:
    ran = cli("write", "lamp", "--set", "nosuch=1")
    assert "Unknown agents-room setting 'nosuch'." in ran.err
    assert "fabula.toml:" not in ran.err


def test_a_project_without_its_record_says_so(cli: Cli, project: Path) -> None:
    shutil.rmtree(project / ".fabula")
    said = "The record of calls (.fabula/journal.db) is missing, but there is a story."
    found = cli("status", "lamp").out
    assert said in found
    assert "all texts count as your own, so no model writes them again" in found
    assert not (project / ".fabula").exists()
    story = (project / "story.md").read_text()
    assert said in cli("update", "lamp", "--dry-run").out
    assert said in cli("write", "lamp").err
    assert (project / "story.md").read_text() == story
    assert said not in cli("status", "lamp").out


def test_a_project_without_its_brief_is_still_one(cli: Cli, project: Path) -> None:
    brief = (project / "brief.md").read_text()
    (project / "brief.md").unlink()
    for command in ("status", "update", "write", "show"):
        ran = cli(command, "lamp")
        assert ran.code == 1
        assert ran.err.startswith(
            "fabula: lamp/brief.md is missing: it was deleted, moved or renamed. The rest of this"
        )
        assert "with `git restore brief.md`" in ran.err
    (project / "brief.md").write_text(brief)
    assert cli("write", "lamp", "--json").json["asked"] == 0


def test_a_damaged_plan_is_not_passed_over(cli: Cli) -> None:
    assert cli("sample", "mine").code == 0
    file = cli.folder / "mine" / "plan" / "plan.yaml"
    file.write_text(file.read_text() + 'title: "x\n')
    ran = cli("show", "mine", "--timeline")
    assert ran.code == 0
    assert "This is the plan of the last run, because the file has a problem.\n" in ran.err
    assert "mine/plan/plan.yaml:" in ran.err
    assert "Close it" in ran.err


@pytest.mark.parametrize("folder", ["x", "deep/down/x", "mine"])
@pytest.mark.parametrize(
    "command", [("write", "brief.md", "--frozen"), ("plan", "--from-brief", "brief.md", "--frozen")], ids=" ".join
)
def test_a_failed_command_leaves_no_half_made_project(cli: Cli, command: tuple[str, ...], folder: str) -> None:
    (cli.folder / "mine" / "story").mkdir(parents=True)
    (cli.folder / "mine" / "notes.txt").write_text("Mine.")
    before = names_in(cli.folder)
    script = SCRIPT if command[0] == "write" else ("--model", "scripted:script.toml")
    assert cli(*command, "--out", folder, *script).code != 0
    assert names_in(cli.folder) == before
    assert names_in(cli.folder / "mine") == ["notes.txt", "story"]


def test_a_new_project_that_cannot_be_completed_is_removed(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "story").write_text("A file where a folder belongs.")
    ran = cli("new", "mine", "--brief", "brief.md", *SCRIPT)
    assert ran.code == 1
    assert "Cannot make the folder mine/story" in ran.err
    assert names_in(cli.folder / "mine") == ["story"]


def test_a_run_that_stopped_is_kept(cli: Cli, write_script: Callable[..., None]) -> None:
    write_script(climax=None)
    assert cli("write", "brief.md", "--out", "x", *SCRIPT).code != 0
    assert (cli.folder / "x" / "brief.md").exists()
