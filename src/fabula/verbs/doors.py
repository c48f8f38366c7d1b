"""The doors for Python: projects here, and what every door for Python has, here or far away.

The methods of `Verbs` and `ShelfVerbs` are made of the verbs; `doors.pyi` has their types, and is written by
`docs/generate.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fabula.verbs.base import every

if TYPE_CHECKING:
    from fabula.verbs.base import Verb


class Door:
    """What does verbs. Each waits for its result; `VERB_async` is the same, to be awaited."""

    def do(self, verb: Verb, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - what the verb gives
        """What a verb gives for its arguments; each door has its own way."""
        raise NotImplementedError


class Verbs(Door):
    """What can be done with a project."""


class ShelfVerbs(Door):
    """What can be done where projects are: list them, make one, take one away, and see what they are written with."""


def _methods(verb: Verb) -> None:
    """Give every door a verb, and the same to be awaited."""

    def blocking(self: Door, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the verb has them
        return self.do(verb, verb.bound(args, kwargs))

    async def awaited(self: Door, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the verb has them
        return await asyncio.to_thread(self.do, verb, verb.bound(args, kwargs))

    owner = Verbs if verb.of_project else ShelfVerbs
    for method, name in ((blocking, verb.name), (awaited, f"{verb.name}_async")):
        method.__name__, method.__qualname__ = name, f"{owner.__name__}.{name}"
        method.__doc__, method.__module__ = verb.function.__doc__, __name__
        method.__signature__ = verb.method_signature  # type: ignore[attr-defined] # what `inspect` looks at
        setattr(owner, name, method)


for _verb in every().values():
    _methods(_verb)
