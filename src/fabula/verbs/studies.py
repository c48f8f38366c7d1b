"""`studies`, `study`: the results of studies in which people rated stories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.measure.studies.study import Study  # noqa: TC001 - doors read it
from fabula.verbs.base import verb

StudyName: TypeAlias = Annotated[str, Field(max_length=200, description="The name of the study in `studies`.")]


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study in a list: its folder and its name in addresses."""

    study: str
    folder: str


@dataclass(frozen=True, slots=True)
class StudyList:
    """All studies."""

    studies: list[StudyLine]


@dataclass(frozen=True, slots=True)
class StudyView(StudyLine):
    """The results of a study: each number with its interval, or the reason why it is missing."""

    kind: str
    version: int
    items: int
    raters: int
    tasks: int
    ratings: int
    rows: list[dict[str, Any]]
    notes: list[str]

    @classmethod
    def of(cls, name: str, study: Study) -> Self:
        """Return the contents of a study."""
        from fabula.app.study_report import study_report  # noqa: PLC0415 - heavy at start-up

        report, form = study_report(study), study.form
        counts = len(study.entries), len(study.raters), len(study.tasks), len(report.ratings)
        return cls(name, str(study.folder), form.kind, form.version, *counts, report.lines(), list(report.notes))


@verb("GET", "/studies", "measuring")
async def studies(shelf: Shelf) -> StudyList:
    """All studies."""
    found = await asyncio.to_thread(lambda: shelf.study_folders)
    return StudyList([StudyLine(name, str(folder)) for name, folder in found.items()])


@verb("GET", "/studies/{name}", "measuring")
async def study(shelf: Shelf, name: StudyName) -> StudyView:
    """Return the current results: strengths, means, agreement, how raters worked, and how a judge compares with them.

    Raises:
        UnknownNameError: there is no study with that name.
        UsageError: there are no ratings yet, or a file is invalid.
    """
    return await asyncio.to_thread(lambda: StudyView.of(name, shelf.find_study(name)))
