"""The Python API: `experiment`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.app.bills import Bill
from fabula.app.calling import waiting
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.reporting import Experimented, write_report
from fabula.app.experiment.working import How, run_experiment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.calling import OnEvent
    from fabula.app.experiment.reporting import ReportFormat
    from fabula.engine.events import Event


async def experiment_async(
    file: str | Path,
    *,
    folder: str | Path | None = None,
    workers: int | None = None,
    retry: bool = False,
    also: Sequence[ReportFormat] = (),
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> Experimented:
    """Do the experiment of a file: write what is missing, measure, and write the report. Nothing is asked twice.

    Args:
        file: the experiment, as `fabula lab experiment` takes it.
        folder: for everything that comes of it; by default as the file says, else named after it.
        workers: runs side by side; by default as the file says.
        retry: runs that failed are tried again.
        also: other formats of the report: "parquet", and "eval" for logs that `inspect view` opens.
        on_event: hears every event.
        budget_tokens: most tokens of the whole, earlier sessions included.
        budget_usd: the same in US dollars.
        environ: variables that hold keys and folders; by default those of the process.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    variables = os.environ if environ is None else environ
    bill = Bill()

    def hear(_where: str, event: Event) -> None:
        bill(event)
        if on_event is not None:
            on_event(event)

    found = read_experiment(Path(file), variables, None if folder is None else Path(folder))
    how = How(
        environ=variables,
        workers=workers,
        retry=retry,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        hear=hear,
    )
    results = await run_experiment(found, how)
    return Experimented(results, write_report(results, also), bill)


experiment = waiting(experiment_async)
