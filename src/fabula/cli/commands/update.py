"""`fabula update`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.standing import not_obeyed
from fabula.cli.asked import check, settings_for
from fabula.cli.bill import calls_table, changes_list, planned
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Choices, Common, Limits, Memory, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import Session, near

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.project.folder import Change


@bundled
def update(
    common: Common,
    choices: Choices,
    limits: Limits,
    memory: Memory,
    where: Where = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be asked.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Take your edits over: say what will be asked again and its cost, then do it."""
    terminal, project = terminal_of(common), project_of(common, where)
    settings = settings_for(project, choices, terminal, forget=memory.forget)
    check(settings, terminal.environ)
    session = Session(terminal, project, settings, limits)
    expected, changes = session.dry_run()
    _show_plan(terminal, expected, changes)
    for sentence in not_obeyed(expected, project.brief, settings):
        terminal.advise(sentence)
    if texts := session.written_again(expected):
        terminal.say(texts)
    if dry_run or (expected.planned and not yes and not _confirmed(terminal, near(project.folder))):
        terminal.document({"done": False, **planned(expected, changes)})
        return
    again = f"`fabula update {near(project.folder)} --yes`"
    announced = None if yes else lambda: session.announced(expected, again, exact=True)
    session.report(session.run(expected, announced))


def _show_plan(terminal: Terminal, expected: DryRun, changes: list[Change]) -> None:
    if changes:
        terminal.say("Changed by you:\n" + changes_list(changes))
    for sentence in expected.of_files:
        terminal.say(sentence)
    if not expected.planned:
        terminal.say("Nothing has to be asked again.")
        return
    terminal.say(
        f"To be asked ({counted(expected.replayed, 'call')} from the journal beside it; tokens are estimates):"
    )
    terminal.say(calls_table(expected))


def _confirmed(terminal: Terminal, folder: str) -> bool:
    """Whether the person says yes; without a terminal nobody can, and nothing is done."""
    if terminal.json or not terminal.interactive:
        terminal.message(
            f"Nothing was asked: there is no terminal to confirm at. Do it with `fabula update {folder} --yes`."
        )
        return False
    if asyncio.run(terminal.choice("Go ahead? [y]es or [n]o: ", "yn")) == "y":
        return True
    terminal.message("Nothing was asked; your files are as you left them.")
    return False
