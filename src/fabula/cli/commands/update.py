"""`fabula update`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.beginning import check
from fabula.app.bills import Estimate
from fabula.app.standing import not_obeyed
from fabula.app.writing import chosen_to_fit, old_texts
from fabula.base.errors import UsageError
from fabula.cli.asked import settings_for
from fabula.cli.bill import calls_table
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Choices, ProjectOptions, RunMemory, Where, WritingLimits, bundled
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.cli.typed import as_typed_here
from fabula.project.folder import FileChange, files_of

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun


@bundled
def update(
    common: ProjectOptions,
    choices: Choices,
    limits: WritingLimits,
    memory: RunMemory,
    where: Where = "",
    *,
    revise: Annotated[
        bool, typer.Option("--revise", help="Revise old texts to fit your changes instead of rewriting them.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARTEFACT", help="With --revise: revise only this text, and rewrite the others. Repeatable."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Apply your edits: show the calls and their cost, then make the calls."""
    terminal, project = terminal_of(common), project_of(common, where)
    settings = settings_for(project, choices, terminal, forget=memory.forget)
    check(settings, terminal.environ)
    session = Session(terminal, project, settings, limits, "update")
    if only and not revise:
        raise UsageError("--only requires --revise, because it specifies the texts to revise.")
    expected, changes = session.dry_run()
    old = old_texts(project, expected, changes)
    if revise:
        session.fit = chosen_to_fit(project, old, only or ())
        expected, changes = session.dry_run()
    _show_plan(session, expected, changes)
    said = "n" if limits.dry_run else "y"
    if expected.planned and not (yes or limits.dry_run):
        said = _confirmed(terminal, near(project.folder), revise=bool(old) and not revise)
    if said == "r":
        session.fit = old
        expected, changes = session.dry_run()
        _show_plan(session, expected, changes)
        said = _confirmed(terminal, near(project.folder), revise=False)
    if said == "n":
        terminal.document(Estimate.of(expected, changes=changes))
        return
    again = f"`fabula update {near(project.folder)} --yes`"
    announced = None if yes else lambda: session.announced(expected, again, exact=True)
    session.report(session.run(expected, announced))


def _show_plan(session: Session, expected: DryRun, changes: list[FileChange]) -> None:
    terminal = session.terminal
    _show_calls(terminal, expected, changes)
    for sentence in (*expected.notices, *not_obeyed(expected, session.project.brief, session.settings)):
        terminal.advise(sentence)
    if texts := session.written_again(expected):
        terminal.say(texts)
    if texts := session.restored(expected):
        terminal.say(texts)
    if session.fit:
        terminal.say(f"These texts will be revised if they do not fit: {', '.join(session.fit)}.")


def _show_calls(terminal: Terminal, expected: DryRun, changes: list[FileChange]) -> None:
    if changes:
        terminal.say("\n  ".join(("Changed by you:", *files_of(changes))))
    for sentence in expected.of_files:
        terminal.say(as_typed_here(sentence))
    if not expected.planned:
        terminal.say("No call is needed.")
        return
    calls = f"{counted(len(expected.planned), 'call')} to make, at most {expected.most:,}"
    beside = f"{counted(expected.replayed, 'call')} from the journal"
    terminal.say(f"{calls} ({beside}; tokens are estimates):")
    terminal.say(calls_table(expected))


def _confirmed(terminal: Terminal, folder: str, *, revise: bool) -> str:
    """The person's answer: yes, no or, if offered, revise. Without a terminal it is no."""
    if terminal.json or not terminal.interactive:
        terminal.message(
            "No model was called, because fabula cannot ask for confirmation without a terminal. Run `fabula update "
            f"{folder} --yes`." + " Or add `--revise` to revise the old texts to fit." * revise
        )
        return "n"
    if revise:
        said = asyncio.run(terminal.choice("Continue? [y]es, [r]evise the old texts to fit instead, or [n]o: ", "yrn"))
    else:
        said = asyncio.run(terminal.choice("Go ahead? [y]es or [n]o: ", "yn"))
    if said == "n":
        terminal.message("No model was called, and your files are unchanged.")
    return said
