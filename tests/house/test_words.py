"""What is public is documented, and every exception to a rule says why."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

import fabula
from fabula.base import errors
from tree import Function, modules, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOQA: Final = re.compile(r"#\s*noqa\b(?P<rest>[^\n]*)", re.IGNORECASE)
_NOQA_WITH_REASON: Final = re.compile(r": [A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)* --? \S.{3,}")
_IGNORE: Final = re.compile(r"#\s*type:\s*ignore(?P<rest>[^\n]*)")
_IGNORE_WITH_REASON: Final = re.compile(r"\[[a-z, -]+\]  ?# \S.{3,}")
_PRAGMA: Final = re.compile(r"#\s*pragma: no (?:cover|branch)(?P<rest>[^\n]*)")


def public(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Public classes and functions at module level, and public methods of public classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not child.name.startswith("_"):
            yield f"{prefix}.{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{prefix}.{child.name}")


def raised(function: Function) -> set[str]:
    """Names of fabula's errors that the function itself raises with a message of its own."""
    calls = [n.exc for n in ast.walk(function) if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call)]
    names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    return {name for name in names if hasattr(errors, name)}


def _named(name: str, docstring: str) -> bool:
    """Whether a docstring names the error or a kind of error that it is one of."""
    return any(kind.__name__ in docstring for kind in getattr(errors, name).__mro__ if kind.__name__ != "Exception")


def test_every_module_says_what_it_is_for() -> None:
    assert not [module.name for module in modules() if not ast.get_docstring(module.tree)]


def test_every_public_name_is_documented() -> None:
    missing = [
        name
        for module in modules()
        for name, node in public(module.tree, module.name)
        if not ast.get_docstring(node) and not _overloaded(node)
    ]
    assert not missing


def _overloaded(node: ast.ClassDef | Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id in {"overload", "override"} for d in node.decorator_list)


def test_errors_that_a_public_function_raises_are_named() -> None:
    missing = {}
    for module in modules():
        if module.name.startswith("fabula.cli.commands"):
            continue  # their docstrings are the help that a person reads
        for name, node in public(module.tree, module.name):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found = ast.get_docstring(node) or ""
                if unnamed := {error for error in raised(node) if not _named(error, found)}:
                    missing[name] = unnamed
    assert not missing


def test_the_public_names_are_there_and_sorted() -> None:
    assert fabula.__all__ == sorted(fabula.__all__)
    for name in fabula.__all__:
        assert getattr(fabula, name).__doc__, name


def test_no_merge_was_left_half_done() -> None:
    marks = tuple(sign * 7 + " " for sign in "<>")
    assert not [name for name, text in texts() if any(line.startswith(marks) for line in text.split("\n"))]


def test_every_noqa_and_type_ignore_says_why() -> None:
    bare = []
    for name, text in texts(".py"):
        for number, line in enumerate(text.splitlines(), 1):
            if "re.compile(" in line:
                continue
            if (found := _NOQA.search(line)) and not _NOQA_WITH_REASON.match(found["rest"]):
                bare.append(f"{name}:{number}: {line.strip()}")
            if (found := _IGNORE.search(line)) and not _IGNORE_WITH_REASON.match(found["rest"]):
                bare.append(f"{name}:{number}: {line.strip()}")
            if (found := _PRAGMA.search(line)) and not re.match(r" - \S", found["rest"]):
                bare.append(f"{name}:{number}: {line.strip()}")
    assert not bare
