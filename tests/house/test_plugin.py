"""What others build on: the names of `fabula.plugin`, and that fabula's own examples need no others."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import fabula
from blocks import blocks
from fabula import plugin
from tree import PACKAGE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PUBLIC = {"fabula", "fabula.errors", "fabula.events", "fabula.plugin", "fabula.testing"}
PAGES = [
    *(ROOT / "docs/how-to" / f"own-{kind}.md" for kind in ("system", "evaluator", "provider")),
    ROOT / "docs/how-to/embed-in-python.md",
    ROOT / "docs/reference/plugin.md",
    ROOT / "README.md",
]


def imported(code: str) -> Iterator[str]:
    """The modules of fabula that code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] == "fabula")
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").partition(".")[0] == "fabula":
            yield node.module or ""


def test_our_examples_import_what_others_may() -> None:
    files = [*(ROOT / "examples").rglob("*.py"), *(PACKAGE / "app" / "new_method").glob("*/*.py")]
    code = {str(file): file.read_text(encoding="utf-8") for file in files}
    code |= {
        f"{page.name}, line {block.line}": block.text
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "python"
    }
    assert len(code) > len(files) > 5
    assert {where: found for where, text in code.items() if (found := {*imported(text)} - PUBLIC)} == {}


@pytest.mark.parametrize("module", [fabula, plugin], ids=lambda module: str(module.__name__))
def test_a_name_of_the_stub_is_there_and_no_other(module: ModuleType) -> None:
    assert dir(module) == sorted(set(module.__all__))
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing
    with pytest.raises(ImportError):
        import_module(f"{module.__name__}.nothing")
