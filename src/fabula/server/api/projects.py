"""The projects that are served: `/projects`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from fabula.app.workspace import Workspace  # noqa: TC001 - FastAPI reads it
from fabula.base.errors import FabulaError, UsageError
from fabula.craft.length import parse_range
from fabula.engine.folders import is_path
from fabula.project.casting import full_name
from fabula.server.api.depends import ProjectName, ShelfDep, WorkspaceDep  # noqa: TC001 - FastAPI reads them
from fabula.server.api.wire import NewProject, ProjectLine, ProjectList, ProjectView
from fabula.story import Brief
from fabula.systems import find

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
def made(shelf: ShelfDep, body: NewProject) -> ProjectView:
    """For a brief; nothing is asked yet. Or a copy of the sample project."""
    if body.sample:
        name = shelf.add_sample()
    else:
        brief = Brief.parse(body.brief)
        name = shelf.create(brief.title or "story", brief, _settings(body))
    return _view(name, shelf[name])


def _settings(body: NewProject) -> dict[str, Any]:
    """What `fabula.toml` says of a new project.

    Raises:
        UsageError: a name is not known, or leads to code.
    """
    if is_path(body.system):
        raise UsageError("A system that is a folder of code cannot be named here. Name one that is installed.")
    settings: dict[str, Any] = {}
    if wanted := body.system:
        settings["system"] = find(wanted).name
    if body.model:
        settings["model"] = full_name(body.model)
    if body.preset:
        settings["preset"] = body.preset
    if body.seed is not None:
        settings["seed"] = body.seed
    if body.words:
        parse_range(body.words)
        settings["config"] = {"words": body.words}
    return settings


@router.get("/{project}", summary="Where a project stands")
def one(workspace: WorkspaceDep, project: ProjectName) -> ProjectView:
    """What stands in it, what waits, what was spent, and what undo would take back."""
    return _view(project, workspace)


def _view(name: str, workspace: Workspace) -> ProjectView:
    return ProjectView(name, str(workspace.folder), workspace.overview())
