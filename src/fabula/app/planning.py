"""Making only the plan of a project, from its brief or a finished story; `fabula write` continues from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from fabula.app.bills import Billed
from fabula.app.saving import base_of
from fabula.app.writing import (
    Outcome,
    PreparedMethod,
    answer_in_language_of,
    in_the_project,
    recorded_run,
    settings_as_last_time,
)
from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import make_folder, read_text, write_atomically
from fabula.base.html import Html, figure, html_table, joined
from fabula.craft.planning import PlanOptions, given_plan, plan_for, plan_from_story, synthesised_plan
from fabula.engine.run import Run, retaken
from fabula.project.folder import MAX_FILE, FileChange, ProjectFolder
from fabula.story import Brief, one_line, plain
from fabula.story.plan import Plan  # noqa: TC001 - pydantic reads it
from fabula.story.plan_file import parse_plan, write_plan
from fabula.story.timeline import timeline_data, timeline_svg
from fabula.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.app.writing import Options
    from fabula.engine.context import RunContext
    from fabula.engine.dry_run import DryRun
    from fabula.project.settings import Settings

PLAN: Final = "plan"
PLAN_FILE: Final = "plan/plan.yaml"
SOURCE: Final = ".fabula/source.md"
"""In a project: the story from which its plan is derived."""
_NO_BRIEF: Final = Brief("Tell the story of plan/plan.yaml.")  # used until there is a plan


SYSTEM: Final = "character-simulation"  # what a plan is made for, where no system that writes from one is named


@dataclass(frozen=True)
class Planned(Outcome):
    """A new plan with its cost. `plan` contains its characters and scenes."""

    plan: Plan

    @property
    def file(self) -> Path:
        """The plan's file."""
        return self.project.folder / PLAN_FILE

    @property
    def made(self) -> MadePlan:
        """The plan in the project, with its cost."""
        return MadePlan(**self.bill.as_data(), found=PlanView.of(plan_of(self.project)))

    def to_dict(self) -> dict[str, Any]:
        """The result in the format of `fabula plan --json`."""
        return asdict(self.made)

    def __str__(self) -> str:
        return plain(write_plan(self.plan))

    def _repr_svg_(self) -> str:
        return timeline_svg(self.plan, self.plan.assumed_chronology())

    def _repr_html_(self) -> str:
        head = ("scene", "place", "time", "characters", "events")
        rows = [(s.name, s.place, s.time, ", ".join(s.present), str(len(s.outline))) for s in self.plan.scenes]
        return joined(html_table(head, rows, right=(4,)), figure(self._repr_svg_()))


@dataclass(frozen=True, slots=True)
class PlanFound:
    """The plan that a project has.

    Attributes:
        plan: the plan in the project's text.
        text: the text of its file that is in use.
        said: the order in which scenes happen, as the project has it; may be empty, or belong to an earlier plan.
        changed: whether the author changed the file and the change has not been applied yet.
    """

    plan: Plan
    text: str
    said: tuple[str, ...] = ()
    changed: bool = False


@dataclass(frozen=True, slots=True)
class PlanView:
    """The plan of a project, or of a file.

    Attributes:
        plan: the plan's scenes and characters.
        order: names of the scenes, in the order in which they happen.
        order_from: "project", "plan" or "assumed".
        base: identifies the version of its text; see the verb `edit`.
        changed: whether its file was changed and the change has not been applied yet.
        timeline: both orders of time as data.
    """

    plan: Plan
    order: tuple[str, ...]
    order_from: str
    base: str
    changed: bool
    timeline: Mapping[str, Any]

    @classmethod
    def of(cls, found: PlanFound) -> Self:
        """A plan in both orders of time."""
        order, source, _ = order_of_time(found.plan, found.said)
        data = timeline_data(found.plan, order)
        return cls(found.plan, tuple(order), source, base_of(found.text), found.changed, data)

    def _repr_html_(self) -> Html:
        return figure(timeline_svg(self.plan, self.order))


@dataclass(frozen=True, slots=True)
class MadePlan(Billed):
    """A new plan, as the verb `plan` returns it, with its cost."""

    found: PlanView


def plan_of(project: ProjectFolder) -> PlanFound:
    """The plan that a project has, made by a run or written by its author.

    Raises:
        ProjectError: it has no plan of scenes yet.
        PlanError: the plan has problems; the error lists them all.
    """
    with project.journal as journal:
        text, order = journal.artefacts.newest(PLAN), journal.artefacts.newest("order") or ""
        changed = text is not None and any(change.path == PLAN for change in project.changes(journal))
    if text is None:
        file = project.folder / PLAN_FILE
        if not file.is_file():
            raise ProjectError(
                f"{project.folder} has no plan of scenes yet. Write with a system that plans scenes, save a "
                f"plan in {file}, or specify a plan file: `fabula show --timeline plan.yaml`."
            )
        text = read_text(file, MAX_FILE)
    lines = (line.strip() for line in order.splitlines())
    said = tuple(one_line(line[2:]) for line in lines if line.startswith("- "))
    return PlanFound(parse_plan(text, PLAN_FILE), text, said, changed)


def order_of_time(plan: Plan, said: Sequence[str] = ()) -> tuple[Sequence[str], str, str]:
    """The order in which a plan's scenes happen, where it comes from, and why the order in `said` was not used.

    It comes from "project" (`said`), from "plan", or is "assumed" if the plan does not give it for all scenes.
    """
    wrong = ""
    if said:
        names = {one_line(name): name for name in plan.names}
        order = [names.get(name, name) for name in said]
        if not (wrong := plan.accepts(order)):
            return order, "project", ""
    known = plan.chronology()
    return (plan.assumed_chronology(), "assumed", wrong) if known is None else (known, "plan", wrong)


def planning_system(project: ProjectFolder | None, named: str | None) -> str:
    """The system that a plan is made for: the named one, else the project's if it writes from plans, else `SYSTEM`."""
    if named is not None:
        return named
    last = settings_as_last_time(project) if project is not None else None
    return last.system if last is not None and system_of(last).takes_plan else SYSTEM


def project_for_brief(folder: Path, brief: Brief, settings: dict[str, Any]) -> ProjectFolder:
    """The project in which a plan is made for `brief`: a new one, or the existing one for this brief.

    Raises:
        UsageError: the folder is the project of another brief.
        ProjectError: the folder cannot be written.
    """
    if not (folder / "brief.md").exists():
        return ProjectFolder.create(folder, brief, settings)
    project = ProjectFolder.open(folder)
    if project.brief != brief or story_of(project) is not None:
        raise UsageError(f"{folder} is a project for another brief. Choose another folder with --out DIR.")
    return project


def project_for_story(folder: Path, story: str, brief: Brief | None, settings: dict[str, Any]) -> ProjectFolder:
    """The project in which a plan is derived from `story`: a new one, or the existing one for the same story.

    If no brief is given, `brief.md` gets a brief made from the plan as soon as there is a plan.

    Raises:
        UsageError: the folder holds another project.
        ProjectError: the folder cannot be written, or contains parts of a project.
    """
    if (folder / "brief.md").exists():
        project = ProjectFolder.open(folder)
        source = folder / SOURCE
        if not source.exists() or plain(source.read_text(encoding="utf-8")) != plain(story):
            raise UsageError(f"{folder} is a project for another story or brief. Choose another folder with --out DIR.")
        if brief is not None and project.brief != brief:
            raise UsageError(
                f"{folder} has a different brief. Leave out --brief, or choose another folder with --out DIR."
            )
        return project
    make_folder((folder / SOURCE).parent, mode=0o700)
    write_atomically(folder / SOURCE, plain(story) + "\n")
    return ProjectFolder.create(folder, brief or _NO_BRIEF, settings)


def story_of(project: ProjectFolder) -> str | None:
    """The story that the project's plan is derived from; `None` for a project that began with a brief."""
    source = project.folder / SOURCE
    return source.read_text(encoding="utf-8") if source.exists() else None


async def plan_in(project: ProjectFolder, settings: Settings, options: Options) -> Plan:
    """The project's plan: the author's if there is one, or a new one from the project's story or brief.

    A plan made from a brief is the same artefact that a system makes, with the same calls, so `write` replays it. A
    plan derived from a story is recorded as the author's, so `write` uses it as it is. Edits in files are applied.

    Raises:
        FabulaError: the plan cannot be made. Finished calls are kept, and the same command continues from there.
    """
    prepared = PreparedMethod(settings, options)
    with project.recorded() as journal:
        project.begin(journal)
        async with prepared.opened(journal) as context:
            context.on_kept = lambda kept: project.write_kept(journal, kept)
            context.approve = options.approve
            project.trust(settings.typed)
            with recorded_run(prepared, context, in_the_project(project)):
                plan, read = await _plan(project, settings, context)
                if read and not options.frozen:
                    project.take_over(journal, [FileChange(PLAN, PLAN_FILE, plain(write_plan(plan)))])
                    if project.brief == _NO_BRIEF:
                        write_atomically(project.brief_file, Brief(plan.as_brief(), plan.title).write())
    return plan


async def dry_run_plan_in(project: ProjectFolder, settings: Settings, options: Options) -> DryRun:
    """The calls that `plan_in` would make now, and their cost. Calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options)
    with project.journal as journal:
        async with prepared.opened(journal, dry=True) as context:
            context.pending = {change.path: change.text for change in project.changes(journal)}
            await _plan(project, settings, context)
    return context.dry_run


async def _plan(project: ProjectFolder, settings: Settings, context: RunContext) -> tuple[Plan, bool]:
    """The plan, and whether it was derived from a story just now."""
    run = Run(context)
    story = story_of(project)
    answer_in_language_of(story or project.brief.text, context, settings)
    if story is None:
        config = system_of(settings).config(settings.preset, settings.config)
        return await plan_for(run, project.brief, PlanOptions.of(config)), False
    given = await given_plan(run)
    if given is not None:
        return given, False
    brief = None if project.brief == _NO_BRIEF else project.brief
    anew = retaken(run, PLAN).scope("from-story")
    read = synthesised_plan if settings.preset == "faithful" else plan_from_story
    return await read(anew, story, brief), True
