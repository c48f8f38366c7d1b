"""`studies`, `study`: what people found who rated stories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.measure.studies.study import Study  # noqa: TC001 - doors read it
from fabula.verbs.base import verb

StudyName: TypeAlias = Annotated[
    str, Field(max_length=200, description="The study, by the name that `studies` has for it.")
]


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study in a list: its name in addresses, and its folder."""

    study: str
    folder: str


@dataclass(frozen=True, slots=True)
class StudyList:
    """The studies that there are."""

    studies: list[StudyLine]


@dataclass(frozen=True, slots=True)
class StudyView(StudyLine):
    """What raters of a study found: each number with its interval, or why there is none."""

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
        """What a study holds."""
        from fabula.app.study_report import study_report  # noqa: PLC0415 - heavy at start-up

        report, form = study_report(study), study.form
        counts = len(study.entries), len(study.raters), len(study.tasks), len(report.ratings)
        return cls(name, str(study.folder), form.kind, form.version, *counts, report.lines(), list(report.notes))


@verb("GET", "/studies", "measuring")
async def studies(shelf: Shelf) -> StudyList:
    """The studies that there are."""
    found = await asyncio.to_thread(lambda: shelf.study_folders)
    return StudyList([StudyLine(name, str(folder)) for name, folder in found.items()])


@verb("GET", "/studies/{name}", "measuring")
async def study(shelf: Shelf, name: StudyName) -> StudyView:
    """What people found so far: strengths, means, agreement, how raters went about it, and a judge beside them.

    Raises:
        UnknownNameError: there is none of that name.
        UsageError: nobody has rated anything yet, or a file is not as it should be.
    """
    return await asyncio.to_thread(lambda: StudyView.of(name, shelf.find_study(name)))
