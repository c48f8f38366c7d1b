"""Journals as lines of JSON: recorded from a real model once, compared and replayed ever after."""

from __future__ import annotations

import json

from fabula.engine.journal import Journal
from fabula.engine.journal.store import digest_of, storing

_FIELDS = ("key", "path", "ordinal", "role", "performer", "request", "reply", "finish", "detail")
_INSERT = (
    "INSERT INTO call (key, path, ordinal, role, performer, request, reply, finish, detail, run, at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')"
)


def dump(journal: Journal) -> str:
    """The calls of a journal, oldest first, one JSON object a line; the reply as text."""
    rows = journal._store.all(
        "SELECT c.key, c.path, c.ordinal, c.role, c.performer, c.request, t.body, c.finish, c.detail "
        "FROM call c JOIN text t ON t.hash = c.reply ORDER BY c.id"
    )
    return "".join(json.dumps(dict(zip(_FIELDS, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)


def load(text: str) -> Journal:
    """An open journal in memory that holds the calls of `dump`."""
    journal = Journal()
    journal.open()
    for line in text.splitlines():
        row = json.loads(line)
        body, digest = row["reply"], digest_of(row["reply"])
        values = [digest if name == "reply" else row[name] for name in _FIELDS]
        journal._store.write(
            storing(body),
            (_INSERT, values),
        )
    return journal
