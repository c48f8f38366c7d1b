"""The Python API: `experiment`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.app.bills import Bill
from fabula.app.calling import OnEvent, waiting
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.reporting import Experimented, ReportFormat, write_report
from fabula.app.experiment.working import How, run_experiment

if TYPE_CHECKING:
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
    """Run the experiment in a file: write missing stories, measure them, and write the report. No call is paid twice.

    Args:
        file: the experiment, in the format of `fabula lab experiment`.
        folder: the folder for all results; by default the one named in the file, or one named after the file.
        workers: the number of runs at the same time; by default the number in the file.
        retry: whether failed runs are tried again.
        also: other formats of the report: "parquet", and "eval" for logs that `inspect view` opens.
        on_event: called with every event.
        budget_tokens: cap on the tokens of the whole experiment, including earlier sessions.
        budget_usd: cap on its cost in US dollars, including earlier sessions.
        environ: variables with keys and folders; by default those of the process.

    Raises:
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
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
