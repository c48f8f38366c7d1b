"""What a story is made of and what it says: plan, world, findings, and the story as a file for readers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.wire import (
    MOST_FACTS,
    Formats,
    PlanView,
    WorldView,
)
from fabula.story.export import FORMATS

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


@router.get("/plan", summary="The plan, in both orders of time")
def plan(workspace: WorkspaceDep) -> PlanView:
    """Its scenes stand in the order of telling."""
    return PlanView.of(workspace.plan())


@router.get("/world", summary="What is true in the story, or what somebody takes for true")
def world(
    workspace: WorkspaceDep,
    at: Annotated[str, Query(max_length=200, description="At the end of a scene: its number or title.")] = "",
    of: Annotated[str, Query(max_length=200, description="Of whom.")] = "",
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="So many facts are left out.")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_FACTS)] = MOST_FACTS,
) -> WorldView:
    """With what cannot both be true."""
    return WorldView.of_shown(workspace.world(at, of), after, most)


@router.get("/exports", summary="The formats in which the story can be had")
def formats(workspace: WorkspaceDep) -> Formats:
    """By name."""
    del workspace
    return Formats(list(FORMATS))


@router.get("/exports/{name}", summary="The story as a file", responses=_FILE, response_class=Response)
def export(workspace: WorkspaceDep, name: Annotated[str, Path(max_length=40, description="Of a format.")]) -> Response:
    """For readers."""
    made = workspace.export(name)
    suffix = made.file[made.file.rindex(".") :]
    headers = {"content-disposition": f'attachment; filename="{made.file}"'}
    return Response(made.content, media_type=_KINDS.get(suffix, "application/octet-stream"), headers=headers)
