"""Matched runs: how much each may use, once the run that it is matched with is over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.app.experiment.cell import UNFINISHED, CellOutcome, CellRecord
from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from fabula.app.experiment.grid import Trial
    from fabula.app.experiment.index import CellIndex


def ready(trial: Trial, index: CellIndex) -> Trial:
    """The run with its limit, if that is already known; otherwise, or if it is not matched, the run unchanged."""
    if not trial.after:
        return trial
    record = index.of(trial.after)
    try:
        return given(trial, record) if record.outcome.state == "done" else trial
    except UsageError:
        return trial


def given(trial: Trial, record: CellRecord) -> Trial:
    """The run, limited to what the run that it is matched with used.

    Raises:
        UsageError: that run failed, or its use is not known.
    """
    by = trial.contender.by
    if record.outcome.state != "done":
        raise UsageError(f"{trial.after}, with which this run is matched, failed. Fix the cause, then use --retry.")
    took = amount(record.usage.prompt + record.usage.reply, record.calls, record.usage.cost, by)
    if not took:
        known = "no" if took is not None else "an unknown amount of"
        raise UsageError(f"{trial.after}, with which this run is matched, used {known} {by}. Match by tokens.")
    return with_amount(trial, took)


def amount(tokens: int, calls: int, usd: float | None, by: str) -> float | None:
    """How much a run used of the unit by which another run is matched."""
    return {"tokens": tokens, "calls": calls, "usd": usd}[by]


def with_amount(trial: Trial, took: float) -> Trial:
    """The run with this limit."""
    return replace(trial, config={**trial.config, trial.contender.by: took})


def held_up(trial: Trial, record: CellRecord) -> CellOutcome:
    """The outcome, for now, of a run that cannot begin because the run that it is matched with did not succeed."""
    if record.outcome.state == "unfinished":
        return replace(UNFINISHED, error=f"{trial.after}, with which this run is matched, is not finished.")
    try:
        given(trial, record)
    except UsageError as error:
        return CellOutcome("failed", type(error).__name__, str(error))
    return UNFINISHED
