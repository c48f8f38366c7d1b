"""The local doors for Python: a project in a folder, and folders that contain projects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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
    from fabula.app.bills import Estimate
    from fabula.engine.events import Event, Listener
    from fabula.story import Brief, Story
    from fabula.verbs.base import OnEvent, Verb


class Project(Workspace, Verbs):
    """A project in a folder, with all verbs; `fabula.Client` offers the same for a server.

    A verb blocks until its result is available; the form that ends in `_async` can be awaited.
    """

    @classmethod
    def open(cls, folder: str | Path, environ: Mapping[str, str] | None = None) -> Self:
        """Return the project in a folder.

        Raises:
            ProjectError: there is no project.
        """
        folders.ProjectFolder.open(Path(folder))
        return cls(Path(folder), environ)

    @classmethod
    def create(cls, folder: str | Path, brief: Brief, settings: Mapping[str, Any] | None = None) -> Self:
        """Create and return a project for a brief.

        Raises:
            ProjectError: the folder already contains a project.
        """
        folders.ProjectFolder.create(Path(folder), brief, dict(settings or {}))
        return cls(Path(folder))

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - what the verb gives
        """Return the result of a verb called with named arguments. You can interrupt long work and continue it.

        Raises:
            FabulaError: any error.
        """
        return waited_for(self._done(verb, arguments, on_event), asyncio.run)

    async def do_async(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - as above
        """The awaitable form of `do`; long work runs in the caller's event loop and can be cancelled."""
        if verb.long:
            return await self._done(verb, arguments, on_event)
        return await super().do_async(verb, arguments, on_event)

    def estimated(self, verb: Verb, arguments: dict[str, Any]) -> Estimate:
        """Return the calls that a long verb would make with these arguments.

        No model is called, and nothing is saved.

        Raises:
            FabulaError: the verb cannot run.
        """
        door = copy(self)
        door.only_foresees = True
        try:
            door.do(verb, arguments)
        except ForeseenError as found:
            return found.estimate
        raise UsageError(f"`{verb.name}` cannot estimate its calls.")

    async def _done(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None) -> Any:  # noqa: ANN401 - as above
        door = self
        if on_event is not None:
            door = copy(self)
            door.listeners = (*self.listeners, _heard(on_event))
        return await verb.function(door, **arguments)


class Home(Shelf, ShelfVerbs):
    """Folders on this machine that contain projects; `fabula.Client` offers the same for a server."""

    kind = Project

    @classmethod
    def open(cls, *folders: str | Path, environ: Mapping[str, str] | None = None) -> Self:
        """Open the projects in these folders; new projects are created in the first folder.

        Raises:
            UsageError: a path is not a folder.
        """
        return cls.of([Path(folder) for folder in folders], environ)

    def __getitem__(self, name: str) -> Project:
        """The project of that name, opened."""
        return cast("Project", super().__getitem__(name))

    def project(self, name: str) -> Project:
        """Return a project by its name in `projects`.

        Raises:
            UnknownNameError: there is no project with that name.
        """
        return self[name]

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401, ARG002 - what the verb gives
        """Return the result of a verb called with named arguments.

        Raises:
            FabulaError: any error.
        """

        async def done() -> Any:  # noqa: ANN401 - as above
            return await verb.function(self, **arguments)

        return waited_for(done(), asyncio.run)


def _heard(on_event: OnEvent) -> Listener:
    def heard(event: Event) -> None:
        on_event(event)

    return heard


def read(path: str | Path) -> Project | Story:
    """Return the project in a folder, or the story in a file.

    The file can be Markdown, plain text, Word, OpenDocument, Rich Text, EPUB, Fountain, or JSON with scenes, or a
    .jsonl or .csv file with one story.

    Raises:
        ProjectError: the folder is not a project.
        UsageError: the file does not exist, or contains no story.
    """
    where = Path(path)
    return Project.open(where) if where.is_dir() else read_story(where)
