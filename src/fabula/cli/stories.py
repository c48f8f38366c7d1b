"""Stories that a command is given: where data sets are, how many are drawn, and what is said of their licences."""

from __future__ import annotations

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
    from collections.abc import Iterable, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item


@dataclass(frozen=True, slots=True)
class Selecting:
    """Where data sets are, and how many stories are drawn."""

    data: Annotated[str, DATA_FOLDER] = ""
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Draw this many stories; another --seed draws others.", rich_help_panel=SETTINGS
        ),
    ] = None

    def selection(self, seed: int | None = None) -> Selection:
        """Which stories are read; the draw is that of `seed`."""
        return Selection(Path(self.data) if self.data else None, self.limit, seed or 0)


def stories_of(terminal: Terminal, paths: Sequence[str], selection: Selection | None = None) -> tuple[Item, ...]:
    """The stories in files, folders, data sets and on standard input.

    Says under which licence sets are published, and of how many runs of an experiment there is no story.

    Without a `selection` they are all of them, and sets lie where FABULA_DATA says.

    Raises:
        UsageError: as `sources.items_of` and `named_stories`.
    """
    items = items_of(named_stories(paths), selection or sets_of(terminal))
    if lost := len(runs_without_story(map(Path, paths))):
        terminal.message(f"Left out: {counted(lost, 'run')} of an experiment without a story.")
    say_licences(terminal, items)
    return items


def named_stories(paths: Sequence[str]) -> list[Path | Story]:
    """What the command line names: paths of files, folders and data sets, and for `-` the story on standard input.

    Raises:
        UsageError: `-` stands there twice, or there is no story on standard input.
    """
    if paths.count(STDIN) > 1:
        raise UsageError("Standard input is named twice, and there is one story on it. Give the other as a file.")
    return [_on_stdin() if path == STDIN else Path(path) for path in paths]


def _on_stdin() -> Story:
    story = Story.parse(read_stdin(MAX_STORY_BYTES))
    if not story.words:
        raise UsageError("There is no story on standard input. Give a text with words in it.")
    return story


def folder_of(terminal: Terminal, name: str) -> Path:
    """The folder that is named, by its path or as a data set.

    Raises:
        UsageError: a split of a set is named, where all of them are needed.
    """
    named = named_set(Path(name), sets_of(terminal).data)
    if named is None:
        return Path(name)
    if named.split:
        raise UsageError(f"{name} is one split, and those to train on and for development are needed. Leave it out.")
    return named.folder


def sets_of(terminal: Terminal) -> Selection:
    """All stories; data sets lie where FABULA_DATA says."""
    data = terminal.environ.get("FABULA_DATA")
    return Selection(Path(data) if data else None)


def say_licences(terminal: Terminal, items: Iterable[Item]) -> None:
    """Say of the data sets that stories are from who publishes them, and under which licence."""
    for notice in notices(item.source for item in items):
        terminal.message(f"Data: {notice}")
