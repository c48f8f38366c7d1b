"""`fabula sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from fabula.base.files import read_text
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.project.folder import MAX_FILE
from fabula.project.sample import copy_sample
from fabula.story import Story

_TO_TRY: Final = (
    ("show {}", "the story"),
    ("show {} --timeline", "its plan, as it is told and as it happened"),
    ("world {} --who Ivan", "what somebody knows, and what has changed without their knowing"),
    ("check {}", "a slip was left in, and is found"),
    ("text edits {}", "what the editor changed, and which change the author refused"),
    ("edit {} climax", "change a sentence ..."),
    ("update {} --dry-run", "... and see what would be written again; `undo {}` takes it back"),
    ("export {} --format epub", "a book"),
)


@bundled
def sample(
    common: Output,
    folder_: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder to make for it.", show_default="sample")
    ] = "sample",
) -> None:
    """Copy a finished project, to try everything without a model.

    Its story was written by hand, and everything that was asked and answered for it is recorded.
    """
    terminal = terminal_of(common)
    project = copy_sample(Path(folder_))
    story = Story.parse(read_text(project.story_file, MAX_FILE))
    where = near(project.folder)
    to_try = [(f"fabula {command.format(where)}", shows.format(where)) for command, shows in _TO_TRY]
    terminal.say(f'{where} is ready: "{story.title}", {story.words:,} words. No model is needed for these:\n')
    terminal.say(table([(f"  {command}", shows) for command, shows in to_try]))
    terminal.advise(f"\n{near(project.folder / 'README.md')} says how it was made.")
    terminal.document(
        {
            "project": str(project.folder),
            "title": story.title,
            "words": story.words,
            "try": [{"command": command, "shows": shows} for command, shows in to_try],
        }
    )
