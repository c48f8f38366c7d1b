from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

OLD = "Mara, sixteen, stubborn. Her father Jonas, keeper of the lamp, afraid of fire."


def characters(project: Path) -> str:
    return (project / "plan/characters.md").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", ["characters", "characters.md", "plan/characters.md", "./plan/characters.md"])
def test_edit_takes_a_text_and_any_name_of_the_artefact(cli: Cli, project: Path, name: str) -> None:
    ran = cli("edit", name, "--text", "Mara, ten.", "-C", "lamp")
    assert ran.code == 0
    assert ran.out == "plan/characters.md: 2 words\n"
    assert "Next: `fabula update lamp`." in ran.err
    assert characters(project) == "Mara, ten."
    assert len(cli("update", "lamp", "--dry-run", "--json").json["calls"]) == 7


def test_edit_takes_a_file_or_stdin(cli: Cli, project: Path) -> None:
    (cli.folder / "new.txt").write_text("From a file.\n")
    assert cli("edit", "characters", "--file", "new.txt", "-C", "lamp").code == 0
    assert characters(project) == "From a file."
    assert cli("edit", "characters", "--file", "-", "-C", "lamp", stdin="From a pipe.\n").code == 0
    assert characters(project) == "From a pipe."


def test_edit_goes_back_to_a_version_and_reverts(cli: Cli, project: Path) -> None:
    cli("edit", "characters", "--text", "One.", "-C", "lamp")
    cli("edit", "characters", "--text", "Two.", "-C", "lamp")
    assert cli("edit", "characters", "--to", "2", "-C", "lamp").code == 0
    assert characters(project) == "One."
    data = cli("edit", "characters", "--revert", "-C", "lamp", "--json").json
    assert {"name": "characters", "file": "plan/characters.md", "changed": True, "words": 13}.items() <= data.items()
    assert characters(project) == OLD
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert cli("edit", "characters", "--revert", "-C", "lamp").err == "fabula: characters has no edit to undo.\n"


def test_edit_opens_the_editor(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "By hand." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    cli.at_terminal()
    assert cli("edit", "characters", "-C", "lamp").code == 0
    assert characters(project) == "By hand."


def test_a_failing_editor_changes_nothing(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")
    cli.at_terminal()
    ran = cli("edit", "characters", "-C", "lamp")
    assert (ran.code, ran.err) == (2, "fabula: The editor 'false' exited with code 1. The text is unchanged.\n")
    monkeypatch.setenv("EDITOR", "/nowhere/to/be/found")
    assert "There is no program '/nowhere/to/be/found'" in cli("edit", "characters", "-C", "lamp").err
    monkeypatch.delenv("EDITOR")
    monkeypatch.setenv("PATH", str(cli.folder / "empty"))
    assert (
        "no editor: set EDITOR, for example to nano. Give the text with --text WORDS or --file FILE"
        in cli("edit", "characters", "-C", "lamp").err
    )
    assert characters(project) == OLD


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--text", "a", "--revert"), "Use only one of --text, --file, --to and --revert."),
        (("--to", "9"), "Unknown version of characters '9'. Known: 1."),
        (("--text", "  "), "The new text of 'characters' is empty."),
        (("--file", "nowhere.md"), "There is no file nowhere.md."),
        ((), "no terminal to open an editor in. Give the text with --text WORDS or --file FILE"),
    ],
)
def test_edit_says_what_is_wrong(cli: Cli, project: Path, arguments: tuple[str, ...], message: str) -> None:
    ran = cli("edit", "characters", *arguments, "-C", "lamp")
    assert ran.code == 2
    assert message in ran.err
    assert characters(project) == OLD


def test_a_pin_holds_whatever_changes_above(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    assert "setting is pinned" in cli("text", "pin", "setting", "-C", "lamp").out
    cli("edit", "characters", "--text", "Mara, ten.", "-C", "lamp")
    calls = [call["path"] for call in cli("update", "lamp", "--dry-run", "--json").json["calls"]]
    assert "setting/setting" not in calls
    assert "plot/plot" in calls
    data = cli("text", "unpin", "setting", "-C", "lamp", "--json").json
    assert data == {"artefacts": ["setting"]}
    assert "setting/setting" in [c["path"] for c in cli("update", "lamp", "--dry-run", "--json").json["calls"]]
    assert cli("text", "unpin", "setting", "-C", "lamp").err.startswith("fabula: setting is not pinned.")


def test_a_retake_asks_again_and_keeps_the_old_text(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    assert cli("text", "retake", "resolution", "-C", "lamp").code == 0
    data = cli("update", "lamp", "--yes", "--json").json
    assert set(data["bill"]) == {"resolution"}


def test_a_retake_of_an_edited_text_drops_the_edit(cli: Cli, project: Path) -> None:
    cli("edit", "resolution", "--text", "My own ending.", "-C", "lamp")
    cli("text", "retake", "resolution", "-C", "lamp")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 1
    assert "Jonas carried the coal" in (project / "story/05-resolution.md").read_text()
    sources = [v["source"] for v in cli("show", "resolution", "-C", "lamp", "--json", "--versions").json["versions"]]
    assert sources == ["made", "edited", "made"]


def test_a_pinned_text_is_not_taken_again(cli: Cli, project: Path) -> None:
    cli("text", "pin", "resolution", "-C", "lamp")
    ran = cli("text", "retake", "resolution", "-C", "lamp")
    assert (ran.code, ran.err) == (
        2,
        "fabula: resolution is pinned. Run `fabula text unpin resolution -C lamp` first.\n",
    )


def test_undo_of_an_edit_restores_the_file_and_costs_nothing(cli: Cli, project: Path) -> None:
    cli("edit", "characters", "--text", "Mara, ten.", "-C", "lamp")
    cli("update", "lamp", "--yes")
    ran = cli("undo", "lamp", "--json")
    assert ran.json["artefacts"] == ["characters"]
    assert characters(project) == OLD
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_undo_goes_back_edit_by_edit(cli: Cli, project: Path) -> None:
    cli("edit", "characters", "--text", "One.", "-C", "lamp")
    cli("edit", "characters", "--text", "Two.", "-C", "lamp")
    cli("undo", "-C", "lamp")
    assert characters(project) == "One."
    cli("undo", "-C", "lamp")
    assert characters(project) == OLD
    ran = cli("undo", "-C", "lamp")
    assert ran.code == 2
    assert "There is no decision to undo." in ran.err


def test_undo_of_an_edit_in_a_file_loses_nothing(cli: Cli, project: Path) -> None:
    (project / "plan/characters.md").write_text("In my editor.\n")
    cli("undo", "lamp")
    assert characters(project) == OLD
    texts = [
        version["text"] for version in cli("show", "characters", "-C", "lamp", "--json", "--versions").json["versions"]
    ]
    assert texts == [OLD, "In my editor.", OLD]


def test_undo_of_a_retake_brings_the_old_text_back_from_the_journal(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    cli("text", "retake", "resolution", "-C", "lamp")
    cli("update", "lamp", "--yes")
    cli("undo", "lamp")
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_undo_of_a_pin(cli: Cli, project: Path) -> None:
    cli("text", "pin", "setting", "-C", "lamp")
    assert "Undone: pin of Setting" in cli("undo", "lamp").out
    states = {a["name"]: ", ".join(a["states"]) for a in cli("status", "lamp", "--json").json["artefacts"]}
    assert states["setting"] == ""


def test_approve_one_or_all(cli: Cli, project: Path) -> None:
    ran = cli("text", "approve", "setting", "-C", "lamp")
    assert ran.out == "Approved: setting.\n"
    assert "No run was waiting for this: it means that `fabula write --approve plans -C lamp`" in ran.err
    approved = cli("text", "approve", "-C", "lamp", "--json").json["artefacts"]
    assert len(approved) == 8
    assert "setting" not in approved
    ran = cli("text", "approve", "setting", "-C", "lamp")
    assert ran.out.startswith(
        "There is nothing to approve: no run asks about texts that are approved, edited or pinned."
    )
    assert ran.err == ""


def test_an_unknown_artefact_is_named_with_the_nearest(cli: Cli, project: Path) -> None:
    for command in ("text pin", "text retake", "text approve", "show --versions", "show"):
        ran = cli(*command.split(), "charcters", "-C", "lamp")
        assert (ran.code, ran.err) == (2, "fabula: Unknown artefact 'charcters'. Did you mean 'characters'?\n")


def test_decisions_wait_for_the_lock(cli: Cli, project: Path) -> None:
    with ProjectFolder(project).lock():
        ran = cli("text", "pin", "setting", "-C", "lamp")
        assert ran.code == 1
        assert "is in use by process" in ran.err
        assert cli("write", "lamp", "--quiet").code == 1
        assert cli("status", "lamp").code == 0


def test_all_texts_can_be_pinned_at_once(cli: Cli, project: Path) -> None:
    (project / "brief.md").write_text("Write about something else altogether.\n")
    assert cli("update", "lamp", "--dry-run", "--json").json["calls"]
    pinned = cli("text", "pin", "--all", "-C", "lamp", "--json").json["artefacts"]
    assert {"characters", "resolution"} <= set(pinned)
    assert not cli("update", "lamp", "--dry-run", "--json").json["calls"]
    assert cli("text", "pin", "--all", "-C", "lamp").out == "Everything is already pinned.\n"


@pytest.mark.parametrize("said", [["--all", "characters"], []])
def test_pin_wants_one_artefact_or_all(cli: Cli, project: Path, said: list[str]) -> None:
    ran = cli("text", "pin", *said, "-C", str(project))
    assert ran.code == 2
    assert "Specify an artefact, or run `fabula text pin --all -C lamp`" in ran.err


def test_an_edit_after_pinning_all_is_taken_back_alone(cli: Cli, project: Path) -> None:
    cli("text", "pin", "--all", "-C", "lamp")
    cli("text", "unpin", "climax", "-C", "lamp")
    assert cli("undo", "lamp").out.startswith("Undone: unpin of Climax (")
    assert cli("undo", "lamp").out.startswith("Undone: pin --all (")
    assert not cli("update", "lamp", "--dry-run", "--json").json["calls"]
