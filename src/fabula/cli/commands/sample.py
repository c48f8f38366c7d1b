"""`fabula sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.verbs import line_of
from fabula.project.sample import copy_sample

_TO_TRY: Final = (
    ("show {}", "the story"),
    ("show {} --timeline", "its plan, as told and as it happened"),
    ("world {} --who Ivan", "what Ivan knows, and what changed without his knowing"),
    ("check {}", "the one contradiction left in it"),
    ("text edits {}", "what the editor changed, and which change the author refused"),
    ("edit {} climax", "change a sentence ..."),
    ("update {} --dry-run", "... and see what would be written again; `undo {}` undoes it"),
    ("export {} --format epub", "a book"),
)


@bundled
def sample(
    common: Output,
    folder_: Annotated[str, typer.Argument(metavar="DIR", help="Folder to create.", show_default="sample")] = "sample",
) -> None:
    """Copy a finished project to try everything without a model.

    Its story was written by hand, and all calls and replies are recorded.
    """
    terminal = terminal_of(common)
    project = copy_sample(Path(folder_))
    made, where = line_of(terminal, project), near(project.folder)
    to_try = [(f"fabula {command.format(where)}", shows.format(where)) for command, shows in _TO_TRY]
    terminal.say(f'{where} is ready: "{made.title}", {made.words:,} words. These commands do not need a model:\n')
    terminal.say(table([(f"  {command}", shows) for command, shows in to_try]))
    terminal.advise(f"\n{near(project.folder / 'README.md')} describes how the sample was made.")
    terminal.document(made)
