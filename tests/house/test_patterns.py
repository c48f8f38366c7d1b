"""Every pattern of the package runs in linear time: fed with long runs of every kind of character, and near misses.

Patterns are those that stand in a module (alone or in a collection) and those that a function compiles from a literal.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import fabula

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

LONG, SHORT = 100_000, 4_000
_LONG_SECONDS, _SHORT_SECONDS = 0.5, 0.02
_SEARCHING = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
_CLASSES = (
    *(" ", "\t", "\n", " \n", "\n\n ", "a", "A", "Aa ", "a b. ", "é", "1", "1.", "字", "。", '"', '"a', "'", "“", "\\"),
    *("(", "()", "[", "[]", "{", "{}", "<", "<a>", "*", "**", "_", "-", "- ", "#", ".", ",", ":", "a:", "!", "/", "`"),
    *("|", "=", "&", "\r\n", "\u200b", "\u0301", "😀"),
)


@dataclass(frozen=True)
class Found:
    """A pattern, where it stands, and whether it is looked for at every place of a text."""

    where: str
    pattern: re.Pattern[str]
    searched: bool


def modules() -> list[str]:
    names = (one.name for one in pkgutil.walk_packages(fabula.__path__, "fabula."))
    return [name for name in names if ".test_" not in name and not name.endswith("__main__")]


def inside(value: Any, deep: int = 0) -> Iterator[re.Pattern[str]]:  # noqa: ANN401 - whatever a module holds
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, Mapping) and deep < 3:
        for one in value.values():
            yield from inside(one, deep + 1)
    elif isinstance(value, (tuple, list, set, frozenset)) and deep < 3:
        for one in value:
            yield from inside(one, deep + 1)


@cache
def uses() -> Mapping[str, frozenset[str]]:
    """For each name the methods that are called on it anywhere in the package, and those of the loops over it."""
    found: dict[str, set[str]] = {}
    for file in Path(fabula.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(f"{file.stem}.{node.value.id}", set()).add(node.attr)
                found.setdefault(node.value.id, set()).add(node.attr)
    return {name: frozenset(methods) for name, methods in found.items()}


def is_searched(module: str, name: str) -> bool:
    methods = uses().get(f"{module.rpartition('.')[2]}.{name}") or uses().get(name, frozenset())
    return not methods or bool(methods & _SEARCHING)


def value_of(node: ast.expr, names: dict[str, Any]) -> int:
    """The flags that an argument stands for; 0 where it is something else."""
    try:
        value = eval(ast.unparse(node), {"re": re, **names})  # noqa: S307 - our own code
    except NameError:
        return 0
    return int(value) if isinstance(value, re.RegexFlag) else 0


def in_functions(module: str) -> Iterator[Found]:
    """Literals that `re` is called with inside of functions."""
    of_module = importlib.import_module(module)
    file = of_module.__file__
    assert file is not None
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        of, args = node.func.value, node.args
        if isinstance(of, ast.Name) and of.id == "re" and args and isinstance(args[0], ast.Constant):
            given = [*args[1:], *(one.value for one in node.keywords if one.arg == "flags")]
            flags = next((flags for one in given if (flags := value_of(one, vars(of_module)))), 0)
            if isinstance(args[0].value, str) and node.func.attr != "escape":
                matched = node.func.attr in {"match", "fullmatch"}
                yield Found(f"{module}:{node.lineno}", re.compile(args[0].value, flags), not matched)


@cache
def patterns() -> tuple[Found, ...]:
    found: dict[tuple[str, int], Found] = {}
    for module in modules():
        held = vars(importlib.import_module(module))
        for name, value in held.items():
            for one in inside(value):
                known = Found(f"{module}.{name}", one, is_searched(module, name))
                found.setdefault((one.pattern, one.flags), known)
        for known in in_functions(module):
            found.setdefault((known.pattern.pattern, known.pattern.flags), known)
    return tuple(found.values())


def test_the_walk_finds_patterns() -> None:
    names = {one.where for one in patterns()}
    assert len(names) > 200
    assert {"fabula.base.characters._UNWANTED", "fabula.engine.replies.dialogue._EOD"} <= names


def near_misses(pattern: re.Pattern[str]) -> list[str]:
    """Short texts whose repetition comes near to the pattern: its literals in order, and signs of its classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tree = sre_parse.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    literals = "".join(_spelt(tree))
    signs = [sign for sign in dict.fromkeys(literals) if sign.isprintable() or sign in "\n\t"]
    seeds = [literals, literals[: len(literals) // 2], literals[:-1], literals[1:], *signs[:12]]
    seeds += [a + b for a, b in zip(signs, signs[1:], strict=False)][:8]
    return [seed for seed in dict.fromkeys(seeds) if seed]


def _spelt(tree: Iterable[Any]) -> Iterator[str]:
    """A text that the parsed pattern nearly matches: each literal, one sign of each class, the first of alternatives."""
    for kind, value in tree:
        if kind is sre_constants.LITERAL:
            yield chr(value)
        elif kind is sre_constants.NOT_LITERAL:
            yield "x" if value != ord("x") else "y"
        elif kind is sre_constants.ANY:
            yield "x"
        elif kind is sre_constants.IN:
            yield _sign(value)
        elif kind is sre_constants.BRANCH:
            yield from _spelt(value[1][0])
        elif kind is sre_constants.SUBPATTERN:
            yield from _spelt(value[3])
        elif kind in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT, sre_constants.POSSESSIVE_REPEAT):
            yield from _spelt(value[2])
        elif kind is sre_constants.ATOMIC_GROUP:
            yield from _spelt(value)
        elif kind is sre_constants.ASSERT:
            yield from _spelt(value[1])


def _sign(members: Iterable[Any]) -> str:
    by_category = {"SPACE": " ", "WORD": "w", "DIGIT": "7"}
    members = list(members)
    if members[0][0] is sre_constants.NEGATE:
        return next((sign for sign in "x.7 " if not re.match(_SAFE, sign) or sign == "x"), "x")
    for kind, value in members:
        if kind is sre_constants.LITERAL:
            return chr(value)
        if kind is sre_constants.RANGE:
            return chr(value[0])
        if kind is sre_constants.CATEGORY:
            return next((sign for name, sign in by_category.items() if str(value).endswith(f"_{name}")), "x")
    return "x"


_SAFE = r"\w"


def seconds(found: Found, text: str) -> float:
    start = process_time()
    if found.searched:
        found.pattern.sub("", text)
    else:
        found.pattern.match(text)
        found.pattern.fullmatch(text)
    return process_time() - start


def least(found: Found, text: str, bound: float) -> float:
    """The least of up to three measurements: a busy machine makes single ones long."""
    taken = seconds(found, text)
    for _ in range(2):
        if taken <= bound:
            break
        taken = min(taken, seconds(found, text))
    return taken


def slow(found: Found, seeds: Iterable[str], length: int, bound: float) -> list[str]:
    said = []
    for seed in seeds:
        run = (seed * (length // len(seed) + 1))[:length]
        for text in (run, f"{run}\x01"):
            taken = least(found, text, bound)
            if taken > bound:
                said.append(f"{found.where}: {seed[:20]!r} x {length}: {taken:.3f} s")
                break
    return said


def test_every_pattern_takes_linear_time() -> None:
    said: list[str] = []
    for found in patterns():
        seeds = [*_CLASSES, *near_misses(found.pattern)]
        wrong = slow(found, seeds, SHORT, _SHORT_SECONDS)  # first, so that no pattern keeps the test for minutes
        said += wrong[:2] or slow(found, _CLASSES, LONG, _LONG_SECONDS)
    assert not said, "\n".join(said)


if __name__ == "__main__":
    pytest.main([__file__])
