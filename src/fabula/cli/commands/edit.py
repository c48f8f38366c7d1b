"""`fabula edit`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.writing import Options, check_edit
from fabula.base.errors import UnknownNameError, UsageError
from fabula.cli.opening import project_and_artefact, read_given, terminal_of
from fabula.cli.options import Artefact, Common, bundled
from fabula.cli.session import near
from fabula.project.folder import MAX_FILE
from fabula.story import count_words, plain

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.journal import Journal


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
        before = journal.newest(path)
        if revert:
            _revert(journal, path)
            project.write_newest(journal, [path])
        else:
            new = _version(journal, path, to) if to is not None else _new_text(terminal, text, file, before or "")
            if plain(new) != plain(before or ""):
                asyncio.run(check_edit(project, journal, Options(environ=terminal.environ), path, plain(new)))
                project.edit(journal, path, new)
        after = journal.newest(path) or ""
        where = journal.places()[path]
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


def _version(journal: Journal, path: str, number: int) -> str:
    versions = journal.versions(path)
    if not 1 <= number <= len(versions):
        raise UnknownNameError(f"version of {path}", str(number), [str(v.number) for v in versions])
    return versions[number - 1].text


def _revert(journal: Journal, path: str) -> None:
    override = journal.override(path)
    if override is None or override[1] not in ("edited", "rewritten"):
        raise UsageError(f"{path} has no edit to take back" + (f": it is {override[1]}." if override else "."))
    made = [version.text for version in journal.versions(path) if version.made]
    if not made:
        raise UsageError(f"{path} was never written for you; its text is yours alone.")
    with journal.transaction():
        journal.decide(path, "unedit")
        journal.keep(path, made[-1], "made")
