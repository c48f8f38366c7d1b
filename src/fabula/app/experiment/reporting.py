"""The files of an experiment's report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from fabula.app.experiment.inspect_log import write_logs
from fabula.app.experiment.pages import as_page
from fabula.app.experiment.pieces import Pieces
from fabula.app.experiment.tables import as_csv, as_data, as_parquet, paper_tables
from fabula.base.files import write_atomically
from fabula.measure.report.formats import latex_of, markdown_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.app.experiment.results import Results

ReportFormat: TypeAlias = Literal["parquet", "eval"]
FORMATS: Final[tuple[str, ...]] = get_args(ReportFormat)


def write_report(results: Results, also: Sequence[ReportFormat] = ()) -> dict[str, Path]:
    """Write the report as HTML with its pages, JSON, CSV, Markdown and LaTeX, and in other formats; files by format.

    Raises:
        UsageError: what a format needs is not installed; the others are written.
        ProjectError: a file cannot be written.
    """
    folder = results.experiment.folder
    pieces = Pieces(results)
    pieces.write()
    tables = list(paper_tables(results))
    data = json.dumps(as_data(results), indent=2, ensure_ascii=False, allow_nan=False)
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
