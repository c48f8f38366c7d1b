"""Findings that a person has dismissed, with the reason: one line of JSON each, in a file to be read and edited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text, write_atomically
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE: Final = "findings-dismissed.jsonl"
_MOST_BYTES: Final = 20_000_000


def read_dismissed(folder: Path) -> dict[str, str]:
    """The reasons by the findings' keys, of the file in `folder`; nothing where there is none.

    Raises:
        UsageError: a line is no dismissal.
    """
    file = folder / FILE
    if not file.is_file():
        return {}
    found = {}
    for number, line in enumerate(read_text(file, _MOST_BYTES).splitlines(), 1):
        if line.strip():
            key, reason = _entry(line, f"{file}, line {number}")
            found[key] = reason
    return found


def _entry(line: str, where: str) -> tuple[str, str]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and all(isinstance(data.get(name), str) and data[name] for name in ("key", "reason")):
        return data["key"], data["reason"]
    raise UsageError(f'{where}: not of the form {{"key": "...", "reason": "..."}}. Correct the line or remove it.')


def write_dismissed(folder: Path, reasons: Mapping[str, str], sentences: Mapping[str, str]) -> Path:
    """Write the file anew, each finding's sentence beside its reason where it is known.

    Raises:
        ProjectError: it cannot be written.
    """
    file = folder / FILE
    kept = _sentences(file) | dict(sentences)
    lines = [{"key": key, "reason": one_line(reason), "finding": kept.get(key, "")} for key, reason in reasons.items()]
    write_atomically(file, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return file


def _sentences(file: Path) -> dict[str, str]:
    """The sentences that stand in the file already."""
    if not file.is_file():
        return {}
    entries = (json.loads(line) for line in read_text(file, _MOST_BYTES).splitlines() if line.strip())
    return {entry["key"]: str(entry.get("finding", "")) for entry in entries}
