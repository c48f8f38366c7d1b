"""A report of any evaluator as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.craft.measuring import MEAN
from fabula.stats.estimate import Estimate, estimate_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item
    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored

_COLUMNS: Final = 8  # measures that stand beside each other in a terminal


def say_report(terminal: Terminal, report: Report, items: Sequence[Item]) -> None:
    """Print a report: each item; of a lone one what the judge said; systems and differences; baselines; notes."""
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
