"""The findings of a check for other programs: SARIF 2.1.0 and GitHub workflow annotations."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import quote

from fabula.app.facts_shown import story_parts
from fabula.app.item_files import MAX_STORY_BYTES
from fabula.base.version import __version__
from fabula.data.story_files import LINES, text_of
from fabula.evaluators.atlas.findings import CATEGORIES
from fabula.evaluators.atlas.page import all_findings, headline
from fabula.project.folder import ProjectFolder
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.app.checking import Checked


Format: TypeAlias = Literal["text", "sarif", "github"]
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"certain": "error", "likely": "warning"}
_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}


@dataclass(frozen=True)
class _File:
    """A file with a text of the story; `text` is empty if its lines differ from those that were checked."""

    name: str
    text: str

    @cached_property
    def _ends(self) -> list[int]:
        return [found.start() for found in re.finditer("\n", self.text)]

    def at(self, place: int) -> tuple[int, int]:
        """The line and column of a place, counted from 1."""
        line = bisect_left(self._ends, place)
        return line + 1, place - (self._ends[line - 1] if line else -1)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a passage: its file, line and column, counted from 1; 0 if they are unknown."""

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


def as_sarif(found: Checked, sources: Sequence[Path]) -> dict[str, Any]:
    """A SARIF 2.1.0 log in which each finding has both places; dismissed findings are suppressed, with the reason."""
    results = [_result(one, found.dismissed, places) for one, places in _placed(found, sources)]
    rules = [
        {"id": name, "shortDescription": {"text": f"Contradiction: {meaning}"}} for name, meaning in CATEGORIES.items()
    ]
    driver = {"name": "fabula check", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": found.complete}],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def as_annotations(found: Checked, sources: Sequence[Path]) -> str:
    """A line for each finding that is not dismissed, as a command that GitHub workflows read from the output."""
    lines = []
    for one, (before, after) in _placed(found, sources):
        if one["key"] not in found.dismissed:
            said = (
                f"{headline(one)}. {one['reason']} (The other place: {_in_words(before, one, 'x')}. Key {one['key']}.)"
            )
            fields = {"file": after.file, "line": after.line, "endLine": after.end_line, "title": one["category"]}
            shown = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in fields.items() if value)
            lines.append(f"::{_COMMANDS[_level(one)]} {shown}::{_escaped(one_line(said))}\n")
    return "".join(lines)


def _level(one: Mapping[str, Any]) -> str:
    return _LEVELS.get(str(one.get("sure")), "note")


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(sign):02X}" if sign in f"%\r\n{more}" else sign for sign in text)


def _in_words(place: _Place, one: Mapping[str, Any], side: str) -> str:
    return f"{place.file}, line {place.line}" if place.line else f"paragraph {one[f'paragraph_{side}']}"


def _result(one: Mapping[str, Any], dismissed: Mapping[str, str], places: tuple[_Place, _Place]) -> dict[str, Any]:
    before, after = places
    result: dict[str, Any] = {
        "ruleId": one["category"] if one["category"] in CATEGORIES else "other",
        "level": _level(one),
        "message": {"text": one_line(f"{headline(one)}. {one['reason']}")},
        "locations": [_location(after)],
        "relatedLocations": [_location(before) | {"id": 1, "message": {"text": one_line(str(one["fact"]))}}],
        "partialFingerprints": {"fabulaFinding/v1": one["key"]},
    }
    if one["key"] in dismissed:
        result["suppressions"] = [{"kind": "external", "justification": dismissed[one["key"]]}]
    return result


def _location(place: _Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place.file)}}
    if place.line:
        ends = {"endLine": place.end_line, "endColumn": place.end_column}
        physical["region"] = {"startLine": place.line, "startColumn": place.column} | ends
    return {"physicalLocation": physical}


def _placed(found: Checked, sources: Sequence[Path]) -> Iterator[tuple[Mapping[str, Any], tuple[_Place, _Place]]]:
    """Each finding with its two places."""
    for story in found.stories:
        own = [path for path in sources if path.is_dir() or path.resolve().stem == story["id"]]
        files = [file for path in own for file in _files(path)]
        for one in all_findings(story):
            yield one, (_place(one, "x", files), _place(one, "y", files))


def _files(path: Path) -> list[_File]:
    if path.is_dir():
        parts = story_parts(ProjectFolder.open(path)) if (path / "brief.md").is_file() else ()
        return [_File((path / part.file).as_posix(), part.text) for part in parts]
    is_text = path.suffix.casefold() in LINES and path.is_file()
    return [_File(path.as_posix(), text_of(path, MAX_STORY_BYTES) if is_text else "")]


def _place(one: Mapping[str, Any], side: str, files: Sequence[_File]) -> _Place:
    """The place of a passage in the files: on the line that the check read, or else its first occurrence."""
    passage = one[f"passage_{side}"]
    sentence, (low, high) = str(passage["text"]), passage["focus"]
    line = int(one.get(f"line_{side}") or 0)
    for file in files:
        if found := [*_all(file.text, sentence)]:
            at = min(found, key=lambda at: abs(file.at(at + low)[0] - line)) if line else found[0]
            return _Place(file.name, *file.at(at + low), *file.at(at + max(high, low + 1)))
    return _Place(files[0].name if files else str(one["key"]))


def _all(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece) if piece else -1
    while at >= 0:
        yield at
        at = text.find(piece, at + len(piece))
