"""Print the reports of all evaluators at the terminal as tables with the same layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fabula.cli.terminal import Terminal, table
from fabula.craft.measuring import MEAN
from fabula.measure.report.page import difference_cells
from fabula.stats.differences import is_shown
from fabula.stats.estimate import Estimate, Scored, estimate_cells

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.measure.report import Report, Row


_COLUMNS: Final = 8  # measures of a lone story that stand beside each other
_ROWS: Final = 40  # stories in a table
_WIDE: Final = 48  # of a story's id there
_MOST: Final = 12  # differences


def say_report(terminal: Terminal, report: Report, items: Sequence[Item]) -> None:
    """Print a report: its numbers, the reasons for a single judgement, differences and notes."""
    own = {item.id for item in items}
    # A lone story is its own mean; of no items the report is on very many.
    rows = [row for row in report.rows if len(items) != 1 or row.of in own or not row.what.startswith(MEAN)]
    terminal.say(rows_tables(rows))
    if len({frozenset(rating.items) for rating in report.ratings}) == 1:
        _say_reasons(terminal, report)
    if apart := differences_table(report.rows):
        terminal.say("\n" + apart)
    for note in report.notes:
        terminal.say(terminal.wrapped(f"\n{note}"))


def rows_tables(rows: Iterable[Row]) -> str:
    """Return the numbers, except differences, with a column for each measure and a row for each thing measured.

    Measures with the same first part in their names (`story/clarity`, `story/rhythm`) share a table. If such measures
    describe only one thing (`ties/plot`, `ties/overall`), each is printed on its own line. Other single numbers, and
    rows too wide for a line, are printed as lists.
    """
    # What is said of stories as a whole stands first.
    ordered = sorted(rows, key=lambda row: not row.what.endswith("/overall"))
    tables = _grouped([row for row in ordered if not row.is_difference])
    alone = {head: of for head, of in tables.items() if len(of) == 1 and not 1 < len(head) - 1 <= _COLUMNS}
    shown = [_beside_each_other(head, of) for head, of in tables.items() if head not in alone]
    listed = [line for head, of in alone.items() for line in _below_each_other(head[0], of)]
    if listed:
        shown.append(table([("of", "measure", "value", "95 % interval", "n"), *listed], right=(2, 4)))
    return "\n\n".join(shown)


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, ...], dict[str, Mapping[str, Scored]]]:
    """The numbers of each row by its name, by the head of its table."""
    found: dict[str, dict[str, dict[str, Scored]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        group, _, what = row.what.rpartition("/")
        found[f"{row.of} (baseline)" if row.baseline else row.of][group][what] = row.scored
    tables: dict[tuple[str, ...], dict[str, Mapping[str, Scored]]] = defaultdict(dict)
    for name, groups in found.items():
        for group, measured in groups.items():
            tables[(group, *measured)][name] = measured
    turned: dict[tuple[str, ...], dict[str, Mapping[str, Scored]]] = defaultdict(dict)
    for (group, *whats), of in tables.items():
        if group and len(of) == 1:
            ((name, numbers),) = of.items()
            turned[(name, *whats)][group] = numbers
    for head, lines in turned.items():
        if len(lines) > 1:
            tables[head] = lines
            for group in lines:
                del tables[(group, *head[1:])]
    return tables


def _beside_each_other(head: Sequence[str], of: Mapping[str, Mapping[str, Scored]]) -> str:
    lines = [(_short(name), *map(_cell, measured.values())) for name, measured in list(of.items())[:_ROWS]]
    more = f"\n... and {len(of) - _ROWS} more" if len(of) > _ROWS else ""
    return table([tuple(head), *lines]) + more


def _below_each_other(group: str, of: Mapping[str, Mapping[str, Scored]]) -> Iterator[tuple[str, ...]]:
    for name, measured in of.items():
        for what, scored in measured.items():
            yield (_short(name), f"{group}/{what}" if group else what, *estimate_cells(scored))


def _short(name: str) -> str:
    return name if len(name) <= _WIDE else "…" + name[1 - _WIDE :]


def _cell(scored: Scored) -> str:
    """A number with its interval and n; the count in a single story needs no n."""
    if not isinstance(scored, Estimate):
        return "not scored"
    value, interval, n = estimate_cells(scored)
    return f"{value} [{interval}] (n {n})" if interval else value if scored.n == 1 else f"{value} (n {n})"


def differences_table(rows: Iterable[Row]) -> str:
    """Return the differences between systems, significant ones first; in a long list, the others are only counted."""
    found = [row for row in rows if row.is_difference]
    if not found:
        return ""
    several = len({row.what for row in found}) > 1
    ranked = sorted(found, key=lambda row: not is_shown(row.scored))
    shown = ranked if len(ranked) <= _MOST else ranked[: max(sum(is_shown(row.scored) for row in found), _MOST)]
    cells = [difference_cells(row) for row in shown]
    head = ("difference", "of", "value", "95 %, all at once", "n", "p, corrected")
    lines = [row if several else (row[0], *row[2:]) for row in (head, *cells)]
    right = (2, 4, 5) if several else (1, 3, 4)
    more = (
        f"\n... and {len(found) - len(shown)} more without a significant difference" if len(shown) < len(found) else ""
    )
    return table(lines, right=right) + more


def _say_reasons(terminal: Terminal, report: Report) -> None:
    """Print the judge's reasons; a reason for several numbers is printed once."""
    shown: dict[str, str] = {}
    for rating in report.ratings:
        if rating.reason:
            about = rating.question + ("" if rating.shown else ", not scored")
            order = f", A being {rating.items[0]}, B {rating.items[1]}" if len(rating.items) > 1 else ""
            shown.setdefault(rating.reason, about + order)
    for reason, question in shown.items():
        terminal.say(terminal.wrapped(f"\n{question}: {' '.join(reason.split())}"))
