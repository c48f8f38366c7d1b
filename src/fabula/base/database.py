"""SQLite files that may come from strangers: opening one runs nothing that its writer put into it."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import Final

from fabula.base.remembering import remembered

_LONGEST: Final = 100_000_000  # bytes of one value
_ENDS_WITH_NAME: Final = bytes.fromhex("d9d505f920a163d7")  # of a rollback journal that names a file to be removed
_COMPUTES: Final = {
    "table": re.compile(r"\b(?:CHECK|GENERATED|AS|DEFAULT|VIRTUAL)\b", re.IGNORECASE),
    "index": re.compile(r"\bWHERE\b|\([^()]*\(", re.IGNORECASE),
}


def connected(path: Path | None, views: str = "", *, uri: str = "", threads: bool = False) -> sqlite3.Connection:
    """The open database at `path`, or one in memory; `uri` opens the same file with other options.

    Args:
        path: the file; it is created if it does not exist.
        views: the statements of our own tables and views; no other view is accepted.
        uri: how SQLite opens the file.
        threads: another thread may close it.

    Raises:
        sqlite3.DatabaseError: it is not a database, or reading it would compute or remove something.
    """
    if path is not None:
        _check_rollback(path)
    same = not threads
    db = sqlite3.connect(
        uri or path or ":memory:", isolation_level=None, timeout=5.0, uri=bool(uri), check_same_thread=same
    )
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        _check_statements(tuple(db.execute("SELECT type, name, sql FROM sqlite_master")), views)
    except BaseException:
        db.close()
        raise
    return db


def _check_rollback(path: Path) -> None:
    """Refuse an unfinished change that would make SQLite remove another file: our changes are of one file only."""
    journal = path.with_name(f"{path.name}-journal")
    if not journal.exists():
        return
    if not journal.is_file():
        raise sqlite3.DatabaseError(f"{journal.name} is not a file")
    with journal.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(_ENDS_WITH_NAME)))
        if file.read() == _ENDS_WITH_NAME:
            raise sqlite3.DatabaseError(f"{journal.name} would delete another file")


@remembered(8, 20_000)  # a schema that was found good is met again and again
def _check_statements(schema: tuple[tuple[str, str, str | None], ...], views: str) -> None:
    """Refuse triggers, foreign views, and tables that compute: they might never end."""
    own = " ".join(views.split())
    for kind, name, sql in schema:
        statement = " ".join(str(sql or "").split())
        computes = kind not in _COMPUTES or _COMPUTES[kind].search(statement)
        if computes and f"{statement};" not in own:
            raise sqlite3.DatabaseError(f"its {kind} {str(name)[:60]!r} is not one of fabula's")
