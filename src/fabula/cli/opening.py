"""Find the terminal and the project of a command, by the same rule for all commands that use a project.

The project is the first argument or the value of `-C`; the default is the current folder.
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
from fabula.project.folder import ProjectFolder, was_project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.options import Output, ProjectOptions
    from fabula.cli.pasting import Pasting
    from fabula.engine.roles import Answer


STDIN: Final = "-"
"""The name that stands for standard input in options that read a text."""


def terminal_of(output: Output) -> Terminal:
    """Return the terminal that the options configure; replies from a chat window (`--model paste`) are pasted there."""
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
    """Return the folder given as an argument, with an `option` or with `-C`; empty if none is given.

    Raises:
        UsageError: two different folders are given.
    """
    if where and common.folder and Path(where).resolve() != Path(common.folder).resolve():
        said = f"{option} {where}".strip()
        if not option and not Path(where).exists():
            raise UsageError(
                f"There is no folder {where}, and -C {common.folder} names the project already: leave {where} out. To "
                f"restore an earlier version of a text, run `fabula edit NAME --to N -C {common.folder}`."
            )
        raise UsageError(f"You specified two projects, {said} and -C {common.folder}. Use only one.")
    return where or common.folder


def project_of(common: ProjectOptions, where: str = "") -> ProjectFolder:
    """Return the project given as an argument or with `-C`; the default is the project in the current folder.

    Raises:
        UsageError: an argument and `-C` give different projects.
        ProjectError: there is no project.
    """
    place = place_named(common, where)
    NAMED.set(place)
    project = ProjectFolder.open(Path(place or "."))
    project.tell = Terminal(json=common.json, quiet=common.quiet).message
    return project


def project_with_words(common: ProjectOptions, *words: str) -> ProjectFolder:
    """Return the project of a command whose arguments are words, so that only `-C` names a project.

    Raises:
        UsageError: the first of the words is a project, and there is none here.
        ProjectError: there is no project.
    """
    first = next(filter(None, words), "")
    if first and not common.folder and was_project(Path(first)) and not was_project(Path()):
        raise UsageError(
            f"{first} is a project folder, which this command takes after -C: leave it out, and add `-C {first}`."
        )
    return project_of(common)


def project_and_name(common: ProjectOptions, names: Sequence[str] | None) -> tuple[ProjectFolder, str]:
    """Return the project and the artefact name (or ""), given as `[PROJECT] [ARTEFACT]` in either order.

    Raises:
        UsageError: too many names or two projects are given.
        ProjectError: there is no project.
    """
    said = sorted(names or (), key=lambda one: len(names or ()) > 1 and not was_project(Path(one)))
    two = len(said) > 1 and (Path(said[0]).exists() or bool(common.folder) or not Path(".fabula").is_dir())
    where = said.pop(0) if said and (two or (not common.folder and was_project(Path(said[0])))) else ""
    if said and not where and not common.folder and not was_project(Path()):
        raise ProjectError(
            f"{said[0]} is not a project folder, and there is no project here with a text of that name. Put the "
            f"project's folder before it, `FOLDER {said[0]}`, or after -C: `{said[0]} -C FOLDER`."
        )
    if len(said) > 1:
        raise UsageError(
            f"There are too many arguments: {', '.join(filter(None, [where, *said]))}. Specify a project and one of "
            "its texts. Anything else is an option, such as `--status draft`; `--help` lists the options."
        )
    return project_of(common, where), said[0] if said else ""


def project_and_artefact(common: ProjectOptions, names: Sequence[str]) -> tuple[ProjectFolder, str]:
    """Return the project and an artefact in it; the artefact is required.

    Raises:
        UsageError: no artefact is given, or more than a project and one of its artefacts is given.
        ProjectError: there is no project.
    """
    project, name = project_and_name(common, names)
    if not name:
        where = " ".join(names)
        raise UsageError(f"Specify a text after the project {where}. To list the texts, run `fabula status {where}`.")
    return project, name


def named_or_here(common: ProjectOptions, paths: Sequence[str] | None) -> list[str]:
    """Return the given paths, or else the project from `-C`, or else the project in the current folder.

    Raises:
        UsageError: both paths and `-C` are given.
        ProjectError: nothing is given, and the current folder has no project.
    """
    if paths and common.folder:
        raise UsageError(
            f"{paths[0]} and -C {common.folder} cannot be used together. Use only one, or specify "
            "several folders as arguments."
        )
    if paths:
        return list(paths)
    return [str(project_of(common).folder)]


def read_stdin(most: int) -> str:
    """Return the text on standard input.

    Raises:
        UsageError: the text is longer than `most` characters.
    """
    text = sys.stdin.read(most + 1)
    if len(text) > most:
        raise UsageError(f"Standard input contains more than {most:,} characters. Use a shorter text.")
    return text


def read_given(where: str, most: int) -> str:
    """Return the text of a file, or of standard input if the path is `-`.

    Raises:
        UsageError: the input is not text, or is too long.
    """
    return read_stdin(most) if where == STDIN else read_text(Path(where), most)
