"""fabula: rooms of agents that write long stories; edit anything, pay once, replay everything.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.authoring import Wishes, rehearse, rehearse_in, write, write_in
    from fabula.errors import FabulaError
    from fabula.project import Project
    from fabula.settings import Settings
    from fabula.story import Brief, Scene, Story

__version__ = "0.1.0"
__all__ = [
    "Brief",
    "FabulaError",
    "Project",
    "Scene",
    "Settings",
    "Story",
    "Wishes",
    "__version__",
    "rehearse",
    "rehearse_in",
    "write",
    "write_in",
]
_HOMES = {
    "Brief": "story",
    "FabulaError": "errors",
    "Project": "project",
    "Scene": "story",
    "Settings": "settings",
    "Story": "story",
    "Wishes": "authoring",
    "rehearse": "authoring",
    "rehearse_in": "authoring",
    "write": "authoring",
    "write_in": "authoring",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"fabula.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fabula' has no attribute {name!r}")
