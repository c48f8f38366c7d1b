"""The record of a project: every call, decision and version, in one SQLite file (WAL).

What is asked once is never paid for twice: a call is known by what can change its reply (`call_key`), a finished
call is committed before its text is used, and failures are never stored. Nothing is overwritten: versions and
decisions are only added. SQLite in WAL mode writes about 8,000 records of 8 kB a second on two cores.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from fabula.base.errors import JournalDamagedError, JournalError, JournalVersionError
from fabula.models.base import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fabula.models.base import Request

FORMAT: Final = 2
"""Of keys and tables. 1: keys held titles and docstrings of the types of replies, so no call of it answers today's."""
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
CREATE TABLE artefact (path TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE decision (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, text TEXT, target INTEGER,
                       at TEXT NOT NULL);
CREATE INDEX decision_by_path ON decision (path, id);
CREATE VIEW standing AS SELECT * FROM decision
    WHERE kind != 'undo' AND id NOT IN (SELECT target FROM decision WHERE kind = 'undo');
CREATE TABLE note (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL,
                   at TEXT NOT NULL);
"""
_REMOVALS: Final = """
CREATE TABLE IF NOT EXISTS removal (id INTEGER PRIMARY KEY, path TEXT NOT NULL, rule TEXT NOT NULL, text TEXT NOT NULL,
                                    run INTEGER NOT NULL, at TEXT NOT NULL, UNIQUE (path, rule, text));
"""
_REPLIES: Final = "SELECT t.body, c.finish, c.performer, c.detail FROM call c JOIN text t ON t.hash = c.reply"
_CALLS: Final = (
    "SELECT c.path, c.role, c.performer, c.ordinal, t.body, c.finish, c.detail, c.at, c.request FROM call c "
    "JOIN text t ON t.hash = c.reply"
)
_LAST: Final = 2**63 - 1  # the largest id there can be
_VERSIONS: Final = "SELECT t.body, v.source, v.at FROM version v JOIN text t ON t.hash = v.text WHERE v.path = ?"
_RECORD: Final = (
    "INSERT OR IGNORE INTO call (key, path, ordinal, role, performer, request, reply, finish, detail, run, at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

_PINS: Final = ("pin", "pin", "pin", "unpin"), {"pin": "pinned"}
_EDITS: Final = (
    ("edit", "continue", "rewrite", "unedit"),
    {"edit": "edited", "continue": "continued", "rewrite": "rewritten"},
)
_SEVERAL: Final = {"pin-all": "pin", "fit-all": "fit"}  # a decision about several artefacts, and what each of them gets

DecisionKind: TypeAlias = Literal[
    "edit", "unedit", "pin", "unpin", "retake", "revise", "rewrite", "fit", "continue", "approve", "undo", "pin-all",
    "fit-all",
]  # fmt: skip


def call_key(request: Request, identity: str, ordinal: int, take: int = 0) -> str:
    """The identity of a call: path, rendered messages, model, sampling, schema, ordinal and take, as a SHA-256.

    Timeouts, retries and keys are no part of it, since they cannot change a reply.
    """
    body = request.body() | {"path": request.path, "model": identity, "ordinal": ordinal, "take": take}
    return _digest(json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


@lru_cache(maxsize=32)
def _digest(text: str) -> str:
    """The hash of a text; the last ones are kept, because a record needs each of its texts' twice."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """A finished call as recorded; `messages` are (role, text) pairs."""

    path: str
    role: str
    performer: str
    ordinal: int
    reply: Reply
    at: str
    messages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """One text an artefact has had, and its source (`Kept.source`); `number` counts from 1."""

    path: str
    number: int
    text: str
    source: str
    at: str

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

    `target` is the last call that was recorded before a "fit", and the last run before a "fit-all".
    """

    id: int
    path: str
    kind: DecisionKind
    text: str | None
    at: str
    target: int | None = None


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal:
    """An open journal. Use as a context manager; one per project, in the thread that opened it.

    Args:
        path: the database file; `None` keeps the journal in memory.
        now: gives the time stamp of a record (ISO 8601, UTC).
    """

    def __init__(self, path: Path | None = None, *, now: Callable[[], str] = _utc_now) -> None:
        self._path, self._now = path, now
        self._run = 0
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the file, making it where there is none.

        Raises:
            JournalDamagedError: the file is no valid database.
            JournalVersionError: a newer fabula wrote it.
            JournalError: the file cannot be opened or written.
        """
        with self._guard():
            db = sqlite3.connect(self._path or ":memory:", isolation_level=None, timeout=5.0)
            self._db = db
            self._prepare(db)  # first, so that another program's file is not touched
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Check the format, or make the tables of a new file."""
        (written,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != _APPLICATION_ID:
            self.close()
            raise JournalDamagedError(f"{self._path} is a database, but not a fabula journal. Move it away.")
        if written > FORMAT:
            self.close()
            raise JournalVersionError(
                f"A newer fabula wrote {self._path} (format {written}; this one reads {FORMAT}). Upgrade fabula."
            )
        if tables and written < FORMAT and not db.execute("SELECT 1 FROM call LIMIT 1").fetchone():
            db.execute(f"PRAGMA user_version = {FORMAT}")  # no call of an older format is in it
        if not tables:
            stamp = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
            db.executescript(f"BEGIN;{_SCHEMA}{stamp}COMMIT;")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'removal'").fetchone():
            db.executescript(_REMOVALS)  # not in the journals of a fabula that left notes of what it took out

    @property
    def older(self) -> bool:
        """Whether an older fabula recorded calls here, which do not answer what is asked today.

        Once all texts are pinned at once (a standing decision "pin-all"), nothing of them can be asked unseen.
        """
        written = self._all("PRAGMA user_version")[0][0]
        return bool(
            written < FORMAT and self.count() and not self._all("SELECT 1 FROM standing WHERE kind = 'pin-all'")
        )

    def check_current(self) -> None:
        """Refuse to go on from calls that an older fabula recorded, since everything would be asked and paid again.

        Raises:
            JournalVersionError: there are such calls; says how to go on.
        """
        if self.older:
            raise JournalVersionError(
                f"An older fabula wrote {self._path}: its recorded calls do not answer today's prompts, so that going "
                "on would ask and pay for everything again. Keep a story's texts with `fabula pin --all` and unpin "
                "what is to be written anew; begin anything else in a new folder."
            )

    def pin_all(self, paths: Sequence[str]) -> None:
        """Pin the newest texts of artefacts, as one decision of a person: `last_decisions` gives all of it."""
        self.decide("*", "pin-all", str(len(paths)))
        for path in paths:
            self.decide(path, "pin", self.newest(path))

    def fit_all(self, paths: Sequence[str]) -> None:
        """Record that the newest texts of artefacts are to be revised to fit, as one decision of a person."""
        calls, runs = self._all("SELECT (SELECT max(id) FROM call), (SELECT max(id) FROM run)")[0]
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

    def last_decisions(self) -> list[Decision]:
        """What one `undo` takes back, newest first: the last standing decision, or all of a `pin_all` or `fit_all`."""
        standing = self.decisions()
        marks = [n for n, decision in enumerate(standing) if decision.kind in _SEVERAL]
        whole = standing[marks[-1] :] if marks else []
        parts = [decision for decision in whole[1:] if decision.kind == _SEVERAL[whole[0].kind]]
        if whole and len(parts) == len(whole) - 1 == int(whole[0].text or 0):
            return whole[::-1]
        return standing[-1:]

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        where = self._path or "in memory"
        try:
            yield
        except sqlite3.OperationalError as error:
            self.close()
            raise JournalError(
                f"The journal {where} cannot be used ({error}). Check free space and permissions; all finished calls "
                "are kept, so the same command goes on from there."
            ) from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise JournalDamagedError(
                f"The journal {where} is damaged ({error}). Move it away: your texts in plan/ and story/ stay and are "
                "taken over as your own edits by the next run."
            ) from error

    def _all(self, sql: str, *values: object) -> list[Any]:
        if self._db is None:
            raise JournalError("The journal is closed. Open it before use.")
        with self._guard():
            return self._db.execute(sql, values).fetchall()

    def _write(self, *statements: tuple[str, Sequence[object]]) -> None:
        """Run statements as one transaction; when this returns they are committed."""
        if self._db is None:
            raise JournalError("The journal is closed. Open it before use.")
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for sql, values in statements:
                    self._db.execute(sql, values)
                self._db.execute("COMMIT")
            except sqlite3.Error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

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

    def end_run(self, error: str = "") -> None:
        """Record how the run ended; an empty `error` means that the story is whole."""
        self._write(("UPDATE run SET ended = ?, error = ? WHERE id = ?", (self._now(), error, self._run)))

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first: id, at, system, settings, ended (None while running or killed), error."""
        rows = self._all("SELECT id, at, system, settings, ended, error FROM run ORDER BY id")
        names = ("id", "at", "system", "settings", "ended", "error")
        return [dict(zip(names, row, strict=True)) | {"settings": json.loads(row[3])} for row in rows]

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

    # calls ----------------------------------------------------------------------------------------------------------

    def recorded(self, key: str) -> Reply | None:
        """The reply of the call `key`, or `None`."""
        rows = self._all(f"{_REPLIES} WHERE c.key = ?", key)
        return _reply(*rows[0]) if rows else None

    def last_at(self, path: str, ordinal: int) -> Reply | None:
        """The newest reply at a path and ordinal, whatever was asked; a dry run stands on it."""
        rows = self._all(f"{_REPLIES} WHERE c.path = ? AND c.ordinal = ? ORDER BY c.id DESC LIMIT 1", path, ordinal)
        return _reply(*rows[0]) if rows else None

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

    def record(self, key: str, request: Request, ordinal: int, reply: Reply) -> None:
        """Commit a finished call; a second record of the same key is ignored."""
        body = request.body()
        body["messages"] = [[m.role, _digest(m.content)] for m in request.messages]
        detail = {"usage": asdict(reply.usage), "sent": dict(reply.sent), "dropped": list(reply.dropped)}
        if reply.logprobs is not None:
            detail["logprobs"] = dict(reply.logprobs)
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
        )

    def calls(self, under: str = "") -> list[Call]:
        """All calls, oldest first, with their prompts; `under` keeps those at or below one path."""
        rows = self._all(f"{_CALLS} ORDER BY c.id")
        return [self._call(row) for row in rows if not under or _within(row[0], under)]

    def _call(self, row: Sequence[Any]) -> Call:
        path, role, performer, ordinal, text, finish, detail, at, request = row
        messages = tuple((who, self._body(digest)) for who, digest in json.loads(request)["messages"])
        return Call(path, role, performer, ordinal, _reply(text, finish, performer, detail), at, messages)

    def spent(self) -> dict[str, Usage]:
        """What the whole project has used so far, by role."""
        bill: dict[str, Usage] = {}
        for role, detail in self._all("SELECT role, detail FROM call ORDER BY id"):
            usage = Usage(**json.loads(detail)["usage"])
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

    def versions(self, path: str) -> list[Version]:
        """The versions of an artefact, oldest first."""
        rows = self._all(f"{_VERSIONS} ORDER BY v.id", path)
        return [Version(path, n, text, source, at) for n, (text, source, at) in enumerate(rows, 1)]

    def newest(self, path: str) -> str | None:
        """The newest text of an artefact."""
        rows = self._all(f"{_VERSIONS} ORDER BY v.id DESC LIMIT 1", path)
        return str(rows[0][0]) if rows else None

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
        self._write(*bodies, ("INSERT INTO decision (path, kind, text, target, at) VALUES (?, ?, ?, ?, ?)", row))

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
                return str(rows[0][1]), sources[rows[0][0]]
        return None

    def takes(self, path: str) -> int:
        """How often a person asked for another take of an artefact."""
        return int(self._all("SELECT count(*) FROM standing WHERE path = ? AND kind = 'retake'", path)[0][0])

    def approved(self, path: str, text: str) -> bool:
        """Whether a person approved this very text of an artefact."""
        sql = "SELECT 1 FROM standing WHERE path = ? AND kind = 'approve' AND text = ?"
        return bool(self._all(sql, path, _digest(text)))

    def decisions(self) -> list[Decision]:
        """All standing decisions, oldest first."""
        rows = self._all(
            "SELECT d.id, d.path, d.kind, t.body, d.at, d.target FROM standing d "
            "LEFT JOIN text t ON t.hash = d.text ORDER BY d.id"
        )
        return [Decision(*row) for row in rows]


def _within(path: str, under: str) -> bool:
    """Whether a path is another one or lies below it."""
    return path == under or path.startswith(f"{under}/")


def _reply(text: str, finish: Literal["stop", "length", "refusal"], performer: str, detail: str) -> Reply:
    details = json.loads(detail)
    return Reply(
        text,
        Usage(**details["usage"]),
        finish,
        performer,
        details["sent"],
        tuple(details["dropped"]),
        details.get("logprobs"),
    )
