"""The record of a project: every call, decision and version, in one SQLite file (WAL).

What is asked once is never paid for twice: a call is known by what can change its reply (`call_key`), a finished
call is committed before its text is used, and failures are never stored. Nothing is overwritten: versions and
decisions are only added. A commit is on the disk when it returns, as a text's file is.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from fabula.base.characters import readable
from fabula.base.database import connected
from fabula.base.errors import JournalDamagedError, JournalError, JournalVersionError
from fabula.base.files import PRIVATE
from fabula.base.remembering import remembered
from fabula.models.base import Message, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabula.models.base import Request

FORMAT: Final = 5
"""Of keys and tables. Nothing was released with another one, so no other one is read."""
_APPLICATION_ID: Final = 0x0FAB_01A0
_SCHEMA: Final = """
CREATE TABLE text (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id INTEGER PRIMARY KEY, at TEXT NOT NULL, system TEXT NOT NULL, settings TEXT NOT NULL,
                  ended TEXT, error TEXT);
CREATE TABLE call (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, ordinal INTEGER NOT NULL,
                   role TEXT NOT NULL, performer TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL,
                   finish TEXT NOT NULL, detail TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE INDEX call_by_path ON call (path, ordinal, id);
CREATE TABLE version (id INTEGER PRIMARY KEY, path TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL,
                      run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE INDEX version_by_path ON version (path, id);
CREATE TABLE beside (path TEXT NOT NULL, text TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (path, text));
CREATE TABLE artefact (path TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE decision (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, text TEXT, target INTEGER,
                       at TEXT NOT NULL);
CREATE INDEX decision_by_path ON decision (path, id);
CREATE VIEW standing AS SELECT * FROM decision
    WHERE kind != 'undo' AND id NOT IN (SELECT target FROM decision WHERE kind = 'undo');
CREATE TABLE note (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL,
                   at TEXT NOT NULL);
CREATE TABLE removal (id INTEGER PRIMARY KEY, path TEXT NOT NULL, rule TEXT NOT NULL, text TEXT NOT NULL,
                      run INTEGER NOT NULL, at TEXT NOT NULL, UNIQUE (path, rule, text));
CREATE TABLE loss (id INTEGER PRIMARY KEY, path TEXT NOT NULL, role TEXT NOT NULL, performer TEXT NOT NULL,
                   usage TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE hold (key TEXT PRIMARY KEY, path TEXT NOT NULL, role TEXT NOT NULL, performer TEXT NOT NULL,
                   usage TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failure (id INTEGER PRIMARY KEY, path TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE made (id INTEGER PRIMARY KEY, path TEXT NOT NULL, of TEXT NOT NULL, text TEXT NOT NULL,
                   source TEXT NOT NULL, calls TEXT NOT NULL, found TEXT NOT NULL, UNIQUE (path, of));
CREATE TABLE finished (inputs TEXT NOT NULL, decided TEXT NOT NULL, calls INTEGER NOT NULL, reached TEXT NOT NULL);
CREATE TABLE moment (decision INTEGER PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE command (decision INTEGER PRIMARY KEY, command TEXT NOT NULL, found INTEGER NOT NULL, again INTEGER);
"""
_CALLS: Final = (
    "SELECT c.path, c.role, c.performer, c.ordinal, c.reply, t.body, c.finish, c.detail, c.at, c.request, c.id, c.run "
    "FROM call c "
    "LEFT JOIN text t ON t.hash = c.reply"
)
_UNDER: Final = "(c.path = ? OR (c.path > ? AND c.path < ?))"
_HOLDS: Final = (
    "(c.reply IN hit OR EXISTS (SELECT 1 FROM json_each(c.request, '$.messages') m "
    "WHERE json_extract(m.value, '$[1]') IN hit))"
)
# A text that is sought is looked for in every text once, however many prompts hold it.
_LISTED: Final = (
    "WITH hit AS MATERIALIZED (SELECT hash FROM text WHERE {}) SELECT c.id, c.path, c.role, c.performer, c.at, "
    "c.finish, c.detail, c.request, t.body FROM call c LEFT JOIN text t ON t.hash = c.reply WHERE {} ORDER BY c.id"
)
_OPENING: Final = 200  # characters of a reply that a list shows
_SENTENCE: Final = 20  # characters of a text that is found in another one not by chance
_AROUND: Final = 80  # characters on either side of what was sought
_LAST: Final = 2**63 - 1  # the largest id there can be
_FROM_TEXTS: Final = (
    "Your texts are in plan/ and story/ and stay: `fabula import story.md --out NEW` continues from them, or use the "
    "fabula that wrote it."
)
_HOLD_LOST: Final = (
    "INSERT INTO loss (path, role, performer, usage, run, at) "
    "SELECT path, role, performer, usage, run, at FROM hold WHERE key = ?"
)
_REPLIES: Final = (
    "SELECT c.path, c.reply, t.body, c.finish, c.performer, c.detail FROM call c LEFT JOIN text t ON t.hash = c.reply"
)
_MADE: Final = "SELECT t.body, m.source, m.calls, m.found FROM made m JOIN text t ON t.hash = m.text"
_VERSIONS: Final = "SELECT t.body, v.source, v.at, v.run FROM version v JOIN text t ON t.hash = v.text WHERE v.path = ?"
_RECORD: Final = (
    "INSERT OR IGNORE INTO call (key, path, ordinal, role, performer, request, reply, finish, detail, run, at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

_PINS: Final = ("pin", "pin", "pin", "unpin"), {"pin": "pinned"}
_EDITS: Final = (
    ("edit", "continue", "rewrite", "unedit"),
    {"edit": "edited", "continue": "continued", "rewrite": "rewritten"},
)

DecisionKind: TypeAlias = Literal[
    "edit", "unedit", "pin", "unpin", "retake", "revise", "rewrite", "fit", "continue", "approve", "undo", "pin-all",
    "fit-all", "import",
]  # fmt: skip


def call_key(request: Request, identity: str, ordinal: int, take: int = 0) -> str:
    """The identity of a call: path, rendered messages, model, sampling, schema, ordinal and take, as a SHA-256.

    Timeouts, retries and keys are no part of it, since they cannot change a reply.
    """
    body = request.body() | {"path": request.path, "model": identity, "ordinal": ordinal, "take": take}
    shown = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


@remembered(32, 100_000)
def _digest(text: str) -> str:
    """The hash of a text as it is stored; the last ones are kept, because a record needs each of its texts' twice."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """A finished call as recorded; `messages` are (role, text) pairs.

    `schema` is the form that the reply was to have; `id` and `run` are its own number and that of its run.
    """

    path: str
    role: str
    performer: str
    ordinal: int
    reply: Reply
    at: str
    messages: tuple[tuple[str, str], ...] = ()
    schema: Mapping[str, Any] | None = None
    id: int = 0
    run: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A call in a list: all but its prompt, of its reply the beginning (`opening`), and `found`, which was sought."""

    id: int
    path: str
    role: str
    performer: str
    at: str
    finish: str
    usage: Usage
    opening: str
    found: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which calls are to be listed; what is empty does not matter.

    Attributes:
        text: stands in the prompt or the reply, in capitals or small letters.
        under: is the call's path, or above it.
    """

    text: str = ""
    role: str = ""
    performer: str = ""
    under: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """A reply as recorded, without its prompt (`Journal.asked`); `free` says that it is no typed one."""

    id: int
    path: str
    role: str
    performer: str
    text: str
    run: int
    at: str
    free: bool


@dataclass(frozen=True, slots=True)
class Version:
    """One text an artefact has had, and its source (`Kept.source`); `number` counts from 1.

    `run` is the run that kept it; 0 where it was kept outside of one, as an author's own text is.
    """

    path: str
    number: int
    text: str
    source: str
    at: str
    run: int = 0

    @property
    def made(self) -> bool:
        """Whether it was written for the author, also by revising another one."""
        return self.source in ("made", "revised")


@dataclass(frozen=True, slots=True)
class Removal:
    """A piece that a rule took out of a reply: where it was asked for, for which artefact, by which rule, its text."""

    path: str
    artefact: str
    rule: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about an artefact.

    `target` is the last call that was recorded before a "fit", and the last run before a "fit-all"; of a "continue" it
    is about how many words are wanted.
    """

    id: int
    path: str
    kind: DecisionKind
    text: str | None
    at: str
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What was made at an artefact's path: its text and source, the keys of the calls, and what was found on the way.

    `lengths` are the least and most words asked, by the place where they were asked.
    """

    text: str
    source: str
    calls: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    lengths: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end.

    Attributes:
        inputs: digest of all that goes into a run beside decisions.
        decided: digest of what stood decided about each artefact.
        calls: how many calls the journal held.
        reached: paths of the artefacts that the run made use of.
    """

    inputs: str
    decided: Mapping[str, str]
    calls: int
    reached: frozenset[str]


@dataclass(frozen=True, slots=True)
class Done:
    """What one command of a person's decided, oldest first; `found` in files that the person had changed."""

    decisions: tuple[Decision, ...]
    found: bool = False


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal:
    """An open journal. Use as a context manager; one per project, in the thread that opened it.

    Args:
        path: the database file; `None` keeps the journal in memory.
        now: gives the time stamp of a record (ISO 8601, UTC).
        command: what is decided under one such name, which no other command has, is taken back as one; without it
            each decision is for itself.
    """

    def __init__(self, path: Path | None = None, *, now: Callable[[], str] = _utc_now, command: str = "") -> None:
        self._path, self._now, self._command, self._found = path, now, command, False
        self._begins = self._holding = False
        self._log = None if path is None else _log_of(path)
        self._run = 0
        self._db: sqlite3.Connection | None = None
        self._given_up: Counter[str] | None = None
        self._files: dict[Path, os.stat_result] = {}
        self._copy: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the file, making it where there is none. Where nothing can be written, it is opened for reading alone.

        Raises:
            JournalDamagedError: the file is no valid database.
            JournalVersionError: a newer or an older fabula wrote it.
            JournalError: the file cannot be opened or written.
        """
        with self._guard():
            if self._path is not None and _is_read_only(self._path):
                self._db = self._opened_to_read(self._path)
                self._check_format(self._db)
                return
            if self._path is not None:
                with suppress(OSError):  # what cannot be made, SQLite reports
                    os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE))  # its other files get this mode too
            db = self._db = connected(self._path, _SCHEMA)
            self._prepare(db)  # first, so that another program's file is not touched
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            if self._path is not None:
                self._files = {self._path: self._path.stat()}

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
            raise JournalDamagedError(f"{self._path} is a database, but not a fabula journal. Move it away.")
        if tables and written != FORMAT:
            self.close()
            who, what = ("A newer fabula", "Upgrade fabula.") if written > FORMAT else ("An older fabula", _FROM_TEXTS)
            raise JournalVersionError(f"{who} wrote {self._path} (format {written}; this one reads {FORMAT}). {what}")
        return bool(tables)

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Check the format, or make the tables of a new file."""
        if not self._check_format(db):
            stamp = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
            db.executescript(f"BEGIN;{_SCHEMA}{stamp}COMMIT;")

    def pin_all(self, paths: Sequence[str]) -> None:
        """Pin the newest texts of artefacts, as one decision of a person."""
        with self.transaction():
            self.decide("*", "pin-all", str(len(paths)))
            for path in paths:
                self.decide(path, "pin", self.newest(path))

    def fit_all(self, paths: Sequence[str]) -> None:
        """Record that the newest texts of artefacts are to be revised to fit, as one decision of a person."""
        calls, runs = self._all("SELECT (SELECT max(id) FROM call), (SELECT max(id) FROM run)")[0]
        with self.transaction():
            self.decide("*", "fit-all", str(len(paths)), runs or 0)
            for path in paths:
                self.decide(path, "fit", self.newest(path), calls or 0)

    def open_fits(self) -> frozenset[int]:
        """The decisions to revise a text to fit that hold for what changes next: no run has finished since."""
        finished = self._all("SELECT coalesce(max(id), 0) FROM run WHERE ended IS NOT NULL AND error = ''")[0][0]
        found, is_open = set(), False
        for decision in self.decisions():
            if decision.kind == "fit-all":
                is_open = finished <= (decision.target or 0)
            elif decision.kind == "fit" and is_open:
                found.add(decision.id)
        return frozenset(found)

    @contextmanager
    def found_in_files(self) -> Iterator[None]:
        """What is decided inside was found in files that the person changed, and is taken back for itself."""
        self._found = True
        try:
            yield
        finally:
            self._found = False

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """What is decided inside is how the project begins, as its brief is, and no command takes it back."""
        self._begins = True
        try:
            yield
        finally:
            self._begins = False

    def begin_with(self, manuscript: str) -> None:
        """Record that the project's texts come from the file `manuscript`."""
        self.decide("*", "import", manuscript)

    def imported_from(self) -> str:
        """The file that the project's texts came from; empty where they were written in it."""
        found = [one.text or "" for one in self.decisions() if one.kind == "import"]
        return found[-1] if found else ""

    def last_done(self) -> Done | None:
        """What one `undo` takes back: all that stands of the last command that decided anything."""
        standing = {decision.id: decision for decision in self.decisions()}
        rows = self._all("SELECT decision, command, found FROM command ORDER BY decision")
        last = next(((command, found) for number, command, found in reversed(rows) if number in standing), None)
        if last is None:
            return None
        return Done(tuple(standing[n] for n, *of in rows if tuple(of) == last and n in standing), bool(last[1]))

    def last_undone(self) -> Done | None:
        """What one `redo` decides again: the last command that was taken back, if nothing was decided since."""
        rows = self._all(
            "SELECT d.id, d.kind, d.target, c.command, c.found, c.again FROM decision d "
            "JOIN command c ON c.decision = d.id ORDER BY d.id"
        )
        command_of = {number: (command, found) for number, _, _, command, found, _ in rows}
        undone: list[list[int]] = []
        for (command, found), group in groupby(rows, key=lambda row: (row[3], row[4])):
            steps = list(group)
            targets = [target for _, kind, target, *_ in steps if kind == "undo"]
            if targets and all(command_of.get(target) != (command, found) for target in targets):
                undone.append(targets)
            elif any(again is not None for *_, again in steps):
                del undone[-1:]
            elif not targets:
                undone.clear()
        if not undone:
            return None
        known = self._all(
            "SELECT d.id, d.path, d.kind, t.body, d.at, d.target FROM decision d LEFT JOIN text t ON t.hash = d.text"
        )
        taken = (Decision(*row) for row in known if row[0] in undone[-1])
        return Done(tuple(sorted(taken, key=lambda one: one.id)), bool(command_of[undone[-1][0]][1]))

    def decide_again(self, undone: Done) -> None:
        """Decide anew what was taken back, as one command."""
        with self.transaction():
            for one in undone.decisions:
                self.decide(one.path, one.kind, one.text, one.target)
                again = "UPDATE command SET again = ?, found = ? WHERE decision = (SELECT max(id) FROM decision)"
                self._write((again, (one.id, int(undone.found))))

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None
        self._files = {}

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        where = self._path or "in memory"
        try:
            yield
        except sqlite3.OperationalError as error:
            self.close()
            if "decode" in str(error) or "malformed" in str(error):  # a text that is no UTF-8, or no JSON
                raise self._damaged(str(error)) from error
            raise JournalError(
                f"The journal {where} cannot be used ({error}). Check free space and permissions; all finished calls "
                "are kept, so the same command goes on from there."
            ) from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> JournalDamagedError:
        return JournalDamagedError(
            f"The journal {self._path or 'in memory'} is damaged ({what}). Move it away: your texts in plan/ and "
            "story/ stay, and `fabula text pin --all` keeps them as they are. Or put back a copy of it."
        )

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn what cannot be understood in a record into our error."""
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            self.close()
            raise self._damaged(f"{what} cannot be read") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is recorded inside is recorded together at the end, or, if that is not reached, not at all."""
        if self._open.in_transaction:
            yield
            return
        with self._guard():
            self._open.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        """Forget what was not committed."""
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _commit(self) -> None:
        """Commit, and make sure that this went into the files that have the journal's names, not into deleted ones."""
        db = self._open
        with self._guard():
            db.execute("COMMIT")
        if self._path is None or self._log is None:
            return
        if self._log not in self._files and self._log.exists():
            self._files[self._log] = self._log.stat()
        if not all(map(_is_still, self._files, self._files.values())):
            raise self._gone(db, self._path)

    def _gone(self, db: sqlite3.Connection, path: Path) -> JournalError:
        """What to say when the journal's files were taken away under a run; all that it held is saved beside them."""
        saved = path.with_name(f"journal-{secrets.token_hex(4)}.db")
        try:
            db.execute("VACUUM INTO ?", (str(saved),))
            how = f"All that it held stands in {saved}: rename that to {path.name} and run the command again."
        except sqlite3.Error:
            how = "Put it, or its folder, back where it was and run the command again."
        self.close()
        return JournalError(f"The journal {path} was moved, replaced or deleted while it was in use. {how}")

    @property
    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            raise JournalError("The journal is closed. Open it before use.")
        return self._db

    def _all(self, sql: str, *values: object) -> list[Any]:
        with self._guard():
            return self._open.execute(sql, values).fetchall()

    def _write(self, *statements: tuple[str, Sequence[object]]) -> None:
        """Run statements as one transaction; when this returns they are committed."""
        with self.transaction(), self._guard():
            for sql, values in statements:
                self._open.execute(sql, values)

    @staticmethod
    def _text(body: str) -> tuple[str, Sequence[object]]:
        # SQLite takes no lone surrogates; a reply has none (see `Run`), but a prompt may hold one from the author.
        valid = body.encode("utf-8", "replace").decode()
        return "INSERT OR IGNORE INTO text VALUES (?, ?)", (_digest(body), valid)

    # runs -----------------------------------------------------------------------------------------------------------

    def start_run(self, system: str, settings: dict[str, Any]) -> int:
        """Record that a run begins; later records carry its number, which is returned."""
        shown = json.dumps(settings, sort_keys=True, default=str)
        self._write(("INSERT INTO run (at, system, settings) VALUES (?, ?, ?)", (self._now(), system, shown)))
        self._run = int(self._all("SELECT max(id) FROM run")[0][0])
        return self._run

    def end_run(self, error: str = "", found: dict[str, Any] | None = None) -> None:
        """Record how the run ended, and what it `found` beside its settings; an empty `error`: the story is whole."""
        with self._reading("the settings of a run"):
            settings = json.loads(self._all("SELECT settings FROM run WHERE id = ?", self._run)[0][0])
        shown = json.dumps(settings | (found or {}), sort_keys=True, default=str)
        row = (self._now(), error, shown, self._run)
        self._write(("UPDATE run SET ended = ?, error = ?, settings = ? WHERE id = ?", row))

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first: id, at, system, settings, ended (None while running or killed), error."""
        rows = self._all("SELECT id, at, system, settings, ended, error FROM run ORDER BY id")
        names = ("id", "at", "system", "settings", "ended", "error")
        with self._reading("the settings of a run"):
            return [dict(zip(names, row, strict=True)) | {"settings": json.loads(row[3])} for row in rows]

    def last_settings(self, having: str = "") -> dict[str, Any] | None:
        """The settings of the newest run that came to its end, waits for a person, or left a call or a text.

        With `having`, of the newest one that recorded something under that name.
        """
        rows = self._all(
            "SELECT settings FROM run r WHERE (error = '' OR EXISTS (SELECT 1 FROM call WHERE run = r.id) "
            "OR EXISTS (SELECT 1 FROM version WHERE run = r.id) OR json_extract(settings, '$.waits') IS NOT NULL) "
            "AND (? = '' OR json_extract(settings, '$.' || ?) IS NOT NULL) ORDER BY id DESC LIMIT 1",
            having,
            having,
        )
        with self._reading("the settings of a run"):
            return dict(json.loads(rows[0][0])) if rows else None

    def note(self, path: str, text: str) -> None:
        """Record a remark."""
        self._write(
            ("INSERT INTO note (run, path, text, at) VALUES (?, ?, ?, ?)", (self._run, path, text, self._now()))
        )

    def remove(self, path: str, rule: str, text: str) -> None:
        """Record what a rule took out of a reply; the same piece at the same path is one record, also when replayed."""
        row = (path, rule, _digest(text), self._run, self._now())
        insert = "INSERT OR IGNORE INTO removal (path, rule, text, run, at) VALUES (?, ?, ?, ?, ?)"
        self._write(self._text(text), (insert, row))

    def removals(self, under: str = "") -> list[Removal]:
        """What rules took out, oldest first; `under` keeps what was asked at or below one path."""
        rows = self._all(
            "SELECT r.path, r.rule, t.body, r.at FROM removal r JOIN text t ON t.hash = r.text ORDER BY r.id"
        )
        artefacts = sorted(self.paths(), key=len, reverse=True)
        return [
            Removal(path, next((one for one in artefacts if _within(path, one)), ""), rule, text, at)
            for path, rule, text, at in rows
            if not under or _within(path, under)
        ]

    def give_up(self, path: str) -> None:
        """Record that a run ended because no try at `path` came to anything: the next run makes them anew."""
        insert = "INSERT INTO failure (path, run, at) VALUES (?, ?, ?)"
        self._write((insert, (path, self._run, self._now())))
        self._given_up = None

    def given_up(self, path: str) -> int:
        """How many runs ended because no try at `path` came to anything."""
        if self._given_up is None:
            self._given_up = Counter(path for (path,) in self._all("SELECT path FROM failure"))
        return self._given_up[path]

    # calls ----------------------------------------------------------------------------------------------------------

    def recorded(self, key: str) -> Reply | None:
        """The reply of the call `key`, or `None`."""
        rows = self._all(f"{_REPLIES} WHERE c.key = ?", key)
        return self._reply(*rows[0]) if rows else None

    def last_at(self, path: str, ordinal: int) -> Reply | None:
        """The newest reply at a path and ordinal, whatever was asked; a dry run stands on it."""
        rows = self._all(f"{_REPLIES} WHERE c.path = ? AND c.ordinal = ? ORDER BY c.id DESC LIMIT 1", path, ordinal)
        return self._reply(*rows[0]) if rows else None

    def _reply(
        self,
        path: str,
        digest: str,
        text: object,
        finish: Literal["stop", "length", "refusal"],
        performer: str,
        detail: str,
    ) -> Reply:
        """The reply as it was recorded.

        Raises:
            JournalDamagedError: it was altered since, or is gone.
        """
        if not isinstance(text, str) or _digest(text) != digest:
            raise self._damaged(f"the reply at {path} is not the one that was recorded")
        with self._reading(f"what is recorded of the reply at {path}"):
            details = json.loads(detail)
            usage = Usage(**details["usage"])
            sent, dropped, reasoning = details["sent"], tuple(details["dropped"]), details.get("reasoning", "")
            return Reply(text, usage, finish, performer, sent, dropped, details.get("logprobs"), reasoning)

    def last_call_at(self, path: str, ordinal: int, until: int | None = None) -> Call | None:
        """The newest call at a path and ordinal, with its prompt; of those up to the call `until`, if it is given."""
        rows = self._all(
            f"{_CALLS} WHERE c.path = ? AND c.ordinal = ? AND c.id <= ? ORDER BY c.id DESC LIMIT 1",
            path,
            ordinal,
            _LAST if until is None else until,
        )
        return self._call(rows[0]) if rows else None

    def was_asked(self, under: str) -> bool:
        """Whether any call is recorded below a path."""
        return bool(self._all("SELECT 1 FROM call WHERE path > ? AND path < ? LIMIT 1", f"{under}/", f"{under}0"))

    def writer_of(self, under: str = "") -> str:
        """The role that wrote most of what was asked for below a path, rather in free texts; empty where none was."""
        rows = self._all(
            "SELECT c.role FROM call c JOIN text t ON t.hash = c.reply WHERE ? = '' OR (c.path > ? AND c.path < ?) "
            "GROUP BY c.role ORDER BY sum(length(t.body) * (json_extract(c.request, '$.schema') IS NULL)) DESC, "
            "sum(length(t.body)) DESC, c.role LIMIT 1",
            under,
            f"{under}/",
            f"{under}0",
        )
        return str(rows[0][0]) if rows else ""

    def record(self, key: str, request: Request, ordinal: int, reply: Reply, *, expected: int = 0) -> None:
        """Commit a finished call, of whose reply so many tokens were `expected`; one more of its key is ignored."""
        body = request.body()
        body["messages"] = [[m.role, _digest(m.content)] for m in request.messages]
        detail: dict[str, Any] = {
            "usage": reply.usage.values(),
            "sent": dict(reply.sent),
            "dropped": list(reply.dropped),
        }
        if expected:
            detail["expected"] = expected
        if reply.logprobs is not None:
            detail["logprobs"] = dict(reply.logprobs)
        if reply.reasoning:
            detail["reasoning"] = reply.reasoning
        values = (
            key,
            request.path,
            ordinal,
            request.role,
            reply.model,
            json.dumps(body),
            _digest(reply.text),
            reply.finish,
            json.dumps(detail),
            self._run,
            self._now(),
        )
        self._write(
            *(self._text(m.content) for m in request.messages),
            self._text(reply.text),
            (_RECORD, values),
            *self._settled(key),
        )

    def calls(self, under: str = "") -> list[Call]:
        """All calls, oldest first, with their prompts; `under` keeps those at or below one path."""
        rows = self._all(f"{_CALLS} ORDER BY c.id")
        return [self._call(row) for row in rows if not under or _within(row[0], under)]

    def _call(self, row: Sequence[Any]) -> Call:
        path, role, performer, ordinal, digest, text, finish, detail, at, request, number, run = row
        with self._reading(f"what was asked at {path}"):
            asked = json.loads(request)
            messages = tuple((who, self._body(prompt)) for who, prompt in asked["messages"])
        reply = self._reply(path, digest, text, finish, performer, detail)
        return Call(path, role, performer, ordinal, reply, at, messages, asked.get("schema"), number, run)

    def call(self, number: int) -> Call | None:
        """The call of this number, with its prompt; `None` where there is none."""
        rows = self._all(f"{_CALLS} WHERE c.id = ?", number)
        return self._call(rows[0]) if rows else None

    def calls_at(self, path: str) -> list[Call]:
        """The calls at a path and below it, oldest first, with their prompts."""
        rows = self._all(f"{_CALLS} WHERE {_UNDER} ORDER BY c.id", *_span(path))
        return [self._call(row) for row in rows]

    def listed(self, wanted: Wanted, most: int, *, before: int = _LAST, after: int = 0) -> list[Listed]:
        """Calls that are wanted, newest first, `most` of them: the newest `before` a number, or those `after` one."""
        clauses: list[str] = ["c.id > ? AND c.id < ?"]
        values: list[object] = [after, before]
        for column, value in (("role", wanted.role), ("performer", wanted.performer)):
            if value:
                clauses, values = [*clauses, f"c.{column} = ?"], [*values, value]
        if wanted.under:
            clauses, values = [*clauses, _UNDER], [*values, *_span(wanted.under)]
        likes = _likes(wanted.text) if wanted.text else []
        sql = _LISTED.format(" OR ".join(["body LIKE ? ESCAPE '!'"] * len(likes)) or "0", " AND ".join(clauses))
        if likes:
            sql = sql.replace(" ORDER BY", f" AND {_HOLDS} ORDER BY")
        order = "ASC" if after and before == _LAST else "DESC"
        rows = self._all(f"{sql} {order} LIMIT ?", *likes, *values, most)
        return sorted((self._listed(row, wanted.text) for row in rows), key=lambda one: -one.id)

    def _listed(self, row: Sequence[Any], sought: str) -> Listed:
        number, path, role, performer, at, finish, detail, request, reply = row
        with self._reading(f"what is recorded of the reply at {path}"):
            usage = Usage(**json.loads(detail)["usage"])
            digests = [digest for _, digest in json.loads(request)["messages"]] if sought else []
        found = _excerpt([reply or "", *map(self._body, reversed(digests))], sought) if sought else ""
        return Listed(
            number, path, role, performer, at, finish, usage, " ".join((reply or "").split())[:_OPENING], found
        )

    def askers(self) -> list[tuple[str, str, int]]:
        """Each role with whoever performed it, and how many calls they have."""
        rows = self._all("SELECT role, performer, count(*) FROM call GROUP BY role, performer ORDER BY role, performer")
        return [(str(role), str(performer), int(count)) for role, performer, count in rows]

    def versions_in(self, text: str) -> list[tuple[str, int]]:
        """The newest version of each artefact of which the whole text stands in `text`, if it is more than a word."""
        rows = self._all(
            "WITH v AS (SELECT path, text, row_number() OVER (PARTITION BY path ORDER BY id) AS number FROM version) "
            "SELECT v.path, max(v.number) FROM v JOIN text t ON t.hash = v.text WHERE length(t.body) >= ? "
            "AND instr(?, trim(t.body, ' ' || char(10))) GROUP BY v.path ORDER BY v.path",
            _SENTENCE,
            text.encode("utf-8", "replace").decode(),
        )
        return [(str(path), int(number)) for path, number in rows]

    def replies(self) -> list[Given]:
        """All replies, oldest first, without their prompts."""
        rows = self._all(
            "SELECT c.id, c.path, c.role, c.performer, c.reply, t.body, c.run, c.at, json_extract(c.request, "
            "'$.schema') IS NULL AND coalesce(json_array_length(c.request, '$.choices'), 0) = 0 "
            "FROM call c LEFT JOIN text t ON t.hash = c.reply ORDER BY c.id"
        )
        found = []
        for number, path, role, performer, digest, text, run, at, free in rows:
            if not isinstance(text, str) or _digest(text) != digest:
                raise self._damaged(f"the reply at {path} is not the one that was recorded")
            found.append(Given(number, path, role, performer, text, run, at, bool(free)))
        return found

    def asked(self, call: int) -> tuple[Message, ...]:
        """The prompt of a call."""
        rows = self._all("SELECT request FROM call WHERE id = ?", call)
        with self._reading("what was asked"):
            return tuple(Message(who, self._body(text)) for who, text in json.loads(rows[0][0])["messages"])

    def hold(self, key: str, request: Request, performer: str, usage: Usage) -> None:
        """Book what a call may take before it is asked, so that it is not free where this process is killed meanwhile.

        What stands here of an earlier try was never settled: it is a loss. This need not be on the disk at once; a
        process that is killed loses nothing that is written.
        """
        row = (key, request.path, request.role, performer, json.dumps(usage.values()), self._run, self._now())
        self._open.execute("PRAGMA synchronous = NORMAL")
        try:
            self._write(
                (_HOLD_LOST, (key,)),
                ("INSERT OR REPLACE INTO hold VALUES (?, ?, ?, ?, ?, ?, ?)", row),
            )
        finally:
            self._open.execute("PRAGMA synchronous = FULL")
        self._holding = True

    def let_go(self, key: str) -> None:
        """Take back what was booked for a call that has cost nothing."""
        self._write(*self._settled(key))

    def _settled(self, key: str) -> tuple[tuple[str, Sequence[object]], ...]:
        return (("DELETE FROM hold WHERE key = ?", (key,)),) if self._holding else ()

    def lose(self, key: str, request: Request, performer: str, usage: Usage) -> None:
        """Record what was paid for a call that came to nothing; the call itself is asked again the next time."""
        row = (request.path, request.role, performer, json.dumps(usage.values()), self._run, self._now())
        insert = "INSERT INTO loss (path, role, performer, usage, run, at) VALUES (?, ?, ?, ?, ?, ?)"
        self._write((insert, row), *self._settled(key))

    def payments(self) -> list[tuple[str, str, Usage]]:
        """Role, performer and usage of every call that was made; those that came to nothing, or run, at the end."""
        rows = self._all("SELECT role, performer, detail FROM call ORDER BY id")
        with self._reading("what the calls used"):
            made = [(role, performer, Usage(**json.loads(detail)["usage"])) for role, performer, detail in rows]
            rows = self._all("SELECT role, performer, usage FROM loss ORDER BY id")
            rows += self._all("SELECT role, performer, usage FROM hold ORDER BY at")
            made += [(role, performer, Usage(**json.loads(usage))) for role, performer, usage in rows]
        return made

    def reply_lengths(self) -> list[tuple[str, str, int, int, int]]:
        """Of each call of which a length was expected: performer, path, and tokens expected, written and reasoned."""
        rows = self._all(
            "SELECT performer, path, json_extract(detail, '$.expected'), json_extract(detail, '$.usage.reply'), "
            "coalesce(json_extract(detail, '$.usage.reasoning'), 0) FROM call "
            "WHERE json_extract(detail, '$.expected') > 0 ORDER BY id"
        )
        return [
            (str(who), str(path), int(expected), int(wrote), int(thought))
            for who, path, expected, wrote, thought in rows
        ]

    def usages(self) -> list[Usage]:
        """What every call that was made took."""
        return [usage for _, _, usage in self.payments()]

    def spent(self) -> dict[str, Usage]:
        """What the whole project has used so far, by role."""
        bill: dict[str, Usage] = {}
        for role, _, usage in self.payments():
            bill[role] = bill[role] + usage if role in bill else usage
        return bill

    def count(self) -> int:
        """Number of recorded calls."""
        return int(self._all("SELECT count(*) FROM call")[0][0])

    def _body(self, digest: str) -> str:
        return str(self._all("SELECT body FROM text WHERE hash = ?", digest)[0][0])

    # artefacts ------------------------------------------------------------------------------------------------------

    def keep(self, path: str, text: str, source: str) -> None:
        """Add a version of an artefact unless its newest one has the same text."""
        newest = self._all("SELECT text FROM version WHERE path = ? ORDER BY id DESC LIMIT 1", path)
        if newest and newest[0][0] == _digest(text):
            return
        row = (path, _digest(text), source, self._run, self._now())
        self._write(self._text(text), ("INSERT INTO version (path, text, source, run, at) VALUES (?, ?, ?, ?, ?)", row))

    def keep_beside(self, path: str, text: str, value: str) -> None:
        """Record what was made with a text of an artefact; of two that go with one text the later one holds."""
        if self.beside(path, text) != (value, True):
            row = (path, _digest(text), _digest(value))
            self._write(self._text(value), ("INSERT OR REPLACE INTO beside VALUES (?, ?, ?)", row))

    def beside(self, path: str, text: str) -> tuple[str, bool] | None:
        """What was made with a text of an artefact, and that it was with this one; else with its newest that has any.

        `None` if none has.
        """
        rows = self._all(
            "SELECT t.body, b.text = ? FROM beside b JOIN text t ON t.hash = b.value WHERE b.path = ? ORDER BY 2 DESC, "
            "(SELECT max(v.id) FROM version v WHERE v.path = b.path AND v.text = b.text) DESC LIMIT 1",
            _digest(text),
            path,
        )
        return (str(rows[0][0]), bool(rows[0][1])) if rows else None

    def versions(self, path: str) -> list[Version]:
        """The versions of an artefact, oldest first."""
        rows = self._all(f"{_VERSIONS} ORDER BY v.id", path)
        return [Version(path, n, readable(text), source, at, run) for n, (text, source, at, run) in enumerate(rows, 1)]

    def makers(self, path: str, under: str) -> dict[int, tuple[str, str]]:
        """Role and performer of the last call at or below `under` that went into each version of an artefact.

        By the number of the version; of versions before which nothing was asked there, nothing is said.
        """
        rows = self._all("SELECT run, at FROM version WHERE path = ? ORDER BY id", path)
        calls = self._all(
            "SELECT run, at, role, performer FROM call WHERE path = ? OR (path > ? AND path < ?) ORDER BY id DESC",
            under,
            f"{under}/",
            f"{under}0",
        )
        found = {}
        for number, (run, at) in enumerate(rows, 1):
            made = [call for call in calls if call[1] <= at]
            call = next((one for one in made if one[0] == run), made[0] if made else None)
            if call is not None:
                found[number] = (str(call[2]), str(call[3]))
        return found

    def newest(self, path: str) -> str | None:
        """The newest text of an artefact."""
        rows = self._all(f"{_VERSIONS} ORDER BY v.id DESC LIMIT 1", path)
        return readable(str(rows[0][0])) if rows else None

    def newest_texts(self) -> dict[str, str]:
        """The newest text of every artefact, by its path."""
        rows = self._all(
            "SELECT v.path, t.body FROM version v JOIN text t ON t.hash = v.text "
            "WHERE v.id IN (SELECT max(id) FROM version GROUP BY path)"
        )
        return {path: readable(str(text)) for path, text in rows}

    def version_counts(self) -> dict[str, int]:
        """How many versions every artefact has, by its path."""
        return dict(self._all("SELECT path, count(*) FROM version GROUP BY path"))

    def last_sources(self) -> dict[str, str]:
        """The source of the newest version of every artefact, by its path."""
        return dict(
            self._all("SELECT path, source FROM version WHERE id IN (SELECT max(id) FROM version GROUP BY path)")
        )

    def sources(self, path: str) -> list[str]:
        """The sources of an artefact's versions, oldest first."""
        return [str(source) for (source,) in self._all("SELECT source FROM version WHERE path = ? ORDER BY id", path)]

    def paths(self) -> list[str]:
        """The paths of all artefacts that have a text, in alphabetical order."""
        return [str(path) for (path,) in self._all("SELECT DISTINCT path FROM version ORDER BY path")]

    def place(self, path: str, file: str) -> None:
        """Record which project file an artefact is written to."""
        self._write(
            ("DELETE FROM artefact WHERE path = ? OR file = ?", (path, file)),
            ("INSERT INTO artefact VALUES (?, ?)", (path, file)),
        )

    def places(self) -> dict[str, str]:
        """The project file of each artefact, by path, in order of file name."""
        return dict(self._all("SELECT path, file FROM artefact ORDER BY file"))

    # decisions ------------------------------------------------------------------------------------------------------

    def decide(self, path: str, kind: DecisionKind, text: str | None = None, target: int | None = None) -> None:
        """Record a person's decision about an artefact."""
        row = (path, kind, None if text is None else _digest(text), target, self._now())
        bodies = [] if text is None else [self._text(text)]
        command = (
            "INSERT INTO command SELECT max(id), coalesce(nullif(?, ''), max(id)), ?, NULL FROM decision",
            (self._command, int(self._found)),
        )
        self._write(
            *bodies,
            ("INSERT INTO decision (path, kind, text, target, at) VALUES (?, ?, ?, ?, ?)", row),
            ("INSERT INTO moment SELECT max(id), (SELECT coalesce(max(id), 0) FROM version) FROM decision", ()),
            *([] if self._begins else [command]),
        )

    def override(self, path: str) -> tuple[str, str] | None:
        """The text that stands in for an artefact and why, or `None`.

        "pinned" wins over "edited"; "continued" says that a person wants more to follow that text.
        """
        for kinds, sources in (_PINS, _EDITS):
            rows = self._all(
                "SELECT d.kind, t.body FROM standing d LEFT JOIN text t ON t.hash = d.text "
                "WHERE d.path = ? AND d.kind IN (?, ?, ?, ?) ORDER BY d.id DESC LIMIT 1",
                path,
                *kinds,
            )
            if rows and rows[0][0] in sources:
                return readable(str(rows[0][1])), sources[rows[0][0]]
        return None

    def overrides(self) -> dict[str, tuple[str, str]]:
        """What `override` gives for every artefact for which it gives anything."""
        found: dict[str, tuple[str, str]] = {}
        for kinds, sources in (_EDITS, _PINS):
            rows = self._all(
                "SELECT d.path, d.kind, t.body FROM standing d LEFT JOIN text t ON t.hash = d.text "
                "WHERE d.id IN (SELECT max(id) FROM standing WHERE kind IN (?, ?, ?, ?) GROUP BY path)",
                *kinds,
            )
            found |= {path: (readable(str(text)), sources[kind]) for path, kind, text in rows if kind in sources}
        return found

    def words_to_continue(self, path: str) -> int:
        """About how many words more a person wants after an artefact's text; 0 where they named no number."""
        sql = "SELECT target FROM standing WHERE path = ? AND kind = 'continue' ORDER BY id DESC LIMIT 1"
        rows = self._all(sql, path)
        return int(rows[0][0] or 0) if rows else 0

    def takes(self, path: str) -> int:
        """How often a person asked for another take of an artefact."""
        return int(self._all("SELECT count(*) FROM standing WHERE path = ? AND kind = 'retake'", path)[0][0])

    def retaken(self, path: str) -> bool:
        """Whether another take of an artefact was asked for since its newest text."""
        sql = (
            "SELECT 1 FROM standing WHERE path = ? AND kind = 'retake' "
            "AND at >= (SELECT max(at) FROM version WHERE path = ?)"
        )
        return bool(self._all(sql, path, path))

    def approved(self, path: str, text: str) -> bool:
        """Whether a person approved this very text of an artefact."""
        sql = "SELECT 1 FROM standing WHERE path = ? AND kind = 'approve' AND text = ?"
        return bool(self._all(sql, path, _digest(text)))

    def decisions(self, path: str | None = None) -> list[Decision]:
        """All standing decisions, or those about one artefact, oldest first."""
        every = (
            "SELECT d.id, d.path, d.kind, t.body, d.at, d.target FROM standing d LEFT JOIN text t ON t.hash = d.text "
        )
        if path is None:
            rows = self._all(every + "ORDER BY d.id")
        else:
            rows = self._all(every + "WHERE d.path = ? ORDER BY d.id", path)
        return [Decision(*row) for row in rows]

    def history(self) -> list[Version | Decision]:
        """Every version of every artefact and every decision, undone ones too, in the order in which they came."""
        rows = self._all(
            "SELECT v.id, v.path, t.body, v.source, v.at, v.run FROM version v JOIN text t ON t.hash = v.text "
            "ORDER BY v.id"
        )
        numbers: Counter[str] = Counter()
        versions: list[tuple[int, Version]] = []
        for number, path, text, source, at, run in rows:
            numbers[path] += 1
            versions.append((number, Version(path, numbers[path], readable(text), source, at, run)))
        after = dict(self._all("SELECT decision, version FROM moment"))
        decisions = self._all(
            "SELECT d.id, d.path, d.kind, t.body, d.at, d.target FROM decision d "
            "LEFT JOIN text t ON t.hash = d.text ORDER BY d.id"
        )
        found: list[Version | Decision] = []
        done = 0
        for decision in (Decision(*row) for row in decisions):
            while done < len(versions) and versions[done][0] <= after[decision.id]:
                found.append(versions[done][1])
                done += 1
            found.append(decision)
        return [*found, *(version for _, version in versions[done:])]

    def decided(self, path: str = "") -> dict[str, str]:
        """A digest of what stands decided about each artefact, or about one; an approval changes no text: left out."""
        found: dict[str, list[object]] = {}
        rows = self._all(
            "SELECT path, kind, text, target FROM standing "
            "WHERE kind NOT IN ('approve', 'pin-all', 'fit-all', 'import') AND ? IN ('', path) ORDER BY path, id",
            path,
        )
        for of, kind, text, words in rows:
            found.setdefault(of, []).append([kind, text, *([words] if kind == "continue" and words else [])])
        return {of: _digest(json.dumps(decisions)) for of, decisions in found.items()}

    # what was made of what -------------------------------------------------------------------------------------------

    def leave_made(self, path: str, of: str, made: Made) -> None:
        """Record what was made at an artefact's path of all that its line had read, whose digest `of` is."""
        found = json.dumps([made.shortfalls, made.notices, made.lengths])
        row = (path, of, _digest(made.text), made.source, json.dumps(made.calls), found)
        self._write(
            self._text(made.text),
            ("INSERT OR REPLACE INTO made (path, of, text, source, calls, found) VALUES (?, ?, ?, ?, ?, ?)", row),
        )

    def made(self, path: str, of: str) -> Made | None:
        """What was made at a path of what `of` is the digest of."""
        return self._made(f"{_MADE} WHERE m.path = ? AND m.of = ?", path, of)

    def last_made(self, path: str) -> Made | None:
        """What was made last at a path, without the author's notes where it was ever made without."""
        return self._made(f"{_MADE} WHERE m.path = ? ORDER BY m.source = 'made' DESC, m.id DESC LIMIT 1", path)

    def _made(self, sql: str, *values: object) -> Made | None:
        rows = self._all(sql, *values)
        if not rows:
            return None
        with self._reading("what was made"):
            text, source, calls, found = rows[0]
            shortfalls, notices, lengths = json.loads(found)
            spans = {place: (low, high) for place, (low, high) in lengths.items()}
            return Made(readable(text), source, tuple(json.loads(calls)), tuple(shortfalls), tuple(notices), spans)

    def asked_for(self, keys: Sequence[str]) -> list[tuple[str, str, str, Usage]]:
        """Path, role, performer and usage of calls, in the order of their keys."""
        rows = self._all(
            "SELECT key, path, role, performer, json_extract(detail, '$.usage') FROM call "
            "WHERE key IN (SELECT value FROM json_each(?))",
            json.dumps(keys),
        )
        with self._reading("what calls have taken"):
            found = {key: (path, role, who, Usage(**json.loads(usage))) for key, path, role, who, usage in rows}
        return [found[key] for key in keys if key in found]

    def finish(self, finished: Finished) -> None:
        """Record that a run came to its end, in place of the one before."""
        decided, reached = json.dumps(dict(finished.decided)), json.dumps(sorted(finished.reached))
        row = (finished.inputs, decided, finished.calls, reached)
        self._write(("DELETE FROM finished", ()), ("INSERT INTO finished VALUES (?, ?, ?, ?)", row))

    def finished(self) -> Finished | None:
        """The last run that came to its end."""
        rows = self._all("SELECT inputs, decided, calls, reached FROM finished")
        if not rows:
            return None
        inputs, decided, calls, reached = rows[0]
        with self._reading("the last finished run"):
            return Finished(inputs, json.loads(decided), calls, frozenset(json.loads(reached)))


def _within(path: str, under: str) -> bool:
    """Whether a path is another one or lies below it."""
    return path == under or path.startswith(f"{under}/")


def _span(path: str) -> tuple[str, str, str]:
    """The values for `_UNDER`: a path, and between which two texts those below it are."""
    return path, f"{path}/", f"{path}0"


def _likes(text: str) -> list[str]:
    """Patterns that find a text; SQLite takes capitals for small letters in ASCII alone."""
    forms = [text] if text.isascii() else dict.fromkeys((text, text.lower(), text.upper(), text.capitalize()))
    return [f"%{form.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%" for form in forms]


def _excerpt(texts: Sequence[str], sought: str) -> str:
    """What stands around the first place of `sought` in the first text that has it, on one line."""
    for text in texts:
        at = text.lower().find(sought.lower())
        if at >= 0:
            begin, end = max(at - _AROUND, 0), at + len(sought) + _AROUND
            return f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}"
    return ""


def _is_read_only(path: Path) -> bool:
    """Whether a journal is there and cannot be written, by its own mode, its folder's, or that of the whole disk."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _log_of(path: Path) -> Path:
    """The file of a journal's newest commits."""
    return path.with_name(f"{path.name}-wal")


def _is_still(file: Path, as_it_was: os.stat_result) -> bool:
    """Whether the file of this name is the one that it was."""
    try:
        return os.path.samestat(file.stat(), as_it_was)
    except OSError:
        return False
