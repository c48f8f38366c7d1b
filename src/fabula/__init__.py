"""fabula: agents that write long stories together; edit anything, pay for each call once, and replay everything.

    story = fabula.write("Write a story about a lighthouse keeper.", model="ollama:llama3.1")

The verbs are write, plan, check, judge, rank, measure, chat and read; use `VERB_async` in an event loop. The names are
listed in `__init__.pyi` and are imported on first use, so importing the package costs almost nothing.
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
    """The package, in which `measure` is the verb: importing the module of that name sets nothing here."""

    @property
    def measure(self) -> object:
        return __getattr__("measure")

    @measure.setter
    def measure(self, room: ModuleType) -> None:
        """Ignore the module that the import system assigns; `from fabula.measure import ...` still works."""


sys.modules[__name__].__class__ = _Package
