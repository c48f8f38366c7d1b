from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.data.fetching import SUMS, pin, pinned, sha256, verify
from fabula.data.reading import Record, find, json_lines, json_list, json_object, read_bounded, unique, wanted

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_are_read_plain_or_gzipped_and_blank_ones_skipped(tmp_path: Path) -> None:
    text = '{"a": 1}\n\n{"a": 2}\n'
    (tmp_path / "x.jsonl").write_text(text)
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("x.jsonl", "y.jsonl"):
        assert [record.integer("a") for record in json_lines(wanted(tmp_path, name))] == [1, 2]
    assert find(tmp_path, "y*.jsonl") == tmp_path / "y.jsonl.gz"
    assert find(tmp_path, "z.jsonl") is None
    with pytest.raises(UsageError, match=r"There is no .*z\.jsonl, also not as \.gz"):
        wanted(tmp_path, "z.jsonl")


@pytest.mark.parametrize("line", ["{", "[1]", "3", "[" * 20_000])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n' + line + "\n")
    with pytest.raises(UsageError, match=r"x\.jsonl, line 2: "):
        list(json_lines(tmp_path / "x.jsonl"))


RECORD = Record(
    "x, line 3", {"t": "a", "n": 1.5, "b": True, "list": [1, "a"], "inf": float("inf"), "o": {"k": [[1], [2, 3]]}}
)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: RECORD.text("missing"), "there is no 'missing'"),
        (lambda: RECORD.text("n"), "'n' is not a text"),
        (lambda: RECORD.integer("n"), "'n' is not a whole number"),
        (lambda: RECORD.integer("b"), "'b' is not a whole number"),
        (lambda: RECORD.number("t"), "'t' is not a number"),
        (lambda: RECORD.number("inf"), "'inf' is inf, not a finite number"),
        (lambda: RECORD.texts("list"), "'list' is not a list of texts"),
        (lambda: RECORD.numbers("list"), "'list' is not a number"),
        (lambda: RECORD.record("t"), "'t' is not an object"),
        (lambda: RECORD.records("list"), "'list' is not a list of objects"),
        (lambda: RECORD.record("o").rows("k"), "o: the rows of 'k' differ in length"),
    ],
)
def test_a_field_of_another_type_is_named_with_its_line(read: object, expected: str) -> None:
    with pytest.raises(UsageError, match="x, line 3") as caught:
        read()  # type: ignore[operator] # a lambda of the table above
    assert expected in str(caught.value)


def test_records_that_come_twice_are_named() -> None:
    one, two = Record("x, line 1", {}), Record("x, line 2", {})
    unique([("a", one), ("b", two)])
    with pytest.raises(UsageError, match="x, line 2: 'a' is already at x, line 1"):
        unique([("a", one), ("a", two)])


def test_files_are_bounded_also_when_packed(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"0" * 1_000_000))
    with pytest.raises(UsageError, match="has more than 1,000 bytes"):
        read_bounded(bomb, 1000)
    bomb.write_bytes(bomb.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"Cannot read .*bomb"):
        read_bounded(bomb)
    bomb.write_bytes(gzip.compress(b"\xff\xfe"))
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_bounded(bomb)


def test_a_whole_file_is_an_object_or_a_list(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}]')
    assert json_list(path)[0].integer("a") == 1
    with pytest.raises(UsageError, match="not a JSON object"):
        json_object(path)
    path.write_text('[{"a": 1}, 2]')
    with pytest.raises(UsageError, match="not a list of objects"):
        json_list(path)


def test_checksums_are_pinned_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("a\n")
    verify([path])
    pin(tmp_path, {"data.txt": sha256(path), "other": "0" * 64})
    assert (tmp_path / SUMS).read_text().endswith("  other\n")
    assert pinned(tmp_path)["data.txt"] == sha256(path)
    verify([path])
    path.write_text("b\n")
    with pytest.raises(UsageError, match="SHA256SUMS says"):
        verify([path])
    (tmp_path / SUMS).write_text("short data.txt\n")
    with pytest.raises(UsageError, match="line 1: not a SHA-256"):
        verify([path])
    with pytest.raises(UsageError, match="Cannot read"):
        sha256(tmp_path / "nothing")
