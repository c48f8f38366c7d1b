"""The Python API: `write` and `plan`; `verbs_on_stories` has what is done with stories, `verbs_to_talk` the rest.

Every verb waits for its result; `VERB_async` is the same for who has an event loop, as `await fabula.write_async(...)`.
All that is asked is kept, so that the same call again costs nothing. Nothing is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.app.beginning import with_usual_system
from fabula.app.bills import Estimate
from fabula.app.calling import Caller, waiting
from fabula.app.planning import Planned, plan_in, planning_system, project_for_story
from fabula.app.sources import brief_of, folder_for, project_in
from fabula.app.standing import check_words
from fabula.app.writing import (
    PreparedMethod,
    Written,
    dry_run_in,
    refuse_anew,
    settings_as_last_time,
    write_in,
)
from fabula.app.writing import dry_run as dry_run_of
from fabula.base.errors import UsageError
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Story, slug

if TYPE_CHECKING:
    from fabula.app.calling import SystemOptions
    from fabula.app.sources import BriefSource


async def write_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    words: int | str | None = None,
    anew: bool = False,
    **how: Unpack[SystemOptions],
) -> Written:
    """A story: begun in a folder, or gone on with where it stopped; edits found in its files are taken over first.

    Args:
        what: a brief, its text or file, or a project.
        folder: of the project; by default called after the brief's file, title or first words.
        words: how long the story is to be: 300, "250-350" or "~300".
        anew: write again what stands, where other settings than before want that; without it that is refused.
        **how: the model and other `CallOptions`, and fields of `fabula.toml`, for instance `system="dramatron"`,
            `seed=7`, `config={"revisions": 2}`; what the last run in the folder was given stays in force where nothing
            else is said.

    Raises:
        WrittenBeforeError: with other settings than before, what stands would be written again.
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(how, words)
    project, in_force, why = _begun(what, folder, caller)
    options = caller.options
    if not anew:
        said = "`anew=True` does it, and the old texts stay in its history; another `folder` has both stories."
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
    """What `write` would ask and cost if it were called with the same. Asks nobody, makes nothing.

    Args:
        what: as of `write`.
        folder: as of `write`.
        words: as of `write`.
        **how: as of `write`.

    Raises:
        FabulaError: any of its kinds.
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
        changes, why = caller.wanted(has_model=False)
        changes = with_usual_system(changes, brief)
        wanted = Settings().with_(changes, "the call")
        check_words(wanted)
        PreparedMethod(wanted, caller.options).cast()  # says what is wrong before anything is made, and opens nothing
        project = ProjectFolder.create(where, brief, changes)
        return project, settings_as_last_time(project).with_(changes, "the call"), why
    project = ProjectFolder.open(where)
    if project.brief.text != brief.text:
        raise UsageError(f"The project {where} has another brief. Change its brief.md, or name another folder.")
    return _gone_on(project, caller)


def _gone_on(project: ProjectFolder, caller: Caller) -> tuple[ProjectFolder, Settings, str]:
    """A project that is there, the settings in force, and why its model where it names none and was never written."""
    before = settings_as_last_time(project, str(caller.changes.get("system", "")))
    with project.journal as journal:
        begun = journal.last_settings() is not None
    changes, why = caller.wanted(has_model=begun or "model" in before.model_fields_set)
    return project, before.with_(changes, "the call"), why


def _planned_story(story: Story, folder: str | Path | None, caller: Caller) -> tuple[ProjectFolder, Settings, str]:
    """The project in which a plan is read off a story."""
    where = Path(slug(story.title or first_words(story.text))) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    project = project_for_story(where, story.manuscript(), None, changes)
    return project, settings_as_last_time(project).with_(changes, "the call"), why


def first_words(text: str) -> str:
    """For the name of a folder."""
    return " ".join(text.split()[:6])


async def plan_async(
    what: BriefSource | Story,
    folder: str | Path | None = None,
    *,
    words: int | str | None = None,
    **how: Unpack[SystemOptions],
) -> Planned:
    """A plan of scenes: made from a brief, or read off a finished story; `write` goes on from its project.

    Args:
        what: a brief, its text or file, a project, or a `Story` as `fabula.read` gives it.
        folder: as of `write`.
        words: as of `write`.
        **how: as of `write`; where no system is named, one that writes from plans is taken.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
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
