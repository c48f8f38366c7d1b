"""The Python API: write, plan, check, judge, rank, measure, chat, read.

Every verb waits for its result; `VERB_async` is the same for who has an event loop, as `await fabula.write_async(...)`.
All that is asked is kept, so that the same call again costs nothing. Nothing is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.app.calling import Caller, waiting
from fabula.app.sources import brief_of, folder_for, project_in
from fabula.app.writing import Written, settings_as_last_time, write_in
from fabula.base.errors import UsageError
from fabula.project.folder import Project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.app.calling import OnEvent, Performers, SystemSettings
    from fabula.app.sources import BriefSource
    from fabula.project.settings import Settings


async def write_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    model: Performers | None = None,
    words: int | str | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[SystemSettings],
) -> Written:
    """A story: begun in a folder, or gone on with where it stopped; edits found in its files are taken over first.

    Args:
        what: a brief, its text or file, or a project.
        folder: of the project; by default called after the brief's file, title or first words.
        model: a name, an open model, an object with a method `reply(prompt)`, or a mapping from roles to these, in
            which "*" stands for all others. Without one: the project's, that of FABULA_MODEL, the one used last, or
            the best of fabula's own that is here; the result says which.
        words: how long the story is to be: 300, "250-350" or "~300".
        on_event: called with every event (`fabula.events`), for instance each piece of text as it comes.
        budget_tokens: most tokens that this run may use.
        budget_usd: most US dollars that this run may cost.
        environ: variables that hold keys and folders; by default those of the process.
        **settings: fields of `fabula.toml`, for instance `system="dramatron"`, `seed=7`, `config={"revisions": 2}`;
            what the last run in the folder was given stays in force where nothing else is said.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(model, on_event, environ, _with_words(settings, words))
    project, in_force, why = _begun(what, folder, caller)
    outcome = await write_in(project, in_force, caller.options(budget_tokens, budget_usd))
    return Written.in_(project, in_force, outcome.story, caller.finished(in_force), why)


def _with_words(settings: SystemSettings, words: int | str | None) -> dict[str, Any]:
    config = dict(settings.get("config", {})) | ({} if words is None else {"words": str(words)})
    return {**settings, **({"config": config} if config else {})}


def _begun(what: BriefSource, folder: str | Path | None, caller: Caller) -> tuple[Project, Settings, str]:
    """The project for what is to be written, made where it is not there yet, the settings in force, and why its model.

    Raises:
        UsageError: the folder is the project of another brief.
    """
    project = project_in(what)
    if project is not None:
        if folder is not None and Path(folder).resolve() != project.folder.resolve():
            raise UsageError(f"{project.folder} is a project, which is written where it is. Leave `folder` out.")
        return _gone_on(project, caller)
    brief = brief_of(what)
    where = folder_for(brief, what) if folder is None else Path(folder)
    if not (where / "brief.md").exists():
        chosen = caller.default_model()
        project = Project.create(where, brief, {**caller.changes, **(chosen.changes if chosen else {})})
        return project, settings_as_last_time(project).with_(caller.changes, "the call"), caller.said(chosen)
    project = Project.open(where)
    if project.brief.text != brief.text:
        raise UsageError(f"The project {where} has another brief. Change its brief.md, or name another folder.")
    return _gone_on(project, caller)


def _gone_on(project: Project, caller: Caller) -> tuple[Project, Settings, str]:
    """A project that is there, the settings in force, and why its model where it names none and was never written."""
    before = settings_as_last_time(project, str(caller.changes.get("system", "")))
    with project.journal as journal:
        begun = journal.last_settings() is not None
    chosen = None if begun or "model" in before.model_fields_set else caller.default_model()
    changes = {**(chosen.changes if chosen else {}), **caller.changes}
    return project, before.with_(changes, "the call"), caller.said(chosen)


write = waiting(write_async)
