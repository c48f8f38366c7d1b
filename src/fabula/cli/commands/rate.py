"""`fabula rate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.item_files import MAX_STORY_BYTES
from fabula.base.errors import UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.craft.measuring import MEAN
from fabula.evaluators import evaluators, find
from fabula.measure.report.page import estimate_cells, page, report_section
from fabula.stats.estimate import Estimate
from fabula.story import Story, slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored

_DEFAULT: Final = "snap-ratings"
_COLUMNS: Final = 8  # measures that stand beside each other in a terminal


@bundled
def rate(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    dialogues: Annotated[
        list[str],
        typer.Argument(
            metavar="DIALOGUE...", help="Text files, conversations (PROJECT/chat/NAME.md), sets (.jsonl), projects."
        ),
    ],
    evaluator: Annotated[
        str, typer.Option("--evaluator", metavar="NAME", help="Whose questions the judge answers.")
    ] = _DEFAULT,
    narrative: Annotated[
        str, typer.Option(metavar="FILE", help="What the dialogues play, for those that bring no narrative.")
    ] = "",
) -> None:
    """Have a judge rate dialogues or stories by themselves: how well each plays its narrative, from 1 to 5."""
    terminal = terminal_of(common)
    chosen = _rating(evaluator)
    evaluating = Evaluating(terminal, chosen, judges, limits)
    items = stories_of(terminal, dialogues, selecting.selection(judges.seed))
    if narrative:
        items = with_narrative(items, Path(narrative), chosen)
    report = evaluating.run(items)
    file = Path(judges.out) / f"{report.evaluator}.html"
    write_atomically(file, page("Ratings", [report_section(report)], lead=str(chosen.paper["summary"])))
    _say(terminal, report, items)
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
        raise UsageError(f"{chosen.name} is not run by `fabula rate`, which runs {known}. See `fabula --help` for it.")
    return chosen


def with_narrative(items: Sequence[Item], file: Path, evaluator: Evaluator) -> tuple[Item, ...]:
    """The items, with the narrative in `file` for those that bring none; these count as played from one prompt.

    Raises:
        UsageError: the file cannot be read or is empty, every item has a narrative, or nobody would read it.
    """
    if not evaluator.reads_narrative:
        raise UsageError(f"{evaluator.name} reads no narrative. Leave --narrative out.")
    text = Story.parse(read_text(file, MAX_STORY_BYTES)).text
    if not text.strip():
        raise UsageError(f"The narrative in {file} is empty. Give the text that the dialogues play.")
    if not any(_lacks(item) for item in items):
        raise UsageError(f"Every dialogue brings its narrative, so {file} would not be read. Leave --narrative out.")
    prompt = slug(file.stem)
    return tuple(
        replace(item, narrative=text, prompt=item.prompt or prompt) if _lacks(item) else item for item in items
    )


def _lacks(item: Item) -> bool:
    return not (item.narrative or item.reference or item.brief)


# terminal -------------------------------------------------------------------------------------------------------------


def _say(terminal: Terminal, report: Report, items: Sequence[Item]) -> None:
    """Each item; of a lone one what the judge said; systems and differences; baselines; notes."""
    names = [item.id for item in items]
    own = [row for row in report.rows if row.of in names and not row.baseline]
    others = [row for row in report.rows if row.of not in names and not (row.baseline or row.is_difference)]
    if len(items) == 1:  # it is its own mean
        others = [row for row in others if not row.what.startswith(MEAN)]
    terminal.say(_items_table(own, names))
    if len(items) == 1:
        _say_reasons(terminal, report)
    for rows in (others, [row for row in report.rows if row.baseline]):
        if rows:
            terminal.say("\n" + _rows_table(rows))
    if apart := differences_table(report.rows):
        terminal.say("\n" + apart)
    for note in report.notes:
        terminal.say(terminal.wrapped(f"\n{note}"))


def _items_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """One line an item, where its measures have room beside each other; else one line a number."""
    measures = list(dict.fromkeys(row.what for row in rows))
    if not 0 < len(measures) <= _COLUMNS:
        return _rows_table(rows)
    known = {(row.of, row.what): row.scored for row in rows}
    lines = [("", *measures)]
    lines += [(name, *(_short(known.get((name, what))) for what in measures)) for name in names]
    return table(lines)


def _short(scored: Scored | None) -> str:
    if not isinstance(scored, Estimate):
        return "not scored" if scored else ""
    value, interval, n = estimate_cells(scored)
    return f"{value} [{interval}] (n {n})" if interval else f"{value} (n {n})"


def _rows_table(rows: Iterable[Row]) -> str:
    cells = [
        (f"{row.of} (baseline)" if row.baseline else row.of, row.what, *estimate_cells(row.scored)) for row in rows
    ]
    return table([("of", "measure", "value", "95 % interval", "n"), *cells], right=(2, 4))


def _say_reasons(terminal: Terminal, report: Report) -> None:
    """Why the judge rated as it did; a reason that stands for several numbers is given once."""
    shown: dict[str, str] = {}
    for rating in report.ratings:
        if rating.reason:
            shown.setdefault(rating.reason, rating.question + ("" if rating.shown else ", not scored"))
    for reason, question in shown.items():
        terminal.say(terminal.wrapped(f"\n{question}: {' '.join(reason.split())}"))
