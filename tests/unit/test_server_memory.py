"""What a server keeps of reports and other files, counted in bytes; and memory that is given back."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from fabula.app import reports
from fabula.app.reports import report_named, reports_in, too_large_in
from fabula.base.errors import UsageError
from fabula.base.kept import KEPT, of_file, of_text, weight
from fabula.base.remembering import remembered
from fabula.project.sample import copy_sample
from fabula.server import tidying
from fabula.server.studio.pages import measure
from fabula.server.tidying import Trimmer
from studio import SAMPLE, studio_here

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """What other tests have left is no part of what is counted here."""
    KEPT.forget_idle(-1)


def report(rows: int, **fields: object) -> str:
    numbers = [
        {
            "of": f"story {n % 40}",
            "what": f"measure {n}",
            "value": n / 7,
            "n": 10,
            "low": 0.0,
            "high": 9e9,
            "method": "m",
        }
        for n in range(rows)
    ]
    return json.dumps({"format": 1, "evaluator": "measure", "rows": numbers} | fields)


def touched(file: Path, at: int) -> None:
    """Have a file look as if it was written then."""
    os.utime(file, ns=(at * 10**9, at * 10**9))


def test_what_is_weighed_is_about_what_it_takes() -> None:
    text = report(3000, details={"a": [{"b": [n, "x" * 9]} for n in range(3000)]})
    gc.collect()
    tracemalloc.start()
    data = json.loads(text)
    took = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.7 * took < weight(data) < 1.4 * took


def test_a_file_is_worked_out_once_until_it_changes(tmp_path: Path) -> None:
    file, made = tmp_path / "a.txt", list[int]()

    def make() -> int:
        made.append(1)
        return len(made)

    file.write_text("one")
    assert [of_file(file, "count", make) for _ in range(3)] == [1, 1, 1]
    touched(file, 7)
    assert [of_file(file, "count", make) for _ in range(3)] == [2, 2, 2]
    assert of_file(file, "other", make) == 3
    with pytest.raises(OSError, match="No such file"):
        of_file(tmp_path / "b.txt", "count", make)


def test_a_long_text_is_worked_out_once_and_is_not_kept_itself() -> None:
    made = list[str]()

    def length(text: str) -> int:
        made.append(text)
        return len(text)

    for _ in range(3):
        assert of_text("length", "x" * 1_000_000, length) == 1_000_000
    assert len(made) == 1
    assert KEPT.weight < 10_000


def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    asked = list[object]()

    @remembered(10, 5)
    def one(text: str) -> int:
        asked.append(text)
        return len(text)

    @remembered(10, 5)
    def two(text: str, names: tuple[str, ...]) -> int:
        asked.append(names)
        return len(names)

    assert [one("short"), one("short"), one("longer"), one("longer")] == [5, 5, 6, 6]
    assert asked == ["short", "longer", "longer"]
    asked.clear()
    assert [two("ab", ("c", "d")), two("ab", ("c", "d")), two("ab", ("cde", "d")), two("ab", ("cde", "d"))] == [2] * 4
    assert asked == [("c", "d"), ("cde", "d"), ("cde", "d")]


def test_reports_that_are_written_again_and_again_leave_nothing_behind(tmp_path: Path) -> None:
    """Each version of a report was kept for ever: memory grew by 25 bytes for each byte of file, at each look."""
    (tmp_path / "evaluation").mkdir()
    files = [tmp_path / "evaluation" / f"{name}.json" for name in ("one", "two")]
    for file in files:
        file.write_text(report(1000))

    def look(at: int) -> None:
        for file in files:
            touched(file, at)
        for found in reports_in(tmp_path):
            assert len(found.report.rows) == 1000

    look(1)
    entries, weighed = len(KEPT), KEPT.weight
    gc.collect()
    tracemalloc.start()
    for at in range(2, 12):
        look(at)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    size = sum(file.stat().st_size for file in files)
    assert len(KEPT) == entries
    assert KEPT.weight < 1.05 * weighed
    assert weighed < 12 * size
    assert grown < 15 * size, "one version of each at most: ten are 100 times their size"


def test_a_list_of_reports_reads_each_of_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evaluation").mkdir()
    for number in range(5):
        (tmp_path / "evaluation" / f"r{number}.json").write_text(report(20))
    read, reader = list[int](), reports._document

    def document(text: str) -> object:
        read.append(1)
        return reader(text)

    monkeypatch.setattr(reports, "_document", document)
    assert [one.evaluator for one in reports_in(tmp_path)] == ["measure"] * 5
    assert len(read) == 5
    assert len(reports_in(tmp_path)) == 5
    assert KEPT.weight < 10_000, "of a report in a list no number is kept"
    assert len(read) == 5
    assert len(report_named(tmp_path, "evaluation/r3").report.rows) == 20
    assert len(read) == 6


def test_details_that_no_page_shows_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    file = tmp_path / "evaluation" / "measure.json"
    file.write_text(report(10, details={"all": [{"n": [n]} for n in range(50_000)]}))
    (found,) = reports_in(tmp_path)
    assert (len(found.report.rows), dict(found.report.details)) == (10, {})
    assert KEPT.weight < 100_000 < file.stat().st_size


async def test_a_report_that_is_too_large_is_said_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_sample(tmp_path / SAMPLE)
    folder = tmp_path / SAMPLE / "evaluation"
    head = '{"format": 1, "evaluator": "x", "rows": ['
    (folder / "long.json").write_text(f'{head}], "notes": ["{"x" * 5_000_000}"]}}')
    (folder / "many.json").write_text(f"{head}{'[],' * 250_000}[]]}}")
    parsed, reader = list[str](), reports._document

    def document(text: str) -> object:
        parsed.append(text[:30])
        return reader(text)

    monkeypatch.setattr(reports, "_document", document)
    assert [one.name for one in reports_in(tmp_path / SAMPLE)] == ["evaluation/atlas"]
    assert too_large_in(tmp_path / SAMPLE) == [
        "long.json has more than 5,000,000 bytes, too many for a page. Open it elsewhere.",
        "many.json has more than 400,000 parts, too many for a page. Open it elsewhere.",
    ]
    assert head[:30] not in parsed, "what is too large is not even parsed"
    async with studio_here(tmp_path) as client:
        page = (await client.get(f"/projects/{SAMPLE}/measure")).text
        assert "long.json has more than 5,000,000 bytes" in page
        assert "many.json has more than 400,000 parts" in page


async def test_a_page_shows_so_many_numbers_of_a_report_and_says_how_many_more_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_MOST_AT_ONCE", 50)
    copy_sample(tmp_path / SAMPLE)
    (tmp_path / SAMPLE / "evaluation" / "measure.json").write_text(report(1300))
    async with studio_here(tmp_path) as client:
        page = (await client.get(f"/projects/{SAMPLE}/measure/evaluation/measure")).text
    assert "1,250 more numbers are in the file." in page
    assert page.count('<th scope="row">story') == 50


def test_single_verdicts_that_are_too_many_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_sample(tmp_path / SAMPLE)
    (found,) = reports_in(tmp_path / SAMPLE)
    assert found.verdicts
    monkeypatch.setattr(reports, "_MOST_LINES", 1)
    touched(found.file.with_name("ratings.jsonl"), 7)
    (found,) = reports_in(tmp_path / SAMPLE)
    with pytest.raises(
        UsageError, match=r"ratings.jsonl has more than 1 lines, too many for a page\. Move the ratings"
    ):
        _ = found.verdicts


def test_memory_is_given_back_when_the_process_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, given = [100, 130, 140, 200, 150, 160], list[int]()
    monkeypatch.setattr(tidying, "_WORTH", 50)
    options = list[tuple[int, int]]()
    functions = {"malloc_trim": given.append, "mallopt": lambda *of: options.append(of)}
    monkeypatch.setattr(tidying, "_of_libc", functions.get)
    monkeypatch.setattr(tidying, "resident", lambda: sizes.pop(0))
    trimmer = Trimmer()
    assert [trimmer.trim() for _ in range(4)] == [True, False, True, False]
    assert (len(given), sizes) == (2, [])
    assert options == [(-8, 1)], "one arena for all threads"


def test_where_memory_cannot_be_given_back_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "_of_libc", lambda _: None)
    assert not Trimmer().trim()
    monkeypatch.setattr(tidying, "_SIZE", tmp_path / "statm")
    assert tidying.resident() == 0
    monkeypatch.undo()
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert not Trimmer().trim(), "another C library has no such function"
