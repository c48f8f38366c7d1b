from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS
from fabula.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)
KEY = "sk-test-0123456789abcdef"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wriet", "brief.md"), "There is no command `fabula wriet`. Did you mean 'write'?"),
        (("judge", "a", "b"), "There is no command `fabula judge`. Use `fabula evaluate pairwise`."),
        (("ttcw", "a"), "There is no command `fabula ttcw`. Use `fabula evaluate ttcw`."),
        (("write", "brief.md", "--modle", "x"), "`fabula write` has no option '--modle'. Did you mean '--model'?"),
        (("models", "chekc"), "There is no command `fabula models chekc`. Did you mean 'check'?"),
        (("write", "brief.md", "--budget-tokens", "many"), "`--budget-tokens` must be a whole number, not 'many'"),
        (("write", "brief.md", "--approve", "plan"), "`--approve`: 'plan' is not one of 'plans', 'all'"),
        (("edit",), "`fabula edit` requires [PROJECT] ARTEFACT. Write `fabula edit [PROJECT] ARTEFACT`."),
        (
            ("train", "x"),
            "requires --out DIR. Write `fabula train x --out DIR`. --out DIR: Folder for what is trained.",
        ),
        (("data", "choose"), "`fabula data choose` requires PROMPTS. Write `fabula data choose PROMPTS...`."),
        (("train", "x", "--model", "y"), "`fabula train` has no option '--model'. Did you mean '--base'?"),
        (("write", "breif.md"), "There is no file or folder breif.md. Did you mean 'brief.md'?"),
        (("status", "emtpy"), "There is no folder emtpy. Did you mean 'empty'?"),
        (("models", "pull", "llama3"), "fetched by `fabula models pull hf:OWNER/REPO`. A model that Ollama serves"),
        (("lab", "reproduce", "atlas-table-1x"), "Unknown table 'atlas-table-1x'. Did you mean 'atlas-table-1"),
        (("lab", "reproduce", "--fetch", "wikiplot"), "Unknown data set 'wikiplot'. Did you mean 'wikiplots'?"),
        (("write", "nowhere.md"), "There is no file or folder nowhere.md. Specify a brief (a text file) or a project"),
        (
            ("write", "A girl finds a key."),
            "with that name. To write from words instead of a file, use `echo WORDS | fabula",
        ),
        (("write", "empty"), "is not a fabula project: it has no brief.md"),
        (("write", "-C", "empty"), "is not a fabula project: it has no brief.md"),
        (("write", "empty", "--out", "x"), "--out requires a brief file"),
        (("status", "empty"), "run `fabula new empty --brief FILE`"),
        (
            ("status", "a", "-C", "b"),
            "There is no folder a, and -C b names the project already: leave a out. To restore",
        ),
        (("status", "empty", "-C", "b"), "You specified two projects, empty and -C b. Use only one."),
        (("new", "x"), "There is no brief. Use --brief FILE or --text TEXT."),
        (("new", "x", "--text", " "), "The brief brief is empty."),
        (("new", "x", "--text", "a", "--brief", "brief.md"), "--brief and --text cannot be used together. Use only"),
        (("write", "brief.md", "--system", "agent-room"), "Unknown system 'agent-room'. Did you mean 'agents-room'?"),
        (("write", "brief.md", "--preset", "improve"), "Unknown preset 'improve'. Did you mean 'improved'?"),
        (("write", "brief.md", "--model", "smollm"), "Unknown model 'smollm'. Did you mean 'smollm2'?"),
        (("trust", "nosuch"), "There is nothing to trust: nosuch/fabula.toml does not exist. Specify the folder"),
        (("write", "brief.md", "--model", "opneai:gpt"), "Unknown model 'opneai:gpt'."),
        (("write", "brief.md", *SCRIPT, "--model", "climx=smollm2"), "Unknown role 'climx'. Did you mean 'climax'?"),
        (("write", "brief.md", *SCRIPT, "--play", "climx=me"), "Unknown role 'climx'. Did you mean 'climax'?"),
        (("write", "brief.md", *SCRIPT, "--play", "climax"), "--play 'climax' does not have the form ROLE=me"),
        (("write", "brief.md", *SCRIPT, "--play", "climax=no.py:f"), "does not name a Python function"),
        (
            ("write", "brief.md", *SCRIPT, "--set", "final_readings=1"),
            "agents-room setting 'final_readings'. Did you mean",
        ),
        (
            ("write", "brief.md", *SCRIPT, "--set", "final_reading=perhaps"),
            "`agents-room.final_reading` must be true or false",
        ),
        (
            ("write", "brief.md", *SCRIPT, "--set", "final_reading"),
            "--set 'final_reading' does not have the form FIELD=VALUE, such as --set words=900.",
        ),
        (("write", "brief.md", *SCRIPT, "--sampling", "temprature=1"), "Did you mean 'temperature'?"),
        (
            ("write", "brief.md", *SCRIPT, "--sampling", "temperature=hot"),
            "the command line: `sampling.temperature` must be a number",
        ),
        (("write", "brief.md", *SCRIPT, "--sampling", "climx.top_k=1"), "Unknown role 'climx'."),
        (("write", "brief.md", *SCRIPT, "--words", "lots"), "lots"),
        (("write", "brief.md", *SCRIPT, "--prompts", "nowhere"), "is not a folder"),
        (("write", "brief.md", *SCRIPT, "--base-url", "http://127.0.0.1:9/v1"), "--base-url is for models on a server"),
        (
            ("write", "brief.md", "--model", "scripted:none.toml"),
            "There is no file none.toml. Correct the name, or give a script (a TOML file).",
        ),
        (("systems", "agents"), "Unknown system 'agents'."),
        (("undo", "empty", "5"), "takes no argument '5'. Its form is `fabula undo [PROJECT] [OPTIONS]`."),
        (("study", "serve", "emtpy"), "There is no folder emtpy. Did you mean 'empty'?"),
        (
            ("study", "report", "empty"),
            "empty is not a study: it has no study.toml. To make a study, run `fabula study new`.",
        ),
        (("systems", "show", "snap"), "Unknown system 'show'."),
        (("brief.md",), "The first word is a command. If 'brief.md' is a brief, use `fabula write brief.md`."),
        (("empty",), "The first word is a command. If 'empty' is a project, use `fabula status empty`."),
        (("write", "brief.md", "--model"), "--model requires a value after it. `fabula write --help` shows its form."),
        (("lab", "inject", "-o"), "-o requires a value after it. `fabula lab inject --help` shows its"),
        (("write", "brief.md", "--folder", "x"), "`fabula write` has no option '--folder'. Did you mean '--project'?"),
        (
            ("write", "brief.md", "--model", "zephyr"),
            "A model on a server needs its provider, as in ollama:NAME or openai:NAME",
        ),
        (("write", "brief.md", "--system", "./emtpy"), "There is no folder "),
        (("write", "brief.md", "--system", "./empty"), "has no paper.toml. Give the folder of a system or an"),
        (("trust", "brief.md"), "Specify the folder of a project or study, or the file of an experiment."),
        (("mcp", "emtpy"), "There is no folder emtpy. Did you mean 'empty'?"),
    ],
)
def test_wrong_use_is_named_and_nothing_is_made(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(cli.folder.rglob("*"))
    ran = cli(*arguments)
    assert message in ran.err
    assert ran.err.startswith("fabula: ")
    assert ran.err.count("\n") <= 2
    assert ran.code in {1, 2}
    assert ran.code == 2 or "is not a fabula project" in ran.err or "There is no folder" in ran.err
    assert ran.out == ""
    assert sorted(cli.folder.rglob("*")) == before


def test_a_mistyped_project_is_suggested_where_the_folder_here_has_no_texts(cli: Cli) -> None:
    assert cli("new", "lamp", "--text", "A lamp.", *SCRIPT).code == 0
    said = cli("show", "lampp").err
    assert "Unknown artefact 'lampp'. Known: none. The project in " in said
    assert "has no texts yet. Did you mean the project 'lamp'?" in said
    assert cli("show", "empty").err.endswith(" has no texts yet.\n")


def test_errors_as_json(cli: Cli) -> None:
    for arguments in (("write", "nowhere.md", "--json"), ("write", "--json", "--modle", "x")):
        ran = cli(*arguments)
        error = ran.json["error"]
        assert error["exit_code"] == ran.code == 2
        assert ran.err == f"fabula: {error['message']}\n"
    assert cli("write", "nowhere.md", "--json").json["error"]["kind"] == "UsageError"


def test_errors_as_json_have_names_that_stand_in_the_tree(cli: Cli, here: Path) -> None:
    (here / "one.md").write_text("# A title, and no story\n", encoding="utf-8")
    assert cli("evaluate", "pairwise", "one.md", "one.md", "--json").json["error"]["kind"] == "UsageError"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty. Describe what the story should be about."),
        (b" \n\n", "is empty."),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "is an image."),
        (b"words \x00\x01\x02\x03 and zeros", "contains binary data"),
        (b"word " * 1_000_000, "is larger than 200 kB. Use a shorter brief."),
    ],
)
def test_briefs_that_are_none(cli: Cli, content: bytes, message: str) -> None:
    (cli.folder / "bad.md").write_bytes(content)
    for command in (
        ("write", "bad.md", *SCRIPT),
        ("new", "x", "--brief", "bad.md"),
        ("write", "--dry-run", "bad.md", *SCRIPT),
    ):
        ran = cli(*command)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err
    assert not (cli.folder / "bad").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_no_permission_to_write(cli: Cli) -> None:
    (cli.folder / "shut").mkdir(mode=0o500)
    ran = cli("write", "brief.md", *SCRIPT, "--out", "shut/lamp")
    assert ran.code == 1
    assert "Cannot make the folder" in ran.err


def test_a_file_in_the_way_of_the_folder(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--out", "script.toml/lamp")
    assert ran.code == 1
    assert "fabula: Cannot make the folder" in ran.err


def test_a_damaged_journal(cli: Cli, project: Path) -> None:
    texts = sorted(path.read_text() for path in (project / "story").iterdir())
    (project / ".fabula/journal.db").write_bytes(b"not a database, yet long enough to be taken for one" * 50)
    for command in ("write", "status", "update", "show"):
        ran = cli(command, *(("-C", "lamp") if command == "show" else ("lamp",)))
        assert ran.code == 1
        assert "is damaged" in ran.err
        assert "Move it away" in ran.err
    assert sorted(path.read_text() for path in (project / "story").iterdir()) == texts


def test_a_journal_of_a_newer_version(cli: Cli, project: Path) -> None:
    with sqlite3.connect(project / ".fabula/journal.db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    ran = cli("write", "lamp")
    assert ran.code == 1
    assert "A newer fabula wrote" in ran.err
    assert "Upgrade fabula." in ran.err


def test_a_wrong_settings_file(cli: Cli, project: Path) -> None:
    (project / "fabula.toml").write_text("modle = 'x'\n")
    ran = cli("status", "lamp")
    assert ran.code == 2
    assert "lamp/fabula.toml: There is no field 'modle'. Did you mean 'model'?" in ran.err


def test_a_model_that_fails_keeps_what_is_finished(cli: Cli, write_script: Callable[..., None]) -> None:
    write_script(climax=None)
    ran = cli("write", "brief.md", *SCRIPT)
    assert ran.code == 1
    assert "So far: 6 calls" in ran.err
    assert ran.err.splitlines()[-1].startswith("fabula: The script has no reply for the role 'climax'")
    ran = cli("status", "brief")
    assert "The story is not complete yet; the last run stopped: The script has no reply" in ran.out


def test_a_surprise_is_an_apology_without_a_traceback(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a screw is loose")

    monkeypatch.setattr(Session, "run", broken)
    ran = cli("write", "lamp", "--quiet", "--json")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "fabula: Sorry, an unexpected error occurred (RuntimeError: a screw is loose)." in ran.err
    assert ran.json["error"]["kind"] == "RuntimeError"
    monkeypatch.setenv("FABULA_DEBUG", "1")
    assert "Traceback (most recent call last)" in cli("write", "lamp", "--quiet").err


def test_ctrl_c_outside_a_run(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "dry_run", stopped)
    ran = cli("update", "lamp")
    assert (ran.code, ran.err) == (
        130,
        "fabula: Stopped. All finished work is kept. To continue from there, run the same command again.\n",
    )


def test_errors_of_calls_side_by_side_are_told_as_one(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.base.errors import OverloadedError  # noqa: PLC0415 - only here

    async def group(*_: object) -> None:
        raise ExceptionGroup("side by side", [ExceptionGroup("deeper", [OverloadedError("The server is busy.")])])

    monkeypatch.setattr("fabula.systems.System.write", group)
    ran = cli("write", "lamp", "--quiet")
    assert (ran.code, ran.err) == (1, "fabula: The server is busy.\n")


def test_what_a_terminal_would_obey_is_never_printed(cli: Cli, write_script: Callable[..., None]) -> None:
    evil = "The lamp\x1b[2J\x1b]0;owned\x07 was \x9b31mred\u202e and\x08 dark when Mara came home to it."
    write_script(setting=evil, exposition=evil)
    ran = cli("write", "brief.md", *SCRIPT)
    shown = [cli("show", *more, "-C", "brief") for more in ((), ("setting",), ("setting", "--prompts"))]
    for text in (ran.out, ran.err, *(s.out for s in shown)):
        assert not set(text) & set("\x1b\x07\x08\x9b\u202e")
    assert "The lamp was " in shown[1].out


def test_a_key_is_nowhere(cli: Cli, monkeypatch: pytest.MonkeyPatch, write_script: Callable[..., None]) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    write_script(setting=f"The keeper's word was {KEY} and nobody knew it.")
    text = ""
    for arguments in (
        ("write", "brief.md", *SCRIPT),
        ("models",),
        ("models", "--json"),
        ("doctor", "brief"),
        ("doctor", "brief", "--json"),
        ("status", "brief", "--json"),
        ("show", "setting", "-C", "brief"),
        ("show", "setting", "-C", "brief", "--json"),
        ("models", "check", "openai-chat:x", "--base-url", f"http://127.0.0.1:9/{KEY}"),
    ):
        ran = cli(*arguments)
        text += ran.out + ran.err
    assert KEY not in text
    assert "[key]" in text  # a model that says it: shown without
