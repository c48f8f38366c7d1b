"""`experiments`, `experiment`: the results of experiments, with an interval for each number."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.reports import ExperimentFolder  # noqa: TC001 - doors read it
from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.verbs.base import verb

ExperimentName: TypeAlias = Annotated[
    str, Field(max_length=200, description="The name of the experiment in `experiments`.")
]


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """An experiment in a list: its folder and its name in addresses."""

    experiment: str
    folder: str


@dataclass(frozen=True, slots=True)
class ExperimentList:
    """All experiments."""

    experiments: list[ExperimentLine]


@dataclass(frozen=True, slots=True)
class ExperimentView(ExperimentLine):
    """An experiment: its contenders, all runs, and the reports. `stopped` is the reason why it ended early."""

    title: str
    complete: bool
    stopped: str
    briefs: list[str]
    contenders: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    reports: dict[str, list[dict[str, Any]]]

    @classmethod
    def of(cls, name: str, found: ExperimentFolder) -> Self:
        """Return the contents of a folder. Numbers for single stories are only in the report files."""
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
    """All experiments."""
    found = await asyncio.to_thread(lambda: shelf.experiment_folders)
    return ExperimentList([ExperimentLine(name, str(folder)) for name, folder in found.items()])


@verb("GET", "/experiments/{name}", "measuring")
async def experiment(shelf: Shelf, name: ExperimentName) -> ExperimentView:
    """Return the current results of an experiment: its contenders with their costs, its runs, and its reports.

    Raises:
        UnknownNameError: there is no experiment with that name.
        UsageError: it has no results yet, or the results cannot be read.
    """
    return await asyncio.to_thread(lambda: ExperimentView.of(name, shelf.find_experiment(name)))
