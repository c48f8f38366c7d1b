"""Findings that a person has dismissed, with the reason: one line of JSON each, in a file that can be edited."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text, write_atomically
from fabula.craft.matching import parse_finding
from fabula.evaluators.atlas.findings import same_claim
from fabula.story import one_line

FILE: Final = "findings-dismissed.jsonl"
_MOST_BYTES: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Why a finding is not an error; `finding` is its sentence, or empty if unknown."""

    key: str
    reason: str
    finding: str = ""

    def is_of(self, finding: Mapping[str, Any]) -> bool:
        """Whether this finding was dismissed: it has the key, or makes the same claim about the same two sentences."""
        if finding["key"] == self.key:
            return True
        said = parse_finding(self.finding)
        if said is None or _sentences(self.key) != _sentences(finding["key"]):
            return False
        return same_claim((said.fact, said.event), (str(finding["fact"]), str(finding["event"])))


def _sentences(key: str) -> str:
    """The part of a key that is derived from its two sentences, or the whole key if it comes from an older check."""
    return key.partition("-")[0]


def read_dismissed(folder: Path) -> dict[str, Dismissal]:
    """The dismissals in the file in `folder`, by their keys; empty if there is no file.

    Raises:
        UsageError: a line is not a dismissal.
    """
    file = folder / FILE
    if not file.is_file():
        return {}
    lines = enumerate(read_text(file, _MOST_BYTES).splitlines(), 1)
    found = [_entry(line, f"{file}, line {number}") for number, line in lines if line.strip()]
    return {one.key: one for one in found}


def _entry(line: str, where: str) -> Dismissal:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and all(isinstance(data.get(name), str) and data[name] for name in ("key", "reason")):
        return Dismissal(data["key"], data["reason"], str(data.get("finding") or ""))
    raise UsageError(f'{where}: not of the form {{"key": "...", "reason": "..."}}. Correct the line or remove it.')


def write_dismissed(folder: Path, dismissals: Iterable[Dismissal]) -> Path:
    """Write the file again.

    Raises:
        ProjectError: it cannot be written.
    """
    file = folder / FILE
    lines = (asdict(one) | {"reason": one_line(one.reason)} for one in dismissals)
    write_atomically(file, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return file


def dismissed_of(dismissals: Iterable[Dismissal], findings: Iterable[Mapping[str, Any]]) -> dict[str, Dismissal]:
    """The dismissals of dismissed findings, by the keys of the findings."""
    known = {one.key: one for one in dismissals}
    found = {}
    for finding in findings:
        own = known.get(finding["key"]) or next((one for one in known.values() if one.is_of(finding)), None)
        if own is not None:
            found[str(finding["key"])] = own
    return found
