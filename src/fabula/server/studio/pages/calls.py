"""The Prompts page: a search of all calls of a project, and a page with the details of each call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypedDict
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from fabula.app.past_calls import call_for
from fabula.server.api.depends import ProjectName, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.studio.rendering import page
from fabula.verbs.calls import Before, ModelName, Number, Role, Search, Under  # noqa: TC001 - FastAPI reads them

if TYPE_CHECKING:
    from fastapi.responses import Response

router = APIRouter(include_in_schema=False)
PAGE: Final = "/projects/{project}/calls"
_FOLDED: Final = 1200  # characters; longer messages are folded


class Wanted(TypedDict):
    """The search for calls."""

    search: str
    role: str
    model: str
    artefact: str


async def wanted(search: Search = "", role: Role = "", model: ModelName = "", artefact: Under = "") -> Wanted:
    """The search in an address."""
    return Wanted(search=search, role=role, model=model, artefact=artefact)


WantedDep: TypeAlias = Annotated[Wanted, Depends(wanted)]


@router.get(PAGE, response_model=None)
def listed(request: Request, workspace: WorkspaceDep, wanted: WantedDep, before: Before = None) -> Response:
    """The list of calls; only a piece of the page while a search is typed."""
    calls = workspace.calls(**wanted, before=before)
    template = "calls_list.html" if request.headers.get("hx-request") else "calls.html"
    return page(request, template, calls=calls, wanted=wanted, query=_query(wanted), before=before)


@router.get("/projects/{project}/prompt-of", response_model=None)
def prompt_of(project: ProjectName, workspace: WorkspaceDep, name: Under, version: int | None = None) -> Response:
    """The page of the call that wrote a version of a text; if the call is unknown, all calls for the text."""
    opened = workspace.texts()
    with opened.journal as journal:
        path = opened.artefact(journal, name)
        number = call_for(journal, path, version)
    found = f"/{number}" if number else f"?{urlencode({'artefact': path})}"
    return RedirectResponse(f"/projects/{project}/calls{found}", 303)


@router.get(PAGE + "/{number}", response_model=None)
def one(request: Request, workspace: WorkspaceDep, number: Number, wanted: WantedDep) -> Response:
    """One call."""
    call = workspace.call(number, **wanted)
    form = json.dumps(call.form, indent=2, ensure_ascii=False) if call.form else ""
    return page(request, "call.html", call=call, wanted=wanted, query=_query(wanted), form=form, folded=_FOLDED)


def _query(wanted: Wanted) -> str:
    """The search as part of an address, with its question mark."""
    given = urlencode({name: value for name, value in wanted.items() if value})
    return f"?{given}" if given else ""
