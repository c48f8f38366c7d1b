"""What a method reads: which of its settings, and what is asked for each of its artefacts beside what it declares."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.run import Run

if TYPE_CHECKING:
    from fabula.models.base import Reply, Request

_COPYING: Final = frozenset({"dataclasses", "fabula.engine.methods"})  # modules that look at each field, and use none


def traced(config: Any, read: set[str], group: str = "") -> Any:  # noqa: ANN401 - each method has its own Config
    """A copy of a `Config` that notes in `read` the full name of each setting as soon as something reads it.

    To copy a config, compare it or print it is not to read it.
    """
    kind, names = type(config), {one.name for one in fields(config)}

    def look(self: object, name: str) -> object:
        if name in names and not _copies(sys._getframe(1)):  # noqa: SLF001 - who asks is known from nothing else
            read.add(f"{group}{name}")
        return object.__getattribute__(self, name)

    noting = type(kind.__name__, (kind,), {"__slots__": (), "__getattribute__": look, "__module__": kind.__module__})
    copy: Any = object.__new__(noting)
    for name in names:
        value = getattr(config, name)
        inner = is_dataclass(value) and not group
        object.__setattr__(copy, name, traced(value, read, f"{name}.") if inner else value)
    return copy


def _copies(frame: Any) -> bool:  # noqa: ANN401 - a frame
    """Whether code is that of a dataclass (`replace`, `__eq__`), which looks at every field."""
    return frame.f_globals.get("__name__") in _COPYING or frame.f_code.co_filename == "<string>"


@dataclass
class Trace:
    """What runs read, kept and asked.

    Attributes:
        settings: full names of the settings that were read.
        reads: what each artefact declares that it reads, in the order in which they were begun; `None` is everything.
        versions: of the artefacts, digests of all that later work reads of them.
        asked: the prompts, by the path of their call, in the order in which they were asked.
    """

    settings: set[str] = field(default_factory=set)
    reads: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def of(self, config: Any) -> Any:  # noqa: ANN401 - each method has its own Config
        """A copy of a `Config` that notes here what is read of it."""
        return traced(config, self.settings)

    def prompts(self, artefact: str) -> list[tuple[str, str]]:
        """The prompts that are asked while an artefact is made, sorted, since some are asked side by side."""
        return sorted(one for one in self.asked if one[0].startswith(f"{artefact}/"))


@dataclass(frozen=True)
class TracedRun(Run):
    """A run that fills a trace."""

    trace: Trace = field(default_factory=Trace)

    async def _artefact(self, name: str, *given: Any, **named: Any) -> tuple[str, bool]:  # noqa: ANN401 - as in `Run`
        reads = named.get("reads")
        self.trace.reads[self._path(name)] = None if reads is None else tuple(reads)
        return await super()._artefact(name, *given, **named)

    async def _answer(self, request: Request, *given: Any, **named: Any) -> Reply:  # noqa: ANN401 - as in `Run`
        self.trace.asked.append((request.path, said_in(request)))
        return await super()._answer(request, *given, **named)

    def _seen(self, name: str, *texts: str, known: bool = True) -> str:
        text = super()._seen(name, *texts, known=known)
        self.trace.versions[self._path(name)] = self.context.versions[self._path(name)][0]
        return text


def said_in(request: Request) -> str:
    """The messages of a request as one text."""
    return "\n\n".join(f"{message.role}: {message.content}" for message in request.messages)
