"""`fabula edit`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.base.errors import UsageError
from fabula.cli.opening import project_and_artefact, read_given, terminal_of
from fabula.cli.options import Artefact, ProjectOptions, bundled
from fabula.cli.session import near
from fabula.cli.verbs import opened
from fabula.project.folder import MAX_FILE

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@bundled
def edit(
    common: ProjectOptions,
    artefact: Artefact,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="File with the new text; - reads stdin.")] = None,
    to: Annotated[int | None, typer.Option(metavar="N", help="Number of the version to restore.")] = None,
    *,
    revert: Annotated[bool, typer.Option("--revert", help="Restore the text that fabula wrote.")] = False,
) -> None:
    """Replace an artefact's text with a new or earlier one, or open it in $EDITOR."""
    if sum((text is not None, file is not None, to is not None, revert)) > 1:
        raise UsageError("You specified more than one new text. Use only one of --text, --file, --to and --revert.")
    terminal = terminal_of(common)
    found, name = project_and_artefact(common, artefact)
    project = opened(terminal, found)
    if revert or to is not None:
        done = project.choose(name, to)
    else:
        done = project.edit(name, _new_text(terminal, text, file, lambda: project.text(name).text), None)
    terminal.say(f"{done.file}: {done.words:,} words" if done.changed else f"{done.file} is unchanged.")
    if done.changed:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`.")
    terminal.document(done)


def _new_text(terminal: Terminal, text: str | None, file: str | None, before: Callable[[], str]) -> str:
    if text is not None:
        return text
    if file is not None:
        return read_given(file, MAX_FILE)
    if not (terminal.interactive and terminal.editor):
        lacks = "editor: set EDITOR, for example to nano" if terminal.interactive else "terminal to open an editor in"
        raise UsageError(
            f"There is no new text, and no {lacks}. Give the text with --text WORDS or --file FILE; an earlier version "
            "with --to N or --revert."
        )
    return asyncio.run(terminal.edited(before() + "\n"))
