"""Entry points of other packages by their group, and which package is to blame when code fails."""

from __future__ import annotations

import re
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.characters import readable
from fabula.base.errors import PluginError
from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_NAME: Final = re.compile(r"\A[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_SHOWN: Final = 300  # characters of another's error


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of an installed package.

    Attributes:
        name: as users type it: lower-case letters, with hyphens.
        value: its target: a package, or `module:object`.
        source: its package, with the version.
    """

    name: str
    value: str
    source: str

    def load(self) -> Any:  # noqa: ANN401 - it may be anything
        """The target, imported.

        Raises:
            PluginError: it cannot be imported, or does not exist.
        """
        module, _, inner = self.value.partition(":")
        with faults_of(f"{self.name} (from {self.source})"):
            found: Any = import_module(module.strip())
            for part in filter(None, inner.strip().split(".")):
                found = getattr(found, part)
        return found

    def __call__(self, *given: Any) -> Any:  # noqa: ANN401 - it may be anything
        """The result of the target, a function.

        Raises:
            PluginError: it cannot be imported, or fails.
        """
        function = self.load()
        with faults_of(f"{self.name} (from {self.source})"):
            return function(*given)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins of a group by name, and problems with others, in sentences by name."""

    found: dict[str, Plugin]
    problems: dict[str, str]


def plugins(group: str, own: Collection[str] = (), noun: str = "") -> Plugins:
    """The plugins of installed packages for `group`, without importing them.

    Args:
        group: the group of entry points.
        own: fabula's own names, which take precedence.
        noun: the word for such a plugin, in sentences.
    """
    brought = _plugins(group, tuple(sys.path))
    found, problems = dict(brought.found), dict(brought.problems)
    for name in found.keys() & set(own):
        problems[name] = (
            f"{found.pop(name).source} provides a {noun} {name!r}, but fabula already has one with that name and uses "
            "its own. Ask the author to choose another name."
        )
    return Plugins(found, problems)


@remembered(16)  # reading what is installed takes a while, and does not change while the path is the same
def _plugins(group: str, path: tuple[str, ...]) -> Plugins:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 0.03 s, which most commands need not pay

    del path
    found: dict[str, Plugin] = {}
    problems: dict[str, str] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        name = plain_name(entry.name)
        source = readable(f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package")
        plugin = Plugin(name, entry.value, source)
        other = found.get(name)
        if not is_plain(name):
            problems[name] = (
                f"{source} lists {readable(entry.name)!r} in its group {group}, which is not a valid name. Ask the "
                "author to use lower-case letters and hyphens."
            )
        elif other is None:
            found[name] = plugin
        elif other != plugin:
            problems[name] = (
                f"{other.source} and {source} both provide {name!r}. fabula uses the one from {other.source}."
            )
    return Plugins(found, problems)


def plain_name(name: str) -> str:
    """A name in the form for comparison: lower-case letters, with hyphens."""
    return name.strip().replace("_", "-").lower()


def is_plain(name: str) -> bool:
    """Whether users can type a name: lower-case letters and digits, with hyphens between them."""
    return _NAME.match(name) is not None


@contextmanager
def faults_of(what: str, *, but: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Report an error that is neither fabula's nor one of `but` as a fault of the code where it arose.

    Raises:
        PluginError: `what` failed; the message names the error and its place.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if _is_ours(error) or isinstance(error, but):
            raise
        raise PluginError(
            f"{what} failed: {in_one_line(error)}. The fault is in that code, not in fabula. Tell its author, or "
            "correct the code."
        ) from error


def _is_ours(error: BaseException) -> bool:
    """Whether fabula itself raised an error, alone or among others."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_ours(inner) for inner in error.exceptions)
    return any(kind.__module__.partition(".")[0] == "fabula" for kind in type(error).__mro__)


def in_one_line(error: BaseException) -> str:
    """An error of someone else's code in one line, with the file and line where it arose."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"there is no module {readable(error.name)!r} here; if a package contains it, install that package"
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    text = readable(" ".join(str(error).split()))[:_SHOWN]
    return f"{type(error).__name__}{': ' * bool(text)}{text}{place}"
