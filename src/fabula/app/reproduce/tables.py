"""All tables that can be recomputed, and the code that recomputes them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from fabula.app.reproduce import atlas, bradley_terry, dialogsum, hanna, magnet, snap, storysumm, ttcw
from fabula.app.reproduce.rows import Table, TableOutcome, files_of
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.extras import installing
from fabula.data.fetching import verify
from fabula.data.sets import SETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_FAMILIES: Final = (ttcw, bradley_terry, atlas, magnet, snap, hanna, storysumm, dialogsum)


def tables() -> dict[str, Table]:
    """All tables by name, in the order of their papers."""
    return {table.name: table for family in _FAMILIES for table in family.TABLES}


def chosen(name: str) -> tuple[Table, ...]:
    """The table of that name, or the tables whose names begin with it; all tables if the name is empty.

    Raises:
        UnknownNameError: there is no such table; the error suggests the nearest name.
    """
    known = tables()
    if name in known:
        return (known[name],)
    found = tuple(table for table in known.values() if not name or table.name.startswith(f"{name}-"))
    if not found:
        raise UnknownNameError("table", name, known)
    return found


def reproduce(folder: Path, wanted: Sequence[Table]) -> Iterator[TableOutcome]:
    """The outcome of each table, including tables whose data are missing, incomplete or do not match their checksums.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(
            f"There is no data folder {folder}. Specify a folder with --data, or set FABULA_DATA to its path."
        )
    for table in wanted:
        yield _outcome(folder, table)


def _outcome(data: Path, table: Table) -> TableOutcome:
    folder = SETS[table.data].folder(data)
    there, absent = files_of(table, folder)
    if absent:
        origin = f" ({table.origin})" if table.origin else ""
        return TableOutcome(table, absent=f"{', '.join(absent)} not in {folder}{origin}")
    if lacking := [module for module in table.modules if find_spec(module) is None]:
        return TableOutcome(table, absent=f"needs {', '.join(lacking)}: {installing(lacking[0])}")
    try:
        verify(there)
        return TableOutcome(table, tuple(table.rows(folder)), read=there)
    except UsageError as error:
        return TableOutcome(table, absent=str(error).removesuffix("."), broken=True)
    except (ArithmeticError, LookupError, ValueError) as error:  # a file lacks what another one speaks of
        read = ", ".join(str(path.relative_to(data)) for path in there) or "the printed numbers"
        why = f"{read} in {data} are incomplete ({type(error).__name__}: {error})"
        return TableOutcome(table, absent=why, broken=True)
