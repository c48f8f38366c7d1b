"""The texts of a project: their versions, their files, and what each was made from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fabula.base.characters import readable
from fabula.engine.journal.store import JournalStore, digest_of, storing

_VERSIONS: Final = "SELECT v.path, t.body, v.source, v.at, v.run, v.id FROM version v JOIN text t ON t.hash = v.text"


@dataclass(frozen=True, slots=True)
class Version:
    """A text that an artefact has had, and its source (`Kept.source`); `number` counts from 1.

    `run` is the run that kept the text; 0 if no run did, as for an author's own text. `id` is the position of the
    version among the versions of all artefacts.
    """

    path: str
    number: int
    text: str
    source: str
    at: str
    run: int = 0
    id: int = field(default=0, compare=False)

    @property
    def made(self) -> bool:
        """Whether the text was written for the author, which includes a revision of another text."""
        return self.source in ("made", "revised")


@dataclass(frozen=True, slots=True)
class MadeArtefact:
    """An artefact as it was made: its text and source, the keys of its calls, and what the run found while making it.

    `lengths` are the fewest and the most words asked for, by the place where they were asked for.
    """

    text: str
    source: str
    calls: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    lengths: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Artefacts:
    """The artefacts of a journal."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    # versions -------------------------------------------------------------------------------------------------------

    def keep(self, path: str, text: str, source: str) -> None:
        """Add a version of an artefact unless its newest one has the same text."""
        newest = self._store.all("SELECT text FROM version WHERE path = ? ORDER BY id DESC LIMIT 1", path)
        if newest and newest[0][0] == digest_of(text):
            return
        row = (path, digest_of(text), source, self._store.run, self._store.now())
        insert = "INSERT INTO version (path, text, source, run, at) VALUES (?, ?, ?, ?, ?)"
        self._store.write(storing(text), (insert, row))

    def versions(self, path: str = "") -> list[Version]:
        """The versions of one artefact or of all artefacts, oldest first."""
        where, values = ("WHERE v.path = ?", [path]) if path else ("", [])
        rows = self._store.all(f"{_VERSIONS} {where} ORDER BY v.id", *values)
        numbers: Counter[str] = Counter()
        found = []
        for of, text, source, at, run, number in rows:
            numbers[of] += 1
            found.append(Version(of, numbers[of], readable(text), source, at, run, number))
        return found

    def newest(self, path: str) -> str | None:
        """The newest text of an artefact."""
        rows = self._store.all(f"{_VERSIONS} WHERE v.path = ? ORDER BY v.id DESC LIMIT 1", path)
        return readable(str(rows[0][1])) if rows else None

    def newest_versions(self) -> dict[str, Version]:
        """The newest version of every artefact, by its path."""
        rows = self._store.all(f"{_VERSIONS} WHERE v.id IN (SELECT max(id) FROM version GROUP BY path)")  # noqa: S608 - our own words
        count = dict(self._store.all("SELECT path, count(*) FROM version GROUP BY path"))
        return {path: Version(path, count[path], readable(text), *more) for path, text, *more in rows}

    def paths(self) -> list[str]:
        """The paths of all artefacts that have a text, in alphabetical order."""
        return [str(path) for (path,) in self._store.all("SELECT DISTINCT path FROM version ORDER BY path")]

    # files ----------------------------------------------------------------------------------------------------------

    def place(self, path: str, file: str) -> None:
        """Record which project file an artefact is written to."""
        self._store.write(
            ("DELETE FROM artefact WHERE path = ? OR file = ?", (path, file)),
            ("INSERT INTO artefact VALUES (?, ?)", (path, file)),
        )

    def unplace(self, path: str) -> None:
        """Record that an artefact has no file any more."""
        self._store.write(("DELETE FROM artefact WHERE path = ?", (path,)))

    def places(self) -> dict[str, str]:
        """The project file of each artefact, by path, in order of file name."""
        return dict(self._store.all("SELECT path, file FROM artefact ORDER BY file"))

    # what was made of what ------------------------------------------------------------------------------------------

    def keep_beside(self, path: str, text: str, value: str) -> None:
        """Record a value made with a text of an artefact; a later value for the same text replaces it."""
        if self.beside(path, text) != (value, True):
            row = (path, digest_of(text), digest_of(value))
            self._store.write(storing(value), ("INSERT OR REPLACE INTO beside VALUES (?, ?, ?)", row))

    def beside(self, path: str, text: str) -> tuple[str, bool] | None:
        """The value made with a text of an artefact, and whether it was made with exactly this text.

        If this text has no value, the value of the newest text that has one is returned; `None` if no text has one.
        """
        rows = self._store.all(
            "SELECT t.body, b.text = ? FROM beside b JOIN text t ON t.hash = b.value WHERE b.path = ? ORDER BY 2 DESC, "
            "(SELECT max(v.id) FROM version v WHERE v.path = b.path AND v.text = b.text) DESC LIMIT 1",
            digest_of(text),
            path,
        )
        return (str(rows[0][0]), bool(rows[0][1])) if rows else None

    def record_made(self, path: str, of: str, made: MadeArtefact) -> None:
        """Record what was made at an artefact's path; `of` is the digest of everything that its line had read."""
        found = json.dumps([made.shortfalls, made.notices, made.lengths])
        row = (path, of, digest_of(made.text), made.source, json.dumps(made.calls), found)
        insert = "INSERT OR REPLACE INTO made (path, of, text, source, calls, found) VALUES (?, ?, ?, ?, ?, ?)"
        self._store.write(storing(made.text), (insert, row))

    def made(self, path: str, of: str | None = None) -> MadeArtefact | None:
        """What was made at a path from the material whose digest is `of`.

        Without `of`, what was made last; a text made without the author's notes is preferred if there is one.
        """
        where = "m.path = ?" if of is None else "m.path = ? AND m.of = ?"
        rows = self._store.all(
            f"SELECT t.body, m.source, m.calls, m.found FROM made m JOIN text t ON t.hash = m.text WHERE {where} "  # noqa: S608 - our own words
            "ORDER BY m.source = 'made' DESC, m.id DESC LIMIT 1",
            *([path] if of is None else [path, of]),
        )
        if not rows:
            return None
        with self._store.reading("what was made"):
            text, source, calls, found = rows[0]
            shortfalls, notices, lengths = json.loads(found)
            spans = {place: (low, high) for place, (low, high) in lengths.items()}
            return MadeArtefact(
                readable(text), source, tuple(json.loads(calls)), tuple(shortfalls), tuple(notices), spans
            )
