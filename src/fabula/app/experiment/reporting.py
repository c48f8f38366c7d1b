"""The files of an experiment's report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.app.experiment.inspect_log import write_logs
from fabula.app.experiment.pages import as_page
from fabula.app.experiment.pieces import Pieces
from fabula.app.experiment.tables import COLUMNS, as_csv, as_data, as_parquet, complete, lines, paper_tables
from fabula.base.extras import package
from fabula.base.files import write_atomically
from fabula.base.html import html_table, joined, paragraph
from fabula.measure.report.formats import latex_of, markdown_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pandas import DataFrame

    from fabula.app.bills import Bill
    from fabula.app.experiment.results import Results

ReportFormat: TypeAlias = Literal["parquet", "eval"]
_INDENTED: Final = 1000  # runs of which the JSON may be read by people


@dataclass(frozen=True)
class Experimented:
    """An experiment that was run, even if it is not complete.

    Attributes:
        results: runs and reports.
        files: the files of the report, by format.
        bill: the cost of the calls made now.
    """

    results: Results
    files: Mapping[str, Path]
    bill: Bill

    @property
    def complete(self) -> bool:
        """Whether every run is over and every evaluator has measured."""
        return complete(self.results)

    @property
    def stopped(self) -> str:
        """Why it stopped early; empty if it did not."""
        return self.results.stopped

    def lines(self) -> list[dict[str, Any]]:
        """Every number as a dictionary, all with the same keys, for data frames of pandas and polars."""
        return lines(self.results)

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame, one per row.

        Raises:
            UsageError: pandas is not installed; `lines` works without it.
        """
        frame: DataFrame = package("pandas", "A data frame").DataFrame(self.lines(), columns=list(COLUMNS))
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The result as `fabula lab experiment --json` prints it."""
        files = {"files": {kind: str(file) for kind, file in self.files.items()}}
        return as_data(self.results) | files | self.bill.as_data()

    def _repr_html_(self) -> str:
        shown = []
        for table in paper_tables(self.results):
            right = range(table.names, len(table.head))
            shown.append(joined(paragraph(table.caption), html_table(table.head, table.rows, right)))
        return joined(*shown)


def write_report(results: Results, also: Sequence[ReportFormat] = ()) -> dict[str, Path]:
    """Write the report as HTML with its pages, JSON, CSV, Markdown, LaTeX and more; the files by format.

    Raises:
        UsageError: a package that a format needs is not installed; the other formats are written.
        ProjectError: a file cannot be written.
    """
    folder = results.experiment.folder
    pieces = Pieces(results)
    pieces.write()
    tables = list(paper_tables(results))
    indent = 2 if len(results.runs) <= _INDENTED else None
    data = json.dumps(as_data(results), indent=indent, ensure_ascii=False, allow_nan=False)
    texts = {
        "html": as_page(results, pieces),
        "json": data + "\n",
        "csv": as_csv(results),
        "md": markdown_of(tables),
        "tex": latex_of(tables),
    }
    files = {kind: folder / f"report.{kind}" for kind in texts}
    for kind, shown in texts.items():
        write_atomically(files[kind], shown)
    if "eval" in also:
        files["eval"] = write_logs(results, pieces)
    if "parquet" in also:
        files["parquet"] = folder / "report.parquet"
        write_atomically(files["parquet"], as_parquet(results))
    return files
