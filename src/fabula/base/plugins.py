"""What other packages bring: entry points by their group, and whose fault it is when their code fails."""

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
        name: as users type it: small letters, with hyphens.
        value: what it points to: a package, or `module:object`.
        source: the package that brings it, with its version.
    """

    name: str
    value: str
    source: str

    def load(self) -> Any:  # noqa: ANN401 - it may be anything
        """What it points to, imported.

        Raises:
            PluginError: it cannot be imported, or is not there.
        """
        module, _, inner = self.value.partition(":")
        with faults_of(f"{self.name} (from {self.source})"):
            found: Any = import_module(module.strip())
            for part in filter(None, inner.strip().split(".")):
                found = getattr(found, part)
        return found

    def __call__(self, *given: Any) -> Any:  # noqa: ANN401 - it may be anything
        """What the function that it points to gives.

        Raises:
            PluginError: it cannot be imported, or fails.
        """
        function = self.load()
        with faults_of(f"{self.name} (from {self.source})"):
            return function(*given)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins of a group by name, and what is wrong with others, in sentences by name."""

    found: dict[str, Plugin]
    problems: dict[str, str]


def plugins(group: str, own: Collection[str] = (), noun: str = "") -> Plugins:
    """The plugins that installed packages bring for `group`; nothing of them is imported.

    Args:
        group: of entry points.
        own: names that fabula has itself, which go before theirs.
        noun: what one is called, in sentences.
    """
    brought = _plugins(group, tuple(sys.path))
    found, problems = dict(brought.found), dict(brought.problems)
    for name in found.keys() & set(own):
        problems[name] = (
            f"{found.pop(name).source} brings a {noun} {name!r}, which is fabula's own name for another; fabula's is "
            "used. Its author should choose another name."
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
                f"{source} names {readable(entry.name)!r} in its group {group}, which is no name. Its author should "
                "take small letters and hyphens."
            )
        elif other is None:
            found[name] = plugin
        elif other != plugin:
            problems[name] = f"{other.source} and {source} both bring {name!r}; that of {other.source} is used."
    return Plugins(found, problems)


def plain_name(name: str) -> str:
    """A name as it is compared: small letters, with hyphens."""
    return name.strip().replace("_", "-").lower()


def is_plain(name: str) -> bool:
    """Whether a name is one that users can type: small letters and digits with hyphens between them."""
    return _NAME.match(name) is not None


@contextmanager
def faults_of(what: str, *, but: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Say of an error that is none of fabula's, nor one of `but`, in whose code it arose.

    Raises:
        PluginError: `what` failed; names the error and its place.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if _is_ours(error) or isinstance(error, but):
            raise
        raise PluginError(
            f"{what} failed: {in_one_line(error)}. That is a fault in it and not in fabula: tell its author, or "
            "correct it."
        ) from error


def _is_ours(error: BaseException) -> bool:
    """Whether fabula itself has raised an error, alone or among others."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_ours(inner) for inner in error.exceptions)
    return any(kind.__module__.partition(".")[0] == "fabula" for kind in type(error).__mro__)


def in_one_line(error: BaseException) -> str:
    """An error of somebody else's code in one line, with the file and line where it arose."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"there is no module {readable(error.name)!r} here; if a package brings it, install that"
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    text = readable(" ".join(str(error).split()))[:_SHOWN]
    return f"{type(error).__name__}{': ' * bool(text)}{text}{place}"
