"""Reading data files: JSON and JSON lines, plain or gzipped, bounded; what is wrong is named by file and line."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import UsageError

MAX_FILE_BYTES: Final = 200_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a data file, and where it stands; fields are read with their types checked.

    Attributes:
        where: file and line, for messages.
    """

    where: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """The text in a field.

        Raises:
            UsageError: there is none.
        """
        return str(self._get(name, str, "a text"))

    def integer(self, name: str) -> int:
        """The whole number in a field.

        Raises:
            UsageError: there is none.
        """
        return int(self._get(name, int, "a whole number"))

    def number(self, name: str) -> float:
        """The finite number in a field.

        Raises:
            UsageError: there is none.
        """
        value = float(self._get(name, (int, float), "a number"))
        if not math.isfinite(value):
            raise UsageError(
                f"{self.where}: {name!r} is {value}, not a finite number. Correct the file or fetch it again."
            )
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """The list of texts in a field.

        Raises:
            UsageError: there is none, or an entry is not text.
        """
        return tuple(str(self._checked(name, entry, str, "a list of texts")) for entry in self._list(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """The list of finite numbers in a field.

        Raises:
            UsageError: there is none, or an entry is not a finite number.
        """
        return tuple(Record(self.where, {name: entry}).number(name) for entry in self._list(name))

    def rows(self, name: str) -> tuple[tuple[float, ...], ...]:
        """The table in a field: rows of finite numbers, all of one length.

        Raises:
            UsageError: there is none, or its rows differ in length.
        """
        rows = tuple(Record(self.where, {name: entry}).numbers(name) for entry in self._list(name))
        if len({len(row) for row in rows}) > 1:
            raise UsageError(
                f"{self.where}: the rows of {name!r} differ in length. Correct the file or fetch it again."
            )
        return rows

    def record(self, name: str) -> Record:
        """The object in a field.

        Raises:
            UsageError: there is none.
        """
        return Record(f"{self.where}, {name}", self._get(name, dict, "an object"))

    def records(self, name: str) -> tuple[Record, ...]:
        """The list of objects in a field.

        Raises:
            UsageError: there is none, or an entry is not an object.
        """
        entries = [self._checked(name, entry, dict, "a list of objects") for entry in self._list(name)]
        return tuple(Record(f"{self.where}, {name}", entry) for entry in entries)

    def _list(self, name: str) -> Sequence[Any]:
        return list(self._get(name, list, "a list"))

    def _get(self, name: str, kind: Any, what: str) -> Any:  # noqa: ANN401 - JSON of any kind
        if name not in self.fields:
            raise UsageError(f"{self.where}: there is no {name!r}. Correct the file or fetch it again.")
        return self._checked(name, self.fields[name], kind, what)

    def _checked(self, name: str, value: Any, kind: Any, what: str) -> Any:  # noqa: ANN401 - JSON of any kind
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"{self.where}: {name!r} is not {what}. Correct the file or fetch it again.")
        return value


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in `folder`, plain or gzipped; a name with `*` gives the first that fits. `None` if absent."""
    for pattern in (name, f"{name}.gz"):
        found = sorted(folder.glob(pattern)) if "*" in pattern else [folder / pattern]
        if found and found[0].is_file():
            return found[0]
    return None


def first(folder: Path, *names: str) -> Path | None:
    """The first of several files that is in `folder`, as `find`: a set may be laid out in more than one way."""
    return next((path for path in (find(folder, name) for name in names) if path), None)


def wanted(folder: Path, *names: str) -> Path:
    """As `first`, for a file that must be there.

    Raises:
        UsageError: none of them is.
    """
    path = first(folder, *names)
    if path is None:
        named = " or ".join(names)
        raise UsageError(f"There is no {folder / named}, also not as .gz. Give the folder that holds the data.")
    return path


def json_records(path: Path) -> tuple[Record, ...]:
    """The objects of a file: a JSON list of them, or, by its name, JSON lines.

    Raises:
        UsageError: the file cannot be read, or holds something else.
    """
    lines = path.name.removesuffix(".gz").endswith(".jsonl")
    return tuple(json_lines(path)) if lines else json_list(path)


def read_bounded(path: Path, limit: int = MAX_FILE_BYTES) -> str:
    """The text of a file, unpacked where its name ends in .gz, of at most `limit` bytes.

    Raises:
        UsageError: it cannot be read or unpacked, is larger when unpacked, or is not UTF-8.
    """
    try:
        with path.open("rb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as packed:
                    data = packed.read(limit + 1)
            else:
                data = raw.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"Cannot read {path}: {error}. Fetch the file again.") from error
    if len(data) > limit:
        raise UsageError(f"{path} has more than {limit:,} bytes. It is not the expected file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}). Fetch the file again.") from error


def json_lines(path: Path) -> Iterator[Record]:
    """The objects of a file with one on each line; blank lines are skipped.

    Raises:
        UsageError: the file cannot be read, or a line is not an object; says which.
    """
    yield from parse_lines(read_bounded(path), str(path))


def parse_lines(text: str, name: str) -> Iterator[Record]:
    """As `json_lines`, for a text; `name` is what messages call it.

    Raises:
        UsageError: a line is not an object; says which.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield parse_object(line, f"{name}, line {number}")


def json_object(path: Path) -> Record:
    """The one object of a JSON file.

    Raises:
        UsageError: the file cannot be read, or holds something else.
    """
    return parse_object(read_bounded(path), str(path))


def json_list(path: Path) -> tuple[Record, ...]:
    """The objects of a JSON file that holds a list of them.

    Raises:
        UsageError: the file cannot be read, or holds something else.
    """
    whole = Record(str(path), {"list": _parsed(read_bounded(path), str(path))})
    return tuple(Record(f"{path}, entry {n}", entry.fields) for n, entry in enumerate(whole.records("list"), 1))


def parse_object(text: str, where: str) -> Record:
    """The object in a text; `where` is what messages call it.

    Raises:
        UsageError: the text is not a JSON object.
    """
    data = _parsed(text, where)
    if not isinstance(data, dict):
        raise UsageError(f"{where}: not a JSON object. Correct it, or fetch the file again.")
    return Record(where, data)


def _parsed(text: str, where: str) -> Any:  # noqa: ANN401 - JSON of any kind
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON ({error}). Correct it, or fetch the file again.") from error


def unique(records: Sequence[tuple[str, Record]]) -> None:
    """See that no two records have one key.

    Raises:
        UsageError: two have; says where the second stands.
    """
    seen: dict[str, str] = {}
    for key, record in records:
        if key in seen:
            raise UsageError(f"{record.where}: {key!r} is already at {seen[key]}. Remove one of them.")
        seen[key] = record.where
