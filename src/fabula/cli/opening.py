"""From what a command was given to a terminal and a project."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.cli.terminal import Terminal
from fabula.engine.events import RECORD
from fabula.models.outside import ANSWERS, PASTE
from fabula.project.folder import Project

if TYPE_CHECKING:
    from fabula.cli.options import Common
    from fabula.cli.pasting import Pasting
    from fabula.engine.journal import Journal
    from fabula.engine.roles import Answer


def terminal_of(common: Common) -> Terminal:
    """The terminal as the options want it; the replies of a chat window (`--model paste`) are pasted there."""
    terminal = Terminal(json=common.json, quiet=common.quiet)
    ANSWERS.set({PASTE: _pasted_at(terminal)})
    return terminal


def _pasted_at(terminal: Terminal) -> Answer:
    @cache
    def pasting() -> Pasting:
        from fabula.cli.pasting import Pasting  # noqa: PLC0415 - few commands ask anybody

        return Pasting(terminal)

    return lambda request: pasting().answer(request)


def project_of(common: Common, where: str = "") -> Project:
    """The project that is named as an argument or with `-C`, else the one in the current folder.

    Raises:
        UsageError: both are given and differ.
        ProjectError: there is no project.
    """
    if where and common.folder and Path(where).resolve() != Path(common.folder).resolve():
        raise UsageError(f"Two projects are named: {where} and -C {common.folder}. Give one.")
    project = Project.open(Path(where or common.folder or "."))
    project.tell = Terminal(json=common.json, quiet=common.quiet).message
    return project


def authored(journal: Journal) -> dict[str, str]:
    """The files of the artefacts that a person may want to read, by path; records of a run are none of them."""
    return {path: file for path, file in journal.places().items() if not file.endswith(f".{RECORD}")}
