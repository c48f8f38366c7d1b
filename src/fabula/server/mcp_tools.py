"""What a client of the Model Context Protocol can do with the projects below one folder, as plain functions.

No name leads out of the folder, programs and addresses of a project need the trust that the command line asks for, and
every change is recorded and can be taken back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.bills import Bill
from fabula.app.checking import OUT, Checked, check_of
from fabula.app.evaluating import dry_run_evaluation, evaluate_in
from fabula.app.standing import shortfalls
from fabula.app.writing import Options, dry_run_in, refuse_anew, settings_as_last_time, write_in
from fabula.base.errors import ProjectError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.models.outside import CLIENT
from fabula.project.default_model import VARIABLE
from fabula.project.folder import MAX_FILE, Project
from fabula.verbs.base import as_data
from fabula.verbs.home import Home
from fabula.verbs.home import Project as Door

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Listener
    from fabula.project.settings import Settings
    from fabula.verbs.base import Verb

_FINDINGS: Final = Path(OUT) / "findings-story.md"
_MOST_CALLS: Final = 50  # that a dry run names
_ANEW: Final = (
    "`anew` does it, and the old texts stay in the history; `retake` has a single text written again; leave "
    "`use_client_model` out where the project's own model is to go on."
)


@dataclass(frozen=True)
class Projects:
    """The projects below a folder.

    Attributes:
        root: the folder; projects lie in it side by side.
        environ: variables that hold keys and folders.
        model: plays the roles of projects that name no model.
    """

    root: Path
    environ: Mapping[str, str]
    model: str = CLIENT

    # looking --------------------------------------------------------------------------------------------------------

    @cached_property
    def home(self) -> Home:
        """The projects, for the verbs."""
        return Home.open(self.root, environ={**self.environ, VARIABLE: self.model})

    def opened(self, name: str) -> Door:
        """The project of that name, for the verbs.

        Raises:
            UnknownNameError: there is none.
        """
        return self.home[name]

    def project(self, name: str) -> Project:
        """The project of that name.

        Raises:
            UnknownNameError: there is none.
        """
        return Project.open(self.home.folder(name))

    def plan(self, name: str) -> str:
        """The plan of a project, all its texts after each other."""
        project = self.project(name)
        with project.journal as journal:
            parts = [(path, file) for path, file in journal.artefacts.places().items() if file.startswith("plan/")]
            return "\n\n".join(f"# {path}\n\n{journal.artefacts.newest(path) or ''}" for path, _ in parts)

    def world(self, name: str) -> str:
        """What is true in the story, as runs have recorded it: the files of the folder `world`."""
        folder = self.project(name).folder / "world"
        files = plain_files(folder, "*")
        return "\n\n".join(f"# {file.name}\n\n{read_text(file, MAX_FILE)}" for file in files)

    def findings(self, name: str) -> str:
        """Where the story contradicts itself, as the last check found.

        Raises:
            ProjectError: it was not checked yet.
        """
        file = self.project(name).folder / _FINDINGS
        if not is_plain(file):
            raise ProjectError(f"{name} was not checked yet. The tool `check` does it.")
        return read_text(file, MAX_FILE)

    # asking ---------------------------------------------------------------------------------------------------------

    async def write(
        self,
        name: str,
        listener: Listener,
        *,
        own_model: bool,
        dry_run: bool = False,
        anew: bool = False,
        budget_usd: float = 0.0,
    ) -> dict[str, Any]:
        """Write the story, or go on where it stopped; edits of files are taken over first. A dry run says what it asks.

        Raises:
            WrittenBeforeError: for the sake of other settings it would write again what stands.
        """
        project, bill = self.project(name), Bill()
        settings = self._settings(project, own_model=own_model)
        if dry_run:
            coming, changes = await dry_run_in(project, settings, Options(environ=self.environ))
            return {"done": False, "changed": [change.file for change in changes], **_to_ask(coming)}
        options = Options(environ=self.environ, listeners=(listener, bill), budget_usd=budget_usd or None)
        if not anew:
            await refuse_anew(project, settings, options, _ANEW)
        story = (await write_in(project, settings, options)).story
        with project.journal as journal:
            missed = shortfalls(journal, project.brief, settings, story.words)
        return {
            "done": True,
            "project": name,
            "title": story.title,
            "words": story.words,
            "story": str(project.story_file.relative_to(self.root)),
            "not_as_asked": missed,
            **_took(bill),
        }

    async def coming(self, name: str, *, own_model: bool) -> DryRun:
        """What a run would ask now."""
        project = self.project(name)
        settings = self._settings(project, own_model=own_model)
        return (await dry_run_in(project, settings, Options(environ=self.environ)))[0]

    async def coming_check(self, name: str, *, own_model: bool) -> DryRun:
        """What a check would ask now."""
        project = self.project(name)
        task, settings = check_of(project, self._settings(project, own_model=own_model))
        return await dry_run_evaluation(task, settings, Options(environ=self.environ))

    async def check(self, name: str, listener: Listener, *, own_model: bool, dry_run: bool = False) -> dict[str, Any]:
        """Find where the story contradicts itself; a dry run says what that asks."""
        if dry_run:
            return {"done": False, **_to_ask(await self.coming_check(name, own_model=own_model))}
        project, bill = self.project(name), Bill()
        task, settings = check_of(project, self._settings(project, own_model=own_model))
        options = Options(environ=self.environ, listeners=(listener, bill))
        report = (await evaluate_in(task, settings, options)).report
        found = Checked.in_(project.folder / OUT, report.as_data(), ["fabula", "check", str(project.folder)], bill)
        left = [_plain(one) for one in found.findings]
        return {"done": True, "project": name, "findings": left, **_took(bill)}

    async def answered(
        self, verb: Verb, name: str, listener: Listener, given: Mapping[str, Any], *, own_model: bool
    ) -> dict[str, Any]:
        """What a verb gives that asks a model, with what it took.

        Raises:
            FabulaError: any of its kinds.
        """
        door, bill = self.opened(name), Bill()
        door.listeners, door.cast = (listener, bill), lambda settings: self._cast(settings, own_model=own_model)
        made = await verb.function(door, **verb.bound((), given))
        return {"project": name, **as_data(made), **_took(bill)}

    def _settings(self, project: Project, *, own_model: bool = False) -> Settings:
        """What is in force for a project; the client's own model where it wants that, or the project names none."""
        return self._cast(settings_as_last_time(project), own_model=own_model)

    def _cast(self, settings: Settings, *, own_model: bool) -> Settings:
        if own_model:
            return settings.with_({"model": CLIENT, "roles": {role: {"model": ""} for role in settings.roles}})
        return settings if "model" in settings.model_fields_set else settings.with_({"model": self.model})


def _took(bill: Bill) -> dict[str, Any]:
    """The calls that were made and replayed, and the tokens of the former."""
    made = bill.as_data()
    return {"asked": made["asked"], "from_the_journal": made["replayed"], "tokens": bill.tokens}


def _to_ask(coming: DryRun) -> dict[str, Any]:
    calls = [{"role": call.role, "path": call.path} for call in coming.planned[:_MOST_CALLS]]
    return {"to_ask": len(coming.planned), "tokens": coming.tokens, "cost_usd": coming.cost, "calls": calls}


def _plain(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as JSON data."""
    data: dict[str, Any] = json.loads(json.dumps(finding, default=str))
    return data
