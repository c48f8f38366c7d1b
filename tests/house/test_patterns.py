r"""Every pattern of the package runs in linear time: fed with long runs of every kind of character, and near misses.

Patterns are those that stand in a module (alone or in a collection) and those that a function compiles from constants.
Each is searched for, replaced and matched, whatever is done with it today: what is only matched begins with `\A`.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import fabula
from growth import LINEAR, growth

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

_LENGTH, _AGAIN = 800, 8_000  # at the second it is seen whether a bound of the pattern's own was all that grew
_HANGS = 60  # seconds of processor time after which a pattern that does not come to its end is given up
_CLASSES = (
    *(" ", "\t", "\n", " \n", "\n\n ", "a", "A", "Aa ", "a b. ", "é", "1", "1.", "字", "。", '"', '"a', "'", "“", "\\"),
    *("(", "()", "[", "[]", "{", "{}", "<", "<a>", "*", "**", "_", "-", "- ", "#", ".", ",", ":", "a:", "!", "/", "`"),
    *("|", "=", "&", "\r\n", "\u200b", "\u0301", "😀"),
)


Found = tuple[str, re.Pattern[str]]
"""Where a pattern stands, and the pattern."""


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
                yield f"{module}:{node.lineno}", re.compile(text, flags)


@cache
def patterns() -> tuple[Found, ...]:
    found: dict[tuple[str, int], Found] = {}
    for module in modules():
        held = vars(importlib.import_module(module))
        in_module = ((f"{module}.{name}", one) for name, value in held.items() for one in inside(value))
        for where, one in (*in_module, *in_functions(module)):
            found.setdefault((one.pattern, one.flags), (where, one))
    return tuple(found.values())


def test_the_walk_finds_patterns() -> None:
    names = {where for where, _ in patterns()}
    assert len(names) > 200
    assert {"fabula.base.characters._UNWANTED", "fabula.engine.replies.dialogue._EOD"} <= names


def seeds(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Beginnings, and what comes after them again and again: every class of characters, and near misses.

    Near misses are the pattern's literals in order, signs of its classes, and runs of those behind each part of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tree: Any = sre_parse.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    parts = ["".join(_spelt([part])) for part in tree]
    literals = "".join(parts)
    signs = [sign for sign in dict.fromkeys(literals) if sign.isprintable() or sign in "\n\t"]
    runs = [*_CLASSES, literals, literals[: len(literals) // 2], literals[:-1], literals[1:], *signs[:12]]
    runs += [a + b for a, b in pairwise(signs)][:8]
    yield from (("", run) for run in dict.fromkeys(runs) if run)
    beginnings = dict.fromkeys("".join(parts[:number]) for number in range(1, len(parts) + 1))
    yield from ((start, run) for start in [*beginnings][-12:] for run in dict.fromkeys((" ", "a", *signs[:4])) if start)


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


def tried(pattern: re.Pattern[str]) -> Callable[[str], None]:
    """All that can be done with a pattern."""

    def everything(text: str) -> None:
        pattern.sub("", text)
        pattern.match(text)
        pattern.fullmatch(text)

    return everything


def too_slow(pattern: re.Pattern[str], start: str, run: str, end: str = "") -> float:
    """How the pattern's time grows where it is more than linear, else 0."""

    def text(length: int) -> str:
        return start + (run * (length // len(run) + 1))[:length] + end

    everything = tried(pattern)
    for length in (_LENGTH, _AGAIN):
        if (grown := growth(everything, text, length)) < LINEAR:
            return 0.0
    return grown


def _given_up(*_: object) -> None:
    raise TimeoutError


def slow(found: Found) -> str:
    """What to say of a pattern that is not linear; else nothing."""
    where, pattern = found
    signal.setitimer(signal.ITIMER_VIRTUAL, _HANGS)
    try:
        for start, run in seeds(pattern):
            for end in ("\x01",) if start else ("", "\x01"):
                if grown := too_slow(pattern, start, run, end):
                    return f"{where}: {start[:40]!r} and {run[:20]!r} again and again: a growth of {grown:.1f}"
    except TimeoutError:
        return f"{where} does not come to an end"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def test_every_pattern_takes_linear_time() -> None:
    signal.signal(signal.SIGVTALRM, _given_up)
    assert [said for found in patterns() if (said := slow(found))] == []


def test_patterns_that_are_not_linear_are_found() -> None:
    signal.signal(signal.SIGVTALRM, _given_up)
    wrong = (r"\s*x", r"\S+\.\w", r"a.*b.*c", r"(?s)in .+? , yet")
    assert [slow(("", re.compile(pattern))) != "" for pattern in wrong] == [True] * len(wrong)
    assert slow(("", re.compile(r"\A\s*x"))) == slow(("", re.compile(r"(?<!\s)\s++x"))) == ""
