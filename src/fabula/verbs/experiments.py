"""`experiments`, `experiment`: what experiments found, each number with its interval."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.reports import ExperimentFolder  # noqa: TC001 - doors read it
from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.verbs.base import verb

ExperimentName: TypeAlias = Annotated[
    str, Field(max_length=200, description="The experiment, by the name that `experiments` has for it.")
]


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """An experiment in a list: its name in addresses, and its folder."""

    experiment: str
    folder: str


@dataclass(frozen=True, slots=True)
class ExperimentList:
    """The experiments that there are."""

    experiments: list[ExperimentLine]


@dataclass(frozen=True, slots=True)
class ExperimentView(ExperimentLine):
    """An experiment: who wrote, every run, and the reports; `stopped` says why it ended before its end."""

    title: str
    complete: bool
    stopped: str
    briefs: list[str]
    contenders: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    reports: dict[str, list[dict[str, Any]]]

    @classmethod
    def of(cls, name: str, found: ExperimentFolder) -> Self:
        """What a folder holds. Of reports, the numbers of single stories are left in their files."""
        runs = {run["run"] for run in found.runs}
        reports = {
            one.name: [line for line in one.report.lines() if line["of"] not in runs]
            for one in found.reports
            if not one.is_earlier
        }
        return cls(
            name,
            str(found.folder),
            found.title,
            complete=found.data["complete"],
            stopped=found.data["stopped"],
            briefs=found.briefs,
            contenders=found.data["contenders"],
            runs=found.runs,
            reports=reports,
        )


@verb("GET", "/experiments", "measuring")
async def experiments(shelf: Shelf) -> ExperimentList:
    """The experiments that there are."""
    found = await asyncio.to_thread(lambda: shelf.experiment_folders)
    return ExperimentList([ExperimentLine(name, str(folder)) for name, folder in found.items()])


@verb("GET", "/experiments/{name}", "measuring")
async def experiment(shelf: Shelf, name: ExperimentName) -> ExperimentView:
    """What an experiment found so far: its contenders with their costs, its runs, and its reports.

    Raises:
        UnknownNameError: there is none of that name.
        UsageError: it has no results yet, or they cannot be read.
    """
    return await asyncio.to_thread(lambda: ExperimentView.of(name, shelf.find_experiment(name)))
