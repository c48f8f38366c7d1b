"""`fabula import`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from fabula.app.importing import (
    READ,
    Imported,
    import_manuscript,
    planned_import,
    read_manuscript,
    system_for_manuscript,
)
from fabula.app.titles import Titles
from fabula.cli.asked import changes_of
from fabula.cli.opening import terminal_of
from fabula.cli.options import Choices, Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import Terminal, table
from fabula.project.settings import Settings
from fabula.story import count_words

_SHOWN: Final = 12


@bundled
def import_(
    common: Output,
    choices: Choices,
    manuscript: Annotated[str, typer.Argument(metavar="MANUSCRIPT", help=READ)],
    *,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Project folder; default: a folder here, named after the file."
        ),
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the story; default: the title in the manuscript.")] = "",
    author: Annotated[str, typer.Option(metavar="NAME", help="Your name, for title pages.")] = "",
    own: Annotated[
        bool, typer.Option("--own", help="It is your own prose: keep it as a sample for `fabula text style`.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the parts; create nothing.")] = False,
) -> None:
    """Create a project from a manuscript, to continue it here.

    The chapters or scenes of the manuscript become the parts of the story, word for word. They count as your own text:
    fabula rewrites them only at your request. No model is needed.
    """
    terminal, file = terminal_of(common), Path(manuscript)
    found = read_manuscript(file)
    unnamed = Settings().with_({"model": Settings().model})  # no model is written into a project that needs none yet
    settings = changes_of(replace(choices, system=system_for_manuscript(choices.system)), unnamed)
    if author:
        settings["author"] = {"name": author}
    given = (Path(out) if out else _folder_for(file), found, file.resolve().name, settings, title)
    made = planned_import(*given)
    for notice in made.notices:
        terminal.message(notice)
    _report(terminal, made if dry_run else import_manuscript(*given, own=own), planned=dry_run)


def _folder_for(file: Path) -> Path:
    """The project's folder if none is named, which is never the manuscript's own."""
    folder = Path(file.resolve().stem)
    return folder.with_name(f"{folder}-project") if folder.resolve() == file.resolve() else folder


def _report(terminal: Terminal, made: Imported, *, planned: bool) -> None:
    where, count = near(made.folder), counted(len(made.texts), "part")
    named = f" of “{made.title}”" if made.title else ""
    if made.before:
        terminal.say(f"{where} was already made from {made.source} and remains unchanged.")
    else:
        said = "would be made" if planned else "is ready"
        terminal.say(f"{where} {said}: {counted(made.words, 'word')}{named} in {count}, divided {made.divided}.")
    if made.cut and made.way != "length":
        terminal.say(
            f"Some parts were too long for one file, so fabula divided them: {counted(made.cut, 'cut')} "
            "between paragraphs."
        )
    titles = Titles.of({one.path: one.file for one in made.texts}, {one.path: one.text for one in made.texts})
    rows = [(f"  {titles(one.path)}", f"{count_words(one.text):,}", one.file) for one in made.texts]
    shown = rows if len(rows) <= _SHOWN else [*rows[: _SHOWN - 2], ("  ...", "", ""), rows[-1]]
    terminal.say(table([("  part", "words", "file"), *shown], right=(1,)))
    if not planned:
        terminal.advise(
            f"Next: `fabula studio {where}`, `fabula check {where}`, or `fabula text continue {where}` to continue "
            "the story. fabula does not call a model until you ask it to."
        )
    terminal.document(made.to_dict())
