"""How systems were matched: what each used compared with the others, and how near matched runs came to their limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import Final

from fabula.app.experiment.matching import amount
from fabula.app.experiment.results import TOOK, Results, RunResult
from fabula.measure.report import DIFFERENCE, Report, Row
from fabula.stats.differences import differences
from fabula.stats.estimate import Estimate, Scored
from fabula.stats.intervals import mean_of

_UNITS: Final = {"tokens": "tokens", "usd": "US dollars"}


def cost_rows(results: Results) -> list[Row]:
    """The differences of every two contenders in tokens and dollars, and how near matched runs came to their limits.

    Differences are paired by brief, and corrected for their number in both units together. "took of X" is the mean
    share that a run used of what the matched run of X used.
    """
    return results.once(cost_rows, lambda: _cost_rows(results))


def _cost_rows(results: Results) -> list[Row]:
    rows = []
    for unit, what in _UNITS.items():
        values: dict[str, Mapping[str, list[float]]] = {}
        for contender in results.experiment.contenders:
            own: dict[str, list[float]] = defaultdict(list)
            for run in results.of(contender):
                if run.outcome.state == "done" and (took := _took(run, unit)) is not None:
                    own[run.trial.brief_id].append(took)
            values[contender.label] = own
        if any(fmean(all_) for own in values.values() for all_ in own.values()):  # where nothing costs, nothing differs
            rows += [Row(d.of, DIFFERENCE + what, d.scored) for d in differences(values, what, questions=len(_UNITS))]
    return rows + _nearness(results)


def _nearness(results: Results) -> list[Row]:
    """For each matched contender, what its runs used as a share of their limits."""
    done = {run.trial.id: run for run in results.of_state("done")}
    rows = []
    for contender in results.experiment.contenders:
        shares: list[tuple[float, str]] = []
        for run in results.of(contender) if contender.after else ():
            mine = _took(run, contender.by) if run.trial.id in done else None
            leader = done.get(run.trial.after)
            whole = _took(leader, contender.by) if leader else None
            if mine is not None and whole:
                shares.append((mine / whole, run.trial.brief_id))
        if shares:
            values = [share for share, _ in shares]
            span = f"single runs from {min(values):.1%} to {max(values):.1%}"
            method = f"mean share of the {contender.by} of {contender.after}; {span}"
            found = mean_of(values, [brief for _, brief in shares], method=method)
            rows.append(Row(contender.label, TOOK + contender.after, found))
    return rows


def _took(run: RunResult, unit: str) -> float | None:
    return amount(run.tokens, run.record.calls, run.usage.cost, unit)


def quality_against_cost(results: Results, report: Report) -> list[tuple[str, str, Scored, Scored]]:
    """For each contender, a measure of its stories and their tokens, both with intervals; empty without a measure.

    The measure is the report's first one for systems: for a side-by-side judge, the strength of the whole story.
    """
    rows = [row for row in results.measured(report) if not row.baseline and isinstance(row.scored, Estimate)]
    overall = [row.what for row in rows if row.what.endswith("/overall")]
    what = next(iter([*overall, *(row.what for row in rows)]), "")
    found = {row.of: row.scored for row in rows if row.what == what}
    return [
        (contender.label, what, found[contender.label], row.scored)
        for contender in results.experiment.contenders
        for row in results.rows(contender)
        if contender.label in found and row.what == "tokens"
    ]
