"""What a story is made of and what it says: plan, world, findings, and the story as a file for readers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response

from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.wire import (
    Formats,
)
from fabula.story.export import formats as formats_known

router = APIRouter(prefix="/projects/{project}", tags=["story"])

_KINDS = {
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".fountain": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".epub": "application/epub+zip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment.",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _KINDS.values()},
    }
}


@router.get("/exports", summary="The formats in which the story can be had")
def formats(workspace: WorkspaceDep) -> Formats:
    """By name."""
    del workspace
    return Formats(list(formats_known()))


@router.get("/exports/{name}", summary="The story as a file", responses=_FILE, response_class=Response)
def export(workspace: WorkspaceDep, name: Annotated[str, Path(max_length=40, description="Of a format.")]) -> Response:
    """For readers."""
    made = workspace.export(name)
    suffix = made.file[made.file.rindex(".") :]
    headers = {"content-disposition": f'attachment; filename="{made.file}"'}
    return Response(made.content, media_type=_KINDS.get(suffix, "application/octet-stream"), headers=headers)
