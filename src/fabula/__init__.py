"""fabula: rooms of agents that write long stories; edit anything, pay once, replay everything.

    story = fabula.write("Write a story about a lighthouse keeper.", model="ollama:llama3.1")

The verbs are write, plan, check, judge, rank, measure, chat and read; `VERB_async` is the same for who has an event
loop. The names stand in `__init__.pyi`, and are loaded when first used, so that importing the package costs next to
nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType

from fabula.base.lazily import lazily
from fabula.base.version import __version__ as __version__

__getattr__, __all__ = lazily(__name__)


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """The package, of which `measure` is the verb: importing the room of that name sets nothing here."""

    @property
    def measure(self) -> object:
        return __getattr__("measure")

    @measure.setter
    def measure(self, room: ModuleType) -> None:
        """The import system hands over the room, which `from fabula.measure import ...` finds without it."""


sys.modules[__name__].__class__ = _Package
