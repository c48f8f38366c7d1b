"""The Python API: `write` and `plan`. `verbs_on_stories` has the verbs for stories, `verbs_to_talk` has `chat`.

Every verb waits for its result. `VERB_async` is the same for code with an event loop: `await fabula.write_async(...)`.
All calls are recorded, so that repeating a call costs nothing. Nothing is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from fabula.app.beginning import with_system_of, with_usual_system
from fabula.app.bills import Estimate
from fabula.app.calling import Caller, SystemOptions, waiting
from fabula.app.planning import Planned, plan_in, planning_system, project_for_story
from fabula.app.sources import BriefSource, brief_of, first_words, folder_for, project_in
from fabula.app.standing import check_words
from fabula.app.writing import (
    PreparedMethod,
    Written,
    dry_run_in,
    refuse_anew,
    settings_as_last_time,
    write_in,
)
from fabula.app.writing import (
    dry_run as dry_run_of,
)
from fabula.base.errors import UsageError
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Story, slug


async def write_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    words: int | str | None = None,
    anew: bool = False,
    **how: Unpack[SystemOptions],
) -> Written:
    """Write a story in a new folder, or continue one; edits in its files are applied first.

    Args:
        what: a brief, its text or file, or a project.
        folder: the project's folder; by default named after the brief's file, title or first words.
        words: the story's length: 300, "250-350" or "~300".
        anew: rewrite existing texts if settings have changed; without it, such a change is refused.
        **how: the model and other `CallOptions`, and fields of `fabula.toml`, for instance `system="dramatron"`,
            `seed=7`, `config={"revisions": 2}`; options of the folder's last run remain in force unless replaced.

    Raises:
        WrittenBeforeError: settings have changed, and existing texts would be rewritten.
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
    """
    caller = Caller.of(how, words)
    project, in_force, why = _begun(what, folder, caller)
    options = caller.options
    if not anew:
        said = "`anew=True` rewrites them and keeps the old versions. Another `folder` keeps both stories."
        await refuse_anew(project, in_force, options, said)
    outcome = await write_in(project, in_force, options)
    return Written.in_(project, in_force, outcome.story, caller.finished(in_force), why)


async def dry_run_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    words: int | str | None = None,
    **how: Unpack[SystemOptions],
) -> Estimate:
    """The calls and cost of `write` with the same arguments. No model is called, and nothing is written.

    Args:
        what: see `write`.
        folder: see `write`.
        words: see `write`.
        **how: see `write`.

    Raises:
        FabulaError: an error of any kind.
    """
    caller = Caller.of(how, words)
    there = project_in(what)
    brief = None if there is not None else brief_of(what)
    where = folder_for(brief, what) if folder is None and brief is not None else Path(folder or ".")
    if brief is not None and not (where / "brief.md").exists():
        wanted = with_usual_system(caller.wanted(has_model=False)[0], brief)
        return Estimate.of(await dry_run_of(brief, Settings().with_(wanted, "the call"), caller.options))
    project, in_force, _ = _begun(what, folder, caller)
    dry, changes = await dry_run_in(project, in_force, caller.options)
    return Estimate.of(dry, changes=changes)


def _begun(what: BriefSource, folder: str | Path | None, caller: Caller) -> tuple[ProjectFolder, Settings, str]:
    """The project for a brief or project, made if necessary, the settings in force, and the reason for its model.

    Raises:
        UsageError: the folder is the project of another brief.
    """
    project = project_in(what)
    if project is not None:
        if folder is not None and Path(folder).resolve() != project.folder.resolve():
            raise UsageError(f"{project.folder} is a project and is written to its own folder. Leave out `folder`.")
        return _gone_on(project, caller)
    brief = brief_of(what)
    where = folder_for(brief, what) if folder is None else Path(folder)
    if not (where / "brief.md").exists():
        changes, why = caller.wanted(has_model=False)
        changes = with_usual_system(changes, brief)
        wanted = Settings().with_(changes, "the call")
        check_words(wanted)
        PreparedMethod(wanted, caller.options).cast()  # says what is wrong before anything is made, and opens nothing
        project = ProjectFolder.create(where, brief, changes)
        return project, settings_as_last_time(project).with_(changes, "the call"), why
    project = ProjectFolder.open(where)
    if project.brief.text != brief.text:
        raise UsageError(f"The project {where} has a different brief. Change its brief.md, or choose another folder.")
    return _gone_on(project, caller)


def _gone_on(project: ProjectFolder, caller: Caller) -> tuple[ProjectFolder, Settings, str]:
    """An existing project, the settings in force, and the reason for its model if it names none and is not begun."""
    before = settings_as_last_time(project, str(caller.changes.get("system", "")))
    with project.journal as journal:
        begun = journal.last_settings() is not None
    changes, why = caller.wanted(has_model=begun or "model" in before.model_fields_set)
    changes = with_system_of(project, changes)
    return project, before.with_(changes, "the call"), why


def _planned_story(story: Story, folder: str | Path | None, caller: Caller) -> tuple[ProjectFolder, Settings, str]:
    """The project in which a plan is derived from a story."""
    where = Path(slug(story.title or first_words(story.text))) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    project = project_for_story(where, story.manuscript(), None, changes)
    return project, settings_as_last_time(project).with_(changes, "the call"), why


async def plan_async(
    what: BriefSource | Story,
    folder: str | Path | None = None,
    *,
    words: int | str | None = None,
    **how: Unpack[SystemOptions],
) -> Planned:
    """Make a plan of scenes from a brief or a finished story; `write` continues from its project.

    Args:
        what: a brief, its text or file, a project, or a `Story` from `fabula.read`.
        folder: see `write`.
        words: see `write`.
        **how: see `write`; by default, the system is one that writes from plans.

    Raises:
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
    """
    there = None if isinstance(what, Story) else project_in(what)
    how["system"] = planning_system(there, how.get("system"))
    caller = Caller.of(how, words)
    if isinstance(what, Story):
        project, in_force, why = _planned_story(what, folder, caller)
    else:
        project, in_force, why = _begun(what, folder, caller)
    made = await plan_in(project, in_force, caller.options)
    return Planned(project, in_force.model, why, caller.finished(in_force), made)


write = waiting(write_async)
dry_run = waiting(dry_run_async)
plan = waiting(plan_async)
