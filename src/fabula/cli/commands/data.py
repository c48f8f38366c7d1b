"""`fabula data`: training data, each of its commands in a file of its own."""

from __future__ import annotations

from typing import Final

import typer

from fabula.cli.commands.data_backtranslate import backtranslate
from fabula.cli.commands.data_preferences import preferences

_HELP: Final = "Make training data, and say what it is made from."
data = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


@data.callback()
def _group() -> None:
    """Keep the group a group while it has one command."""


data.command("backtranslate")(backtranslate)
data.command("preferences")(preferences)
