"""fabula: rooms of agents that write long stories; edit anything, pay once, replay everything.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fabula.base.version import __version__

if TYPE_CHECKING:
    from fabula.app.writing import Options, dry_run, dry_run_in, write, write_in
    from fabula.base.errors import FabulaError
    from fabula.project.folder import Project
    from fabula.project.settings import Settings
    from fabula.story import Brief, Scene, Story

__all__ = [
    "Brief",
    "FabulaError",
    "Options",
    "Project",
    "Scene",
    "Settings",
    "Story",
    "__version__",
    "dry_run",
    "dry_run_in",
    "write",
    "write_in",
]
_HOMES = {
    "Brief": "story",
    "FabulaError": "base.errors",
    "Project": "project.folder",
    "Scene": "story",
    "Settings": "project.settings",
    "Story": "story",
    "Options": "app.writing",
    "dry_run": "app.writing",
    "dry_run_in": "app.writing",
    "write": "app.writing",
    "write_in": "app.writing",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"fabula.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fabula' has no attribute {name!r}")
