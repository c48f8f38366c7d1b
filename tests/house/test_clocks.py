"""No test is red on a slow or busy machine: none says with a clock how quick something is, or reads a page too early.

What takes time is held against the same work on a shorter text (`growth`), counted, or measured in `benchmarks/`. What
a page shows comes after the click that asks for it: `expect` waits for it, `assert` holds what was read at once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import pytest

from tree import PACKAGE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOCKS: Final = frozenset(
    f"{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
    for unit in ("", "_ns")
) | {"default_timer", "getrusage", "times"}
_MODULES: Final = frozenset({"time", "timeit", "resource", "os"})
_READINGS: Final = frozenset(f"{module}.{clock}" for module in _MODULES for clock in _CLOCKS)
_MAY: Final = frozenset({"growth.py", "patience.py", "long_work.py"})  # they compare, wait, and date an event

_AT_ONCE: Final = frozenset(
    ("all_inner_texts", "count", "inner_html", "inner_text", "input_value", "query_selector", "text_content")
) | {f"is_{state}" for state in ("checked", "disabled", "enabled", "hidden", "visible")}
_SETTLED_ONCE: Final = "wait_for_load_state"  # true for ever once a page was loaded, whatever it has fetched since


def clocks(tree: ast.AST) -> Iterator[int]:
    """The lines that read a clock, or import one; one that is handed in is not read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in _MODULES and {n.name for n in node.names} & _CLOCKS:
            yield node.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _READINGS:
            yield node.lineno


def test_no_test_reads_a_clock() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *PACKAGE.rglob("test_*.py")]
    assert len(files) > 300
    read = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files if file.name not in _MAY}
    assert [f"{file.relative_to(ROOT)}:{line}" for file, tree in read.items() for line in clocks(tree)] == []


@pytest.mark.parametrize(
    "source",
    ["import time\nassert time.process_time() < 1", "from time import thread_time", "from timeit import default_timer"],
)
def test_a_test_that_reads_a_clock_is_found(source: str) -> None:
    assert [*clocks(ast.parse(source))]


def read_at_once(tree: ast.AST) -> Iterator[int]:
    """The lines that assert what a page shows just then, or wait for what waits once."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _SETTLED_ONCE:
            yield node.lineno
        if isinstance(node, ast.Assert):
            calls = [one.func for one in ast.walk(node.test) if isinstance(one, ast.Call)]
            yield from (node.lineno for call in calls if isinstance(call, ast.Attribute) and call.attr in _AT_ONCE)


def test_what_a_page_shows_is_waited_for() -> None:
    files = [*(ROOT / "tests" / "browser").glob("*.py"), ROOT / "tests" / "docs" / "test_site.py"]
    assert len(files) > 12
    read = {file.name: read_at_once(ast.parse(file.read_text(encoding="utf-8"))) for file in files}
    assert [f"{name}:{line}: use `expect`, `tab.settled`" for name, lines in read.items() for line in lines] == []


def test_a_page_that_is_read_at_once_is_found() -> None:
    source = "assert 'a' in page.inner_text('main')\npage.wait_for_load_state('networkidle')\nparts.count()"
    assert sorted(read_at_once(ast.parse(source))) == [1, 2]
