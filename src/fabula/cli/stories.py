"""Stories that a command is given: where data sets are, how many are drawn, and what is said of their licences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.item_files import Selection, notices, read_items
from fabula.cli.options import DATA_FOLDER, SETTINGS

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
            min=1, metavar="N", help="Draw so many of the stories; --seed draws others.", rich_help_panel=SETTINGS
        ),
    ] = None

    def selection(self, seed: int | None = None) -> Selection:
        """Which stories are read; the draw is that of `seed`."""
        return Selection(Path(self.data) if self.data else None, self.limit, seed or 0)


def stories_of(terminal: Terminal, paths: Sequence[str], selection: Selection | None = None) -> tuple[Item, ...]:
    """The stories in files, folders and data sets; says under which licence the sets are published.

    Without a `selection` they are all of them, and sets lie where FABULA_DATA says.

    Raises:
        UsageError: as `item_files.read_items`.
    """
    if selection is None:
        data = terminal.environ.get("FABULA_DATA")
        selection = Selection(Path(data) if data else None)
    items = read_items([Path(path) for path in paths], selection)
    say_licences(terminal, items)
    return items


def say_licences(terminal: Terminal, items: Iterable[Item]) -> None:
    """Say of the data sets that stories are from who publishes them, and under which licence."""
    for notice in notices(item.source for item in items):
        terminal.message(f"Data: {notice}")
