"""`fabula edit`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.deciding import edit as edited
from fabula.app.deciding import revert as reverted
from fabula.app.deciding import version_of
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.cli.opening import project_and_artefact, read_given, terminal_of
from fabula.cli.options import Artefact, Common, bundled
from fabula.cli.session import near
from fabula.project.folder import MAX_FILE
from fabula.story import count_words

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@bundled
def edit(
    common: Common,
    artefact: Artefact,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="A file with the new text; - reads stdin.")] = None,
    to: Annotated[int | None, typer.Option(metavar="N", help="Number of the version to go back to.")] = None,
    *,
    revert: Annotated[bool, typer.Option("--revert", help="Back to what was written for you.")] = False,
) -> None:
    """Give an artefact a new text, an earlier one, or open it in $EDITOR."""
    if sum((text is not None, file is not None, to is not None, revert)) > 1:
        raise UsageError("More than one new text is named. Give one of --text, --file, --to and --revert.")
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        before = journal.artefacts.newest(path)
        if revert:
            reverted(project, journal, path)
        else:
            new = version_of(journal, path, to) if to is not None else _new_text(terminal, text, file, before or "")
            asyncio.run(edited(project, journal, path, new, Options(environ=terminal.environ)))
        after = journal.artefacts.newest(path) or ""
        where = journal.artefacts.places()[path]
    changed = after != before
    terminal.say(f"{where}: {count_words(after):,} words" if changed else f"{where} is as it was.")
    if changed:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`.")
    terminal.document({"artefact": path, "file": where, "changed": changed, "words": count_words(after)})


def _new_text(terminal: Terminal, text: str | None, file: str | None, before: str) -> str:
    if text is not None:
        return text
    if file is not None:
        return read_given(file, MAX_FILE)
    if not terminal.interactive:
        raise UsageError("There is no new text. Give --text, --file, --to or --revert.")
    return asyncio.run(terminal.edited(before + "\n"))
