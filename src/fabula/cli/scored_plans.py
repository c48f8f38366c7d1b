"""Scores of candidate plans from files and projects, for `fabula snap fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.cli.session import near
from fabula.project.folder import MAX_FILE, Project
from fabula.systems.snap.scores import read_lines, read_scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.systems.snap.scores import Row

_ARTEFACT: Final = "plan/scores"
_FILES: Final = "*plan-scores.csv"
_LARGEST: Final = 50_000_000


def scored_plans(places: Sequence[Path]) -> tuple[Row, ...]:
    """The rows of tables (CSV, JSON lines) and of projects' own scores, those of chat sessions too.

    Cells of different places stay apart.

    Raises:
        UsageError: a place is neither, a table cannot be read, or a project has no scored plans.
        ProjectError: a folder is no project.
    """
    found = []
    for place in places:
        rows = _of_project(place) if place.is_dir() else _of_file(place)
        found += [replace(row, cell=f"{place}:{row.cell}" if row.cell else "") for row in rows]
    return tuple(found)


def _of_file(file: Path) -> tuple[Row, ...]:
    """The rows of one table."""
    readers = {".csv": read_scores, ".jsonl": read_lines}
    if file.suffix.lower() not in readers:
        raise UsageError(f"{file} is no table of scores. Give a .csv or .jsonl file, or a project folder.")
    rows = readers[file.suffix.lower()](read_text(file, _LARGEST), str(file))
    if not rows:
        raise UsageError(f"{file} has no plans. Give one line for each plan that was scored.")
    return rows


def _of_project(folder: Path) -> list[Row]:
    """The rows of a project's tables as they stand now: edited files, else what the journal has."""
    project = Project.open(folder)
    rows: list[Row] = []
    with project.journal as journal:
        places = journal.places()
        for path in journal.paths():
            if path != _ARTEFACT and not path.endswith(f"/{_ARTEFACT}"):
                continue
            file = project.folder / places[path] if path in places else None
            rows += _of_cell(path, file, journal.newest(path) or "")
        known = {project.folder / file for file in places.values()}
    for file in sorted((project.folder / "plan").glob(_FILES)):
        if file not in known:
            rows += _of_cell(file.stem, file, "")
    if not rows:
        raise UsageError(
            f"{near(folder)} has no scored plans. A cell's plans are scored where the planner gave two or more that "
            "differ: write or talk with plan_filter = true and candidates = 3."
        )
    return rows


def _of_cell(path: str, file: Path | None, kept: str) -> list[Row]:
    """A cell's rows; its candidates are compared with each other, whatever the table calls the cell."""
    there = file is not None and file.is_file()
    text, name = (read_text(file, MAX_FILE), near(file)) if file and there else (kept, path)
    return [replace(row, cell=path) for row in read_scores(text, str(name))]
