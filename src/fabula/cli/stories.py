"""The stories given to a command: the folder of data sets, the number to draw, and messages about licences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.item_files import MAX_STORY_BYTES, Selection, named_set, notices, runs_without_story
from fabula.app.sources import items_of
from fabula.base.errors import UsageError
from fabula.cli.opening import STDIN, read_stdin
from fabula.cli.options import DATA_FOLDER, SETTINGS
from fabula.cli.progress import counted
from fabula.story import Story

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item


@dataclass(frozen=True, slots=True)
class Selecting:
    """The folder of data sets, and the number of stories to draw."""

    data: Annotated[str, DATA_FOLDER] = ""
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Sample this many stories; another --seed samples others.",
            rich_help_panel=SETTINGS,
        ),
    ] = None

    def selection(self, seed: int | None = None) -> Selection:
        """Return which stories to read; `seed` determines the draw."""
        return Selection(Path(self.data) if self.data else None, self.limit, seed or 0)


def stories_of(terminal: Terminal, paths: Sequence[str], selection: Selection | None = None) -> tuple[Item, ...]:
    """Return the stories in files, folders and data sets and on standard input.

    Also print the licences of published sets and the number of experiment runs without a story.

    Without a `selection`, read all stories; sets are in the folder FABULA_DATA.

    Raises:
        UsageError: as in `sources.items_of` and `named_stories`.
    """
    items = items_of(named_stories(paths), selection or sets_of(terminal))
    if lost := len(runs_without_story(map(Path, paths))):
        terminal.message(f"Left out: {counted(lost, 'run')} of an experiment that have no story.")
    say_licences(terminal, items)
    return items


def named_stories(paths: Sequence[str]) -> list[Path | Story]:
    """Return the stories in the files, folders and data sets on the command line, and on standard input for `-`.

    Raises:
        UsageError: `-` is given twice, or standard input contains no story.
    """
    if paths.count(STDIN) > 1:
        raise UsageError(
            "Standard input is specified twice, but it can contain only one story. Use a file for the other story."
        )
    return [_on_stdin() if path == STDIN else Path(path) for path in paths]


def _on_stdin() -> Story:
    story = Story.parse(read_stdin(MAX_STORY_BYTES))
    if not story.words:
        raise UsageError("There is no story on standard input. Use a text that contains words.")
    return story


def folder_of(terminal: Terminal, name: str) -> Path:
    """Return the folder with that path, or the folder of that data set.

    Raises:
        UsageError: only one split of a set is given, but all splits are needed.
    """
    named = named_set(Path(name), sets_of(terminal).data)
    if named is None:
        return Path(name)
    if named.split:
        raise UsageError(
            f"{name} specifies only one split, but both the training and the development split are needed. Leave the "
            "split out."
        )
    return named.folder


def sets_of(terminal: Terminal) -> Selection:
    """Select all stories; FABULA_DATA is the folder of data sets."""
    data = terminal.environ.get("FABULA_DATA")
    return Selection(Path(data) if data else None)


def say_licences(terminal: Terminal, items: Iterable[Item]) -> None:
    """Print the publisher and licence of each data set that the stories come from."""
    for notice in notices(item.source for item in items):
        terminal.message(f"Data: {notice}")
