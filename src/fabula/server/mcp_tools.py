"""Plain functions for what a client of the Model Context Protocol can do with the projects below one folder.

No name leads out of the folder. Programs and addresses of a project need the trust that the command line asks for.
Every change is recorded and can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.bills import Bill
from fabula.app.checking import OUT
from fabula.base.errors import ProjectError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.models.outside import CLIENT
from fabula.project.default_model import VARIABLE
from fabula.project.folder import MAX_FILE, ProjectFolder
from fabula.verbs.base import Verb, as_data
from fabula.verbs.home import Home
from fabula.verbs.home import Project as Door

if TYPE_CHECKING:
    from fabula.engine.events import Listener
    from fabula.project.settings import Settings


_FINDINGS: Final = Path(OUT) / "findings-story.md"


@dataclass(frozen=True)
class Projects:
    """The projects below a folder.

    Attributes:
        root: the folder that contains the projects.
        environ: environment variables with keys and folders.
        model: the model for the roles of projects that name no model.
    """

    root: Path
    environ: Mapping[str, str]
    model: str = CLIENT

    # looking --------------------------------------------------------------------------------------------------------

    @cached_property
    def home(self) -> Home:
        """The projects, for the verbs."""
        return Home.open(self.root, environ={**self.environ, VARIABLE: self.model})

    def opened(self, name: str, *, own_model: bool = False) -> Door:
        """The project of that name, for the verbs; the client's own model can play its roles.

        Raises:
            UnknownNameError: there is no such project.
        """
        door = copy(self.home[name])
        door.at_home = False
        if own_model:
            door.cast = _cast
        return door

    def project(self, name: str) -> ProjectFolder:
        """The project of that name.

        Raises:
            UnknownNameError: there is no such project.
        """
        return ProjectFolder.open(self.home.folder(name))

    def plan(self, name: str) -> str:
        """The plan of a project: all of its texts, one after another."""
        project = self.project(name)
        with project.journal as journal:
            parts = [(path, file) for path, file in journal.artefacts.places().items() if file.startswith("plan/")]
            return "\n\n".join(f"# {path}\n\n{journal.artefacts.newest(path) or ''}" for path, _ in parts)

    def world(self, name: str) -> str:
        """The facts of the story, as runs have recorded them: the files of the folder `world`."""
        folder = self.project(name).folder / "world"
        files = plain_files(folder, "*")
        return "\n\n".join(f"# {file.name}\n\n{read_text(file, MAX_FILE)}" for file in files)

    def findings(self, name: str) -> str:
        """The contradictions in the story that the last check found.

        Raises:
            ProjectError: the story has not been checked yet.
        """
        file = self.project(name).folder / _FINDINGS
        if not is_plain(file):
            raise ProjectError(f"{name} has not been checked yet. Check it with the tool `check`.")
        return read_text(file, MAX_FILE)

    # asking ---------------------------------------------------------------------------------------------------------

    async def answered(
        self, verb: Verb, name: str, listener: Listener, given: Mapping[str, Any], *, own_model: bool
    ) -> dict[str, Any]:
        """The result of a verb that calls a model while the client waits, with its calls and tokens.

        Raises:
            FabulaError: any of its kinds.
        """
        door, bill = self.opened(name, own_model=own_model), Bill()
        door.listeners = (listener, bill)
        made = await verb.function(door, **verb.bound((), given))
        return {"project": name, **as_data(made), **_took(bill)}


def _cast(settings: Settings) -> Settings:
    """The settings, with the client's own model in every role."""
    return settings.with_({"model": CLIENT, "roles": {role: {"model": ""} for role in settings.roles}})


def _took(bill: Bill) -> dict[str, Any]:
    """The numbers of calls made and replayed, and the tokens of the calls made."""
    made = bill.as_data()
    return {"asked": made["asked"], "from_the_journal": made["replayed"], "tokens": bill.tokens}
