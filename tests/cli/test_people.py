from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", "--set", "length_control=false")


def test_a_person_plays_a_role(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="A storm.\nThen a calm.\n.\n")
    assert ran.code == 0
    assert "You play plot (plot/plot)." in ran.err
    assert "A girl lights a lighthouse" in ran.err  # the prompt
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\nThen a calm.\n"
    assert cli("write", "brief", "--json").json["asked"] == 0


def test_an_empty_answer_is_asked_again(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin=".\n  \n.\nA storm.\n.\n")
    assert ran.code == 0
    assert ran.err.count("Nothing was written.") == 2
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\n"


def test_an_answer_may_end_with_the_input(cli: Cli) -> None:
    assert cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="A storm.").code == 0
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\n"


def test_without_an_answer_the_run_waits(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", "--json")
    assert ran.code == 0
    assert ran.json["paused"]["artefact"] == "plot/plot"
    assert "The role 'plot' waits for your text, but the input has ended." in ran.err
    assert cli("write", "brief", "--json", stdin="A storm.\n.\n").json["replayed"] == 3


def test_an_answer_from_the_editor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "and by hand." >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="Begun here\n/edit\n")
    assert ran.code == 0, ran.err
    assert (cli.folder / "brief/plan/plot.md").read_text() == "Begun hereand by hand.\n"


def test_without_a_terminal_the_run_stops_at_the_first_text(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--approve", "plans")
    assert ran.code == 0
    assert ran.err.endswith(
        "fabula: brief/plan/conflict.md waits for your approval. Edit the file, or say `fabula approve -C brief`; then "
        "give the same command again.\n"
    )


def test_approved_texts_let_the_run_go_on(cli: Cli) -> None:
    command = ("write", "brief.md", *SCRIPT, "--approve", "plans", "--json")
    waits = []
    for _ in range(4):
        waits.append(cli(*command).json["paused"]["artefact"])
        assert cli("approve", "-C", "brief").code == 0
    assert waits == ["conflict", "characters", "setting", "plot"]
    assert cli(*command).json["words"] == 69


def test_an_edited_file_counts_as_approved(cli: Cli) -> None:
    command = ("write", "brief.md", *SCRIPT, "--approve", "plans", "--json")
    cli(*command)
    (cli.folder / "brief/plan/conflict.md").write_text("My own conflict.\n")
    assert cli(*command).json["paused"]["artefact"] == "characters"


def test_approve_all_stops_at_scenes_too(cli: Cli, project: Path) -> None:
    cli("approve", "-C", "lamp")
    cli("retake", "climax", "-C", "lamp")
    (cli.folder / "script.toml").write_text(
        (cli.folder / "script.toml").read_text().replace("The storm broke the window.", "The storm broke the door.")
    )
    ran = cli("write", "lamp", "--approve", "all", "--json")
    assert ran.json["paused"]["artefact"] in {"conflict", "climax"}


def test_at_a_terminal_one_accepts_edits_retakes_and_stops(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "Mara, by hand." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    cli.at_terminal()
    # conflict: a wrong key, another take, then accepted; characters: edited; setting: stop.
    ran = cli("write", "brief.md", *SCRIPT, "--approve", "plans", stdin="x\nr\na\ne\ns\n")
    assert ran.code == 0
    assert ran.err.count("[a]ccept, [e]dit, [r]etake or [s]top?") == 5
    assert "brief/plan/setting.md waits for your approval." in ran.err
    assert (cli.folder / "brief/plan/characters.md").read_text() == "Mara, by hand.\n"
    kinds = [version["source"] for version in cli("history", "characters", "-C", "brief", "--json").json["versions"]]
    assert kinds == ["made", "edited"]
    told = cli("write", "brief", "--json").json
    assert told["words"] == 69
    assert told["project_bill"]["conflict"]["reply"] == 32  # asked twice, paid twice


def test_the_budget_holds_over_retakes(cli: Cli) -> None:
    cli.at_terminal()
    small = ("--set", "plan_tokens=40", "--budget-tokens", "700", "--approve", "plans")
    ran = cli("write", "brief.md", *SCRIPT, *small, stdin="r\n" * 20)
    assert ran.code == 1
    assert "Stopped before the budget of" in ran.err
    assert 1 < ran.err.count("[r]etake") < 10
