"""Jinja for prompt files, which may come from somebody else: they access only their fields, in limited time.

Jinja's own sandbox keeps templates away from Python's internals. This module adds limits: some seconds in total for
loops, calls and included files, and some millions of letters for texts. A file is read only if it is in its folder, so
that a link cannot bring a file from elsewhere into a prompt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    meta,
    nodes,
    pass_environment,
    pass_eval_context,
)
from jinja2.exceptions import SecurityError
from jinja2.filters import do_indent, do_join, do_replace
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from fabula.base.errors import UsageError
from fabula.base.files import inside
from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from types import CodeType

    from jinja2.bccache import Bucket
    from jinja2.nodes import EvalContext
    from jinja2.runtime import Context


_SECONDS: Final = 10.0
_LETTERS: Final = 50_000_000  # that all texts of one prompt have on the way
_LARGEST: Final = 200_000  # bytes of a file
_KEPT: Final = 500  # compiled files
_FILTERS: Final = frozenset(
    {
        *("abs", "capitalize", "count", "d", "default", "dictsort", "escape", "first", "float", "groupby"),
        *("indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject"),
        *("rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "sort", "string", "title"),
        *("tojson", "trim", "truncate", "unique", "upper", "wordcount"),
    }
)
_OF_TEXT: Final = frozenset(
    {
        *("capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isdigit", "islower", "istitle"),
        *("isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rpartition"),
        *("rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"),
    }
)


class OwnFiles(FileSystemLoader):
    """Reads files that are really in their folder, not linked into it, and not larger than a prompt may be."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """The text of a file, its path, and whether it is still the same.

        Raises:
            TemplateNotFound: there is no such file.
            SecurityError: the file is outside its folder, is not a file, or is too large.
        """
        for folder in map(Path, self.searchpath):
            path = folder / template
            if path.is_symlink() or path.exists():
                check_own(folder, path)
                break
        return super().get_source(environment, template)


def check_own(folder: Path, path: Path) -> None:
    """Check that a file is in its folder, even after following links, and is not larger than a prompt may be.

    Raises:
        SecurityError: the file is outside the folder, is not a file, or is too large.
    """
    try:
        inside(folder, path.relative_to(folder).as_posix())
    except (UsageError, ValueError) as error:
        raise SecurityError(str(error)) from error
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise SecurityError(f"{path} is not a file of at most {_LARGEST:,} bytes. Put one there.")


class _Compiled(BytecodeCache):
    """What this process has compiled, so that a project that is looked at again takes no time for it."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give what was compiled from the same file with the same text."""
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, beside a bounded number of others."""
        if len(self._codes) >= _KEPT:
            del self._codes[next(iter(self._codes))]
        self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _Compiled()


class BoundedSandbox(ImmutableSandboxedEnvironment):
    """The sandbox, with limits of time and size for each prompt; `begin` resets them."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(
            loader=OwnFiles(list(folders)),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # a prompt is plain text, not HTML
            auto_reload=False,  # what counts is what stood there when a run began, whose record says so
            finalize=self.sized,
            bytecode_cache=_COMPILED,
        )
        self.filters = {name: own for name, own in self.filters.items() if name in _FILTERS}
        self.filters |= {"join": _join, "replace": _replace, "indent": _indent}
        self.filters |= {"_counted": _counted, "_sized": _sized}
        self.globals.pop("lipsum", None)
        self.begin()

    def begin(self) -> None:
        """Reset the limits for the next prompt."""
        self._until, self._left = time.monotonic() + _SECONDS, _LETTERS

    def tick(self) -> None:
        """Check the time after a step.

        Raises:
            SecurityError: no time is left.
        """
        if time.monotonic() > self._until:
            raise SecurityError(f"it takes longer than {_SECONDS:g} s")

    def spend(self, letters: int) -> None:
        """Count letters, or items of a list, towards the limit.

        Raises:
            SecurityError: the limit is exceeded.
        """
        self._left -= letters
        if self._left < 0:
            raise SecurityError(f"its texts, including intermediate ones, exceed {_LETTERS:,} letters")

    def sized(self, value: Any) -> Any:  # noqa: ANN401 - whatever a template makes
        """The value, after counting its size."""
        if isinstance(value, str):
            self.spend(len(value))
        return value

    def concat(self, pieces: Iterable[str]) -> str:
        """The pieces as one text."""
        found = []
        for piece in pieces:
            self.spend(len(piece))
            found.append(piece)
        return "".join(found)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja's form
        """The result of an operator, after checking its size."""
        self.tick()
        if operator == "**" or (operator == "%" and isinstance(left, (str, bytes))):
            raise SecurityError(f"the operator {operator} cannot be used here")
        if operator == "*":
            sizes = [len(side) if hasattr(side, "__len__") else 1 for side in (left, right)]
            times = [abs(side) for side in (left, right) if isinstance(side, int)]
            if max(sizes) > 1:
                self.spend(max(sizes) * max(times, default=1))
            elif max(times, default=0) > _LETTERS:
                raise SecurityError("a number is too large")
        result = super().call_binop(context, operator, left, right)
        if operator == "+" and hasattr(result, "__len__"):
            self.spend(len(result))
        return result

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401 - Jinja's form
        """Whether the sandbox allows an attribute; for texts, only methods whose result has a known size."""
        if isinstance(obj, (str, bytes)) and attr not in _OF_TEXT:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401 - Jinja's form
        """A function that refuses to format, because a short width can make a text of any size."""

        def refused(*_: object, **__: object) -> str:
            raise SecurityError("the method format cannot be used here; join texts with ~")

        return None if super().wrap_str_format(value) is None else refused

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, ANN401, PYI063 - Jinja's form
        """The result of a call, if there is time for it."""
        __self.tick()
        text = getattr(__obj, "__self__", None)
        if isinstance(text, str):
            __self.spend(_growth(getattr(__obj, "__name__", ""), text, args))
        return super().call(__context, __obj, *args, **kwargs)

    def get_template(self, name: Any, parent: Any = None, globals: Any = None) -> Template:  # noqa: A002, ANN401 - Jinja's form
        """The template of a file, if there is time for it."""
        self.tick()
        return super().get_template(name, parent, globals)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """The tree of a file, in which loops and texts are counted."""
        tree: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


@remembered(_KEPT, 20_000)
def literals_of(source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts in a prompt file, without the values of its fields, and the names of the files that it is built on."""
    tree = BoundedSandbox(()).parse(source)
    texts = tuple(text.data for text in tree.find_all(nodes.TemplateData) if text.data.strip())
    return texts, tuple(filter(None, meta.find_referenced_templates(tree)))


class _Counting(NodeTransformer):
    """Puts what counts around loops, filters and joined texts."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_counted")
        return node

    def visit_Filter(self, node: nodes.Filter) -> nodes.Filter:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        return _filtered(node, "_sized")

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        return _filtered(node, "_sized")


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(cast("nodes.Expr", node), name, [], [], None, None, lineno=node.lineno)


@pass_environment
def _counted(environment: BoundedSandbox, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        environment.tick()
        environment.spend(1)
        yield value


@pass_environment
def _sized(environment: BoundedSandbox, value: Any) -> Any:  # noqa: ANN401 - whatever a template makes
    environment.tick()
    return environment.sized(value)


@pass_eval_context
def _join(context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    items, environment = list(value), _environment(context)
    environment.spend(sum(len(item) if isinstance(item, str) else 1 for item in items) + len(items) * len(str(d)))
    return str(do_join(context, items, d, attribute))


@pass_eval_context
def _replace(context: EvalContext, s: str, old: str, new: str, count: int | None = None) -> str:
    _environment(context).spend(_growth("replace", str(s), (str(old), str(new))))
    return do_replace(context, s, old, new, count)


@pass_eval_context
def _indent(context: EvalContext, s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:  # noqa: FBT001, FBT002 - Jinja's form
    step = len(width) if isinstance(width, str) else width
    _environment(context).spend(len(s) + (s.count("\n") + 1) * step)
    return do_indent(s, width, first, blank)


def _environment(context: EvalContext) -> BoundedSandbox:
    return cast("BoundedSandbox", context.environment)


def _growth(method: str, text: str, args: Sequence[Any]) -> int:
    """How many letters a method of a text may give."""
    given = [arg for arg in args if isinstance(arg, str)]
    if method == "replace" and len(given) == 2:  # noqa: PLR2004 - what is replaced, and by what
        return len(text) + (text.count(given[0]) if given[0] else len(text) + 1) * len(given[1])
    if method == "join" and args and hasattr(args[0], "__len__"):
        return len(text) * len(args[0])
    return len(text)
