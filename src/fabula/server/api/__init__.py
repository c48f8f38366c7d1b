"""Projects over HTTP, at `/api/v1`. Each noun has a module here with its routes as `router`, found automatically."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fastapi import APIRouter

PREFIX: Final = "/api/v1"


def routers() -> list[APIRouter]:
    """The routes of all modules of this package, below `PREFIX`."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return [module.router for module in modules if hasattr(module, "router")]
