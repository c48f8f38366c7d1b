"""`fabula lab reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.app.reproduce.tables import chosen
from fabula.app.reproduce.tables import reproduce as recomputed
from fabula.base.errors import UsageError
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.terminal import Terminal
from fabula.cli.terminal import table as aligned
from fabula.data.fetching import fetch as fetched
from fabula.data.fetching import sha256
from fabula.data.sets import SETS, DataSet, find_set

if TYPE_CHECKING:
    from fabula.app.reproduce.rows import PublishedNumber, TableOutcome


_LONG = 30  # rows; a longer table is summed up where it was not asked for by name


@bundled
def reproduce(
    common: Output,
    table: Annotated[
        str, typer.Argument(help="A table, or the first word of several tables.", show_default="all")
    ] = "",
    data: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the data.", show_default="FABULA_DATA", envvar="FABULA_DATA")
    ] = "",
    fetch: Annotated[
        str, typer.Option(metavar="SET", help="Download a public data set to DIR/SET without computing anything.")
    ] = "",
    all_: Annotated[bool, typer.Option("--all", help="Print every row, even of long tables.")] = False,  # noqa: FBT002 - typer's form of a flag
) -> None:
    """Recompute published tables from their data; exit with 1 if a number differs or data is corrupt."""
    terminal = terminal_of(common)
    if fetch and (table or all_):
        raise UsageError("--fetch only downloads a data set. Leave the table and --all out.")
    wanted, to_fetch = chosen(table), find_set(fetch, public=True) if fetch else None
    if not data:
        raise UsageError("No data folder is set. Specify it with --data DIR, or set FABULA_DATA.")
    if to_fetch is not None:
        _fetch(terminal, Path(data), to_fetch)
        return
    outcomes = []
    for outcome in recomputed(Path(data), wanted):
        terminal.say(_rendered(outcome, whole=all_ or bool(table)) + "\n")
        outcomes.append(outcome)
    _conclude(terminal, outcomes)
    terminal.document(_data(outcomes))
    # A table that was named and cannot be had is a failure; of all tables, some are always absent.
    if any(o.differing or o.broken for o in outcomes) or (table and all(o.absent for o in outcomes)):
        raise typer.Exit(1)


def _rendered(outcome: TableOutcome, *, whole: bool) -> str:
    about = outcome.table
    source = SETS[about.data]
    heading = f"{about.name}: {about.title}\nData: {source.name} ({source.licence}; {source.source})"
    if outcome.absent:
        return f"{heading}\nNot available: {outcome.absent}."
    rows = outcome.rows if whole or len(outcome.rows) <= _LONG else ()
    lines = [_line(row) for row in rows] or list(_folded(outcome.rows))
    return f"{heading}\n" + aligned([("  row", about.against, "recomputed", "match"), *lines], right=(1, 2))


def _line(row: PublishedNumber) -> tuple[str, str, str, str]:
    match = f"not available: {row.why}" if row.match is None else "yes" if row.match else "NO"
    return f"  {row.name}", row.published, row.recomputed, match


def _folded(rows: Sequence[PublishedNumber]) -> Iterator[tuple[str, str, str, str]]:
    """One line for each family of rows, and one for each row that differs."""
    families: dict[str, list[PublishedNumber]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    for name, members in families.items():
        matching, there = sum(row.match is True for row in members), sum(row.match is not None for row in members)
        shown = f"{matching} of {there}" if there else f"not available: {members[0].why}"
        if 0 < there < len(members):
            shown += f", {len(members) - there} not available"
        yield f"  {name}", f"{len(members)} numbers", "", shown
        yield from (_line(row) for row in members if row.match is False)


def _conclude(terminal: Terminal, outcomes: Sequence[TableOutcome]) -> None:
    parts = []
    for against, what in (("published", "published numbers"), ("computed", "computed numbers, which no paper prints,")):
        mine = [outcome for outcome in outcomes if outcome.table.against == against]
        matching, differing = sum(o.matching for o in mine), sum(o.differing for o in mine)
        if matching + differing:
            parts.append(f"{matching:,} of {matching + differing:,} {what} match")
    if lacking := sum(o.unavailable for o in outcomes):
        parts.append(f"{lacking:,} are not available")
    if absent := [o.table.name for o in outcomes if o.absent]:
        parts.append(f"{len(absent)} of {len(outcomes)} tables are not available: {', '.join(absent)}")
    terminal.say("; ".join(parts) + ".")
    if len(outcomes) > 1:
        terminal.advise(
            "To print every row of one table, run `fabula lab reproduce TABLE`. For every row of all tables, use --all."
        )


def _data(outcomes: Sequence[TableOutcome]) -> dict[str, Any]:
    return {
        "matching": sum(o.matching for o in outcomes),
        "differing": sum(o.differing for o in outcomes),
        "unavailable": sum(o.unavailable for o in outcomes),
        "absent": [o.table.name for o in outcomes if o.absent],
        "tables": [_table_data(outcome) for outcome in outcomes],
    }


def _table_data(outcome: TableOutcome) -> dict[str, Any]:
    source = SETS[outcome.table.data]
    return {
        "name": outcome.table.name,
        "title": outcome.table.title,
        "against": outcome.table.against,
        "data": {"name": source.name, "licence": source.licence, "source": source.source},
        "files": [{"file": str(path), "sha256": sha256(path)} for path in outcome.read],
        "available": not outcome.absent,
        "why": outcome.absent,
        "rows": [row.as_data() for row in outcome.rows],
    }


def _fetch(terminal: Terminal, data: Path, wanted: DataSet) -> None:
    terminal.message(f"{wanted.name}: {wanted.title}\nLicence: {wanted.licence}\nFrom: {wanted.source}")
    if wanted.note:
        terminal.message(wanted.note)
    files = []
    for file in fetched(wanted, data / wanted.name):
        done = "fetched" if file.new else "already there"
        terminal.say(f"{file.path}: {done}, {file.size:,} bytes, SHA-256 {file.sha256} ({file.checked})")
        files.append({"file": str(file.path), "bytes": file.size, "sha256": file.sha256, "checked": file.checked})
    terminal.document({"set": wanted.name, "licence": wanted.licence, "source": wanted.source, "files": files})
