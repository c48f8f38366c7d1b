"""Projects by name: named projects, and the projects in named folders."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import ClassVar, Final, Self

from fabula.app.reports import ExperimentFolder, experiment_in, is_experiment
from fabula.app.workspace import Workspace
from fabula.base.errors import FabulaError, GoneError, LockedError, ProjectError, UnknownNameError, UsageError
from fabula.base.files import make_folder, no_file
from fabula.measure.studies.study import Study, is_study
from fabula.project.folder import ProjectFolder
from fabula.project.sample import copy_sample
from fabula.story import Brief, slug

_BRIEF: Final = "brief.md"
_MOST: Final = 1000  # projects of a folder
_SAMPLE: Final = "sample"
_REMOVED: Final = ".removed"


@dataclass
class Shelf:
    """Projects, by name.

    Attributes:
        places: folders; each is a project or contains projects.
        environ: variables with keys and folders; by default those of this process.
        at_work: functions that name a run queued or running in a folder, or nothing; a server that starts runs adds
            one.
    """

    kind: ClassVar[type[Workspace]] = Workspace
    """The class used to open a project."""

    places: Sequence[Path]
    environ: Mapping[str, str] | None = None
    at_work: list[Callable[[Path], str]] = field(default_factory=list, repr=False)
    _folders: dict[str, Path] = field(default_factory=dict)
    _open: dict[str, Workspace] = field(default_factory=dict)
    _one: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def of(cls, places: Sequence[Path], environ: Mapping[str, str] | None = None) -> Self:
        """The shelf of these folders.

        Raises:
            UsageError: there is no such folder.
        """
        wrong = next((place for place in places if not place.is_dir()), None)
        if wrong is not None:
            advice = "Specify a project, or a folder for projects."
            raise UsageError(f"{wrong} is a file. {advice}" if wrong.is_file() else no_file(wrong, advice, "folder"))
        shelf = cls([place.resolve() for place in places], environ)
        shelf.rescan()
        return shelf

    @property
    def home(self) -> Path:
        """The folder for new projects: the first folder of projects, or else the parent folder of the first project."""
        return next((place for place in self.places if not _is_project(place)), self.places[0].parent)

    @property
    def names(self) -> list[str]:
        """The names of the existing projects, as used in addresses."""
        self.rescan()
        with self._one:
            return [name for name, folder in self._folders.items() if _is_project(folder)]

    def folder(self, name: str) -> Path:
        """The folder of a project.

        Raises:
            GoneError: the project no longer exists.
            UnknownNameError: there has never been such a project.
        """
        with self._one:
            if name not in self._folders:
                self.rescan()
            if name not in self._folders:
                raise UnknownNameError("project", name[:200], self._folders)
            folder = self._folders[name]
        if not _is_project(folder):
            raise GoneError(
                f"The project {name!r} is no longer available: its folder was removed or renamed, or cannot be "
                "read. Its text is still on this page. Copy what you need."
            )
        return folder

    def title(self, name: str) -> str:
        """The title of a project's story, or the project's name if there is no title or it cannot be read."""
        try:
            return Brief.read(self.folder(name) / _BRIEF).title or name
        except FabulaError:
            return name

    def __getitem__(self, name: str) -> Workspace:
        """A project, opened."""
        folder = self.folder(name)
        with self._one:
            workspace = self._open.pop(name, None) or self.kind(folder, self.environ)
            self._open[name] = workspace  # the one that was asked for last stands last
            return workspace

    @property
    def in_use(self) -> list[Workspace]:
        """The opened projects; the last one requested comes last."""
        with self._one:
            return [*self._open.values()]

    def __contains__(self, name: object) -> bool:
        """Whether there is such a project."""
        return name in self.names

    def rescan(self) -> None:
        """Look for projects again; a name stays with its folder."""
        with self._one:
            known = set(self._folders.values())
            for folder in self._found():
                if folder not in known:
                    self._add(folder)

    @property
    def experiment_folders(self) -> dict[str, Path]:
        """The experiments in the places, by name."""
        return self._beside(is_experiment, "experiment")

    def find_experiment(self, name: str) -> ExperimentFolder:
        """The experiment of this name.

        Raises:
            UnknownNameError: there is no experiment of this name.
            UsageError: its results cannot be read.
        """
        return experiment_in(_named("experiment", name, self.experiment_folders))

    @property
    def study_folders(self) -> dict[str, Path]:
        """The studies in the places, by name."""
        return self._beside(is_study, "study")

    def find_study(self, name: str) -> Study:
        """The study of this name.

        Raises:
            UnknownNameError: there is no study of this name.
            UsageError: a file of the study is not valid, or was changed after the first rating.
        """
        return Study.open(_named("study", name, self.study_folders))

    def _beside(self, is_one: Callable[[Path], bool], called: str) -> dict[str, Path]:
        """Folders next to projects that `is_one` accepts, by name."""
        found: dict[str, Path] = {}
        for place in self.places:
            inner = [] if _is_project(place) else _inner(place)
            for folder in (place, *inner):
                if is_one(folder):
                    found.setdefault(slug(folder.name) or called, folder)
        return found

    def make(self, called: str, maker: Callable[[Path], object]) -> str:
        """Make a project in a new folder at home, named after `called`, and return its name.

        Raises:
            FabulaError: the project cannot be made.
        """
        with self._one:
            folder = self._free(slug(called) or "story")
            try:
                maker(folder)
            except FabulaError:
                if not _is_project(folder):
                    rmtree(folder, ignore_errors=True)
                raise
            return self._add(folder)

    def add_sample(self) -> str:
        """Copy the sample project and return the name of the copy.

        Raises:
            ProjectError: it cannot be copied.
        """
        return self.make(_SAMPLE, copy_sample)

    def take_away(self, name: str) -> Path:
        """Remove a project: move its whole folder to `.removed` next to it, and return the new path.

        Raises:
            UnknownNameError: there is no project of this name.
            LockedError: a process is using it.
            ProjectError: its folder cannot be moved.
        """
        with self._one:
            folder = self.folder(name)
            if run := next(filter(None, (named(folder) for named in self.at_work)), ""):  # it may not hold the lock yet
                raise LockedError(f"The run {run} is in progress in {name}. Stop it, or wait until it ends.")
            make_folder(folder.parent / _REMOVED)
            there = next(
                one for one in map((folder.parent / _REMOVED).joinpath, _numbered(folder.name)) if not one.exists()
            )
            with ProjectFolder(folder).lock():
                try:
                    folder.rename(there)
                except OSError as error:
                    raise ProjectError(f"{folder} cannot be moved to {there} ({error.strerror}).") from error
            del self._folders[name]
            self._open.pop(name, None)
            return there

    def _add(self, folder: Path) -> str:
        wanted = slug(folder.name) or "project"
        name = next(one for one in _numbered(wanted) if self._folders.get(one, folder) == folder)
        self._folders[name] = folder
        return name

    def _free(self, name: str) -> Path:
        """A new folder at home."""
        return next(self.home / one for one in _numbered(name) if not (self.home / one).exists())

    def _found(self) -> list[Path]:
        found = []
        for place in self.places:
            if _is_project(place):
                found.append(place)
            else:
                found += [one for one in _inner(place) if _is_project(one)][:_MOST]
        return found


def _named(what: str, name: str, found: Mapping[str, Path]) -> Path:
    if name not in found:
        raise UnknownNameError(what, name[:200], found)
    return found[name]


def _is_project(folder: Path) -> bool:
    """Whether a folder is a project; a folder without read permission is not."""
    return os.path.isfile(folder / _BRIEF)  # noqa: PTH113 - the one of `Path` fails where there is no permission


def _inner(place: Path) -> list[Path]:
    """The folders in a folder, without links, hidden folders and unreadable ones."""
    found = []
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    found.append(place / entry.name)
    return sorted(found)


def _numbered(name: str) -> list[str]:
    return [name, *(f"{name}-{number}" for number in range(2, _MOST))]
