"""The result for each story of a corpus: one row for each, in one SQLite file, by a key of everything it depends on."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from fabula.base.database import connected
from fabula.base.errors import ProjectError
from fabula.base.files import make_folder

ROWS: Final = ".fabula/stories.db"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, data BLOB NOT NULL,
                                more BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS story (place INTEGER PRIMARY KEY, key BLOB NOT NULL);
"""
_TAKE: Final = "INSERT OR IGNORE INTO row (key, data, more) SELECT key, data, more FROM part.row"
_QUICK: Final = 1  # of zlib


def packed(data: Any) -> bytes:  # noqa: ANN401 - JSON
    """A row as it is stored."""
    return zlib.compress(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"), _QUICK)


class StoryRows:
    """The rows in a corpus folder. Use it as a context manager.

    Raises:
        ProjectError: the file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / ROWS

    def __enter__(self) -> Self:
        make_folder(self._file.parent, mode=0o700)
        with self._guard():
            self._db = connected(self._file)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def __contains__(self, key: bytes) -> bool:
        with self._guard():
            return self._db.execute("SELECT 1 FROM row WHERE key = ?", (key,)).fetchone() is not None

    def order(self, keys: Sequence[bytes], *, anew: bool = False) -> None:
        """Record which rows the stories have, in their order: after those already known, or `anew`."""
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            if anew:
                self._db.execute("DELETE FROM story")
            self._db.executemany("INSERT INTO story (key) VALUES (?)", [(key,) for key in keys])
            self._db.execute("COMMIT")

    def __iter__(self) -> Iterator[tuple[Any, bytes]]:
        """The rows of the stories in their order, each with its additional bytes."""
        with self._guard():
            for data, more in self._db.execute("SELECT data, more FROM story JOIN row USING (key) ORDER BY place"):
                yield json.loads(zlib.decompress(data)), more

    def __len__(self) -> int:
        with self._guard():
            return int(self._db.execute("SELECT count(*) FROM story JOIN row USING (key)").fetchone()[0])

    def add(self, rows: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Add packed rows: all of them, or none if it fails."""
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR REPLACE INTO row (key, data, more) VALUES (?, ?, ?)", rows)
            self._db.execute("COMMIT")

    def take(self, folder: Path) -> int:
        """Copy the rows of another folder that are missing here, and return their number."""
        with self._guard(), StoryRows(folder):
            self._db.execute("ATTACH DATABASE ? AS part", (str(folder / ROWS),))
            try:
                taken = self._db.execute(_TAKE).rowcount
            finally:
                self._db.execute("DETACH DATABASE part")
        return taken

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ProjectError(
                f"{self._file} cannot be used ({error}). Check free space and permissions. If the file is "
                "damaged, remove it: the models' replies are in the journal next to it."
            ) from error
