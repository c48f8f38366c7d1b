"""The Prompt page: every call of a project, searched, and one of them with all that belongs to it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from fabula.app.past_calls import call_for
from fabula.engine.journal import CallFilter
from fabula.server.api.depends import ProjectName, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.verbs.calls import Before, ModelName, Number, Role, Search, Under  # noqa: TC001 - FastAPI reads them

if TYPE_CHECKING:
    from fastapi.responses import Response

router = APIRouter(include_in_schema=False)
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
    before: Before = None,
) -> Response:
    """The list; a piece of it for a search that is typed."""
    wanted = CallFilter(search, role, model, artefact)
    calls = await workspace.calls_async(search, role, model, artefact, before)
    template = "calls_list.html" if request.headers.get("hx-request") else "calls.html"
    return page(request, template, calls=calls, wanted=wanted, query=_query(wanted), before=before)


@router.get("/projects/{project}/prompt-of", response_model=None)
async def prompt_of(project: ProjectName, workspace: WorkspaceDep, name: Under, version: int | None = None) -> Response:
    """The page of the call that a version of a text came from; where that is not known, all calls for the text."""

    def found() -> str:
        opened = workspace.texts()
        with opened.journal as journal:
            path = opened.artefact(journal, name)
            number = call_for(journal, path, version)
        return f"/{number}" if number else f"?{urlencode({'artefact': path})}"

    address = f"/projects/{project}/calls{await asyncio.to_thread(found)}"
    return RedirectResponse(address, 303)


@router.get(PAGE + "/{number}", response_model=None)
async def one(
    request: Request,
    workspace: WorkspaceDep,
    number: Number,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
) -> Response:
    """One call."""
    wanted = CallFilter(search, role, model, artefact)
    call = await workspace.call_async(number, search, role, model, artefact)
    form = json.dumps(call.form, indent=2, ensure_ascii=False) if call.form else ""
    return page(request, "call.html", call=call, wanted=wanted, query=_query(wanted), form=form, folded=_FOLDED)


def _query(wanted: CallFilter) -> str:
    """The search as it stands in an address, with its question mark."""
    fields = {"search": wanted.text, "role": wanted.role, "model": wanted.performer, "artefact": wanted.under}
    given = urlencode({name: value for name, value in fields.items() if value})
    return f"?{given}" if given else ""
