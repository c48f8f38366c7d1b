"""No test says with a clock how quick something is: a slow or busy machine would make it red.

What takes time is held against the same work on a shorter text (`growth`), counted, or measured in `benchmarks/`.
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
