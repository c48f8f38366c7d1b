"""`projects`, `remove`: list projects or remove one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

from pydantic import Field

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.base.errors import FabulaError
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.app.workspace import Workspace

ProjectName: TypeAlias = Annotated[
    str, Field(max_length=200, description="The name of the project in `projects`.", examples=["ferry"])
]


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project in a list: its folder and its name in addresses. `problem` explains why it cannot be read."""

    project: str
    folder: str
    title: str = ""
    system: str = ""
    model: str = ""
    words: int = 0
    waits: str = ""
    problem: str = ""

    @classmethod
    def of(cls, shelf: Shelf, name: str) -> Self:
        """Return the entry of a project, by its name on a shelf."""
        return cls.at(shelf[name], name)

    @classmethod
    def at(cls, workspace: Workspace, name: str) -> Self:
        """Return the entry of a project.

        If the project cannot be read, the entry says why, and the list still contains the others.
        """
        try:
            one = workspace.overview()
        except FabulaError as error:
            return cls(name, str(workspace.folder), problem=str(error))
        folder = str(workspace.folder)
        return cls(name, folder, one.title, one.system, one.model, one.words, one.waits, one.problem)


@dataclass(frozen=True, slots=True)
class ProjectList:
    """All projects."""

    projects: list[ProjectLine]


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed project, and the new path of its folder."""

    project: str
    folder: str


@verb("GET", "/projects", "projects")
async def projects(shelf: Shelf) -> ProjectList:
    """List all projects, with the number of words in each story."""
    return await asyncio.to_thread(lambda: ProjectList([ProjectLine.of(shelf, name) for name in shelf.names]))


@verb("DELETE", "/projects/{project}", "projects")
async def remove(shelf: Shelf, project: ProjectName) -> Removed:
    """Remove a project: its folder is moved to `.removed` next to it, and you can move it back yourself.

    Raises:
        UnknownNameError: there is no project with that name.
        LockedError: a run is in progress in the project.
    """
    return Removed(project, str(shelf.take_away(project)))
