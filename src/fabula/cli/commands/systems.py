"""`fabula systems`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.terminal import table
from fabula.engine.methods import settings_of
from fabula.systems import CATALOGUE, find
from fabula.systems import systems as all_systems

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.systems import System

_WIDTH = 100


@bundled
def systems(
    common: Output, name: Annotated[str, typer.Argument(help="A system.", show_default="list them")] = ""
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
        "\nmodel: from how strong a model on it is worth its cost; small: below 4 B parameters, medium: below 40 B.\n"
    )
    for system in (system for system in found.values() if system.source):
        terminal.say(f"{system.name} comes from {system.source}.")
    for problem in CATALOGUE.problems().values():
        terminal.message(problem)
    terminal.advise("`fabula systems NAME` lists the roles, settings and deviations of one.")
    listed = [{"name": system.name, "from": system.source or "fabula", **system.paper} for system in found.values()]
    terminal.document({"systems": listed, "problems": list(CATALOGUE.problems().values())})


def _show(terminal: Terminal, system: System) -> None:
    paper = system.paper
    settings = _settings(system)
    authors = ", ".join(paper.get("authors", ()))
    terminal.say(f"{system.name}: {paper.get('summary', '')}\n")
    terminal.say(f"Paper: {paper.get('title', '')}. {authors}. {paper.get('venue', '')} {paper.get('year', '')}.")
    if system.source:
        terminal.say(f"From:  {system.source}.")
    if "when" in paper:
        terminal.say(f"For:   {paper['when']}.")
    if "asks" in paper:
        terminal.say(f"Asks:  {paper['asks']}.")
    terminal.say(f"Model: {system.strength} or stronger. {system.worth}")
    terminal.say("\nRoles (--model ROLE=SPEC, --play ROLE=me):")
    terminal.say(table([(f"  {role}", str(what)) for role, what in paper["roles"].items()]))
    terminal.say("\nSettings (--set FIELD=VALUE):")
    rows = [("  field", "group", "faithful", "improved")]
    rows += [(f"  {s['field']}", s["group"], _value(s["faithful"]), _value(s["improved"])) for s in settings]
    terminal.say(table(rows))
    terminal.say("\nWhat they are for:")
    terminal.say(table([(f"  {s['field']}", s["about"]) for s in settings]))
    terminal.say(
        "\nHelp for small models (--aids on|off): by itself for models known to be small, not in faithful mode."
    )
    terminal.say("\nDeviations from the paper:")
    for deviation in paper.get("deviations", ()):
        shown = wrap(
            f"{deviation['where']}: {deviation['what']}", _WIDTH, initial_indent="  - ", subsequent_indent="    "
        )
        terminal.say("\n".join(shown))
    terminal.document({"name": system.name, "from": system.source or "fabula", **paper, "settings": settings})


def _settings(system: System) -> list[dict[str, Any]]:
    pairs = zip(settings_of(system.config("faithful")), settings_of(system.config("improved")), strict=True)
    return [
        {
            "field": faithful.name,
            "group": faithful.group,
            "type": str(faithful.hint),
            "about": faithful.about,
            "faithful": faithful.value,
            "improved": improved.value,
        }
        for faithful, improved in pairs
    ]


def _value(value: object) -> str:
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
