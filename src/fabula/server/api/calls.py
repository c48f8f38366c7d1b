"""What was asked and answered in a project: `/projects/{project}/calls`."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query

from fabula.app.past_calls import LONGEST, MOST, CallList, WholeCall
from fabula.engine.journal import CallFilter
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it

router = APIRouter(prefix="/projects/{project}/calls", tags=["calls"])

Search = Annotated[str, Query(max_length=LONGEST, description="Stands in a prompt or a reply.")]
Role = Annotated[str, Query(max_length=LONGEST, description="Who was asked.")]
ModelName = Annotated[str, Query(max_length=LONGEST, description="Who answered.")]
Under = Annotated[str, Query(max_length=1000, description="The artefact, or a path of calls, with all below it.")]

Number = Annotated[int, Path(ge=1, le=2**53)]
Before = Annotated[int | None, Query(ge=1, le=2**53, description="Only calls before the one of this number.")]


@router.get("", summary="Search all calls")
async def listed(
    workspace: WorkspaceDep,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
    before: Before = None,
    most: Annotated[int, Query(ge=1, le=200)] = MOST,
) -> CallList:
    """The newest first. Text is sought in prompts and replies, whole."""
    return await asyncio.to_thread(workspace.calls, CallFilter(search, role, model, artefact), before, most)


@router.get("/{number}", summary="One call, with its prompt and its reply")
async def one(
    workspace: WorkspaceDep,
    number: Number,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
) -> WholeCall:
    """Its neighbours are those of the list with the same filters."""
    return await asyncio.to_thread(workspace.call, number, CallFilter(search, role, model, artefact))
