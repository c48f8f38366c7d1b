"""What is imported when it is first used: public names, as a module's stub (`.pyi`) has them, and heavy modules."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Module:
    """A module that is imported when something of it is first used.

    Type checkers are told of the real one: `if TYPE_CHECKING: import numpy as np`, `else: np = Module("numpy")`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


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
