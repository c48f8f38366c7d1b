"""The log of a session on disk: `chat/SESSION.jsonl`, one JSON object a line, only ever added to.

The first line says who talks, with which system. A last line that was cut off by a kill is left out and written over.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import write_atomically, write_error
from fabula.story import slug

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "chat"
FORMAT: Final = 1
_LONGEST: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session: its log, and the transcript that is written when it is asked for."""

    log: Path

    @classmethod
    def in_(cls, project: Path, name: str) -> SessionFiles:
        """Those of the session `name` in a project's folder.

        Raises:
            UsageError: the name cannot be a file's: give small letters, digits and hyphens, at most 60.
        """
        if not name or slug(name) != name:
            raise UsageError(f"{name!r} cannot name a session. Use small letters, digits and hyphens: {slug(name)!r}.")
        return cls(project / FOLDER / f"{name}.jsonl")

    @property
    def name(self) -> str:
        """Of the session."""
        return self.log.stem

    @property
    def transcript(self) -> Path:
        """The Markdown file beside the log."""
        return self.log.with_suffix(".md")

    def read(self) -> list[dict[str, Any]]:
        """The records, oldest first; none where there is no log.

        Raises:
            ProjectError: the log cannot be read, or is none.
        """
        if not self.log.exists():
            return []
        try:
            data = self.log.read_bytes()
        except OSError as error:
            raise ProjectError(f"Cannot read {self.log}: {error.strerror}. Mend its permissions.") from error
        whole, end, _ = data.rpartition(b"\n")
        records = [self._record(line, number) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]
        if len(whole + end) < len(data):  # what is left is a line that a kill cut off
            write_atomically(self.log, whole + end)
        if records and records[0].get("format") != FORMAT:
            raise ProjectError(
                f"{self.log} is no log of this fabula (format {records[0].get('format')!r}). Upgrade, or move it away."
            )
        return records

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            record = error
        if not isinstance(record, dict):
            raise ProjectError(f"{self.log}:{number} is no record of a session. Mend the line, or move the file away.")
        return record

    def append(self, record: dict[str, Any]) -> None:
        """Add a record; it survives the end of this process.

        Raises:
            ProjectError: it cannot be written.
        """
        data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(handle, data)
            finally:
                os.close(handle)
        except OSError as error:
            raise write_error(self.log, error) from error


def sessions_in(project: Path) -> list[str]:
    """Names of a project's sessions, the one that was last talked in first."""
    files = [file for file in (project / FOLDER).glob("*.jsonl") if file.is_file()]
    return [file.stem for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.stem))]
