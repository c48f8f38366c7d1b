"""`projects`, `remove`: the projects that there are."""

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
    str, Field(max_length=200, description="The project, by the name that `projects` has for it.", examples=["ferry"])
]


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project in a list: its name in addresses and its folder; `problem` says why it cannot be read."""

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
        """A project's line, by the name that a shelf has for it."""
        return cls.at(shelf[name], name)

    @classmethod
    def at(cls, workspace: Workspace, name: str) -> Self:
        """A project's line; one that cannot be read says why, and keeps nobody from the others."""
        try:
            one = workspace.overview()
        except FabulaError as error:
            return cls(name, str(workspace.folder), problem=str(error))
        folder = str(workspace.folder)
        return cls(name, folder, one.title, one.system, one.model, one.words, one.waits, one.problem)


@dataclass(frozen=True, slots=True)
class ProjectList:
    """The projects that there are."""

    projects: list[ProjectLine]


@dataclass(frozen=True, slots=True)
class Removed:
    """A project that was taken away, and where its folder lies now."""

    project: str
    folder: str


@verb("GET", "/projects", "projects")
async def projects(shelf: Shelf) -> ProjectList:
    """The projects that there are, with the words of each story."""
    return await asyncio.to_thread(lambda: ProjectList([ProjectLine.of(shelf, name) for name in shelf.names]))


@verb("DELETE", "/projects/{project}", "projects")
async def remove(shelf: Shelf, project: ProjectName) -> Removed:
    """Take a project away: its folder is moved to `.removed` beside it, whole, and can be put back by hand.

    Raises:
        UnknownNameError: there is none of that name.
        LockedError: something is at work in it.
    """
    return Removed(project, str(shelf.take_away(project)))
