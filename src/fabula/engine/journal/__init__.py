"""The record of a project: every call, decision and version, in one SQLite file (WAL).

No call is paid for twice: a call is identified by everything that can change its reply (`call_key`), a finished call is
committed before its text is used, and failures are never stored. Nothing is overwritten: versions and decisions are
only added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fabula.engine.journal.artefacts import Artefacts, MadeArtefact, Version
from fabula.engine.journal.calls import Call, CallFilter, Calls, Payment, Removal, call_key, spent_by_role
from fabula.engine.journal.decisions import Decision, DecisionKind, Decisions, Done
from fabula.engine.journal.store import FORMAT, JournalStore, make_small

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


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
    """An open journal. Use it as a context manager, one per project, in the thread that opened it.

    Args:
        path: the database file; `None` keeps the journal in memory.
        now: a function that gives the time stamp of a record (ISO 8601, UTC).
        command: a unique name of the command; all decisions under that name are taken back together. Without a name,
            each decision is taken back separately.
        small: whether the journal is one of very many; see `JournalStore`.

    Attributes:
        calls: the prompts, the replies and what they cost.
        artefacts: the texts, their files, and what they were made from.
        decisions: a person's decisions about texts.
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
        """Open the file, and create it if it does not exist. If it cannot be written, it is opened only for reading.

        Raises:
            JournalDamagedError: the file is not a valid database.
            JournalVersionError: a newer or an older fabula wrote the file.
            JournalError: the file cannot be opened or written.
        """
        self._store.open()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._store.close()

    def transaction(self) -> AbstractContextManager[None]:
        """A context whose records are written together at its end, or not at all if the end is not reached."""
        return self._store.transaction()

    def take_calls(self, other: Path, below: Sequence[str] | None = None) -> int:
        """Copy the calls that only another journal has, with its losses and failed tries, and return their number.

        With `below`, only calls answered below those paths are copied.

        Raises:
            JournalError: one of the journals cannot be used.
        """
        with Journal(other):  # says what is wrong with it
            pass
        return self._store.take_calls(other, below)

    def start_run(self, system: str, settings: dict[str, Any]) -> int:
        """Record that a run begins, and return its number, which later records carry."""
        store, shown = self._store, json.dumps(settings, sort_keys=True, default=str)
        store.write(("INSERT INTO run (at, system, settings) VALUES (?, ?, ?)", (store.now(), system, shown)))
        store.run = int(store.all("SELECT max(id) FROM run")[0][0])
        return store.run

    def end_run(self, error: str = "", found: dict[str, Any] | None = None) -> None:
        """Record how the run ended, and add `found` to its settings; an empty `error` means that the story is whole."""
        store = self._store
        with store.reading("the settings of a run"):
            settings = json.loads(store.all("SELECT settings FROM run WHERE id = ?", store.run)[0][0])
        shown = json.dumps(settings | (found or {}), sort_keys=True, default=str)
        row = (store.now(), error, shown, store.run)
        store.write(("UPDATE run SET ended = ?, error = ?, settings = ? WHERE id = ?", row))

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first: id, at, system, settings, ended (`None` while running or if killed), error."""
        rows = self._store.all("SELECT id, at, system, settings, ended, error FROM run ORDER BY id")
        names = ("id", "at", "system", "settings", "ended", "error")
        with self._store.reading("the settings of a run"):
            return [dict(zip(names, row, strict=True)) | {"settings": json.loads(row[3])} for row in rows]

    def last_settings(self, having: str = "") -> dict[str, Any] | None:
        """The settings of the newest run that was completed, waits for a person, or left a call or a text.

        With `having`, only runs that recorded something under that name count.
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
