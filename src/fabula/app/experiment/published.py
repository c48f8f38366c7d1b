"""Published numbers next to those of an experiment: each number, ours, and the difference with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fabula.craft.measuring import MEAN
from fabula.stats.estimate import Estimate, Scored, Unscored, estimate_cells, figures

if TYPE_CHECKING:
    from fabula.app.experiment.results import Results


HEAD = ("published", "contender", "measure", "printed", "here", "difference", "95 % interval", "n")
RIGHT = (3, 4, 5, 7)
NOTE = (
    "Published numbers are treated as exact, because papers rarely print intervals. The interval shown belongs "
    "to the number measured here. The paper used other models, so a difference is not necessarily an error."
)


class BesidePaper(NamedTuple):
    """A published number, and the corresponding number here."""

    table: str
    evaluator: str
    of: str
    what: str
    printed: float
    here: Scored

    @property
    def difference(self) -> Scored:
        """How much higher our number is than the published one."""
        if not isinstance(self.here, Estimate):
            return self.here
        ends = [None if end is None else end - self.printed for end in (self.here.low, self.here.high)]
        method = f"{self.here.method}; minus the printed number"
        return replace(self.here, value=self.here.value - self.printed, low=ends[0], high=ends[1], method=method)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table with the columns in `HEAD`."""
        here = figures(self.here.value) if isinstance(self.here, Estimate) else "not scored"
        return (self.table, self.of, self.what, figures(self.printed), here, *estimate_cells(self.difference))

    def as_data(self) -> dict[str, Any]:
        """The row for JSON."""
        shown = {"table": self.table, "evaluator": self.evaluator, "contender": self.of, "what": self.what}
        here, difference = self.here.as_data(), self.difference.as_data()
        return {**shown, "printed": self.printed, "here": here, "difference": difference}


def beside_papers(results: Results) -> tuple[BesidePaper, ...]:
    """All published numbers of the experiment's file, once for every model that a system has here."""
    return results.once(beside_papers, lambda: tuple(_lines(results)))


def _lines(results: Results) -> Iterator[BesidePaper]:
    known = {("", row.of, row.what): row.scored for one in results.experiment.contenders for row in results.rows(one)}
    compared = set(results.experiment.labels)
    for label, report in results.reports.items() if results.experiment.spec.published else ():
        of_stories = replace(report, rows=tuple(row for row in report.rows if row.of not in compared))
        for part in (
            of_stories,
            report,
        ):  # what it says of systems itself comes before means of what it says of stories
            rows = [row for row in results.measured(part) if not row.baseline]
            known |= {(label, row.of, row.what.removeprefix(MEAN)): row.scored for row in rows}
    missing = Unscored("it was not measured")
    for table in results.experiment.spec.published:
        for name, values in table.values.items():
            labels = [one.label for one in results.experiment.contenders if one.called == name]
            for of in labels or [name]:
                for what, printed in zip(table.measures, values, strict=True):
                    if not math.isnan(printed):
                        here = known.get((table.evaluator, of, what), missing)
                        yield BesidePaper(table.table, table.evaluator, of, what, printed, here)
