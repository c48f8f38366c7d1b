"""`fabula estimate`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from fabula.app.bills import planned
from fabula.app.standing import not_obeyed
from fabula.app.writing import Options, dry_run
from fabula.cli.asked import changes_of, check, say_default, settings_for
from fabula.cli.bill import amount, calls_table
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Choices, Common, Limits, Memory, bundled
from fabula.cli.people import People
from fabula.cli.progress import counted, duration
from fabula.cli.session import Session
from fabula.models.base import NOTHING_USED
from fabula.project.settings import Settings
from fabula.story import Brief


@bundled
def estimate(
    common: Common,
    choices: Choices,
    memory: Memory,
    where: Annotated[str, typer.Argument(help="Project folder, or a brief file.", show_default="this folder")] = "",
) -> None:
    """Say what writing would ask and cost, without asking anybody."""
    terminal = terminal_of(common)
    pace = None
    if where and Path(where).is_file():
        settings = Settings.of(changes_of(choices, Settings()), "the command line")
        check(settings, terminal.environ)
        say_default(terminal, choices)
        people = People(terminal, Path())
        options = Options(environ=terminal.environ, person=people.answer)
        brief = Brief.read(Path(where))
        found = asyncio.run(dry_run(brief, settings, options))
    else:
        project = project_of(common, where)
        brief = project.brief
        settings = settings_for(project, choices, terminal, forget=memory.forget)
        check(settings, terminal.environ)
        found = Session(terminal, project, settings, Limits()).dry_run()[0]
        with project.journal as journal:
            spent = sum(journal.spent().values(), NOTHING_USED)
        pace = spent.seconds / spent.reply if spent.reply and spent.seconds else None
    seconds = None if pace is None else pace * sum(call.reply for call in found.planned)
    terminal.say(calls_table(found))
    if found.replayed:
        terminal.say(f"In the journal, at no cost: {counted(found.replayed, 'call')}.")
    if seconds:
        terminal.say(f"About {duration(seconds)} of model time, at this project's pace so far.")
    for sentence in not_obeyed(found, brief, settings):
        terminal.advise(sentence)
    if found.planned:
        terminal.advise(
            f"In all {amount(found)}. An estimate: how many scenes are planned, and how much a model gives at a time, "
            "is seen only then. With models that give 85 % or 115 % of the words asked for, most were within a quarter "
            "of what it took."
        )
    terminal.document(planned(found) | {"seconds": seconds})
