"""How a project begins: its brief, story or manuscript, its system, model and length, its first calls and cost."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.importing import import_manuscript, planned_import, system_for_manuscript
from fabula.app.planning import dry_run_plan_in, planning_system, project_for_story
from fabula.app.standing import check_words
from fabula.app.writing import Options, dry_run
from fabula.base.addresses import is_loopback
from fabula.base.errors import ConfigError, FabulaError, UnknownNameError, UsageError, hint
from fabula.continuity.parts import manuscript
from fabula.craft.chapters import LONG
from fabula.craft.length import asked_length
from fabula.engine.methods import values_of
from fabula.models.base import Sampling, Wrapper
from fabula.models.finding import context_at
from fabula.models.known import is_small, is_small_file
from fabula.models.providers import OWN_KINDS, served_at, usual_address
from fabula.project.casting import Environment, full_name, open_cast
from fabula.project.default_model import default_model
from fabula.project.folder import ProjectFolder
from fabula.project.settings import ModelTable, RoleTable, Settings
from fabula.project.trust import Trust
from fabula.story import Brief, Story, count_words, slug
from fabula.systems import find, system_of, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.app.importing import Imported
    from fabula.continuity.parts import Manuscript
    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Request
    from fabula.systems import System

Kind: TypeAlias = Literal["brief", "story", "manuscript"]
FOR_SMALL_MODELS: Final = "end-to-end"
"""The system that writes best with a small model."""
FOR_SHORT_STORIES: Final = "chosen-draft"
"""The system that writes best with a larger model, for a story that fits in one reply."""
LEAST_CONTEXT: Final = 256
"""The smallest number of context tokens that the settings accept."""
_TITLE_WORDS: Final = 6  # of a text that has no title, for the name of its folder


@dataclass(frozen=True)
class Beginning:
    """The form for a new project.

    Attributes:
        text: the brief, the story whose plan is extracted, or the manuscript that is continued.
        kind: which of the three the text is.
        title: the title of the story.
        system: the system that writes; empty for the default.
        model: the model that plays every role; empty for the default.
        base_url: the model's address, if it is not the usual one.
        words: the length, as a brief states it.
        source: the name of the manuscript's file.
        parts: the manuscript, if it was already read from a file.
        author: the author's name, for title pages.
        own: whether the manuscript is the author's own prose, and so a sample of it.
    """

    text: str
    kind: Kind = "brief"
    title: str = ""
    system: str = ""
    model: str = ""
    base_url: str = ""
    words: str = ""
    source: str = "pasted text"
    parts: Manuscript | None = None
    author: str = ""
    own: bool = False

    @property
    def from_story(self) -> bool:
        """Whether a plan is extracted from a story."""
        return self.kind == "story"

    @cached_property
    def manuscript(self) -> Manuscript:
        """The manuscript in its parts.

        Raises:
            UsageError: the manuscript has no words.
        """
        return self.parts or manuscript(self.text)

    @property
    def brief(self) -> Brief:
        """The brief in the form.

        Raises:
            BriefError: the brief is empty.
        """
        brief = Brief.parse(self.text, name="in the form")
        return replace(brief, title=self.title) if self.title else brief

    @property
    def called(self) -> str:
        """The name for the project's folder."""
        if self.title:
            return self.title
        if self.kind == "manuscript":
            return self.manuscript.title or Path(self.source).stem
        title = Story.parse(self.text).title if self.from_story else self.brief.title
        return title or " ".join(self.text.split()[:_TITLE_WORDS])

    def tables(self, environ: Mapping[str, str]) -> dict[str, Any]:
        """The settings of the project, checked.

        Raises:
            FabulaError: the settings are invalid, or there is no such system or model.
        """
        tables: dict[str, Any] = {}
        if self.kind == "manuscript":
            tables["system"] = system_for_manuscript(self.system)
        elif self.from_story or self.system:
            tables["system"] = _known_system(self.system or planning_system(None, None))
        tables |= self._model_tables(environ)
        if self.author:
            tables["author"] = {"name": self.author}
        if self.words:
            tables["config"] = {"words": self.words}
        if self.kind == "brief":
            tables = with_usual_system(tables, self.brief)
        if self.words:
            known = values_of(system_of(Settings.of(tables, "the form")).config("improved", {"words": self.words}))
            tables["config"] = {"words": known["words"]}
        if self.kind != "manuscript" or self.model:  # a manuscript needs no model yet
            check(Settings.of(tables, "the form"), environ)
        return tables

    def _model_tables(self, environ: Mapping[str, str]) -> dict[str, Any]:
        if not self.model and self.kind == "manuscript":
            return {}  # it is chosen when a model is first needed
        if not self.model:
            chosen = default_model(environ)
            return {} if chosen is None else dict(chosen.changes)
        name = full_name(self.model)
        table: dict[str, Any] = {"base_url": self.base_url} if self.base_url else {}
        if context := context_of(name, self.base_url, ModelTable(), environ):
            table["context"] = context
        return {"model": name} | ({"models": {name: table}} if table else {})


def with_usual_system(tables: dict[str, Any], brief: Brief) -> dict[str, Any]:
    """The settings of a new project, with the system that reads best for its model and length.

    The system is only chosen if no system is named and no setting or role is given that only Agents' Room knows. The
    measurements are in `docs/how-to/models.md` and `docs/design/0017`.

    Args:
        tables: the settings that were given.
        brief: the brief, if the story is written from it alone.

    Raises:
        UsageError: the setting `words` is not a range.
    """
    settings = Settings.of(tables, "the settings")
    if "system" in tables or settings.prompts or settings.adapters:
        return tables
    usual = _usual_system(settings, brief, has_model="model" in tables)
    if usual == settings.system or (not _fits(settings, usual) and _fits(settings, settings.system)):
        return tables
    return {**tables, "system": usual}


def with_system_of(project: ProjectFolder, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes to a project's settings, with the usual system if the project is only a brief."""
    return with_usual_system(changes, project.brief) if project.is_only_brief else changes


def _usual_system(settings: Settings, brief: Brief, *, has_model: bool) -> str:
    """The system that reads best for the model that writes and for the length; the default if neither is known."""
    writer = settings.roles.get("writer", RoleTable()).model
    if _is_small(settings, writer or settings.model):
        return FOR_SMALL_MODELS if has_model or writer else settings.system
    asked = asked_length(brief, str(settings.config.get("words", "")))
    several = asked.parts is not None and asked.parts.kind == "chapter" and asked.parts.count > 1
    short = asked.words.target <= LONG if asked.words else not several
    return FOR_SHORT_STORIES if short and settings.preset != "faithful" else settings.system


def _fits(settings: Settings, name: str) -> bool:
    """Whether a system has the settings and roles that are given, so that none of them is without effect."""
    system = find(name)
    given = set(settings.config) - {"words"}
    return given <= set(values_of(system.config())) and set(settings.roles) <= set(system.roles)


def _is_small(settings: Settings, model: str) -> bool:
    """Whether a model gets the help for small models."""
    kind, _, name = model.partition(":")
    small = is_small(name) or (kind == "embedded" and is_small_file(Path(name).expanduser()))
    return settings.aids_in_force == "on" or (settings.aids_in_force == "auto" and small)


async def expected(beginning: Beginning, environ: Mapping[str, str], tables: Mapping[str, Any]) -> DryRun:
    """The calls and cost of the first run: the whole story, or the plan that is extracted from one. It writes nothing.

    Raises:
        FabulaError: no project can begin with this form.
    """
    settings, options = Settings.of(dict(tables), "the form"), Options(environ=environ)
    if not beginning.from_story:
        return await dry_run(beginning.brief, settings, options)
    with TemporaryDirectory(prefix="fabula-") as spare:
        project = begin(beginning, Path(spare) / "project", dict(tables))
        try:
            return await dry_run_plan_in(project, settings, options)
        finally:
            Trust().forget(project.settings_file)


def planned(beginning: Beginning, tables: Mapping[str, Any]) -> Imported:
    """The parts that a manuscript would become; nothing is written.

    Raises:
        UsageError: a part is too long.
    """
    found, source = beginning.manuscript, beginning.source
    return planned_import(Path(slug(beginning.called)), found, source, dict(tables), beginning.title)


def begin(beginning: Beginning, folder: Path, tables: dict[str, Any]) -> ProjectFolder:
    """Create the project in `folder`.

    Raises:
        FabulaError: the project cannot be created from this form, or in this folder.
    """
    if beginning.kind == "manuscript":
        import_manuscript(folder, beginning.manuscript, beginning.source, tables, beginning.title, own=beginning.own)
        return ProjectFolder.open(folder)
    if not beginning.from_story:
        return ProjectFolder.create(folder, beginning.brief, tables)
    if not count_words(beginning.text):
        raise UsageError("The story is empty. Provide a text that contains a story.")
    return project_for_story(folder, beginning.text, None, tables)


def check(settings: Settings, environ: Mapping[str, str]) -> None:
    """Check what a run needs before it begins: system, settings, roles, models, players, prompts. Calls no model.

    Raises:
        FabulaError: the first problem that was found; one in the settings file names the file.
    """
    with naming_file(settings.file, environ):
        _check(settings, environ)


@contextmanager
def naming_file(file: Path | None, environ: Mapping[str, str]) -> Iterator[None]:
    """Add the name of a settings file to an error that its settings alone cause, without any option."""
    try:
        yield
    except UsageError as error:
        if file is not None and file.exists():
            try:
                _check(Settings.read(file).at(file.parent), environ)
            except FabulaError as alone:
                found, said = str(alone.args[0]), str(error.args[0])
                if found.startswith(said) and str(file) not in found:
                    error.args = (f"{file}: {found}",)
        raise


def _check(settings: Settings, environ: Mapping[str, str]) -> None:
    system = system_of(settings)
    with other_systems(system):
        check_words(settings)
    if settings.prompts and not Path(settings.prompts).is_dir():
        raise ConfigError(f"--prompts {settings.prompts} is not a folder. Specify a folder of .jinja files.")
    with other_systems(system):
        open_cast(settings, system.roles, Environment(environ, person=_nobody), system.open_role)


@contextmanager
def other_systems(system: System) -> Iterator[None]:
    """Add to the error on a setting or role that `system` lacks: its name, and the systems that have it."""
    try:
        yield
    except UnknownNameError as error:
        of_role, of_setting = error.kind == "role", error.kind == f"{system.name} setting"
        if (of_role or of_setting) and not hint(error.name, error.known).endswith("?"):
            able = [
                name
                for name, one in systems().items()
                if not one.source and error.name in (one.roles if of_role else values_of(one.config()))
            ]
            said = f"{error.args[0]} The system is {system.name}." if of_role else error.args[0]
            if of_setting and error.name in {one.name for one in fields(Sampling)}:
                said = f"{error.name!r} is a sampling value: use `--sampling {error.name}=VALUE`."
            error.args = (
                (f"{said} Systems with this {'role' if of_role else 'setting'}: {', '.join(able)}.",)
                if able
                else (said,)
            )
        raise


def check_weights(settings: Settings, environ: Mapping[str, str], expected: DryRun) -> None:
    """Check before a run begins that each local model that it would call has its file.

    Raises:
        ModelUnavailableError: a model has no file; the message says how to get one.
    """
    from fabula.models.embedded import EmbeddedModel  # noqa: PLC0415 - the engine's side, which other beginnings spare
    from fabula.models.llamacpp import check_gguf  # noqa: PLC0415 - the same

    asked = {call.performer for call in expected.planned}
    system = system_of(settings)
    cast = open_cast(settings, system.roles, Environment(environ, person=_nobody), system.open_role)
    for one in (cast.default, *cast.roles.values()):
        model = one.performer.model if isinstance(one.performer, Wrapper) else one.performer
        if isinstance(model, EmbeddedModel) and model.identity in asked:
            check_gguf(model.path, model.name)


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at


def context_of(model: str, base_url: str, known: ModelTable, environ: Mapping[str, str]) -> int | None:
    """The tokens of context that a model's server reports; `None` if they are `known` or not reported.

    Only the user's own servers are called: those at loopback, or at the address that the user entered, `base_url`.
    """
    kind, _, model_id = model.partition(":")
    if kind not in OWN_KINDS or known.context is not None:
        return None
    address = base_url or known.addresses[0] or usual_address(kind, environ)
    if not base_url and not is_loopback(address):
        return None
    found = context_at(kind, served_at(kind, address), model_id, environ)
    return max(found, LEAST_CONTEXT) if found else None


def _known_system(name: str) -> str:
    """A system by its name, but not by a folder with code."""
    known = systems()
    if name not in known:
        raise UnknownNameError("system", name, known)
    return known[name].spec
