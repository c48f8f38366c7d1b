"""The world's file: an SQLite database with one transaction per change, readable by any tool.

Queries are answered from memory (`Index`); the file only stores the facts. The file is written in WAL mode, so the last
complete change survives if the process is killed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.database import connected
from fabula.base.errors import ProjectError
from fabula.story.world.chains import place
from fabula.story.world.facts import Alias, Closing, Entity, Fact, Moment

if TYPE_CHECKING:
    from fabula.story.world.index import Index


FORMAT: Final = 2
_APPLICATION_ID: Final = 0x0FAB_01A1
_FACT: Final = (
    "id", "subject", "owner", "slot", "place", "plane", "value", "value_norm", "polarity", "modality", "source",
    "told_scene", "told_offset", "char_start", "char_end", "quote", "story_from", "story_to", "durability",
    "confidence", "witnesses", "about", "change", "step", "origin", "restates", "closed_by", "closed_scene",
    "closed_offset", "close_reason", "withdrawn",
)  # fmt: skip
_INSERT: Final = f"INSERT INTO fact ({', '.join(_FACT)}) VALUES ({', '.join('?' * len(_FACT))})"  # noqa: S608 - our own names
_UPDATE: Final = (
    "UPDATE fact SET owner = ?, place = ?, plane = ?, value_norm = ?, restates = ?, closed_by = ?, "
    "closed_scene = ?, closed_offset = ?, close_reason = ?, withdrawn = ? WHERE id = ?"
)
_SCHEMA: Final = """
CREATE TABLE fact (id INTEGER PRIMARY KEY, subject TEXT NOT NULL, owner TEXT NOT NULL, slot TEXT NOT NULL,
  place TEXT NOT NULL, plane TEXT NOT NULL, value TEXT NOT NULL, value_norm TEXT NOT NULL, polarity INTEGER NOT NULL,
  modality TEXT NOT NULL, source TEXT NOT NULL, told_scene INTEGER NOT NULL, told_offset INTEGER NOT NULL,
  char_start INTEGER, char_end INTEGER, quote TEXT NOT NULL, story_from TEXT NOT NULL, story_to TEXT NOT NULL,
  durability TEXT NOT NULL, confidence REAL NOT NULL, witnesses TEXT, about TEXT NOT NULL, change TEXT NOT NULL,
  step INTEGER, origin TEXT NOT NULL, restates INTEGER, closed_by INTEGER, closed_scene INTEGER,
  closed_offset INTEGER, close_reason TEXT, withdrawn TEXT NOT NULL);
CREATE INDEX fact_told ON fact (told_scene);
CREATE TABLE slot (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE entity (id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, first_scene INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE alias (surface TEXT PRIMARY KEY, name TEXT NOT NULL, entity TEXT NOT NULL, scene INTEGER NOT NULL,
  reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learned (fact INTEGER NOT NULL, who TEXT NOT NULL, scene INTEGER NOT NULL, offset INTEGER NOT NULL);
CREATE TABLE scene (no INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE step (no INTEGER PRIMARY KEY, scene INTEGER NOT NULL, offset INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class SceneRow:
    """A scene to which facts refer; `hash` is the hash of the scene's text."""

    no: int
    title: str
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """A committed step of a run, and the place where it is told."""

    no: int
    at: Moment


@dataclass(slots=True)
class WorldBatch:
    """A change of the world, which is made either completely or not at all.

    Attributes:
        new: the facts to record for the first time.
        changed: the facts whose state changed.
    """

    new: list[Fact] = field(default_factory=list)
    changed: list[Fact] = field(default_factory=list)
    many: list[str] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    same: dict[str, Alias] = field(default_factory=dict)
    learned: list[tuple[int, str, Moment]] = field(default_factory=list)
    scenes: list[SceneRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)


class WorldStore:
    """The open file; with `None`, the data is kept in memory.

    Raises:
        ProjectError: any method raises this error if the file cannot be read or written, is damaged, or is not a fabula
            file.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file, or create it if it does not exist.

        Raises:
            ProjectError: the file cannot be opened, is not a fabula world, or was written by a newer version of fabula.
        """
        with self._guard():
            db = self._db = connected(self._path, _SCHEMA)
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (written,) = db.execute("PRAGMA user_version").fetchone()
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                stamp = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
                db.executescript(f"BEGIN;{_SCHEMA}{stamp}COMMIT;")
            elif application != _APPLICATION_ID:
                self.close()
                raise ProjectError(f"{self._path} is a database, but not a fabula world. Move it away.")
            elif written != FORMAT:
                self.close()
                who, what = ("A newer", "Upgrade fabula.") if written > FORMAT else ("An older", "Move it away.")
                raise ProjectError(
                    f"{who} fabula wrote {self._path} (format {written}; this one reads {FORMAT}). {what}"
                )
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA wal_autocheckpoint = 8000")  # pages; every copy into the file rewrites its indexes
            db.execute("PRAGMA cache_size = -64000")  # kibibytes

    def close(self) -> None:
        """Close the file; it is safe to call this method twice."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _guard(self) -> Iterator[None]:
        where = self._path or "in memory"
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            raise ProjectError(
                f"The world {where} cannot be used ({error}). Check free space and permissions, and that no other run "
                "is using it; all complete changes are kept."
            ) from error
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            self.close()
            raise ProjectError(
                f"The world {where} is damaged ({error}). Move it away; a run of its system rebuilds it from the "
                "journal, and `fabula world --import FILE` imports your own facts again."
            ) from error

    def rows(self, sql: str, *values: object) -> list[Any]:
        """The rows that a query returns.

        Raises:
            ProjectError: the world is not open.
        """
        if self._db is None:
            raise ProjectError("The world is closed. Open it before use.")
        with self._guard():
            return self._db.execute(sql, values).fetchall()

    def facts(self) -> list[Fact]:
        """All facts, in the order in which they were recorded."""
        rows = self.rows(f"SELECT {', '.join(_FACT)} FROM fact ORDER BY id")  # noqa: S608 - our own names
        with self._guard():
            return [_fact(row) for row in rows]

    def write(self, batch: WorldBatch, index: Index) -> None:
        """Make a change completely; the change is committed when this method returns.

        Raises:
            ProjectError: the world is not open or cannot be written; the world is then unchanged.
        """
        if self._db is None:
            raise ProjectError("The world is closed. Open it before use.")
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for sql, rows in _statements(batch, index):
                    if rows:  # a step of MAGNET makes rows for two statements of nine
                        self._db.executemany(sql, rows)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _statements(batch: WorldBatch, index: Index) -> Iterator[tuple[str, list[Sequence[object]]]]:
    """What a batch writes."""
    yield (
        "INSERT OR REPLACE INTO entity VALUES (?, ?, ?, ?)",
        [(key, e.name, e.kind, e.scene) for key, e in batch.entities.items()],
    )
    yield (
        "INSERT OR REPLACE INTO alias VALUES (?, ?, ?, ?, ?)",
        [(key, s.name, s.entity, s.scene, s.reason) for key, s in batch.same.items()],
    )
    yield "INSERT OR IGNORE INTO slot VALUES (?)", [(name,) for name in batch.many]
    yield _UPDATE, [_state(fact, index) for fact in batch.changed]
    yield _INSERT, [_row(fact, index) for fact in batch.new]
    yield "INSERT INTO learned VALUES (?, ?, ?, ?)", [(fact, who, *at) for fact, who, at in batch.learned]
    yield "INSERT OR REPLACE INTO scene VALUES (?, ?, ?, ?)", [(s.no, s.title, s.text, s.hash) for s in batch.scenes]
    yield "INSERT INTO step (no, scene, offset) VALUES (?, ?, ?)", [(s.no, *s.at) for s in batch.steps]


def _closing(fact: Fact) -> tuple[object, ...]:
    ended = fact.closed
    closing = (ended.by, *ended.at, ended.reason) if ended else (None, None, None, None)
    return (fact.restates, *closing, fact.withdrawn)


def _state(fact: Fact, index: Index) -> tuple[object, ...]:
    owner, slot, plane = index.key(fact)
    return (owner, place(fact, many=index.holds_many(slot)), plane, fact.norm, *_closing(fact), fact.id)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _row(fact: Fact, index: Index) -> tuple[object, ...]:
    owner, slot, plane = index.key(fact)
    return (
        fact.id,
        fact.subject,
        owner,
        fact.slot,
        place(fact, many=index.holds_many(slot)),
        plane,
        _json(fact.value),
        fact.norm,
        fact.polarity,
        fact.modality,
        fact.source,
        *fact.told,
        *(fact.span or (None, None)),
        fact.quote,
        fact.story_from,
        fact.story_to,
        fact.durability,
        fact.confidence,
        None if fact.witnesses is None else _json(fact.witnesses),
        _json(fact.about) if fact.about else "[]",
        fact.change,
        fact.step,
        fact.origin,
        *_closing(fact),
    )


def _fact(row: Sequence[Any]) -> Fact:
    """A row of `_FACT` as a fact."""
    (number, subject, _owner, slot, _place, _plane, value, _norm, polarity, modality, source, scene, offset, start, end,
     quote, story_from, story_to, durability, confidence, witnesses, about, change, step, origin, restates, by,
     closed_scene, closed_offset, reason, withdrawn) = row  # fmt: skip
    found = json.loads(value)
    return Fact(
        subject,
        slot,
        tuple(found) if isinstance(found, list) else found,
        Moment(scene, offset),
        bool(polarity),
        modality,
        source,
        durability,
        None if witnesses is None else tuple(json.loads(witnesses)),
        () if about == "[]" else tuple(json.loads(about)),
        story_from,
        story_to,
        quote,
        None if start is None else (start, end),
        confidence,
        change,
        step,
        origin,
        number,
        restates,
        None if by is None else Closing(by, Moment(closed_scene, closed_offset), reason),
        withdrawn,
    )


def entities_of(store: WorldStore) -> Mapping[str, Entity]:
    """The entities by caseless name, without their aliases."""
    rows = store.rows("SELECT id, name, type, first_scene FROM entity")
    return {key: Entity(name, kind, (), scene) for key, name, kind, scene in rows}
