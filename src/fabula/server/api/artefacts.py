"""The texts of a project: read, saved, their versions, and what differs between two of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response

from fabula.app.workspace import ArtefactText  # noqa: TC001 - FastAPI reads them
from fabula.base.errors import FabulaError
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.wire import (
    LONGEST_NAME,
    ArtefactList,
)

router = APIRouter(prefix="/projects/{project}", tags=["texts"])

TextName = Annotated[str, Path(description="The artefact: its name, or its file.", max_length=LONGEST_NAME)]
Number = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Of a version; the newest one without it.")]


_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is the text that you have."}}


@router.get("/artefacts", summary="The texts of a project")
def listed(
    workspace: WorkspaceDep,
    *,
    marks: Annotated[bool, Query(description="Say which are stale, too.")] = True,
    folder: Annotated[str | None, Query(max_length=40, description='"story", "plan", ...')] = None,
) -> ArtefactList:
    """In order of file, the brief first."""
    problem = ""
    if marks:
        try:
            workspace.expected()
        except FabulaError as error:
            problem = str(error)
    found = workspace.artefacts(marks=marks)
    return ArtefactList([one for one in found if folder is None or one.folder == folder], problem)


@router.get("/artefacts/{name:path}", summary="A text", responses=_UNCHANGED)
def read(
    workspace: WorkspaceDep,
    response: Response,
    name: TextName,
    version: Number = None,
    if_none_match: Annotated[str, Header(max_length=200)] = "",
) -> ArtefactText:
    """As it stands, changes of its file included; or one of its versions. `story.md` is the whole story."""
    found = workspace.text(name, version)
    tag = f'"{found.base}-{found.version}"'
    if tag in if_none_match:
        return Response(status_code=304, headers={"etag": tag})  # type: ignore[return-value] # FastAPI sends it as it is
    response.headers["etag"] = tag
    return found
