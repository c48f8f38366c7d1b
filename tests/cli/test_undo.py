"""`fabula undo` takes back what one command decided, and `fabula redo` decides it again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commandline import BY_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from commandline import Cli


def text_of(project: Path, file: str) -> str:
    return (project / file).read_text(encoding="utf-8").strip()


def states(cli: Cli) -> dict[str, str]:
    return {one["name"]: ", ".join(one["states"]) for one in cli("status", "lamp", "--json").json["artefacts"]}


def test_the_approval_of_nine_texts_is_one(cli: Cli, project: Path) -> None:
    cli("text", "approve", "-C", "lamp")
    ran = cli("undo", "lamp")
    assert ran.out.startswith("Undone: approve of Characters, Conflict, Plot and 6 more (")
    assert "`fabula redo lamp` redoes it." in ran.err
    assert "There is no decision to undo." in cli("undo", "lamp").err
    assert len(cli("text", "approve", "-C", "lamp", "--json").json["artefacts"]) == 9


def test_a_retake_of_an_edited_text_is_one_and_brings_the_edit_back(cli: Cli, project: Path) -> None:
    cli("edit", "resolution", "--text", "My own ending.", "-C", "lamp")
    cli("text", "retake", "resolution", "-C", "lamp")
    ran = cli("undo", "lamp")
    assert ran.out.startswith("Undone: retake of Resolution (")
    assert "another `fabula undo lamp` undoes: edit of Resolution." in ran.err
    assert text_of(project, "story/05-resolution.md") == "My own ending."
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 0
    assert text_of(project, "story/05-resolution.md") == "My own ending."
    assert cli("undo", "lamp").out.startswith("Undone: edit of Resolution (")
    assert "Jonas carried the coal" in text_of(project, "story/05-resolution.md")


def test_changed_files_are_taken_back_one_by_one_and_apart_from_the_command_that_took_them_over(
    cli: Cli, project: Path
) -> None:
    files = ("story/03-climax.md", "plan/characters.md")
    before = [text_of(project, file) for file in files]
    (project / "plan/characters.md").write_text("Mara, ten.\n")
    (project / "story/03-climax.md").write_text("It was dark.\n")
    os.utime(project / "story/03-climax.md", (1e9, 1e9))  # changed first, though its name comes last
    ran = cli("text", "pin", "setting", "-C", "lamp")
    assert "Applied from your files: plan/characters.md, story/03-climax.md." in ran.err
    assert cli("undo", "lamp").out.startswith("Undone: pin of Setting (")
    assert text_of(project, "plan/characters.md") == "Mara, ten."
    ran = cli("undo", "lamp")
    assert ran.out.startswith("Undone: your change to Characters (")
    assert "another `fabula undo lamp` undoes: your change to Climax." in ran.err
    assert [text_of(project, file) for file in files] == ["It was dark.", before[1]]
    assert cli("undo", "lamp").out.startswith("Undone: your change to Climax (")
    assert [text_of(project, file) for file in files] == before
    assert cli("redo", "lamp").out == "Redone: your change to Climax.\n"
    assert text_of(project, "story/03-climax.md") == "It was dark."
    assert cli("redo", "lamp").out == "Redone: your change to Characters.\n"
    assert cli("redo", "lamp").out == "Redone: pin of Setting.\n"
    assert states(cli)["setting"] == "pinned"


def test_what_a_write_took_over_is_said_and_taken_back(cli: Cli, project: Path) -> None:
    (project / "story/03-climax.md").write_text("It was dark.\n")
    assert "Applied from your files: story/03-climax.md." in cli("write", "lamp").err
    assert cli("undo", "lamp").out.startswith("Undone: your change to Climax (")


def test_a_changed_pinned_file_is_one(cli: Cli, project: Path) -> None:
    cli("text", "pin", "setting", "-C", "lamp")
    (project / "plan/setting.md").write_text("A mill.\n")
    cli("update", "lamp", "--yes")
    assert cli("undo", "lamp").out.startswith("Undone: your change to Setting (")
    assert text_of(project, "plan/setting.md") != "A mill."
    assert states(cli)["setting"] == "pinned"


def test_redo_gives_back_what_undo_took_until_something_else_is_decided(cli: Cli, project: Path) -> None:
    for text in ("One.", "Two."):
        cli("edit", "characters", "--text", text, "-C", "lamp")
    cli("undo", "lamp")
    cli("undo", "lamp")
    data = cli("redo", "lamp", "--json").json
    assert (data["wording"].partition(" ")[0], data["artefacts"]) == ("edit", ["characters"])
    assert text_of(project, "plan/characters.md") == "One."
    cli("undo", "lamp")
    cli("redo", "lamp")
    cli("redo", "lamp")
    assert text_of(project, "plan/characters.md") == "Two."
    ran = cli("redo", "lamp")
    assert ran.code == 2
    assert "`fabula redo -C lamp` must follow `fabula undo -C lamp`" in ran.err
    cli("undo", "lamp")
    cli("text", "pin", "setting", "-C", "lamp")
    assert cli("redo", "lamp").code == 2


def test_redo_of_a_retake_costs_nothing(cli: Cli, project: Path) -> None:
    cli("text", "retake", "resolution", "-C", "lamp")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 1
    cli("undo", "lamp")
    cli("update", "lamp", "--yes")
    assert cli("redo", "lamp").out == "Redone: retake of Resolution.\n"
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 0


def test_what_a_person_approved_and_edited_in_one_run_is_one(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "By hand." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    cli.at_terminal()
    said = "a\ne\na\na\n"
    script = ("--model", "scripted:script.toml", *BY_PARTS)
    assert cli("write", "brief.md", *script, "--approve", "plans", "--out", "lamp", stdin=said).code == 0
    ran = cli("undo", "lamp")
    assert ran.out.startswith("Undone: approve of ")
    assert " and edit of " in ran.out
    assert "There is no decision to undo." in cli("undo", "lamp").err


def test_what_undo_brings_back_is_told_until_it_is_there(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    before = text_of(project, "story/03-climax.md")
    (project / "plan/characters.md").write_text("Mara, ten.\n")
    write_script(climax="The lamp fell, and Mara caught it with her left hand.")
    cli("update", "lamp", "--yes")
    assert text_of(project, "story/03-climax.md") != before
    assert "Everything is up to date." in cli("status", "lamp").out
    write_script()
    advice = "Next: `fabula update lamp`. It restores earlier texts from the journal.\n"
    assert advice in cli("undo", "lamp").err
    told = cli("status", "lamp").out
    assert "Next: run `fabula update lamp` to restore earlier texts from the journal. No call is needed." in told
    assert {path: state for path, state in states(cli).items() if state} == {"climax": "an earlier text comes back"}
    planned = cli("update", "lamp", "--dry-run").out
    assert planned == "No call is needed.\nEarlier texts restored from the journal: Climax.\n"
    cli("update", "lamp", "--yes")
    assert text_of(project, "story/03-climax.md") == before
    assert "Everything is up to date." in cli("status", "lamp").out


def test_a_retake_names_the_project_in_what_takes_it_back(cli: Cli, project: Path) -> None:
    assert "To undo this, run `fabula undo lamp`." in cli("text", "retake", "lamp", "climax").err


def test_an_undone_edit_is_gone_from_the_whole_story_at_once(cli: Cli, project: Path) -> None:
    before = text_of(project, "story.md")
    cli("edit", "climax", "--text", "It was dark.", "-C", "lamp")
    assert "fabula update" not in cli("undo", "lamp").err, "nothing had used the edit yet"
    cli("edit", "climax", "--text", "It was dark.", "-C", "lamp")
    assert cli("update", "lamp", "--yes").code == 0
    assert "It was dark" in text_of(project, "story.md")
    assert "fabula update" not in cli("undo", "lamp").err
    assert text_of(project, "story.md") == before
    assert "Everything is up to date." in cli("status", "lamp").out
