"""DialogSum: dialogues with summaries, and a baseline's summaries with their ROUGE (Chen et al. 2021)."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from fabula.base.errors import UnknownNameError, UsageError
from fabula.data.archives import holds, lines
from fabula.data.reading import Record, find, json_lines, parse_object, read_bounded, unique, wanted

Split: TypeAlias = Literal["train", "development", "test"]
_CALLED: Final[Mapping[Split, tuple[str, ...]]] = {
    "train": ("train",),
    "development": ("dev", "validation", "val", "development"),
    "test": ("test",),
}
# As the authors publish it; one's own; as copies of it go round in tables.
_FORMS: Final = ("dialogsum.{}.jsonl", "dialogues_{}.jsonl", "{}.jsonl", "dialogsum.{}.csv", "{}.csv")
_FOLDERS: Final = ("", "DialogSum_Data")
_ARCHIVE: Final = "DialogSum_Data.zip"
_MAX_BYTES: Final = 200_000_000
_LITERAL: Final = re.compile(r"\{\s*'")
_OF_SEVERAL: Final = re.compile(r"\A(.+_\d+)_[1-9]")  # the table of test dialogues has a row for each summary
_MAX_CELL: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue, one turn a line, with a person's summary and its topic in a few words.

    Attributes:
        id: one of its kind in a split.
        dialogue: the turns, each behind its speaker (`#Person1#: ...`).
        summary: the first, or only, summary.
        topic: in a few words; empty where it is not known.
        others: more people's summaries of it: the test dialogues have three in all.
    """

    id: str
    dialogue: str
    summary: str
    topic: str = ""
    others: tuple[str, ...] = ()

    @property
    def references(self) -> tuple[str, ...]:
        """Every summary."""
        return (self.summary, *self.others)


@dataclass(frozen=True, slots=True)
class ScoredSummary:
    """A baseline's summary, the references, and its published ROUGE F against the first of them, by measure."""

    id: str
    references: tuple[str, ...]
    output: str
    rouge: Mapping[str, float]


def dialogues(folder: Path, split: Split = "development") -> tuple[Dialogue, ...]:
    """The dialogues of a split, in the order of their file.

    `folder` holds files as the authors publish them (`dialogsum.train.jsonl`, also below `DialogSum_Data` or in
    `DialogSum_Data.zip`), or `train.jsonl`, or tables (`train.csv`, `validation.csv`, `test.csv`); plain or gzipped.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: the file is absent, or a line is no dialogue, is empty, or occurs twice.
    """
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    records = list(_records(folder, split))
    if not records:
        raise UsageError(f"{folder} has no dialogue of the split {split}. Fetch the file again.")
    unique([(_id(record), record) for record in records])
    return tuple(_dialogue(record) for record in records)


def splits(folder: Path) -> tuple[Split, ...]:
    """The splits of which a folder has dialogues.

    Raises:
        UsageError: its archive is damaged.
    """
    return tuple(split for split in get_args(Split) if _file(folder, split))


def scored_summaries(folder: Path) -> tuple[ScoredSummary, ...]:
    """The baseline's summaries in `rouge_items.jsonl` of `folder`.

    Raises:
        UsageError: the file is absent, or a line is no such summary, or occurs twice.
    """
    records = list(json_lines(wanted(folder, "rouge_items.jsonl")))
    unique([(record.text("fname"), record) for record in records])
    return tuple(_scored(record) for record in records)


def _scored(record: Record) -> ScoredSummary:
    references, scores = record.texts("summaries"), record.record("rouge_vs_summary1")
    if not references:
        raise UsageError(f"{record.where}: there is no reference. Correct the line or remove it.")
    rouge = {name: scores.number(name) for name in scores.fields}
    return ScoredSummary(record.text("fname"), references, record.text("bart_output"), rouge)


# the forms in which it is published ----------------------------------------------------------------------------------


def _records(folder: Path, split: Split) -> Iterator[Record]:
    """The records of a split, from the first of its files that is there."""
    found = _file(folder, split)
    if found is None:
        first, *_, last = _names(split)
        raise UsageError(
            f"{folder} contains no dialogues of the split {split} ({first}, {last} or similar). Put DialogSum's files "
            "there, as github.com/cylnlp/dialogsum publishes them."
        )
    path, member = found
    if member:
        text = "\n".join(line for _, line in lines(path, member, _MAX_BYTES))
        yield from _lines(text, f"{member} in {path}")
    else:
        yield from _rows(path) if ".csv" in path.suffixes else _lines(read_bounded(path), str(path))


def _file(folder: Path, split: Split) -> tuple[Path, str] | None:
    """Where the dialogues of a split are: a file, or an archive and the name of its member."""
    names = _names(split)
    for inner in _FOLDERS:
        for name in names:
            if path := find(folder / inner, name):
                return path, ""
    archive = folder / _ARCHIVE
    members = [plain.replace(".jsonl", end) for plain in names for end in (".jsonl", ".json", ".txt")]
    if archive.is_file() and (member := next((name for name in members if holds(archive, name)), "")):
        return archive, member
    return None


def _names(split: Split) -> list[str]:
    return [form.format(called) for form in _FORMS for called in _CALLED[split]]


def _lines(text: str, name: str) -> Iterator[Record]:
    """The objects of a file with one on each line: JSON, or, as in the authors' archive, Python's own form."""
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{name}, line {number}"
        if _LITERAL.match(line):
            yield Record(where, _literal(line, where))
        elif line.strip():
            yield parse_object(line, where)


def _literal(line: str, where: str) -> Mapping[str, Any]:
    """The dictionary in a line of Python; only a literal is read, nothing is run."""
    try:
        found = ast.literal_eval(line.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise UsageError(f"{where}: neither JSON nor a dictionary. Correct it, or fetch the file again.") from error
    if not isinstance(found, dict):
        raise UsageError(f"{where}: not a dictionary. Correct it, or fetch the file again.")
    return found


def _rows(path: Path) -> Iterator[Record]:
    """The rows of a table; rows of one dialogue, with a summary each, become one."""
    csv.field_size_limit(_MAX_CELL)
    merged: dict[str, dict[str, Any]] = {}
    where: dict[str, str] = {}
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(read_bounded(path), newline=""), strict=True), 1):
            fields = {key: value for key, value in row.items() if isinstance(key, str) and isinstance(value, str)}
            several = _OF_SEVERAL.fullmatch(_id(Record(f"{path}, row {number}", fields)))
            name = several[1] if several else f"{_id(Record('', fields))}\0{number}"
            if name in merged and merged[name]["dialogue"] == fields.get("dialogue"):
                merged[name]["others"].append(fields.get("summary", ""))
            else:
                merged[name] = fields | {"id": name.partition("\0")[0], "others": []}
                where[name] = f"{path}, row {number}"
    except csv.Error as error:
        raise UsageError(f"{path} is not a table of comma-separated values ({error}). Fetch the file again.") from error
    yield from (Record(where[name], fields) for name, fields in merged.items())


def _id(record: Record) -> str:
    """The dialogue's own name; one's own dialogues need none, and are called by their place in the file."""
    named = next((name for name in ("fname", "id") if name in record.fields), "")
    return record.text(named) if named else record.where.rpartition(", ")[2]


def _dialogue(record: Record) -> Dialogue:
    dialogue = record.text("dialogue").replace("\r\n", "\n").strip()
    several = [name for name in ("summary1", "summary2", "summary3") if name in record.fields]
    summary, *others = [record.text(name) for name in several] or [record.text("summary")]
    if "others" in record.fields:
        others = list(record.texts("others"))
    topic = "topic1" if several else "topic"
    found = Dialogue(
        _id(record),
        dialogue,
        summary.strip(),
        record.text(topic) if topic in record.fields else "",
        tuple(other.strip() for other in others),
    )
    if not (found.dialogue and all(found.references)):
        raise UsageError(f"{record.where}: the dialogue or its summary is empty. Correct the line or remove it.")
    return found
