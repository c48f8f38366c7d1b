"""What a run would write again and cost: `/estimate`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.wire import Estimate, Unsaved

router = APIRouter(prefix="/projects/{project}", tags=["what would change"])


@router.get("/estimate", summary="What a run would ask and cost now")
def estimate(
    workspace: WorkspaceDep,
    *,
    fit: Annotated[bool, Query(description="Old texts are revised to fit, instead of being written anew.")] = False,
) -> Estimate:
    """Nobody is asked, and nothing is written."""
    return Estimate.of(workspace.expected(fit=fit))


@router.post("/estimate", summary="What a run would ask and cost with texts that are not saved")
def estimate_unsaved(workspace: WorkspaceDep, body: Unsaved) -> Estimate:
    """Nobody is asked, and nothing is written."""
    return Estimate.of(workspace.expected(pending=body.pending, fit=body.fit))
