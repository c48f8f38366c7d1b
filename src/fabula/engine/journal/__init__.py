"""The record of a project: every call, decision and version, in one SQLite file (WAL).

What is asked once is never paid for twice: a call is known by what can change its reply (`call_key`), a finished
call is committed before its text is used, and failures are never stored. Nothing is overwritten: versions and
decisions are only added.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from fabula.engine.journal.artefacts import Artefacts, MadeArtefact, Version
from fabula.engine.journal.calls import Call, CallFilter, Calls, Payment, Removal, call_key, spent_by_role
from fabula.engine.journal.decisions import Decision, DecisionKind, Decisions, Done
from fabula.engine.journal.store import FORMAT, JournalStore, make_small

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = [
    "FORMAT",
    "Call",
    "CallFilter",
    "Decision",
    "DecisionKind",
    "Done",
    "Journal",
    "MadeArtefact",
    "Payment",
    "Removal",
    "Version",
    "call_key",
    "make_small",
    "spent_by_role",
]


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal:
    """An open journal. Use as a context manager; one per project, in the thread that opened it.

    Args:
        path: the database file; `None` keeps the journal in memory.
        now: gives the time stamp of a record (ISO 8601, UTC).
        command: what is decided under one such name, which no other command has, is taken back as one; without it
            each decision is for itself.
        small: it is one of very many; see `JournalStore`.

    Attributes:
        calls: what was asked, answered and paid.
        artefacts: the texts, their files, and what they were made of.
        decisions: what a person decided about texts.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        now: Callable[[], str] = _utc_now,
        command: str = "",
        small: bool = False,
    ) -> None:
        self._store = JournalStore(path, now, small=small)
        self.calls, self.artefacts = Calls(self._store), Artefacts(self._store)
        self.decisions = Decisions(self._store, command)

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
        self._store.open()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._store.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All that is recorded inside is recorded together at the end, or, if that is not reached, not at all."""
        return self._store.transaction()

    def take_calls(self, other: Path) -> int:
        """Copy the calls of another journal that are not here, with what was lost or given up there; how many.

        Raises:
            JournalError: one of the journals cannot be used.
        """
        with Journal(other):  # says what is wrong with it
            pass
        return self._store.take_calls(other)

    def start_run(self, system: str, settings: dict[str, Any]) -> int:
        """Record that a run begins; later records carry its number, which is returned."""
        store, shown = self._store, json.dumps(settings, sort_keys=True, default=str)
        store.write(("INSERT INTO run (at, system, settings) VALUES (?, ?, ?)", (store.now(), system, shown)))
        store.run = int(store.all("SELECT max(id) FROM run")[0][0])
        return store.run

    def end_run(self, error: str = "", found: dict[str, Any] | None = None) -> None:
        """Record how the run ended, and what it `found` beside its settings; an empty `error`: the story is whole."""
        store = self._store
        with store.reading("the settings of a run"):
            settings = json.loads(store.all("SELECT settings FROM run WHERE id = ?", store.run)[0][0])
        shown = json.dumps(settings | (found or {}), sort_keys=True, default=str)
        row = (store.now(), error, shown, store.run)
        store.write(("UPDATE run SET ended = ?, error = ?, settings = ? WHERE id = ?", row))

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first: id, at, system, settings, ended (None while running or killed), error."""
        rows = self._store.all("SELECT id, at, system, settings, ended, error FROM run ORDER BY id")
        names = ("id", "at", "system", "settings", "ended", "error")
        with self._store.reading("the settings of a run"):
            return [dict(zip(names, row, strict=True)) | {"settings": json.loads(row[3])} for row in rows]

    def last_settings(self, having: str = "") -> dict[str, Any] | None:
        """The settings of the newest run that came to its end, waits for a person, or left a call or a text.

        With `having`, of the newest one that recorded something under that name.
        """
        rows = self._store.all(
            "SELECT settings FROM run r WHERE (error = '' OR EXISTS (SELECT 1 FROM call WHERE run = r.id) "
            "OR EXISTS (SELECT 1 FROM version WHERE run = r.id) OR json_extract(settings, '$.waits') IS NOT NULL) "
            "AND (? = '' OR json_extract(settings, '$.' || ?) IS NOT NULL) ORDER BY id DESC LIMIT 1",
            having,
            having,
        )
        with self._store.reading("the settings of a run"):
            return dict(json.loads(rows[0][0])) if rows else None
