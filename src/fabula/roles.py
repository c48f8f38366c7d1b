"""Who plays a role: a model, a person or a program, freely mixed (Agents' Room, section 3 "Agents")."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from fabula.errors import ConfigError, ModelError, UnknownNameError
from fabula.models.base import Capabilities, Model, Reply, Request, Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.models.base import OnText

Answer: TypeAlias = Callable[[Request], Awaitable[str]]


@dataclass(frozen=True)
class Person:
    """A role played by a person: `answer` shows the request and waits for the text. A `Model` like any other."""

    who: str
    answer: Answer
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(parallel=1, sampling=frozenset()))

    @property
    def name(self) -> str:
        """`person:WHO`."""
        return f"person:{self.who}"

    @property
    def identity(self) -> str:
        """The name."""
        return self.name

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What the person wrote; costs nothing.

        Raises:
            ModelError: the person gave no text.
        """
        text = await self.answer(request)
        return _spoken(text, self.identity, request.role, on_text)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class Program:
    """A role played by a Python function from the rendered request to text. A `Model` like any other.

    `version` tells apart programs of one name; the command line gives a digest of the program's file.
    """

    what: str
    function: Callable[[Request], str | Awaitable[str]]
    version: str = ""
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(sampling=frozenset()))

    @property
    def name(self) -> str:
        """`program:WHAT`."""
        return f"program:{self.what}"

    @property
    def identity(self) -> str:
        """The name and, where it is given, the version: a changed program is asked anew."""
        return f"{self.name}@{self.version}" if self.version else self.name

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What the function returned; costs nothing.

        Raises:
            ModelError: it returned no text.
        """
        text = self.function(request)
        return _spoken(await text if inspect.isawaitable(text) else text, self.identity, request.role, on_text)

    async def close(self) -> None:
        """Nothing is held."""


def _spoken(text: object, who: str, role: str, on_text: OnText | None) -> Reply:
    if not isinstance(text, str) or not text.strip():
        raise ModelError(
            f"{who} gave no text for the role {role!r}. Answer with some, or cast the role anew.", model=who
        )
    if on_text is not None:
        on_text(text)
    return Reply(text, model=who)


@dataclass(frozen=True)
class Part:
    """One role's performer, the sampling values set for it, and its adapter if it has one.

    `sampling` goes before what a system asks for; `base` fills what both leave open (values a small model needs).
    """

    performer: Model
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str | None = None
    base: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True)
class Cast:
    """Who plays what; a role that is not named is played by `default`."""

    default: Part
    roles: Mapping[str, Part] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model) -> Cast:
        """One model in every role."""
        return cls(Part(model))

    def part(self, role: str) -> Part:
        """Who plays `role`."""
        return self.roles.get(role, self.default)

    async def close(self) -> None:
        """Close every performer once."""
        performers = {id(p.performer): p.performer for p in (self.default, *self.roles.values())}
        for performer in performers.values():
            await performer.close()


def load_function(spec: str) -> Callable[..., Any]:
    """The function that `path/to/file.py:name` names. It is the user's own code and runs as such.

    Raises:
        ConfigError: there is no such Python file.
        UnknownNameError: the file has no such function.
    """
    file, _, name = spec.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not path.is_file():
        raise ConfigError(f"{spec!r} names no Python function. Write it as path/to/file.py:function.")
    module = ModuleType(f"fabula_user_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses in it look for their module there
    try:
        SourceFileLoader(module.__name__, str(path)).exec_module(module)
    except SyntaxError as error:
        raise ConfigError(f"{path} is no sound Python: {error.msg} (line {error.lineno}). Mend it.") from error
    function = getattr(module, name, None)
    if not callable(function):
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownNameError(f"function in {path}", name, public)
    return function  # type: ignore[no-any-return] # callable() has just said so
