"""From what a command was given to a terminal and a project: one rule for all commands on projects.

A project is named as the first argument or with `-C`; without either it is the folder one is in.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import read_text
from fabula.cli.terminal import Terminal
from fabula.cli.typed import NAMED
from fabula.models.outside import ANSWERS, PASTE
from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.options import Output, ProjectOptions
    from fabula.cli.pasting import Pasting
    from fabula.engine.roles import Answer


STDIN: Final = "-"
"""What stands for standard input where a text is read."""


def terminal_of(output: Output) -> Terminal:
    """The terminal as the options want it; the replies of a chat window (`--model paste`) are pasted there."""
    terminal = Terminal(json=output.json, quiet=output.quiet)
    ANSWERS.set({PASTE: _pasted_at(terminal)})
    return terminal


def _pasted_at(terminal: Terminal) -> Answer:
    @cache
    def pasting() -> Pasting:
        from fabula.cli.pasting import Pasting  # noqa: PLC0415 - few commands ask anybody

        return Pasting(terminal)

    return lambda request: pasting().answer(request)


def place_named(common: ProjectOptions, where: str = "", option: str = "") -> str:
    """The folder that is named as an argument, with an `option` or with `-C`; empty where none is.

    Raises:
        UsageError: two are named, and they differ.
    """
    if where and common.folder and Path(where).resolve() != Path(common.folder).resolve():
        said = f"{option} {where}".strip()
        raise UsageError(f"Two projects are named: {said} and -C {common.folder}. Give one.")
    return where or common.folder


def project_of(common: ProjectOptions, where: str = "") -> ProjectFolder:
    """The project that is named as an argument or with `-C`, else the one in the current folder.

    Raises:
        UsageError: both are given and differ.
        ProjectError: there is no project.
    """
    place = place_named(common, where)
    NAMED.set(place)
    project = ProjectFolder.open(Path(place or "."))
    project.tell = Terminal(json=common.json, quiet=common.quiet).message
    return project


def project_and_name(common: ProjectOptions, names: Sequence[str] | None) -> tuple[ProjectFolder, str]:
    """The project, and the artefact that is named in it (empty where none is): `[PROJECT] [ARTEFACT]`, in either order.

    Raises:
        UsageError: more is named than that, or two projects.
        ProjectError: there is no project.
    """
    said = sorted(names or (), key=lambda one: len(names or ()) > 1 and not _is_project(one))
    where = said.pop(0) if said and (len(said) > 1 or (not common.folder and _is_project(said[0]))) else ""
    if said and not where and not common.folder and not _is_project("."):
        raise ProjectError(
            f"{said[0]} is no project folder, and there is no project here to hold a text of that name. Name the "
            "project's folder, as an argument or with -C."
        )
    if len(said) > 1:
        raise UsageError(f"Too much is named: {', '.join([where, *said])}. Give a project and one artefact of it.")
    return project_of(common, where), said[0] if said else ""


def project_and_artefact(common: ProjectOptions, names: Sequence[str]) -> tuple[ProjectFolder, str]:
    """The project, and the artefact that has to be named in it.

    Raises:
        UsageError: no artefact is named, or more than a project and one of its artefacts.
        ProjectError: there is no project.
    """
    project, name = project_and_name(common, names)
    if not name:
        where = " ".join(names)
        raise UsageError(f"Name an artefact of {where}, after its name; `fabula status {where}` lists them.")
    return project, name


def named_or_here(common: ProjectOptions, paths: Sequence[str] | None) -> list[str]:
    """The paths that are named, else the project of `-C`, else the one in the current folder.

    Raises:
        UsageError: paths are named and `-C` too.
        ProjectError: nothing is named, and there is no project.
    """
    if paths and common.folder:
        raise UsageError(f"{paths[0]} and -C {common.folder} are both given. Give one; several can stand side by side.")
    if paths:
        return list(paths)
    return [str(project_of(common).folder)]


def read_stdin(most: int) -> str:
    """What is on standard input.

    Raises:
        UsageError: it is longer than `most` characters.
    """
    text = sys.stdin.read(most + 1)
    if len(text) > most:
        raise UsageError(f"Standard input holds more than {most:,} characters. Give a shorter text.")
    return text


def read_given(where: str, most: int) -> str:
    """The text of a file, or of standard input where `-` is given.

    Raises:
        UsageError: it cannot be read as text, or is too long.
    """
    return read_stdin(most) if where == STDIN else read_text(Path(where), most)


def _is_project(where: str) -> bool:
    return (Path(where) / "brief.md").is_file()
