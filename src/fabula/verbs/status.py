"""`status`: the state of a project."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping  # noqa: TC003 - doors read it
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from fabula.app.beginning import naming_file
from fabula.app.bills import Estimate, total
from fabula.app.checking import OUT
from fabula.app.evaluating import journal_to_read
from fabula.app.workspace import Artefact, Overview, Workspace
from fabula.base.errors import FabulaError
from fabula.base.html import Html, bullets, html_table, joined, paragraph
from fabula.engine.journal import spent_by_role
from fabula.models.base import Usage  # noqa: TC001 - doors read it
from fabula.project.settings import difference
from fabula.project.telling import imported_from
from fabula.verbs.base import verb


@dataclass(frozen=True, slots=True)
class Status(Overview):
    """The state of a project, and the calls that a run would make.

    Attributes:
        folder: the project's folder.
        settings: the settings in force, as tables.
        as_last_time: settings of the last run that are not in `fabula.toml`, as tables; they still apply.
        artefacts: its texts.
        imported_from: the manuscript from which the project was made; empty if there is none.
        spent: what each role has used.
        total: what all roles have used.
        open_findings: how many findings of the last check are open; null if there was none, or it cannot be read.
        evaluations: what checks and other evaluations have used, which neither `total` nor the budget contains; null if
            it cannot be read.
        estimate: the calls that a run would make now, without details of each; null if there is a `problem`.
    """

    folder: str
    settings: Mapping[str, Any]
    as_last_time: Mapping[str, Any]
    artefacts: list[Artefact]
    imported_from: str
    spent: Mapping[str, Usage]
    total: Usage
    open_findings: int | None
    evaluations: Usage | None
    estimate: Estimate | None

    def _repr_html_(self) -> Html:
        spent = f"{self.words:,} words, {self.system}, {self.model}; {self.calls:,} calls recorded."
        head = ("role", "prompt", "reply")
        rows = [(role, f"{usage.prompt:,}", f"{usage.reply:,}") for role, usage in self.spent.items()]
        return joined(
            paragraph(self.title),
            paragraph(spent, faint=True),
            html_table(head, rows, right=(1, 2)) if rows else "",
            paragraph(self.problem) if self.problem else "",
            bullets(self.not_as_asked),
            "" if self.estimate is None or self.problem else self.estimate._repr_html_(),
        )


@verb("GET", "", "projects", command="status")
async def status(project: Workspace) -> Status:
    """Return the state of a project: texts, changes, cost, the calls of a run, and what `undo` would undo."""
    return await asyncio.to_thread(_status, project)


def _status(project: Workspace) -> Status:
    standing, estimate = project.overview(), None
    problem = standing.problem
    try:
        with naming_file(project.texts().settings_file, project.environ):
            estimate = replace(project.expected(), calls=[])
    except FabulaError as error:
        problem = str(error)
    texts, settings = project.texts(), project.settings()
    with texts.journal as journal:
        spent, source = spent_by_role(journal.calls), imported_from(journal)
    return Status(
        **{one.name: getattr(standing, one.name) for one in fields(standing)} | {"problem": problem},
        folder=str(project.folder),
        settings=settings.as_tables | {"system": settings.system},
        as_last_time=difference(settings.as_tables, texts.settings.as_tables),
        artefacts=project.rows(),
        imported_from=source,
        spent=spent,
        total=total(spent),
        open_findings=_open_findings(project),
        evaluations=_evaluations(project),
        estimate=estimate,
    )


def _evaluations(project: Workspace) -> Usage | None:
    with suppress(FabulaError), journal_to_read(project.folder / OUT) as journal:
        return total(spent_by_role(journal.calls))
    return None


def _open_findings(project: Workspace) -> int | None:
    with suppress(FabulaError):
        found = project.last_check()
        return len(found.left) if found.checked else None
    return None
