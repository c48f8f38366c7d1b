"""An option that would do nothing is refused with a sentence, and not silently ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.cli.lazy import COMMANDS, LazyGroup, load

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

NOTHING = (
    (("show", "lamp", "--prompts", "--removed"), "--prompts and --removed each print something of their own."),
    (("show", "lamp", "--out", "a.svg"), "--out goes with --timeline."),
    (("edit", "lamp", "plot", "--text", "a", "--revert"), "More than one new text is named."),
    (("text", "retake", "lamp", "plot", "--anew"), "`anew` goes with a note;"),
    (("text", "rewrite", "lamp", "plot", "--passage", "a", "--lines", "1"), "Say which passage"),
    (("update", "lamp", "--only", "plot"), "--only goes with --revise"),
    (("export", "lamp", "--out", "-", "--json"), "--out - and --json both print on stdout."),
    (("plan", "plan.yaml", "--model", "x", "--seed", "2"), "--model and --seed would do nothing: a plan"),
    (("plan", "--out", "x"), "--out goes with --from-brief or --from-story"),
    (("write", "lamp", "--out", "x"), "--out goes with a brief file"),
    (("world", "lamp", "--out", "x"), "--out goes with --export."),
    (("check", "lamp", "--dismiss", "a=b", "--budget-usd", "1"), "--budget-usd would do nothing: --dismiss takes"),
    (("chat", "lamp", "--turns", "3"), "--turns goes with --auto"),
    (("chat", "lamp", "--greeting", "2"), "--greeting chooses among the greetings of a character card"),
    (("chat", "lamp", "--words", "3"), "--words is for writing"),
    (("measure", "lamp", "--seed", "3"), "--seed is that of the draw of --limit"),
    (("evaluate", "pairwise", "--ratings", "r.jsonl", "--model", "x"), "--model would do nothing: --ratings has"),
    (("evaluate", "pairwise", "--limit", "2"), "--limit would do nothing: no story is evaluated"),
    (("lab", "inject", "--screenplays", "1", "--kinds", "age", "--out", "x"), "--kinds would do nothing: screenplays"),
    (("lab", "inject", "--screenplays", "1", "--kinds", "age", "--out", "x"), "--kinds would do nothing: screenplays"),
    (("lab", "reproduce", "--data", ".", "--fetch", "x", "--all"), "--fetch fetches a data set and computes nothing."),
    (("lab", "snap", "scores.csv", "-C", "lamp"), "-C names the project for --write."),
    (("lab", "snap", "form", "a.md", "--as", "A", "--with", "B", "-C", "lamp"), "Unknown option of"),
    (("learn", "--status", "--base", "x"), "--base would do nothing: nothing is learned."),
    (("learn", "--status", "lamp"), "--status and --forget are about an author"),
    (("learn", "lamp", "--yes"), "--yes goes with --forget"),
    (("trust", "lamp", "--list"), "--list lists all that is trusted"),
    (("models", "--json", "pull", "x"), "--json would do nothing: they go behind `fabula models pull`."),
    (("evaluate", "surface", "a.md", "--model", "smollm2"), "--model would do nothing: surface asks no model."),
    (("data", "preferences", "lamp", "--out", "x", "--margin", "0.5"), "--margin would do nothing: no ratings"),
    (("models", "check", "embedded:smollm2", "--base-url", "http://127.0.0.1:9"), "--base-url is for models on a"),
    (("text", "card", "--out", "x"), "Give a character card"),
)  # fmt: skip


@pytest.mark.parametrize(("command", "said"), NOTHING, ids=lambda one: " ".join(one) if isinstance(one, tuple) else "")
def test_it_is_refused(command: tuple[str, ...], said: str, cli: Cli, project: Path) -> None:
    (cli.folder / "plan.yaml").write_text("title: x\n", encoding="utf-8")
    (cli.folder / "a.md").write_text("The lamp was dark.", encoding="utf-8")
    ran = cli(*command)
    assert ran.code == 2
    assert said in ran.err


def test_only_commands_that_write_wait_for_approval() -> None:
    waiting = {name for name in COMMANDS for one in load(name).params if "--approve" in one.opts}
    assert waiting == {"write", "update", "plan"}


def test_every_folder_or_file_that_is_written_is_named_alike() -> None:
    for name in COMMANDS:
        command = load(name)
        for one in [
            *command.params,
            *(one for inner in getattr(command, "commands", {}).values() for one in inner.params),
        ]:
            if "--out" in one.opts:
                assert one.opts == ["--out", "-o"], name


def test_every_command_can_be_read_by_a_program() -> None:
    protocol = {"mcp"}  # its stdout is the client's
    for name in COMMANDS.keys() - protocol:
        command = load(name)
        if not isinstance(command, LazyGroup) and not hasattr(command, "commands"):
            assert any("--json" in one.opts for one in command.params), name
