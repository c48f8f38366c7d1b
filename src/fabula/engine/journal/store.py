"""The SQLite file of a journal (WAL): its tables, its format, and the errors if it cannot be used.

When a commit returns, its data is on the disk, like the file of a text.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fabula.base.database import connected
from fabula.base.errors import JournalDamagedError, JournalError, JournalVersionError
from fabula.base.files import PRIVATE, sync_folder, write_error
from fabula.base.remembering import remembered

FORMAT: Final = 6
"""The format of keys and tables. No other format was ever released, so only this one is read."""
LAST: Final = 2**63 - 1
"""The largest number that a record can have."""
_APPLICATION_ID: Final = 0x0FAB_01A0
_SCHEMA: Final = """
CREATE TABLE text (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id INTEGER PRIMARY KEY, at TEXT NOT NULL, system TEXT NOT NULL, settings TEXT NOT NULL,
                  ended TEXT, error TEXT);
CREATE TABLE call (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, ordinal INTEGER NOT NULL,
                   role TEXT NOT NULL, performer TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL,
                   finish TEXT NOT NULL, detail TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE INDEX call_by_path ON call (path, ordinal, id);
CREATE TABLE removal (id INTEGER PRIMARY KEY, path TEXT NOT NULL, rule TEXT NOT NULL, text TEXT NOT NULL,
                      run INTEGER NOT NULL, at TEXT NOT NULL, UNIQUE (path, rule, text));
CREATE TABLE loss (id INTEGER PRIMARY KEY, path TEXT NOT NULL, role TEXT NOT NULL, performer TEXT NOT NULL,
                   usage TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE hold (key TEXT PRIMARY KEY, path TEXT NOT NULL, role TEXT NOT NULL, performer TEXT NOT NULL,
                   usage TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failure (id INTEGER PRIMARY KEY, path TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE version (id INTEGER PRIMARY KEY, path TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL,
                      run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE INDEX version_by_path ON version (path, id);
CREATE TABLE beside (path TEXT NOT NULL, text TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (path, text));
CREATE TABLE made (id INTEGER PRIMARY KEY, path TEXT NOT NULL, of TEXT NOT NULL, text TEXT NOT NULL,
                   source TEXT NOT NULL, calls TEXT NOT NULL, found TEXT NOT NULL, UNIQUE (path, of));
CREATE TABLE artefact (path TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE decision (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, text TEXT, target INTEGER,
                       at TEXT NOT NULL, version INTEGER NOT NULL, command TEXT, found INTEGER NOT NULL,
                       again INTEGER);
CREATE INDEX decision_by_path ON decision (path, id);
CREATE VIEW active_decision AS SELECT * FROM decision
    WHERE kind != 'undo' AND id NOT IN (SELECT target FROM decision WHERE kind = 'undo');
"""
# A run is the one that began at the same time, so what is taken twice is there once.
_TAKE: Final = """
BEGIN IMMEDIATE;
{texts}
INSERT INTO run (at, system, settings, ended, error) SELECT at, system, settings, ended, error FROM part.run o
    WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.at = o.at AND r.system = o.system) ORDER BY id;
CREATE TEMP TABLE taken AS SELECT o.id AS theirs, max(r.id) AS ours FROM part.run o
    JOIN run r ON r.at = o.at AND r.system = o.system GROUP BY o.id;
{beside}
INSERT OR IGNORE INTO call (key, path, ordinal, role, performer, request, reply, finish, detail, run, at)
    SELECT key, path, ordinal, role, performer, request, reply, finish, detail, ours, at
    FROM {calls} JOIN taken ON theirs = run ORDER BY id;
{holds}
DROP TABLE taken;
COMMIT;
"""
_ALL: Final = {
    "texts": "INSERT OR IGNORE INTO text SELECT hash, body FROM part.text;",
    "calls": "part.call",
    "beside": """
INSERT OR IGNORE INTO removal (path, rule, text, run, at) SELECT path, rule, text, ours, at
    FROM part.removal JOIN taken ON theirs = run ORDER BY id;
INSERT INTO loss (path, role, performer, usage, run, at) SELECT path, role, performer, usage, ours, at
    FROM part.loss o JOIN taken ON theirs = run WHERE NOT EXISTS
    (SELECT 1 FROM loss l WHERE l.path = o.path AND l.at = o.at AND l.usage = o.usage) ORDER BY id;
INSERT INTO failure (path, run, at) SELECT path, ours, at FROM part.failure o JOIN taken ON theirs = run
    WHERE NOT EXISTS (SELECT 1 FROM failure f WHERE f.path = o.path AND f.at = o.at) ORDER BY id;
""",
    "holds": """
INSERT OR IGNORE INTO hold SELECT key, path, role, performer, usage, ours, at FROM part.hold JOIN taken ON theirs = run;
DELETE FROM hold WHERE key IN (SELECT key FROM call);
""",
}
# A path below another one sorts between that with "/" and that with the sign behind it, which is "0".
_BELOW: Final = {
    "texts": """
CREATE TEMP TABLE wanted AS SELECT c.* FROM below JOIN part.call c ON c.path >= place || '/' AND c.path < place || '0';
INSERT OR IGNORE INTO text SELECT hash, body FROM part.text WHERE hash IN (SELECT reply FROM wanted UNION
    SELECT json_extract(m.value, '$[1]') FROM wanted, json_each(wanted.request, '$.messages') m);
""",
    "calls": "wanted",
    "beside": "",
    "holds": "DROP TABLE wanted;",
}
_SMALL_PAGE: Final = 512
_MODES: Final = slice(18, 20)  # bytes of a database that say how it is written
_WAL_MODE: Final = b"\2\2"
_FROM_TEXTS: Final = (
    "Your texts remain in plan/ and story/: continue from them with `fabula import story.md --out NEW`, or use the "
    "version of fabula that wrote the journal."
)


@remembered(32, 100_000)
def digest_of(text: str) -> str:
    """The hash of a text as it is stored; recent hashes are cached, because a record needs each of them twice."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def storing(body: str) -> tuple[str, Sequence[object]]:
    """The statement that stores a text under its hash."""
    # SQLite takes no lone surrogates; a reply has none (see `Run`), but a prompt may hold one from the author.
    valid = body.encode("utf-8", "replace").decode()
    return "INSERT OR IGNORE INTO text VALUES (?, ?)", (digest_of(body), valid)


class JournalStore:
    """The connection that the parts of a journal share.

    Args:
        path: the database file; `None` keeps it in memory.
        now: a function that gives the time stamp of a record (ISO 8601, UTC).
        small: whether the file is one of very many, made by `make_small` before it is opened. Such a file waits for the
            disk only in `synced`, which is called before a reply is used, and in `close`. Everything else can be
            recovered from the replies.

    Attributes:
        run: the number of the run that is recorded; 0 outside of a run.
    """

    def __init__(self, path: Path | None, now: Callable[[], str], *, small: bool = False) -> None:
        self.path, self.now, self.run = path, now, 0
        self._small, self._named = small, False  # whether the names of the files are on the disk
        self._log = None if path is None else _log_of(path)
        self._db: sqlite3.Connection | None = None
        self._files: dict[Path, os.stat_result] = {}
        self._copy: TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Open the file, and create it if it does not exist; for the errors see `Journal.open`."""
        with self._guard():
            writable = self.path is None or all(os.access(one, os.W_OK) for one in (self.path, self.path.parent))
            if self.path is not None and self.path.is_file() and not writable:
                self._db = self._opened_to_read(self.path)
                self._check_format(self._db)
                return
            if self.path is not None:
                with suppress(OSError):  # what cannot be made, SQLite reports
                    # Its other files get this mode too. A file that is there is not opened: to close it again would end
                    # all locks that this process has on it, and another process could take the log away under them.
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
            db = self._db = connected(self.path, _SCHEMA, threads=self._small)
            if not self._check_format(db):  # first, so that another program's file is not touched
                stamp = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
                db.executescript(f"BEGIN;{_SCHEMA}{stamp}COMMIT;")
            db.execute("PRAGMA journal_mode = WAL")
            if self._small:  # nothing is moved out of the log before `close`, which waits for the disk
                db.execute("PRAGMA wal_autocheckpoint = 0")
            db.execute(f"PRAGMA synchronous = {'OFF' if self._small else 'FULL'}")
            if self.path is not None:
                self._files = {self.path: self.path.stat()}

    def _opened_to_read(self, path: Path) -> sqlite3.Connection:
        """A journal where nothing can be written; what is not in its main file yet is read from a copy."""
        log = _log_of(path)
        if log.exists() and log.stat().st_size:
            self._copy = TemporaryDirectory(prefix="fabula-")
            for file in (path, log):
                shutil.copyfile(file, Path(self._copy.name) / file.name)
            return connected(Path(self._copy.name) / path.name, _SCHEMA)
        return connected(path, _SCHEMA, uri=f"{path.absolute().as_uri()}?mode=ro&immutable=1")

    def _check_format(self, db: sqlite3.Connection) -> bool:
        """Whether the file has tables; they are a journal's of today's format."""
        (written,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != _APPLICATION_ID:
            self.close()
            raise JournalDamagedError(f"{self.path} is a database, but not a fabula journal. Move it away.")
        if tables and written != FORMAT:
            self.close()
            who, what = ("A newer fabula", "Upgrade fabula.") if written > FORMAT else ("An older fabula", _FROM_TEXTS)
            raise JournalVersionError(f"{who} wrote {self.path} (format {written}; this one reads {FORMAT}). {what}")
        return bool(tables)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._db is not None:
            if self._small:
                with suppress(sqlite3.Error):  # a damaged file is closed as it is
                    self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.close()
            self._db = None
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None
        self._files = {}

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        where = self.path or "in memory"
        try:
            yield
        except sqlite3.OperationalError as error:
            self.close()
            if "decode" in str(error) or "malformed" in str(error):  # a text that is no UTF-8, or no JSON
                raise self.damaged(str(error)) from error
            raise JournalError(
                f"The journal {where} cannot be used ({error}). Check free space and permissions; all finished calls "
                "are kept, so the same command continues from there."
            ) from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise self.damaged(str(error)) from error

    def damaged(self, what: str) -> JournalDamagedError:
        """The error that says which part of the file cannot be used."""
        return JournalDamagedError(
            f"The journal {self.path or 'in memory'} is damaged ({what}). Move it away: your texts stay in plan/ "
            "and story/, and `fabula text pin --all` keeps them as they are. Or restore a copy of the journal."
        )

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Turn an unreadable record into our error."""
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            self.close()
            raise self.damaged(f"{what} cannot be read") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context whose records are written together at its end, or not at all if the end is not reached."""
        if self.connection.in_transaction:
            yield
            return
        with self._guard():
            self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        finally:
            if self._db is not None and self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _commit(self) -> None:
        """Commit, and make sure that this went into the files that have the journal's names, not into deleted ones."""
        with self._guard():
            self.connection.execute("COMMIT")
        if not self._small:
            self._check_names()

    def _check_names(self) -> None:
        if self.path is None or self._log is None:
            return
        if self._log not in self._files and self._log.exists():
            self._files[self._log] = self._log.stat()
        if not all(map(_is_still, self._files, self._files.values())):
            raise self._gone(self.connection, self.path)

    def _gone(self, db: sqlite3.Connection, path: Path) -> JournalError:
        """What to say when the journal's files were taken away under a run; all that it held is saved next to them."""
        saved = path.with_name(f"journal-{secrets.token_hex(4)}.db")
        try:
            db.execute("VACUUM INTO ?", (str(saved),))
            how = f"Its contents are saved in {saved}: rename that file to {path.name} and run the command again."
        except sqlite3.Error:
            how = "Put it, or its folder, back where it was and run the command again."
        self.close()
        return JournalError(f"The journal {path} was moved, replaced or deleted while it was in use. {how}")

    @property
    def connection(self) -> sqlite3.Connection:
        """The open file.

        Raises:
            JournalError: the journal is closed.
        """
        if self._db is None:
            raise JournalError("The journal is closed. Open it before use.")
        return self._db

    def all(self, sql: str, *values: object) -> list[Any]:
        """The rows of a query."""
        with self._guard():
            return self.connection.execute(sql, values).fetchall()

    def write(self, *statements: tuple[str, Sequence[object]]) -> None:
        """Run statements as one transaction; they are committed when this returns."""
        with self.transaction(), self._guard():
            for sql, values in statements:
                self.connection.execute(sql, values)

    def take_calls(self, other: Path, below: Sequence[str] | None = None) -> int:
        """Copy the calls of another journal; see `Journal.take_calls`."""
        (before,) = self.all("SELECT count(*) FROM call")[0]
        with self._guard():
            self.connection.execute("ATTACH DATABASE ? AS part", (str(other),))
        try:
            with self._guard():
                self.connection.execute("CREATE TEMP TABLE below (place TEXT)")
                self.connection.executemany("INSERT INTO below VALUES (?)", [(one,) for one in below or ()])
                self.connection.executescript(_TAKE.format(**(_ALL if below is None else _BELOW)))
        finally:
            if self._db is not None:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._db.execute("DROP TABLE IF EXISTS below")
                self._db.execute("DETACH DATABASE part")
        return int(self.all("SELECT count(*) FROM call")[0][0]) - int(before)

    @contextmanager
    def loosely(self) -> Iterator[None]:
        """A context whose records need not be on the disk at once; a killed process does not lose them."""
        if self._small or self.connection.in_transaction:  # then the end of the transaction waits for the disk
            yield
            return
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            if self._db is not None:  # a failed write has closed it
                self._db.execute("PRAGMA synchronous = FULL")

    async def synced(self) -> None:
        """Wait until everything committed is on the disk, while other work continues.

        Raises:
            JournalError: the disk does not accept more data.
        """
        if self._log is None:
            return
        try:
            await asyncio.to_thread(_sync, self._log, first=not self._named)
            self._named = True
            if self._small:
                self._check_names()
        except OSError as error:
            self.close()
            raise JournalError(
                f"The journal {self.path} cannot be written ({error.strerror}). Check free space and permissions; all "
                "finished calls are kept, so the same command continues from there."
            ) from error


def make_small(path: Path) -> None:
    """Create a small empty journal on the disk if there is none, or if its creation was interrupted.

    Raises:
        ProjectError: the journal cannot be written.
    """
    try:
        if path.exists() and path.stat().st_size >= len(_empty()):
            return
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE)
        with os.fdopen(handle, "wb") as file:
            file.write(_empty())
            file.flush()
            os.fsync(handle)
    except OSError as error:
        raise write_error(path, error) from error


@cache
def _empty() -> bytes:
    """The file of an empty journal with small pages: with the usual ones its tables alone would take 90 kB."""
    db = sqlite3.connect(":memory:")
    try:
        stamp = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
        db.executescript(f"PRAGMA page_size = {_SMALL_PAGE};BEGIN;{_SCHEMA}{stamp}COMMIT;")
        image = bytearray(db.serialize())
    finally:
        db.close()
    image[_MODES] = _WAL_MODE
    return bytes(image)


def _sync(log: Path, *, first: bool) -> None:
    # Not the database itself: closing another handle of that would take SQLite's locks from it.
    with suppress(FileNotFoundError):  # all of it stands in the database
        handle = os.open(log, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    if first:
        sync_folder(log.parent)


def _log_of(path: Path) -> Path:
    """The file of a journal's newest commits."""
    return path.with_name(f"{path.name}-wal")


def _is_still(file: Path, as_it_was: os.stat_result) -> bool:
    """Whether the file of this name is the one that it was."""
    try:
        return os.path.samestat(file.stat(), as_it_was)
    except OSError:
        return False
