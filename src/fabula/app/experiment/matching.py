"""Runs that are given what another one took: how much each may take, once that one is over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.app.experiment.cell import UNFINISHED, CellOutcome
from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from fabula.app.experiment.cell import CellRecord
    from fabula.app.experiment.grid import Trial
    from fabula.app.experiment.index import CellIndex


def ready(trial: Trial, index: CellIndex) -> Trial:
    """The run with how much it may take, where that is known by now; else, and where it is not matched, as it is."""
    if not trial.after:
        return trial
    record = index.of(trial.after)
    try:
        return given(trial, record) if record.outcome.state == "done" else trial
    except UsageError:
        return trial


def given(trial: Trial, record: CellRecord) -> Trial:
    """The run with what another one took as what it may take.

    Raises:
        UsageError: that one did not end well, or what it took is not known.
    """
    by = trial.contender.by
    if record.outcome.state != "done":
        raise UsageError(f"{trial.after}, which it is matched with, failed. Say --retry when that is mended.")
    took = amount(record.usage.prompt + record.usage.reply, record.calls, record.usage.cost, by)
    if not took:
        known = "nothing" if took is not None else "an unknown amount"
        raise UsageError(f"{trial.after}, which it is matched with, took {known} in {by}. Match by tokens.")
    return with_amount(trial, took)


def amount(tokens: int, calls: int, usd: float | None, by: str) -> float | None:
    """Of what a run took, the part that another one is matched by."""
    return {"tokens": tokens, "calls": calls, "usd": usd}[by]


def with_amount(trial: Trial, took: float) -> Trial:
    """The run that may take so much."""
    return replace(trial, config={**trial.config, trial.contender.by: took})


def held_up(trial: Trial, record: CellRecord) -> CellOutcome:
    """How a run ends for now that cannot begin, since the one that it is matched with did not end well."""
    if record.outcome.state == "unfinished":
        return replace(UNFINISHED, error=f"{trial.after}, which it is matched with, is not finished.")
    try:
        given(trial, record)
    except UsageError as error:
        return CellOutcome("failed", type(error).__name__, str(error))
    return UNFINISHED
