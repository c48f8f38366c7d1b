"""fabula: rooms of agents that write long stories; edit anything, pay once, replay everything.

    story = fabula.write("Write a story about a lighthouse keeper.", model="ollama:llama3.1")

The verbs are write, plan, check, judge, rank, measure, chat and read; `VERB_async` is the same for who has an event
loop. The names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from fabula.base.version import __version__

if TYPE_CHECKING:
    from fabula import errors, events
    from fabula.app.chatting import Chat
    from fabula.app.checking import Checked
    from fabula.app.judging import Judged
    from fabula.app.measuring import Measured
    from fabula.app.planning import Planned
    from fabula.app.ranking import Ranked
    from fabula.app.verbs import (
        chat,
        chat_async,
        check,
        check_async,
        dry_run,
        dry_run_async,
        judge,
        judge_async,
        measure,
        measure_async,
        plan,
        plan_async,
        rank,
        rank_async,
        write,
        write_async,
    )
    from fabula.app.writing import Expected, Options, Written, dry_run_in, write_in
    from fabula.base.errors import FabulaError
    from fabula.project.settings import Settings
    from fabula.server.client import Client
    from fabula.story import Brief, Scene, Story
    from fabula.verbs.home import Project, read

__all__ = [
    "Brief",
    "Chat",
    "Checked",
    "Client",
    "Expected",
    "FabulaError",
    "Judged",
    "Measured",
    "Options",
    "Planned",
    "Project",
    "Ranked",
    "Scene",
    "Settings",
    "Story",
    "Written",
    "__version__",
    "chat",
    "chat_async",
    "check",
    "check_async",
    "dry_run",
    "dry_run_async",
    "dry_run_in",
    "errors",
    "events",
    "judge",
    "judge_async",
    "measure",
    "measure_async",
    "plan",
    "plan_async",
    "rank",
    "rank_async",
    "read",
    "write",
    "write_async",
    "write_in",
]
_VERBS = ("write", "dry_run", "plan", "check", "judge", "rank", "measure", "chat")
_HOMES = {
    "app.chatting": ("Chat",),
    "app.checking": ("Checked",),
    "app.judging": ("Judged",),
    "app.measuring": ("Measured",),
    "app.planning": ("Planned",),
    "app.ranking": ("Ranked",),
    "app.verbs": tuple(name + end for name in _VERBS for end in ("", "_async")),
    "app.writing": ("Expected", "Options", "Written", "dry_run_in", "write_in"),
    "base.errors": ("FabulaError",),
    "project.settings": ("Settings",),
    "server.client": ("Client",),
    "story": ("Brief", "Scene", "Story"),
    "verbs.home": ("Project", "read"),
}
_MODULES = ("errors", "events")
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"fabula.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"fabula.{name}")
    raise AttributeError(f"module 'fabula' has no attribute {name!r}")


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
