"""What fabula keeps in memory beside the store that has a bound in bytes (`base.kept`): little, and bounded too."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from tree import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree import Module

_CACHES: Final = ("cache", "lru_cache")
_CONTAINERS: Final = ("dict", "list", "set", "OrderedDict", "defaultdict", "Counter", "deque", "WeakValueDictionary")
_FREE: Final = {
    "fabula.base.remembering": "the one place that makes them",
    "fabula.story.sentences": "whether contexts of at most 40 letters end a sentence; asked for each of them",
}
_MOST_LETTERS: Final = 200_000_000
_LONGEST: Final = 10_000  # as `remembered` takes it where nobody says otherwise


def unbounded(tree: ast.Module) -> Iterator[str]:
    """Functions whose answers are kept for whatever they are asked about, and containers that a module fills."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_caches, node.decorator_list)):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(one.annotation is None or ast.unparse(one.annotation) != "bool" for one in arguments):
                yield f"{node.lineno}: {node.name}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _caches(node.func):
            yield f"{node.lineno}: {ast.unparse(node)}"
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_empty(node.value):
            yield f"{node.lineno}: {ast.unparse(node)}"


def _caches(node: ast.expr) -> bool:
    name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    return name.rpartition(".")[2] in _CACHES


def _is_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List | ast.Set):
        return not value.elts
    made = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return made in _CONTAINERS and (made == "defaultdict" or not value.args)  # type: ignore[attr-defined] # a call


def letters(module: Module) -> Iterator[int]:
    """How many letters each function that remembers may keep."""
    constants = {
        ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]): node.value
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "remembered":
            most, longest = (ast.literal_eval(constants.get(ast.unparse(one), one)) for one in _two(node))
            yield most * longest


def _two(call: ast.Call) -> list[ast.expr]:
    return [*call.args, ast.Constant(_LONGEST)][:2]


def test_no_cache_is_without_a_bound() -> None:
    found = [f"{one.name}:{place}" for one in modules() if one.name not in _FREE for place in unbounded(one.tree)]
    assert not found, "keep it in `base.kept.KEPT`, or, of short texts, with `base.remembering.remembered`"
    assert set(_FREE) <= {one.name for one in modules()}


def test_all_that_is_remembered_of_short_texts_has_a_bound_too() -> None:
    found = {one.name: sum(letters(one)) for one in modules() if one.name != "fabula.base.remembering"}
    assert 0 < sum(found.values()) <= _MOST_LETTERS, {name: count for name, count in found.items() if count}


def test_a_cache_without_a_bound_is_found() -> None:
    code = """
@lru_cache(maxsize=256)
def report(file: Path, changed: int): ...
@functools.cache
def reader(): ...
@cache
def shape(*, short: bool): ...
known = lru_cache(8)(count)
_SEEN: dict[str, int] = {}
_NAMES: Final = {"a": 1}
_ALL = defaultdict(list)
"""
    assert [place.partition(":")[2].strip() for place in unbounded(ast.parse(code))] == [
        "report",
        "lru_cache(8)(count)",
        "_SEEN: dict[str, int] = {}",
        "_ALL = defaultdict(list)",
    ]
