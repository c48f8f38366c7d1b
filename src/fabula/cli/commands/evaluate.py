"""`fabula evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.evaluating import Task
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.evaluation import Evaluating
from fabula.cli.methods import say_method
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled, refuse
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import table
from fabula.evaluators import CATALOGUE, evaluators, find
from fabula.measure.report.page import page, report_section
from fabula.verbs.base import as_data
from fabula.verbs.methods import MethodList

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@bundled
def evaluate(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=completing.evaluators,
            metavar="NAME|FOLDER",
            help="An evaluator, or one of your own: ./FOLDER.",
            show_default="list",
        ),
    ] = "",
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STORY...",
            help="Story files (.md, .txt), sets (.jsonl, .csv), projects, data sets; - reads stdin.",
            show_default="describe the evaluator",
        ),
    ] = None,
) -> None:
    """Run any evaluator on stories; without a story describe it, without a name list them all."""
    terminal = terminal_of(common)
    if not stories:
        refuse("no story is evaluated", judges, limits, selecting)
    if not name:
        _list(terminal)
        return
    evaluator = find(name)
    if not stories:
        say_method(terminal, evaluator)
        return
    evaluating = Evaluating(terminal, evaluator, judges, limits)
    items = stories_of(terminal, stories, selecting.selection(judges.seed))
    if not items:
        raise UsageError("There is no story in what is named. Give a story file, a set, or a project.")
    out = Path(judges.out)
    report = evaluating.finish(Task(evaluator, items, evaluating.config, out))
    file = out / f"{report.evaluator}.html"
    title = f"{evaluator.name[:1].upper()}{evaluator.name[1:]}"
    write_atomically(file, page(title, [report_section(report)], lead=str(evaluator.paper["summary"])))
    say_report(terminal, report, items)
    evaluating.show_bill()
    terminal.advise(f"\nEvery number: {near(file)}; as data beside it.")
    terminal.document({**report.as_data(), "page": str(file), **evaluating.bill.as_data()})


def _list(terminal: Terminal) -> None:
    found, problems = evaluators(), CATALOGUE.problems()
    rows = [("evaluator", "asks a model", "from", "what it does")]
    rows += [
        (one.name, "yes" if one.roles else "no", one.source or "fabula", str(one.paper["summary"]))
        for one in found.values()
    ]
    terminal.say(table(rows))
    for problem in problems.values():
        terminal.message(problem)
    terminal.advise("\n`fabula evaluate NAME` describes one, `fabula evaluate NAME STORY...` runs it.")
    terminal.document(as_data(MethodList.of(found, problems)))
