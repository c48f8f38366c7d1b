"""Imports at first use: of public names, as listed in a module's stub (`.pyi`), and of heavy modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


class Module:
    """A module that is imported when something in it is first used.

    Type checkers see the real module: `if TYPE_CHECKING: import numpy as np`, `else: np = Module("numpy")`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def lazily(module: str) -> tuple[Callable[[str], object], list[str]]:
    """A module's `__getattr__` and `__all__`, from the lines `from ... import ...` in the stub next to it.

    Each name is thus written once: type checkers and this function read the stub.
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
