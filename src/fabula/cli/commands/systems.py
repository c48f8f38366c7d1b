"""`fabula systems`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli import completing
from fabula.cli.methods import say_method
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.terminal import table
from fabula.systems import CATALOGUE, find
from fabula.systems import systems as all_systems

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.systems import System


@bundled
def systems(
    common: Output,
    name: Annotated[
        str, typer.Argument(autocompletion=completing.systems, help="A system.", show_default="list them")
    ] = "",
) -> None:
    """List the writing systems, or describe one."""
    terminal = terminal_of(common)
    if name:
        _show(terminal, find(name))
        return
    found = all_systems()
    rows = [(one.name, one.strength, str(one.paper.get("summary", ""))) for one in found.values()]
    terminal.say(table([("system", "model", "what it does"), *rows]))
    terminal.say(
        "\nmodel: from how strong a model on it is worth its cost; small: any, medium: from some 4 B parameters on, "
        "large: from 40 B on.\n"
    )
    for system in (system for system in found.values() if system.source):
        terminal.say(f"{system.name} comes from {system.source}.")
    for problem in CATALOGUE.problems().values():
        terminal.message(problem)
    terminal.advise("`fabula systems NAME` lists the roles, settings and deviations of one.")
    listed = [{"name": system.name, "from": system.source or "fabula", **system.paper} for system in found.values()]
    terminal.document({"systems": listed, "problems": list(CATALOGUE.problems().values())})


def _show(terminal: Terminal, system: System) -> None:
    lines = [f"For:   {system.paper['when']}."] if "when" in system.paper else []
    say_method(terminal, system, [*lines, f"Model: {system.strength} or stronger. {system.worth}"])
