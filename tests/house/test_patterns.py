"""Every pattern of the package runs in linear time: fed with long runs of every kind of character, and near misses.

Patterns are those that stand in a module (alone or in a collection) and those that a function compiles from constants.
Every kind of character is fed in runs of 100 kB; where a run of 10 kB takes so little that 100 kB could not take long,
if time grew with the square of the length, that is enough.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import fabula

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

LONG, SHORT = 100_000, 1_500
_LONG_SECONDS, _SHORT_SECONDS = 0.5, 0.008
_HANGS = 5  # seconds after which a pattern is given up
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


def text_of(node: ast.expr, names: dict[str, Any]) -> str:
    """The text that an expression of constants stands for; empty where names of a story are in it.

    Those are built and tried in `tests/property/test_readers_are_linear.py`.
    """
    try:
        value = eval(ast.unparse(node), names)  # noqa: S307 - our own code
    except NameError:
        return ""
    return value if isinstance(value, str) else ""


def in_functions(module: str) -> Iterator[Found]:
    """Literals that `re` is called with inside of functions."""
    of_module = importlib.import_module(module)
    file = of_module.__file__
    assert file is not None
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        of, args = node.func.value, node.args
        if isinstance(of, ast.Name) and of.id == "re" and args and node.func.attr != "escape":
            given = [*args[1:], *(one.value for one in node.keywords if one.arg == "flags")]
            flags = next((flags for one in given if (flags := value_of(one, vars(of_module)))), 0)
            if text := text_of(args[0], vars(of_module)):
                matched = node.func.attr in {"match", "fullmatch"}
                yield Found(f"{module}:{node.lineno}", re.compile(text, flags), not matched)


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
        tree: Any = sre_parse.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    literals = "".join(_spelt(tree))
    signs = [sign for sign in dict.fromkeys(literals) if sign.isprintable() or sign in "\n\t"]
    seeds = [literals, literals[: len(literals) // 2], literals[:-1], literals[1:], *signs[:12]]
    seeds += [a + b for a, b in pairwise(signs)][:8]
    return [seed for seed in dict.fromkeys(seeds) if seed]


def _spelt(tree: Iterable[Any]) -> Iterator[str]:
    """A text that the parsed pattern nearly matches: its literals, one sign of each class, the first alternatives."""
    for kind, value in tree:
        if kind is sre_constants.LITERAL:
            yield chr(value)
        elif kind in (sre_constants.NOT_LITERAL, sre_constants.ANY):
            yield "x"
        elif kind is sre_constants.IN:
            yield _sign(value)
        elif kind is sre_constants.BRANCH:
            yield from _spelt(value[1][0])
        elif kind in _NESTED:
            yield from _spelt(value[_NESTED[kind]] if _NESTED[kind] is not None else value)


_NESTED = {
    sre_constants.SUBPATTERN: 3,
    sre_constants.MAX_REPEAT: 2,
    sre_constants.MIN_REPEAT: 2,
    sre_constants.POSSESSIVE_REPEAT: 2,
    sre_constants.ATOMIC_GROUP: None,
    sre_constants.ASSERT: 1,
}


def _sign(members: Sequence[Any]) -> str:
    """A character of a class."""
    for kind, value in members:
        if kind is sre_constants.LITERAL:
            return chr(value)
        if kind is sre_constants.RANGE:
            return chr(value[0])
        if kind is sre_constants.CATEGORY:
            return next((sign for name, sign in _SIGNS.items() if str(value).endswith(f"_{name}")), "x")
    return "x"


_SIGNS = {"SPACE": " ", "WORD": "w", "DIGIT": "7"}


def seconds(found: Found, text: str) -> float:
    signal.setitimer(signal.ITIMER_REAL, _HANGS)
    start = process_time()
    if found.searched:
        found.pattern.sub("", text)
    else:
        found.pattern.match(text)
        found.pattern.fullmatch(text)
    taken = process_time() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return taken


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


def may_be_slow(found: Found, seed: str) -> bool:
    """Whether a text of `LONG` could take too long, measured on a tenth: time may grow with the square."""
    tenth = LONG // 10
    return seconds(found, (seed * (tenth // len(seed) + 1))[:tenth] + "\x01") > _LONG_SECONDS / 100


def _given_up(*_: object) -> None:
    raise TimeoutError


def test_every_pattern_takes_linear_time() -> None:
    said: list[str] = []
    signal.signal(signal.SIGALRM, _given_up)
    for found in patterns():
        seeds = [*_CLASSES, *near_misses(found.pattern)]
        try:
            wrong = slow(found, seeds, SHORT, _SHORT_SECONDS)
            doubtful = seeds if wrong else [seed for seed in seeds if may_be_slow(found, seed)]
            said += wrong[:2] or slow(found, doubtful, LONG, _LONG_SECONDS)
        except TimeoutError:
            said.append(f"{found.where} does not come to an end")
    assert not said, "\n".join(said)
