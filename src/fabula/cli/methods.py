"""Describe a system or an evaluator at the terminal: its paper, roles, settings and deviations."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from fabula.cli.terminal import Terminal, table
from fabula.verbs.methods import MethodView

if TYPE_CHECKING:
    from fabula.engine.methods import Method


_WIDTH: Final = 100


def say_method(terminal: Terminal, method: Method, more: Sequence[str] = ()) -> None:
    """Print a method's description, with `more` lines after those about its paper; as JSON, print everything."""
    view = MethodView.of(method)
    paper, settings = view.paper, view.settings
    terminal.say(f"{method.name}: {paper['summary']}\n")
    terminal.say(f"Paper: {paper['title']}. {', '.join(paper['authors'])}. {paper['venue']} {paper['year']}.")
    terminal.say(
        "\n".join([*([f"From:  {method.source}."] if method.source else []), *more, f"Asks:  {paper['asks']}."])
    )
    if method.roles:
        terminal.say("\nRoles (--model ROLE=SPEC, --play ROLE=me):")
        terminal.say(table([(f"  {role}", str(what)) for role, what in paper["roles"].items()]))
    if settings:
        terminal.say("\nSettings (--set FIELD=VALUE):")
        rows = [("  field", "group", "faithful", "improved")]
        rows += [(f"  {s.field}", s.group, _value(s.faithful), _value(s.improved)) for s in settings]
        terminal.say(table(rows))
        terminal.say("\nWhat the settings are for:")
        terminal.say(table([(f"  {s.field}", s.about) for s in settings]))
    if measured := paper.get("ours"):
        terminal.say("\nMeasured effects of the improved mode:")
        terminal.say(table([(f"  {field}", str(what)) for field, what in measured.items()]))
    if method.roles:
        terminal.say(
            "\nHelp for small models (--aids on|off): on by default for models that are known to be small, except in "
            "faithful mode."
        )
    if deviations := paper.get("deviations", ()):
        terminal.say("\nDeviations from the paper:")
    for deviation in deviations:
        said = f"{deviation['where']}: {deviation['what']}"
        terminal.say("\n".join(wrap(said, _WIDTH, initial_indent="  - ", subsequent_indent="    ")))
    terminal.document(view)


def _value(value: object) -> str:
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
