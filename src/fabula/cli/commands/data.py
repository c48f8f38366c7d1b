"""`fabula data`: commands for training data, each in its own file."""

from __future__ import annotations

from typing import Final

import typer

from fabula.cli.commands.data_backtranslate import backtranslate, merge_data
from fabula.cli.commands.data_choose import choose_prompts
from fabula.cli.commands.data_list import list_sets
from fabula.cli.commands.data_preferences import preferences

_HELP: Final = "List data sets, choose prompts and make training data."
data = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)

data.command("list")(list_sets)
data.command("choose")(choose_prompts)
data.command("backtranslate")(backtranslate)
data.command("merge")(merge_data)
data.command("preferences")(preferences)
