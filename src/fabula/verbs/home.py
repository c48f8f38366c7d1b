"""The doors for Python at home: a project in a folder here, and the folders that projects lie in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from fabula.app.calling import waited_for
from fabula.app.shelf import Shelf
from fabula.app.sources import read_story
from fabula.app.workspace import Workspace
from fabula.project import folder as folders
from fabula.verbs.doors import ShelfVerbs, Verbs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.story import Brief, Story
    from fabula.verbs.base import Verb


class Project(Workspace, Verbs):
    """A project in a folder, and what can be done with it; `fabula.Client` gives the same for one on a server.

    A verb waits for its result. Each has a twin with `_async` at its end, to be awaited.
    """

    @classmethod
    def open(cls, folder: str | Path, environ: Mapping[str, str] | None = None) -> Self:
        """The project in a folder.

        Raises:
            ProjectError: there is none.
        """
        folders.Project.open(Path(folder))
        return cls(Path(folder), environ)

    @classmethod
    def create(cls, folder: str | Path, brief: Brief, settings: Mapping[str, Any] | None = None) -> Self:
        """A new project for a brief.

        Raises:
            ProjectError: there is one already.
        """
        folders.Project.create(Path(folder), brief, dict(settings or {}))
        return cls(Path(folder))

    def do(self, verb: Verb, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - what the verb gives
        """What a verb gives for its arguments, each by its name.

        Raises:
            FabulaError: any of its kinds.
        """
        return _done(verb, self, arguments)


class Home(Shelf, ShelfVerbs):
    """Folders here in which projects lie, or shall; `fabula.Client` gives the same for those on a server."""

    kind = Project

    @classmethod
    def open(cls, *folders: str | Path, environ: Mapping[str, str] | None = None) -> Self:
        """The projects in these folders; new ones are made in the first.

        Raises:
            UsageError: one is none.
        """
        return cls.of([Path(folder) for folder in folders], environ)

    def __getitem__(self, name: str) -> Project:
        """A project, opened."""
        return cast("Project", super().__getitem__(name))

    def project(self, name: str) -> Project:
        """A project, by the name that `projects` has for it.

        Raises:
            UnknownNameError: there is none.
        """
        return self[name]

    def do(self, verb: Verb, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - what the verb gives
        """What a verb gives for its arguments, each by its name.

        Raises:
            FabulaError: any of its kinds.
        """
        return _done(verb, self, arguments)


def _done(verb: Verb, opened: Workspace | Shelf, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
    async def done() -> Any:  # noqa: ANN401 - as above
        return await verb.function(opened, **arguments)

    return waited_for(done(), asyncio.run)


def read(path: str | Path) -> Project | Story:
    """What lies at a path: the project in a folder, or the story in a file.

    A file may hold Markdown, plain text, a Word or OpenDocument file, Rich Text, an EPUB, Fountain, JSON of scenes, or
    one story as a line of .jsonl or .csv.

    Raises:
        ProjectError: the folder is no project.
        UsageError: there is no such file, or no story in it.
    """
    where = Path(path)
    return Project.open(where) if where.is_dir() else read_story(where)
