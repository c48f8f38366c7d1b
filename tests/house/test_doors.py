"""Errors say what to do in the words of where they are met: no option on a page, no command in a program."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fabula
from fabula.app.world import world_of
from fabula.base.doors import Door, at_door, said
from fabula.base.errors import FabulaError, UsageError
from fabula.models.threads import EngineSession
from serving import project
from studio import studio_here

SOURCE = Path(fabula.__file__).parent
RAISES = re.compile(r"(Error|Fault|Problem)$")
OPTION = re.compile(r"(?<![\w/.-])--[a-z]")
COMMAND = re.compile(r"\b(the same command|run the command|same command again)\b", re.IGNORECASE)


def messages() -> list[tuple[str, str]]:
    """The texts, below the command line, of what is raised, as far as they are written out: place and text."""
    found: list[tuple[str, str]] = []
    for file in sorted(SOURCE.rglob("*.py")):
        if file.relative_to(SOURCE).parts[0] in ("cli", "testing") or file.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and RAISES.search(ast.unparse(call.func)):
                place = f"{file.relative_to(SOURCE)}:{call.lineno}"
                found.extend((place, _written(argument)) for argument in call.args)
    return found


def _written(node: ast.expr) -> str:
    """A text as it is in the source; what is filled in stands as X."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join("X" if isinstance(part, ast.FormattedValue) else _written(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _written(node.left) + _written(node.right)
    return "X"


@pytest.mark.parametrize("door", ["page", "program"])
def test_no_message_below_the_command_line_speaks_of_options_or_commands_elsewhere(door: Door) -> None:
    written = messages()
    assert sum(bool(OPTION.search(text)) for _, text in written) > 20, "there are some to be said otherwise"
    shown = [(place, said(text, door)) for place, text in written]
    wrong = [(place, text) for place, text in shown if OPTION.search(text) or COMMAND.search(text)]
    assert wrong == []


def test_an_error_speaks_the_words_of_the_place_that_it_was_raised_for() -> None:
    text = "Run again with another --seed, or run `fabula text undo X --all`. The same command asks again from there."
    with at_door("program"):
        assert str(UsageError(text)) == (
            "Run again with another seed, or run `fabula text undo X` in a terminal. Another try asks again from there."
        )
    with at_door("page"):
        on_page: FabulaError = UsageError(text)
    with at_door("terminal"):
        assert str(UsageError(text)) == text
        assert str(on_page) == (
            "Run again with another seed, or use Undo on the Edit page. Another try asks again from there."
        ), "wherever it is read later"


@pytest.mark.parametrize(("door", "words"), [("terminal", "--top-k"), ("page", "top k"), ("program", "top_k")])
async def test_an_error_that_an_engine_raises_in_its_thread_speaks_the_words_of_who_asked(
    door: Door, words: str
) -> None:
    def open_() -> None:
        raise UsageError("Use another --top-k.")

    session = EngineSession(open_, 1, "engine")
    try:
        with at_door(door), pytest.raises(UsageError) as raised:
            await session.run(lambda _engine, _stop: None)
    finally:
        session.close()
    assert str(raised.value) == f"Use another {words}."


async def test_the_same_error_over_http_on_a_page_in_python_and_at_a_terminal(tmp_path: Path) -> None:
    made = project(tmp_path)
    with at_door("program"), pytest.raises(FabulaError) as raised, world_of(made):
        pass
    async with studio_here(tmp_path) as client:
        over_http = (await client.get("/api/v1/projects/lamp/world")).json()["error"]["message"]
        on_a_page = (await client.get("/projects/lamp/world/facts")).text
    for text in (str(raised.value), over_http):
        assert "has no world (.fabula/world.db is missing)" in text
        assert "in a terminal" in text
        assert not OPTION.search(text)
    assert not OPTION.search(on_a_page)
    with at_door("terminal"), pytest.raises(FabulaError, match="fabula world --import FILE"), world_of(made):
        pass
    here = subprocess.run(  # noqa: ASYNC221 - nothing else is under way
        [sys.executable, "-m", "fabula", "world", str(made.folder)], capture_output=True, text=True, check=False
    )
    assert here.returncode == 1
    assert f"`fabula world --import FILE -C {made.folder}`" in " ".join(here.stderr.split())


def test_what_a_person_gave_stays_as_it_is() -> None:
    for text in ("There is no file my--seed-notes.md.", "notes/--old is not a folder.", "a -- b", "left---right"):
        assert said(text, "page") == text
        assert said(text, "program") == text
