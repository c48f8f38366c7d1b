"""An option that would have no effect is refused with a sentence, and not silently ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.cli.lazy import COMMANDS, LazyGroup, load

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

NOTHING = (
    (("show", "lamp", "--prompts", "--removed"), "--prompts and --removed cannot be combined"),
    (("show", "lamp", "--out", "a.svg"), "--out requires --timeline."),
    (("edit", "lamp", "plot", "--text", "a", "--revert"), "You specified more than one new text."),
    (("text", "retake", "lamp", "plot", "--anew"), "`anew` requires a note;"),
    (("text", "rewrite", "lamp", "plot", "--passage", "a", "--lines", "1"), "Specify the passage with"),
    (("update", "lamp", "--only", "plot"), "--only requires --revise"),
    (("export", "lamp", "--out", "-", "--json"), "--out - and --json both print to stdout."),
    (("plan", "plan.yaml", "--model", "x", "--seed", "2"), "--model and --seed would have no effect: a plan"),
    (("plan", "--out", "x"), "--out requires --from-brief or --from-story"),
    (("write", "lamp", "--out", "x"), "--out requires a brief file"),
    (("world", "lamp", "--out", "x"), "--out requires --export."),
    (("check", "lamp", "--dismiss", "a=b", "--budget-usd", "1"),
     "--budget-usd would have no effect: --dismiss changes"),
    (("chat", "lamp", "--turns", "3"), "--turns requires --auto"),
    (("chat", "lamp", "--greeting", "2"), "--greeting chooses a greeting of a character card"),
    (("chat", "lamp", "--words", "3"), "--words applies only to writing:"),
    (("measure", "lamp", "--seed", "3"), "--seed requires --limit"),
    (("evaluate", "pairwise", "--ratings", "r.jsonl", "--model", "x"),
     "--model would have no effect: --ratings supplies"),
    (("evaluate", "pairwise", "--limit", "2"), "--limit would have no effect: no story is evaluated"),
    (("lab", "reproduce", "--data", ".", "--fetch", "x", "--all"), "--fetch only downloads a data set."),
    (("lab", "snap", "scores.csv", "-C", "lamp"), "-C is only for --write."),
    (("lab", "snap", "form", "a.md", "--as", "A", "--with", "B", "-C", "lamp"), "has no option"),
    (("learn", "--status", "--base", "x"), "--base would have no effect: nothing is learned."),
    (("learn", "--status", "lamp"), "--status and --forget apply to an author,"),
    (("learn", "lamp", "--yes"), "--yes requires --forget"),
    (("trust", "lamp", "--list"), "--list lists all trusted files"),
    (("models", "--json", "pull", "x"), "--json would have no effect: put them after `fabula models pull`."),
    (("evaluate", "surface", "a.md", "--model", "smollm2"), "--model would have no effect: surface calls no model."),
    (("data", "preferences", "lamp", "--out", "x", "--margin", "0.5"), "--margin would have no effect: no ratings"),
    (("models", "check", "embedded:smollm2", "--base-url", "http://127.0.0.1:9"), "--base-url is for models on a"),
    (("text", "card", "--out", "x"), "Specify a character card,"),
    (("lab", "inject", "--out", "s", "--preset", "faithful"), "--preset would have no effect: both presets are the"),
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
    protocol = {"lsp", "mcp"}  # their stdout is the client's
    for name in COMMANDS.keys() - protocol:
        command = load(name)
        if not isinstance(command, LazyGroup) and not hasattr(command, "commands"):
            assert any("--json" in one.opts for one in command.params), name
