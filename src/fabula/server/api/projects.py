"""The projects that are served: `/projects`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from fabula.app.beginning import Beginning, begin
from fabula.app.workspace import Workspace  # noqa: TC001 - FastAPI reads it
from fabula.base.errors import FabulaError, UsageError
from fabula.server.api.depends import ShelfDep, StateDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.wire import NewProject, ProjectLine, ProjectList, ProjectView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.beginning import Kind

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("", summary="The projects that are served")
def listed(shelf: ShelfDep) -> ProjectList:
    """In the order of the shelf."""
    return ProjectList([_line(name, shelf[name]) for name in shelf.names])


def _line(name: str, workspace: Workspace) -> ProjectLine:
    """A project in a list; one that cannot be read says why, and keeps nobody from the others."""
    try:
        standing = workspace.overview()
    except FabulaError as error:
        return ProjectLine(name, "", "", 0, "", str(error))
    return ProjectLine(name, standing.title, standing.system, standing.words, standing.waits, standing.problem)


@router.post("", status_code=201, summary="Make a project")
def made(shelf: ShelfDep, state: StateDep, body: NewProject) -> ProjectView:
    """Nothing is asked of a model yet; the settings are checked."""
    if body.sample:
        name = shelf.add_sample()
    else:
        beginning, settings = _beginning(body, state.options.environ)
        name = shelf.make(beginning.called, lambda folder: begin(beginning, folder, settings))
    return _view(name, shelf[name])


def _beginning(body: NewProject, environ: Mapping[str, str]) -> tuple[Beginning, dict[str, Any]]:
    """What is begun with, and the settings of the project.

    Raises:
        FabulaError: a setting does not hold, or there is no such system or model.
    """
    texts: dict[Kind, str] = {"brief": body.brief, "story": body.story, "manuscript": body.manuscript}
    kinds = [kind for kind, text in texts.items() if text]
    if len(kinds) > 1:
        raise UsageError("Send a brief, a story or a manuscript, not both.")
    kind = kinds[0] if kinds else "brief"
    beginning = Beginning(
        text=texts[kind],
        kind=kind,
        title=body.title,
        source=body.source or "the HTTP API",
        system=body.system,
        model=body.model,
        base_url=body.base_url,
        words=body.words,
    )
    said = {"preset": body.preset or None, "seed": body.seed}
    return beginning, beginning.tables(environ) | {name: value for name, value in said.items() if value is not None}


def _view(name: str, workspace: Workspace) -> ProjectView:
    return ProjectView(name, str(workspace.folder), workspace.overview())
