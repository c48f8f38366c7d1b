"""A run that was given up continues with the same command, and an older project with control signs opens."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from commandline import BY_PARTS, REPLIES

if TYPE_CHECKING:
    from commandline import Cli

PROGRAM = """
from pathlib import Path

def answer(prompt):
    return "#" if Path({folder!r}, "broken").exists() else {text!r}
"""
SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)


def test_the_same_command_asks_anew_and_says_so(cli: Cli) -> None:
    (cli.folder / "broken").touch()
    program = PROGRAM.format(folder=str(cli.folder), text=REPLIES["exposition"])
    (cli.folder / "who.py").write_text(program, encoding="utf-8")
    play = ("--play", "exposition=who.py:answer")
    ran = cli("write", "brief.md", "--out", "lamp", *SCRIPT, *play)
    assert ran.code == 1, ran.out
    assert "gave no usable prose" in ran.err
    assert "The same command asks again from there." in ran.err
    assert "stronger model (--model exposition=...)" in ran.err
    assert cli("update", "lamp", "--dry-run", *play).code == 0
    (cli.folder / "broken").unlink()
    again = cli("write", "lamp", "--json", *play)
    assert again.code == 0, again.err
    third = cli("write", "lamp", "--json", *play)
    assert (third.code, third.json["asked"]) == (0, 0)


def test_what_is_no_story_is_written_anew_by_the_command_that_is_named(cli: Cli) -> None:
    brief = (cli.folder / "brief.md").read_text(encoding="utf-8")
    (cli.folder / "broken").touch()
    program = PROGRAM.format(folder=str(cli.folder), text=REPLIES["exposition"]).replace('"#"', repr(brief))
    (cli.folder / "who.py").write_text(program, encoding="utf-8")
    play = ("--system", "end-to-end", "--play", "writer=who.py:answer", "--yes")
    first = cli("write", "brief.md", "--out", "lamp", *play)
    assert first.code == 1
    assert "The result is not a story. It repeated what it was told." in first.err
    for seed in (2, 3):  # the same command ends as before, the one that is named asks again
        assert f"`fabula write lamp --seed {seed} --anew` writes another story" in cli("write", "lamp").err
        if seed == 3:
            (cli.folder / "broken").unlink()
        ran = cli("write", "lamp", "--seed", str(seed), "--anew")
        assert ran.code == (1 if seed == 2 else 0), ran.err
    assert REPLIES["exposition"] in (cli.folder / "lamp" / "story.md").read_text(encoding="utf-8")


def test_an_older_project_with_control_signs_is_mended(cli: Cli) -> None:
    assert cli("write", "brief.md", "--out", "lamp", *SCRIPT).code == 0
    project = cli.folder / "lamp"
    part = next((project / "story").glob("*-climax.md"))
    clean = part.read_text(encoding="utf-8").rstrip("\n")
    dirty = clean.replace(" ", " \x00\x1b[31m", 1)
    part.write_text(f"{dirty}\n", encoding="utf-8")
    with sqlite3.connect(project / ".fabula" / "journal.db") as db:
        db.execute("UPDATE text SET body = ? WHERE body = ?", (dirty, clean))
    ran = cli("status", "lamp")
    assert "binary data" not in ran.err
    assert "\x1b" not in f"{ran.out}{ran.err}"
