"""The Prompt page: every call of a project, searched, and one of them with all that belongs to it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request

from fabula.engine.journal import Wanted
from fabula.server.api.calls import ModelName, Role, Search, Under  # noqa: TC001 - FastAPI reads them
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page

if TYPE_CHECKING:
    from fastapi.responses import Response

router = APIRouter()
PAGE: Final = "/projects/{project}/calls"
_FOLDED: Final = 1200  # characters of a message from which on it is folded up


@router.get(PAGE, response_model=None)
async def listed(
    request: Request,
    workspace: WorkspaceDep,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
    before: int | None = None,
) -> Response:
    """The list; a piece of it for a search that is typed."""
    wanted = Wanted(search, role, model, artefact)
    calls = await asyncio.to_thread(workspace.calls, wanted, before)
    template = "calls_list.html" if request.headers.get("hx-request") else "calls.html"
    return page(request, template, calls=calls, wanted=wanted, query=_query(wanted), before=before)


@router.get(PAGE + "/{number}", response_model=None)
async def one(
    request: Request,
    workspace: WorkspaceDep,
    number: Annotated[int, Path(ge=1, le=2**53)],
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
) -> Response:
    """One call."""
    wanted = Wanted(search, role, model, artefact)
    call = await asyncio.to_thread(workspace.call, number, wanted)
    form = json.dumps(call.form, indent=2, ensure_ascii=False) if call.form else ""
    return page(request, "call.html", call=call, wanted=wanted, query=_query(wanted), form=form, folded=_FOLDED)


def _query(wanted: Wanted) -> str:
    """The search as it stands in an address, with its question mark."""
    fields = {"search": wanted.text, "role": wanted.role, "model": wanted.performer, "artefact": wanted.under}
    given = urlencode({name: value for name, value in fields.items() if value})
    return f"?{given}" if given else ""
