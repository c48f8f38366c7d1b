"""The shelf: all projects, and how to begin one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from fabula.server.api.depends import ShelfDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page

if TYPE_CHECKING:
    from fastapi.responses import Response

router = APIRouter()


@router.get("/", response_model=None)
async def shelf(request: Request, shelf: ShelfDep) -> Response:
    """All projects."""
    return page(request, "shelf.html", names=shelf.names)
