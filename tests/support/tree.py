"""The project's own files as data, for the house rules."""

from __future__ import annotations

import ast
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "fabula"
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A Python file of the package: its dotted name, its text and its syntax tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every function with its dotted name, inner ones and methods included."""
        yield from _functions(self.tree, self.name)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}.{child.name}", child
        named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        yield from _functions(child, f"{prefix}.{child.name}" if named else prefix)  # type: ignore[attr-defined] # named


def length(function: Function) -> int:
    """Lines from `def` to the last line, decorators not counted."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


@cache
def modules() -> tuple[Module, ...]:
    """All modules of the package, tests that lie beside a system left out."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.name.startswith("test_"):
            text = path.read_text(encoding="utf-8")
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            found.append(Module(name, path, text, ast.parse(text)))
    return tuple(found)


@cache
def files() -> tuple[Path, ...]:
    """Every file that is, or would be, in the repository; the whole tree less hidden and made files without git."""
    git = shutil.which("git")
    if git is not None and (ROOT / ".git").exists():
        command = [git, "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        return tuple(path for name in sorted(set(said.split("\0"))) if name and (path := ROOT / name).is_file())
    made = {"__pycache__", "build", "dist", "htmlcov"}
    return tuple(
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and not any(p in made or p.startswith(".") for p in path.relative_to(ROOT).parts)
    )


def texts(*suffixes: str) -> Iterator[tuple[str, str]]:
    """Name and text of every text file of the repository; `suffixes` keeps those that end so."""
    for path in files():
        if not suffixes or path.suffix in suffixes:
            try:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
