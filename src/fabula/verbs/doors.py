"""The doors for Python: local projects, and code shared by all Python doors.

The methods of `Verbs` and `ShelfVerbs` are generated from the verbs on first use. `docs/generate.py` writes their types
to `doors.pyi`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from fabula.verbs.base import HEARS, OnEvent, Verb, long_verb, named, names

if TYPE_CHECKING:
    from fabula.app.bills import Estimate


class Door(ABC):
    """Runs verbs. Each method blocks until its result is available; `VERB_async` is the awaitable form."""

    @abstractmethod
    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - what the verb gives
        """Return the result of a verb called with these arguments; each door implements this differently.

        `on_event` hears what happens.
        """

    async def do_async(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - as above
        """The awaitable form of `do`."""
        return await asyncio.to_thread(self.do, verb, arguments, on_event)


class Verbs(Door):
    """Everything you can do with a project."""

    @abstractmethod
    def estimated(self, verb: Verb, arguments: dict[str, Any]) -> Estimate:
        """Return the calls that a long verb would make with these arguments."""

    def dry_run(self, verb: str, **arguments: Any) -> Estimate:  # noqa: ANN401 - as the verb has them
        """Return the calls and cost of a long verb: `dry_run("check", model="...")`. No model is called.

        Raises:
            FabulaError: the verb cannot run.
        """
        found = long_verb(verb)
        return self.estimated(found, found.bound((), arguments))

    async def dry_run_async(self, verb: str, **arguments: Any) -> Estimate:  # noqa: ANN401 - as above
        """The awaitable form of `dry_run`."""
        return await asyncio.to_thread(self.dry_run, verb, **arguments)


class ShelfVerbs(Door):
    """Everything you can do with all projects together: list, add and remove projects, and list systems and models."""


class _Method:
    """A verb as a method. It is made when it is first looked up, so that its module is imported only then."""

    def __init__(self, owner: type[Door], name: str, verb: str) -> None:
        self._owner, self._name, self._verb = owner, name, verb

    def __get__(self, door: Door | None, kind: type[Door]) -> Any:  # noqa: ANN401 - a function, or a method
        _methods(self._owner, named(self._verb))
        return vars(self._owner)[self._name].__get__(door, kind)


def _methods(owner: type[Door], verb: Verb) -> None:
    """Give doors a verb and its awaitable form."""

    def blocking(self: Door, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the verb has them
        on_event = kwargs.pop(HEARS, None) if verb.long else None
        return self.do(verb, verb.bound(args, kwargs), on_event)

    async def awaited(self: Door, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the verb has them
        on_event = kwargs.pop(HEARS, None) if verb.long else None
        return await self.do_async(verb, verb.bound(args, kwargs), on_event)

    signature = verb.method_signature
    for method, name in ((blocking, verb.name), (awaited, f"{verb.name}_async")):
        method.__name__, method.__qualname__ = name, f"{owner.__name__}.{name}"
        method.__doc__, method.__module__ = verb.function.__doc__, __name__
        method.__signature__ = signature  # type: ignore[attr-defined] # what `inspect` looks at
        setattr(owner, name, method)


for _verb, _of_project in names().items():
    _of = Verbs if _of_project else ShelfVerbs
    for _name in (_verb, f"{_verb}_async"):
        setattr(_of, _name, _Method(_of, _name, _verb))
