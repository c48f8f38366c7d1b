"""`fabula new`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.beginning import check
from fabula.base.errors import UsageError
from fabula.cli.asked import changes_of, say_default
from fabula.cli.opening import STDIN, read_stdin, terminal_of
from fabula.cli.options import Choices, Output, bundled
from fabula.cli.session import near
from fabula.cli.verbs import line_of
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import MAX_BRIEF_BYTES, Brief

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@bundled
def new(
    common: Output,
    choices: Choices,
    folder_: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the new project.")] = "",
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief; - reads stdin.")] = "",
    text: Annotated[str, typer.Option(help="The brief itself.")] = "",
    title: Annotated[str, typer.Option(help="Title of the story.")] = "",
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Project folder, as for `fabula write`.")] = "",
) -> None:
    """Create a project folder for a brief."""
    if bool(folder_) == bool(out):
        raise UsageError("Specify one folder for the new project: `fabula new DIR` or `fabula new --out DIR`.")
    terminal = terminal_of(common)
    if not (brief or text):  # what is wrong is said before somebody types theirs
        check(Settings.of(changes_of(choices, Settings(), Brief("A story.")), "the command line"), terminal.environ)
    asked = _brief(terminal, brief, text)
    changes = changes_of(choices, Settings(), asked)
    check(Settings.of(changes, "the command line"), terminal.environ)
    say_default(terminal, choices, changes)
    project = ProjectFolder.create(Path(folder_ or out), replace(asked, title=title) if title else asked, changes)
    where = near(project.folder)
    terminal.say(f"{where} is ready. brief.md contains the brief, and fabula.toml contains the settings.")
    terminal.advise(
        f"Next: run `fabula write {where} --dry-run` to see the calls and their cost, or `fabula write "
        f"{where}` to write."
    )
    terminal.document(line_of(terminal, project))


def _brief(terminal: Terminal, file: str, text: str) -> Brief:
    """The brief from a file, an option, or the person at the terminal."""
    if file and text:
        raise UsageError("--brief and --text cannot be used together. Use only one.")
    if file == STDIN:
        return Brief.parse(read_stdin(MAX_BRIEF_BYTES), name="on standard input")
    if file:
        return Brief.read(Path(file))
    if text:
        return Brief.parse(text)
    if not terminal.interactive:
        raise UsageError("There is no brief. Use --brief FILE or --text TEXT.")
    terminal.message("What should the story be about? To end the brief, type a full stop on a separate line.")
    return Brief.parse(asyncio.run(terminal.lines())[0])
