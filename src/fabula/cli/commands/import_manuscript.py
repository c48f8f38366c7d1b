"""`fabula import`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.importing import import_manuscript, planned_import, read_manuscript, system_for_manuscript
from fabula.app.titles import Titles
from fabula.cli.asked import changes_of
from fabula.cli.opening import terminal_of
from fabula.cli.options import Choices, Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.project.settings import Settings
from fabula.story import count_words

if TYPE_CHECKING:
    from fabula.app.importing import Imported
    from fabula.cli.terminal import Terminal

_SHOWN: Final = 12


@bundled
def import_(
    common: Output,
    choices: Choices,
    manuscript: Annotated[
        str, typer.Argument(metavar="MANUSCRIPT", help="A file of text, Markdown, Fountain, RTF, DOCX, ODT or EPUB.")
    ],
    *,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Project folder; default: the file's name, here.")
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the story; default: the manuscript's own.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the parts it would be divided into.")] = False,
) -> None:
    """Make a project of a manuscript, to go on with it here.

    Its chapters or scenes become the parts of the story, word for word. They are yours: nobody writes them again unless
    you ask for it. No model is needed.
    """
    terminal, file = terminal_of(common), Path(manuscript)
    found = read_manuscript(file)
    settings = changes_of(replace(choices, system=system_for_manuscript(choices.system)), Settings())
    make = planned_import if dry_run else import_manuscript
    made = make(Path(out or file.stem), found, file.name, settings, title)
    _report(terminal, made, planned=dry_run)
    for notice in made.notices:
        terminal.message(notice)


def _report(terminal: Terminal, made: Imported, *, planned: bool) -> None:
    where, count = near(made.folder), counted(len(made.texts), "part")
    named = f" of “{made.title}”" if made.title else ""
    if made.before:
        terminal.say(f"{where} was made of {made.source} already, and stays as it is.")
    else:
        said = "would be made" if planned else "is ready"
        terminal.say(f"{where} {said}: {counted(made.words, 'word')}{named} in {count}, divided {made.divided}.")
    if made.cut and made.way != "length":
        terminal.say(f"Some parts were too long for one file: {counted(made.cut, 'cut')} between paragraphs.")
    titles = Titles.of({one.path: one.file for one in made.texts}, {one.path: one.text for one in made.texts})
    rows = [(f"  {titles(one.path)}", f"{count_words(one.text):,}", one.file) for one in made.texts]
    shown = rows if len(rows) <= _SHOWN else [*rows[: _SHOWN - 2], ("  ...", "", ""), rows[-1]]
    terminal.say(table([("  part", "words", "file"), *shown], right=(1,)))
    if not planned:
        terminal.advise(
            f"Next: `fabula studio {where}`, `fabula check {where}`, or `fabula text continue {where}` to have it "
            "written on from its end. Nothing is asked of a model before you say so."
        )
    terminal.document(made.to_dict())
