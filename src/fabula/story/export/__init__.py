"""A finished story as a file for readers, editors and programs.

A format is a module in this package with `NAME`, `SUFFIX` and `render(story, meta) -> bytes`; nothing lists them, so a
new format is a new file. Options of a format are keyword arguments of its `render`. Modules import what is heavy only
when they render.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

from fabula.base.errors import UnknownNameError
from fabula.story.export.meta import Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.story import Story

__all__ = ["EXPORTERS", "Exporter", "Meta", "find"]


class Exporter(Protocol):
    """A module that writes one format."""

    NAME: str
    SUFFIX: str

    def render(self, story: Story, meta: Meta) -> bytes:
        """The whole file; equal input gives equal bytes."""


def _look() -> dict[str, Exporter]:
    """The formats in this folder, by name."""
    modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]
    found = [cast("Exporter", m) for m in modules if all(hasattr(m, a) for a in ("NAME", "SUFFIX", "render"))]
    return {exporter.NAME: exporter for exporter in sorted(found, key=lambda e: e.NAME)}


EXPORTERS: Mapping[str, Exporter] = _look()


def find(name: str) -> Exporter:
    """The format of that name or file suffix, in any case: "epub", ".EPUB", "md".

    Raises:
        UnknownNameError: there is none.
    """
    wanted = name.lower().removeprefix(".")
    for exporter in EXPORTERS.values():
        if wanted in {exporter.NAME, exporter.SUFFIX.removeprefix(".")}:
            return exporter
    raise UnknownNameError("format", name, EXPORTERS)
