"""Public names that are loaded when they are first used: a module's stub (`.pyi`) says where each comes from."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def lazily(module: str) -> tuple[Callable[[str], object], list[str]]:
    """A module's `__getattr__` and `__all__`, of the lines `from ... import ...` in the stub beside it.

    So a name is said once: type checkers read the stub, and so does this.
    """
    stub = Path(sys.modules[module].__file__ or "").with_suffix(".pyi")
    homes = {
        name.name: line.module
        for line in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(line, ast.ImportFrom) and line.module
        for name in line.names
    }

    def found(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        if homes[name] == module:  # a module of its own
            return import_module(f"{module}.{name}")
        return getattr(import_module(homes[name]), name)

    return found, sorted(homes)
