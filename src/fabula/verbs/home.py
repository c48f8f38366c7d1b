"""The doors for Python at home: a project in a folder here, and the folders that projects lie in."""

from __future__ import annotations

import asyncio
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from fabula.app.asking import ForeseenError
from fabula.app.calling import waited_for
from fabula.app.shelf import Shelf
from fabula.app.sources import read_story
from fabula.app.workspace import Workspace
from fabula.base.errors import UsageError
from fabula.project import folder as folders
from fabula.verbs.doors import ShelfVerbs, Verbs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.bills import Estimate
    from fabula.engine.events import Event, Listener
    from fabula.story import Brief, Story
    from fabula.verbs.base import OnEvent, Verb


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
        folders.ProjectFolder.open(Path(folder))
        return cls(Path(folder), environ)

    @classmethod
    def create(cls, folder: str | Path, brief: Brief, settings: Mapping[str, Any] | None = None) -> Self:
        """A new project for a brief.

        Raises:
            ProjectError: there is one already.
        """
        folders.ProjectFolder.create(Path(folder), brief, dict(settings or {}))
        return cls(Path(folder))

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - what the verb gives
        """What a verb gives for its arguments, each by its name. What takes long can be interrupted, and gone on with.

        Raises:
            FabulaError: any of its kinds.
        """
        return waited_for(self._done(verb, arguments, on_event), asyncio.run)

    async def do_async(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - as above
        """The same, to be awaited; what takes long is done in the caller's loop, and can be cancelled."""
        if verb.long:
            return await self._done(verb, arguments, on_event)
        return await super().do_async(verb, arguments, on_event)

    def estimated(self, verb: Verb, arguments: dict[str, Any]) -> Estimate:
        """What a verb that takes long would ask, with these arguments. Nobody is asked, and nothing is written.

        Raises:
            FabulaError: what stands in its way.
        """
        door = copy(self)
        door.only_foresees = True
        try:
            door.do(verb, arguments)
        except ForeseenError as found:
            return found.estimate
        raise UsageError(f"`{verb.name}` cannot say what it would ask.")

    async def _done(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None) -> Any:  # noqa: ANN401 - as above
        door = self
        if on_event is not None:
            door = copy(self)
            door.listeners = (*self.listeners, _heard(on_event))
        return await verb.function(door, **arguments)


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

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401, ARG002 - what the verb gives
        """What a verb gives for its arguments, each by its name.

        Raises:
            FabulaError: any of its kinds.
        """

        async def done() -> Any:  # noqa: ANN401 - as above
            return await verb.function(self, **arguments)

        return waited_for(done(), asyncio.run)


def _heard(on_event: OnEvent) -> Listener:
    def heard(event: Event) -> None:
        on_event(event)

    return heard


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
