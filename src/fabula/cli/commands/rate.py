"""`fabula eval rate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.item_files import MAX_STORY_BYTES
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import STDIN, read_given, terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.evaluators import evaluators, find
from fabula.measure.report.page import page, report_section
from fabula.story import Story, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item

_DEFAULT: Final = "snap-ratings"


@bundled
def rate(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    dialogues: Annotated[
        list[str],
        typer.Argument(
            metavar="DIALOGUE...",
            help="Text files, conversations (PROJECT/chat/NAME.md), sets (.jsonl), projects; - reads stdin.",
        ),
    ],
    evaluator: Annotated[
        str,
        typer.Option(
            "--evaluator",
            autocompletion=completing.evaluators,
            metavar="NAME",
            help="Whose questions the judge answers.",
        ),
    ] = _DEFAULT,
    narrative: Annotated[
        str,
        typer.Option(metavar="FILE", help="What the dialogues play, for those that bring no narrative; - reads stdin."),
    ] = "",
) -> None:
    """Have a judge rate dialogues or stories by themselves: how well each plays its narrative, from 1 to 5."""
    terminal = terminal_of(common)
    chosen = _rating(evaluator)
    evaluating = Evaluating(terminal, chosen, judges, limits)
    items = stories_of(terminal, dialogues, selecting.selection(judges.seed))
    if narrative:
        items = with_narrative(items, narrative, chosen)
    report = evaluating.run(items)
    file = Path(judges.out) / f"{report.evaluator}.html"
    write_atomically(file, page("Ratings", [report_section(report)], lead=str(chosen.paper["summary"])))
    say_report(terminal, report, items)
    evaluating.show_bill()
    terminal.advise(f"\nEvery number: {near(file)}; every answer: ratings.jsonl beside it.")
    terminal.document({**report.as_data(), "page": str(file), **evaluating.bill.as_data()})


def _rating(name: str) -> Evaluator:
    """The evaluator of that name, if it can be run so.

    Raises:
        UnknownNameError: there is none.
        UsageError: it has a command of its own.
    """
    chosen = find(name)
    if not chosen.rates:
        known = ", ".join(name for name, one in evaluators().items() if one.rates)
        raise UsageError(
            f"{chosen.name} is not run by `fabula eval rate`, which runs {known}. See `fabula --help` for it."
        )
    return chosen


def with_narrative(items: Sequence[Item], where: str, evaluator: Evaluator) -> tuple[Item, ...]:
    """The items, with the narrative `where` is named for those that bring none; these count as played from one prompt.

    Raises:
        UsageError: the file cannot be read or is empty, every item has a narrative, or nobody would read it.
    """
    if not evaluator.reads_narrative:
        raise UsageError(f"{evaluator.name} reads no narrative. Leave --narrative out.")
    text = Story.parse(read_given(where, MAX_STORY_BYTES)).text
    if not text.strip():
        raise UsageError(f"The narrative in {where} is empty. Give the text that the dialogues play.")
    if not any(_lacks(item) for item in items):
        raise UsageError(f"Every dialogue brings its narrative, so {where} would not be read. Leave --narrative out.")
    prompt = "narrative" if where == STDIN else slug(Path(where).stem)
    return tuple(
        replace(item, narrative=text, prompt=item.prompt or prompt) if _lacks(item) else item for item in items
    )


def _lacks(item: Item) -> bool:
    return not (item.narrative or item.reference or item.brief)
