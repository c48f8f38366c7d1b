"""The pages: each has a module with its routes as `router`, found automatically."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter


def routers() -> dict[str, APIRouter]:
    """The routes of all pages, by the name of their module."""
    modules = {found.name: import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)}
    return {name: module.router for name, module in modules.items() if hasattr(module, "router")}
