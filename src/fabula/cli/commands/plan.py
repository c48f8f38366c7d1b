"""`fabula plan`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.beginning import check
from fabula.app.planning import (
    PLAN_FILE,
    PlanFound,
    Planned,
    PlanView,
    dry_run_plan_in,
    plan_in,
    planning_system,
    project_for_brief,
    project_for_story,
)
from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.cli.asked import changes_of, say_default, settings_for
from fabula.cli.bill import say_bill, say_dry_run
from fabula.cli.opening import place_named, terminal_of
from fabula.cli.options import Choices, ProjectOptions, WritingLimits, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.cli.terminal import Terminal, table
from fabula.project.folder import MAX_FILE, ProjectFolder, removed_if_unused
from fabula.project.settings import Settings
from fabula.project.trust import Trust
from fabula.story import Brief, count_words, one_line
from fabula.story.plan_file import read_plan

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun
    from fabula.story.plan import Plan


_WIDE: Final = 28


@dataclass(frozen=True, slots=True)
class PlanSources:
    """The source of a plan, and where to save it."""

    from_brief: Annotated[
        str, typer.Option("--from-brief", metavar="FILE", help="Make a project for this brief and plan its story.")
    ] = ""
    from_story: Annotated[
        str, typer.Option("--from-story", metavar="FILE", help="Make a project with the plan of this story.")
    ] = ""
    brief: Annotated[
        str, typer.Option(metavar="FILE", help="With --from-story: the brief from which the story was written.")
    ] = ""
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Project folder; default: a folder here, named after the file."
        ),
    ] = ""
    scenes: Annotated[
        int | None,
        typer.Option(min=0, max=200, metavar="N", help="Number of scenes in the plan; 0 lets the planner decide."),
    ] = None


@bundled
def plan(
    common: ProjectOptions,
    choices: Choices,
    limits: WritingLimits,
    sources: PlanSources,
    where: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="A plan to check, or a project folder.",
            show_default="this folder",
        ),
    ] = "",
) -> None:
    """Make a plan from a brief or a story, or check a plan."""
    terminal = terminal_of(common)
    _check_combination(sources, where)
    if not (sources.from_brief or sources.from_story):
        file = _file_of(place_named(common, where))
        refuse("a plan is only checked, and no model is called", choices, limits)
        found = read_plan(file)
        terminal.say(summary(found))
        terminal.advise(f"The plan is valid. Next: `fabula write --plan {near(file)}`.")
        terminal.document(PlanView.of(PlanFound(found, read_text(file, MAX_FILE))))
        return
    if limits.dry_run:
        _dry_run(terminal, common, choices, sources)
        return
    out = place_named(common, sources.out, "--out") or Path(sources.from_brief or sources.from_story).stem
    with removed_if_unused(Path(out)):
        project, settings = _project(replace(sources, out=out), choices, terminal)
        session = Session(terminal, project, settings, limits, "make_plan")
        silent = common.quiet or limits.frozen
        expected = None if silent else asyncio.run(dry_run_plan_in(project, settings, session.looking))
        made = _made(session, expected)
    _report(session, made)


def _dry_run(terminal: Terminal, common: ProjectOptions, choices: Choices, sources: PlanSources) -> None:
    """Show which calls planning would make; a project that does not exist yet is created in a temporary folder."""
    out = place_named(common, sources.out, "--out") or Path(sources.from_brief or sources.from_story).stem
    with TemporaryDirectory(prefix="fabula-") as spare:
        there = (Path(out) / "brief.md").exists()
        folder = out if there else str(Path(spare) / (Path(out).name or "project"))
        project, settings = _project(replace(sources, out=folder), choices, terminal)
        looking = Session(terminal, project, settings, WritingLimits()).looking
        say_dry_run(terminal, asyncio.run(dry_run_plan_in(project, settings, looking)))
        if not there:
            Trust().forget(project.settings_file)


def _check_combination(sources: PlanSources, where: str) -> None:
    """Refuse options that cannot be combined."""
    given = [f"--from-brief {sources.from_brief}"] * bool(sources.from_brief)
    given += [f"--from-story {sources.from_story}"] * bool(sources.from_story)
    given += [where] * bool(where)
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be used together. Use only one.")
    if sources.brief and not sources.from_story:
        raise UsageError("--brief requires --from-story: it specifies the brief from which the story was written.")
    if sources.scenes is not None and not sources.from_brief:
        raise UsageError("--scenes requires --from-brief: a finished story already has its scenes.")
    if sources.out and not (sources.from_brief or sources.from_story):
        raise UsageError("--out requires --from-brief or --from-story: checking a plan does not write files.")


def _file_of(where: str) -> Path:
    """The plan to check.

    Raises:
        UsageError: there is no plan.
    """
    path = Path(where or ".")
    if path.suffix in {".md", ".txt"} and path.is_file():
        raise UsageError(
            f"{path} is not a plan, because plans are YAML files. To make a plan, run `fabula plan --from-brief "
            f"{path}` if the file is a brief, or `fabula plan --from-story {path}` if it is a story."
        )
    if not path.is_dir():
        return path
    if (file := path / PLAN_FILE).is_file():
        return file
    raise UsageError(
        f"{path} has no {PLAN_FILE}. Specify a plan (a YAML file), or make one with --from-brief FILE or --from-story "
        "FILE."
    )


def _project(sources: PlanSources, choices: Choices, terminal: Terminal) -> tuple[ProjectFolder, Settings]:
    """The project of the plan, new or continued, and the settings in force."""
    if sources.scenes is not None:
        choices = replace(choices, set_=[*(choices.set_ or ()), f"scenes={sources.scenes}"])
    source = Path(sources.from_brief or sources.from_story)
    story = _story(source) if sources.from_story else None
    brief_file = sources.from_brief or sources.brief
    brief = Brief.read(Path(brief_file)) if brief_file else None
    folder = Path(sources.out)
    changes: dict[str, Any] = {}
    there = ProjectFolder.open(folder) if (folder / "brief.md").exists() else None
    choices = replace(choices, system=planning_system(there, choices.system))
    if there is not None:
        settings = settings_for(there, choices, terminal)
    else:
        changes = changes_of(choices, Settings())
        settings = Settings.of(changes, "the command line")
        say_default(terminal, choices)
    check(settings, terminal.environ)
    if story is not None:
        return project_for_story(folder, story, brief, changes), settings
    return project_for_brief(folder, brief or Brief.read(source), changes), settings


def _story(file: Path) -> str:
    story = read_text(file, MAX_FILE, kind="a story (a text file)")
    if not count_words(story):
        raise UsageError(f"The story {file} is empty. Use a text file that contains a story.")
    return story


def _made(session: Session, expected: DryRun | None) -> Plan:
    """The plan, new or continued."""
    project, settings = session.project, session.settings
    if expected is not None:
        calls = f"about {counted(len(expected.planned), 'call')}" if expected.planned else "no calls to make"
        session.terminal.advise(f"Planning for {settings.system}, {settings.model}, in {near(project.folder)}: {calls}")
    return session.finish(lambda options: plan_in(project, settings, options), "the same command", expected)


def _report(session: Session, made: Plan) -> None:
    """Say where the plan is, what it contains, what it cost, and what to do next."""
    terminal, folder = session.terminal, near(session.project.folder)
    terminal.say(f"{near(session.project.folder / PLAN_FILE)}:\n\n{summary(made)}")
    say_bill(terminal, session.bill)
    terminal.advise(f"Next: edit {folder}/{PLAN_FILE}, then `fabula write {folder}`.")
    terminal.document(Planned(session.project, session.settings.model, "", session.bill, made).made)


def summary(plan: Plan) -> str:
    """Return a plan as a table of its scenes, with lines about its characters and the order of events."""
    order = plan.chronology()
    places = {name: str(number) for number, name in enumerate(order or (), 1)}
    rows = [("told", "happens", "scene", "element", "weight", "place", "characters")]
    rows += [
        (
            str(number),
            places.get(scene.name, "?"),
            _short(scene.name),
            scene.element,
            str(scene.importance),
            _short(scene.place),
            ", ".join(scene.present),
        )
        for number, scene in enumerate(plan.scenes, 1)
    ]
    cast = ", ".join(person.name for person in plan.characters) or "none named"
    events = sum(len(scene.outline) for scene in plan.scenes)
    lines = [table(rows, right=(0, 1, 4)), "", f"Characters: {cast}"]
    if plan.manner:
        lines.append(f"Told in: {plan.manner}")
    lines.append(f"{counted(len(plan.scenes), 'scene')}, {counted(events, 'event')}; {_order(plan, order)}")
    return "\n".join(lines)


def _order(plan: Plan, order: tuple[str, ...] | None) -> str:
    """What the plan says about the order in which its scenes happen."""
    if order is None:
        return "their order of time is not known (a time or `after` for each scene would settle it)"
    pairs = plan.anachronies(order)
    return f"{counted(pairs, 'pair')} of scenes told out of chronological order" if pairs else "told as they happen"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _WIDE else line[: _WIDE - 1] + "…"
