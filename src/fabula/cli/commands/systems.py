"""`fabula systems`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.item_files import read_items
from fabula.app.prompts_shown import prompts_of, prompts_on
from fabula.base.errors import UsageError
from fabula.base.plugins import plain_name
from fabula.cli import completing
from fabula.cli.methods import say_method
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.terminal import table
from fabula.engine.folders import is_path
from fabula.engine.methods import Preset  # noqa: TC001 - typer reads annotations
from fabula.evaluators import evaluators
from fabula.evaluators import find as find_evaluator
from fabula.story import Brief
from fabula.systems import CATALOGUE, find
from fabula.systems import systems as all_systems
from fabula.verbs.methods import MethodList

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.evaluators import Evaluator
    from fabula.systems import System


@bundled
def systems(
    common: Output,
    name: Annotated[
        str, typer.Argument(autocompletion=completing.systems, help="A system.", show_default="list them")
    ] = "",
    brief: Annotated[
        str,
        typer.Argument(
            metavar="[BRIEF]",
            help="With --prompts: a brief, or a story for an evaluator.",
            show_default="a brief of 900 words; a sample story",
        ),
    ] = "",
    prompts: Annotated[bool, typer.Option("--prompts", help="Print the prompts of the system, filled in.")] = False,  # noqa: FBT002 - a flag of the command
    preset: Annotated[Preset, typer.Option("--preset", help="With --prompts: the preset to print.")] = "improved",
) -> None:
    """List the writing systems, describe one, or print its prompts."""
    terminal = terminal_of(common)
    if not prompts and brief:
        find(name)
        raise UsageError("A brief requires --prompts. To write a story, use `fabula write BRIEF`.")
    if prompts and not name:
        raise UsageError("Specify a system. `fabula systems NAME --prompts` prints its prompts.")
    if name:
        if prompts:
            _print_prompts(terminal, name, preset, brief)
        else:
            _show(terminal, find(name))
        return
    found = all_systems()
    rows = [(one.name, one.strength, str(one.paper.get("summary", ""))) for one in found.values()]
    terminal.say(table([("system", "model", "what it does"), *rows]))
    terminal.say(
        "\nmodel: how strong a model must be for the system to be worth its cost; small: any, medium: 4 B parameters "
        "or more, "
        "large: 40 B or more.\n"
    )
    for system in (system for system in found.values() if system.source):
        terminal.say(f"{system.name} comes from {system.source}.")
    for problem in CATALOGUE.problems().values():
        terminal.message(problem)
    terminal.advise("To list the roles, settings and deviations of a system, run `fabula systems NAME`.")
    terminal.document(MethodList.of(found, CATALOGUE.problems()))


def _show(terminal: Terminal, system: System) -> None:
    lines = [f"For:   {system.paper['when']}."] if "when" in system.paper else []
    say_method(terminal, system, [*lines, f"Model: {system.strength} or stronger. {system.worth}"])


def _evaluator(name: str) -> Evaluator | None:
    """The evaluator of that name or in that folder; `None` if there is no such evaluator."""
    if is_path(name):
        found = find_evaluator(name)
        return found if hasattr(found.algorithm, "evaluate") else None
    return find_evaluator(name) if plain_name(name) in evaluators() else None


def _print_prompts(terminal: Terminal, name: str, preset: Preset, file: str) -> None:
    """Print the prompts of a system or an evaluator, in the order in which they are sent."""
    if evaluator := _evaluator(name):
        if not evaluator.roles:
            raise UsageError(f"{evaluator.name} calls no model.")
        asked = asyncio.run(prompts_on(evaluator, preset, read_items([Path(file)])[0] if file else None))
    else:
        asked = asyncio.run(prompts_of(find(name), preset, Brief.read(Path(file)) if file else None))
    terminal.say(
        f"The prompts of {asked.system} ({preset}), in the order of their first use. ⟨about N words⟩ stands for text "
        "that is not known yet."
    )
    for one in asked.prompts:
        often = f", {one.times} times in all" if one.times > 1 else ""
        terminal.say(f"\n===== {one.name}, to the role {one.role}, at {one.path}{often}")
        for role, text in one.messages:
            terminal.say(f"--- {role}\n{text}")
        if one.schema is not None:
            terminal.say(f"--- reply: JSON with {', '.join(one.schema.get('properties', {})) or 'a list'}")
    if asked.not_asked:
        terminal.say(
            "\nThese prompts are not sent for this brief if replies have their usual length. The template files are:"
        )
    for prompt, source in asked.not_asked.items():
        terminal.say(f"\n===== {prompt}\n{source}")
    terminal.document(asked)
