"""What fabula itself last wrote to each file of a project: only a different text is an author's edit.

The record is stored next to the journal, and does not need it: `.fabula/written`, one JSON line per note. A text that
is about to be written is noted as intended, and is on the disk before the file gets its name; then it is noted as
written. Thus any text of fabula's is recognised after a kill, a full disk or a power cut. A line that a kill cut off is
ignored; a file without a note is only compared with the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import PRIVATE, append_synced, read_bytes, write_atomically
from fabula.story import plain

_SPARE_NOTES: Final = 200

_LARGEST: Final = 100_000_000  # bytes of the record


@dataclass
class _Notes:
    """The possible contents of one file, as digests: the text written last, and texts intended since."""

    artefact: str = ""
    digests: set[str] = field(default_factory=set)


class FolderRecord:
    """The record of a project folder; `load` reads it again. Only the process that holds the project may add to it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._notes: dict[str, _Notes] = {}
        self._lines = 0
        self._seen: tuple[int, int, int] | None = None

    def load(self) -> None:
        """Read the record; there is none if no file was ever written.

        Raises:
            ProjectError: it cannot be read.
        """
        status = self._file.stat() if self._file.exists() else None
        seen = status and (status.st_ino, status.st_size, status.st_mtime_ns)
        if seen and seen == self._seen:
            return
        self._notes, self._seen = {}, seen
        try:
            lines = read_bytes(self._file, _LARGEST).split(b"\n") if self._file.exists() else []
        except UsageError as error:
            raise ProjectError(str(error)) from error
        self._lines = len(lines)
        for line in lines:
            try:
                name, artefact, digest, written = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue  # a line that a kill cut off
            if isinstance(name, str) and isinstance(artefact, str) and isinstance(digest, str):
                self._take(name, artefact, digest, written=bool(written))

    def _take(self, name: str, artefact: str, digest: str, *, written: bool) -> None:
        notes = self._notes.setdefault(name, _Notes())
        notes.artefact = artefact
        if written:
            notes.digests = set()
        notes.digests.add(digest)

    def ours(self, name: str, text: str) -> bool:
        """Whether `text` in the file `name` is what fabula wrote there, or was about to write; blanks do not count."""
        notes = self._notes.get(name)
        return notes is not None and _digest(text) in notes.digests

    def settled(self, name: str, text: str) -> bool:
        """Whether `text` is the only text that fabula may have left in the file `name`."""
        notes = self._notes.get(name)
        return notes is not None and notes.digests == {_digest(text)}

    def artefact(self, name: str) -> str:
        """The path of the artefact that was written to the file `name`; empty if none was."""
        return self._notes[name].artefact if name in self._notes else ""

    def file_of(self, artefact: str) -> str:
        """The file to which an artefact was written last; empty if it never was."""
        return next((name for name, notes in reversed(self._notes.items()) if notes.artefact == artefact), "")

    def intend(self, *notes: tuple[str, str, str]) -> None:
        """Note what is about to be written, as (file, artefact, text); on the disk when this returns.

        Raises:
            ProjectError: it cannot be noted.
        """
        self._add(notes, written=False)

    def wrote(self, *notes: tuple[str, str, str]) -> None:
        """Note what files now contain, as (file, artefact, text): written, or applied from the author.

        Raises:
            ProjectError: it cannot be noted.
        """
        self._add(notes, written=True)

    def _add(self, notes: Iterable[tuple[str, str, str]], *, written: bool) -> None:
        rows = [(name, artefact, _digest(text), written) for name, artefact, text in notes]
        if not rows:
            return
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        append_synced(self._file, f"\n{lines}".encode(), sync=not written)  # a torn line before it ends here
        for name, artefact, digest, _ in rows:
            self._take(name, artefact, digest, written=written)
        self._lines += len(rows) + 1

    def compact(self) -> None:
        """Rewrite the record with the notes that still count, if most do not.

        Raises:
            ProjectError: it cannot be written; the old one stays.
        """
        if self._lines <= _SPARE_NOTES + 8 * len(self._notes):
            return
        rows = [
            (name, notes.artefact, digest, number == 0)
            for name, notes in self._notes.items()
            for number, digest in enumerate(sorted(notes.digests))
        ]
        write_atomically(self._file, "".join(json.dumps(row) + "\n" for row in rows), mode=PRIVATE)
        self._lines = len(rows)


def _digest(text: str) -> str:
    return sha256(plain(text).encode("utf-8", "replace")).hexdigest()
