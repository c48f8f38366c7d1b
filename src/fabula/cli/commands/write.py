"""`fabula write`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.asked import changes_of, check
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Choices, Common, Limits, bundled
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.errors import ProjectError, UsageError
from fabula.project import Project
from fabula.settings import Settings
from fabula.story import Brief

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@bundled
def write(
    common: Common,
    choices: Choices,
    limits: Limits,
    where: Annotated[str, typer.Argument(help="Project folder, or a brief file.", show_default="this folder")] = "",
    out: Annotated[str, typer.Option(metavar="DIR", help="Project folder for a brief; default: its name, here.")] = "",
    *,
    save: Annotated[bool, typer.Option("--save", help="Store these settings in the project's fabula.toml.")] = False,
) -> None:
    """Write the story of a project or brief; go on where it stopped."""
    terminal = terminal_of(common)
    file = Path(where) if where else None
    if file is not None and file.is_file():
        project, settings = _for_brief(file, Path(out) if out else Path(file.stem), choices, terminal)
    else:
        if file is not None and not file.exists():
            raise UsageError(f"There is no file or folder {where}. Give a brief (a text file) or a project folder.")
        if out:
            raise UsageError("--out goes with a brief file; a project folder is written where it is.")
        project = project_of(common, where)
        settings = _laid_over(project, choices, terminal)
    if save:
        project.save_settings(changes_of(choices, project.settings))
    session = Session(terminal, project, settings, limits)
    expected = None if common.quiet or limits.frozen else session.rehearse()[0]
    if expected is not None and not common.json:
        terminal.tell(_opening(project, settings, len(expected.planned), expected.replayed))
    session.report(session.run(expected))


def _for_brief(file: Path, folder: Path, choices: Choices, terminal: Terminal) -> tuple[Project, Settings]:
    """The project for a brief file: a new one, or the one that is there if it has the same brief."""
    brief = Brief.read(file)
    if not (folder / "brief.md").exists():
        changes = changes_of(choices, Settings())
        settings = Settings.of(changes, "the command line")
        check(settings, terminal.environ)
        if (folder / "fabula.toml").exists():
            raise ProjectError(f"{folder} has a fabula.toml but no brief.md. Choose another folder with --out.")
        return Project.create(folder, brief, changes), settings
    project = Project.open(folder)
    if project.brief != brief:
        raise UsageError(
            f"{near(folder)} is the project of another brief. Choose another folder with --out DIR; or, to change the "
            f"brief of that project, edit {near(project.brief_file)} and say `fabula update {near(folder)}`."
        )
    return project, _laid_over(project, choices, terminal)


def _laid_over(project: Project, choices: Choices, terminal: Terminal) -> Settings:
    """The project's settings with the options on top; says so where they differ."""
    stored = project.settings
    changes = changes_of(choices, stored)
    settings = stored.with_(changes)
    check(settings, terminal.environ)
    if settings != stored:
        names = ", ".join(_names(stored.model_dump(exclude_defaults=True), settings.model_dump(exclude_defaults=True)))
        terminal.advise(f"For this run only, other than in fabula.toml: {names}. --save keeps it.")
    return settings


def _names(old: dict[str, Any], new: dict[str, Any], above: str = "") -> list[str]:
    """The dotted names of what differs between two tables."""
    found: list[str] = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) or isinstance(after, dict):
            found += _names(before or {}, after or {}, f"{above}{name}.")
        elif before != after:
            found.append(above + name)
    return found


def _opening(project: Project, settings: Settings, planned: int, replayed: int) -> str:
    kept = f", {counted(replayed, 'call')} in the journal" if replayed else ""
    calls = f"about {counted(planned, 'call')} to make" if planned else "nothing to ask"
    return f"{settings.system} ({settings.preset}), {settings.model}, in {near(project.folder)}: {calls}{kept}"
