"""How a project begins: with a brief, a story or a manuscript; its system, model and length; what it asks and costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.importing import import_manuscript, planned_import, system_for_manuscript
from fabula.app.planning import dry_run_plan_in, planning_system, project_for_story
from fabula.app.standing import check_words
from fabula.app.writing import Options, dry_run
from fabula.base.addresses import is_loopback
from fabula.base.errors import ConfigError, UnknownNameError, UsageError
from fabula.continuity.parts import manuscript
from fabula.craft.length import ONE_REPLY, asked_length
from fabula.engine.methods import values_of
from fabula.models.base import Wrapper
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
    from collections.abc import Mapping

    from fabula.app.importing import Imported
    from fabula.continuity.parts import Manuscript
    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Request

Kind: TypeAlias = Literal["brief", "story", "manuscript"]
FOR_SMALL_MODELS: Final = "end-to-end"
"""The system that reads best where a model is small."""
FOR_SHORT_STORIES: Final = "reviewed-draft"
"""The system that reads best where it is not, for a story that one reply can hold."""
LEAST_CONTEXT: Final = 256
"""Tokens of context that the settings take at least."""
_TITLE_WORDS: Final = 6  # of a text that has no title, for the name of its folder


@dataclass(frozen=True)
class Beginning:
    """What somebody wants to begin with.

    Attributes:
        text: the brief, the story whose plan is read off, or the manuscript that is gone on with.
        kind: which of the three it is.
        title: of the story.
        system: that writes; the default one where it is empty.
        model: that plays every role; the default one where it is empty.
        base_url: the model's address, where it is not the usual one.
        words: the length, as a brief says it.
        source: the name of the manuscript's file.
        parts: the manuscript, where it was read from a file already.
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

    @property
    def from_story(self) -> bool:
        """Whether a plan is read off a story."""
        return self.kind == "story"

    @cached_property
    def manuscript(self) -> Manuscript:
        """The manuscript in its parts.

        Raises:
            UsageError: there are no words in it.
        """
        return self.parts or manuscript(self.text)

    @property
    def brief(self) -> Brief:
        """The brief that it is.

        Raises:
            BriefError: nothing is asked in it.
        """
        brief = Brief.parse(self.text, name="in the form")
        return replace(brief, title=self.title) if self.title else brief

    @property
    def called(self) -> str:
        """What its folder is called after."""
        if self.title:
            return self.title
        if self.kind == "manuscript":
            return self.manuscript.title or Path(self.source).stem
        title = Story.parse(self.text).title if self.from_story else self.brief.title
        return title or " ".join(self.text.split()[:_TITLE_WORDS])

    def tables(self, environ: Mapping[str, str]) -> dict[str, Any]:
        """The settings of the project, checked.

        Raises:
            FabulaError: they do not hold, or there is no such system or model.
        """
        tables: dict[str, Any] = {}
        if self.kind == "manuscript":
            tables["system"] = system_for_manuscript(self.system)
        elif self.from_story or self.system:
            tables["system"] = _known_system(self.system or planning_system(None, None))
        tables |= self._model_tables(environ)
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
        if not self.model:
            chosen = default_model(environ)
            return {} if chosen is None else dict(chosen.changes)
        name = full_name(self.model)
        table: dict[str, Any] = {"base_url": self.base_url} if self.base_url else {}
        if context := context_of(name, self.base_url, ModelTable(), environ):
            table["context"] = context
        return {"model": name} | ({"models": {name: table}} if table else {})


def with_usual_system(tables: dict[str, Any], brief: Brief | None = None) -> dict[str, Any]:
    """The settings of a project that begins, with the system that reads best for its model and its length.

    Only where nobody has named a system, or said something that Agents' Room alone may know: it is the system where
    nothing is chosen here. What was measured stands in `docs/how-to/models.md` and `docs/design/0017`.

    Args:
        tables: what was said of the settings.
        brief: what is to be written from it alone; `None` where there is a plan, too.

    Raises:
        UsageError: the setting `words` is no range.
    """
    settings = Settings.of(tables, "the settings")
    if "system" in tables or settings.prompts or settings.adapters:
        return tables
    said, small = set(settings.config), _is_small(settings, settings.model)
    if "model" in tables and small and not (settings.roles or said - {"words"}):
        return {**tables, "system": FOR_SMALL_MODELS}
    system = find(FOR_SHORT_STORIES)
    known = values_of(system.config())
    if settings.preset == "faithful" or brief is None or said - set(known) or set(settings.roles) - set(system.roles):
        return tables
    writer = settings.roles.get(system.roles[0], RoleTable()).model or settings.model
    asked = asked_length(brief, str(settings.config.get("words", "")))
    several = asked.parts is not None and asked.parts.kind == "chapter" and asked.parts.count > 1
    short = asked.words.target <= ONE_REPLY if asked.words else not several
    return {**tables, "system": FOR_SHORT_STORIES} if short and not _is_small(settings, writer) else tables


def _is_small(settings: Settings, model: str) -> bool:
    """Whether a model gets the help for small models."""
    kind, _, name = model.partition(":")
    small = is_small(name) or (kind == "embedded" and is_small_file(Path(name).expanduser()))
    return settings.aids_in_force == "on" or (settings.aids_in_force == "auto" and small)


async def expected(beginning: Beginning, environ: Mapping[str, str], tables: Mapping[str, Any]) -> DryRun:
    """What the first run would ask and cost: the whole story, or the plan that is read off one. Nothing is kept.

    Raises:
        FabulaError: the project cannot be begun so.
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
    """What a manuscript would become; nothing is made.

    Raises:
        UsageError: a part of it is too long.
    """
    found, source = beginning.manuscript, beginning.source
    return planned_import(Path(slug(beginning.called)), found, source, dict(tables), beginning.title)


def begin(beginning: Beginning, folder: Path, tables: dict[str, Any]) -> ProjectFolder:
    """Make the project in `folder`.

    Raises:
        FabulaError: it cannot be made so, or there.
    """
    if beginning.kind == "manuscript":
        import_manuscript(folder, beginning.manuscript, beginning.source, tables, beginning.title)
        return ProjectFolder.open(folder)
    if not beginning.from_story:
        return ProjectFolder.create(folder, beginning.brief, tables)
    if not count_words(beginning.text):
        raise UsageError("The story is empty. Give a text with a story in it.")
    return project_for_story(folder, beginning.text, None, tables)


def check(settings: Settings, environ: Mapping[str, str]) -> None:
    """Find now what a run would stumble over: system, settings, roles, models, players, prompts. Asks nobody.

    Raises:
        FabulaError: what is wrong, by its name.
    """
    system = system_of(settings)
    check_words(settings)
    if settings.prompts and not Path(settings.prompts).is_dir():
        raise ConfigError(f"--prompts {settings.prompts} is not a folder. Give a folder of .jinja files.")
    open_cast(settings, system.roles, Environment(environ, person=_nobody), system.open_role)


def check_weights(settings: Settings, environ: Mapping[str, str], expected: DryRun) -> None:
    """Find before a run begins whether a model on this machine that it would ask has its file.

    Raises:
        ModelUnavailableError: it has none; says how to get one.
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
    """Tokens of context that a model's server says it gives; `None` where that is `known`, or the server does not say.

    Only servers of one's own are asked, at loopback or at the address that was typed, which is `base_url`.
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
    """A system by its name; no folder with code."""
    known = systems()
    if name not in known:
        raise UnknownNameError("system", name, known)
    return known[name].spec
