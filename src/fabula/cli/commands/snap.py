"""`fabula lab snap`: learn the weights of SNAP's planning filter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.item_files import table_lines
from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.cli.opening import terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.project.folder import MAX_FILE, ProjectFolder
from fabula.systems.snap.config import PUBLISHED
from fabula.systems.snap.learning import SCALE, LearnedWeights, learn
from fabula.systems.snap.scores import ScoreRow, read_scores, row_of

if TYPE_CHECKING:
    from fabula.stats.estimate import Estimate


_SYSTEM: Final = "snap"
_DIGITS: Final = 4
_ARTEFACTS: Final = ("plan/scores", "player-plan/scores")
_FILES: Final = "*plan-scores.csv"
_OF_AGENT: Final = re.compile(r"[/-](plan|player-plan)[/-]scores\Z")
_LARGEST: Final = 50_000_000


@bundled
def snap(
    common: ProjectOptions,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Tables of scores (CSV or JSONL) or projects.", show_default="here"),
    ] = None,
    over: Annotated[
        Literal["cells", "all"] | None,
        typer.Option(
            help="Min-max scaling within each cell, as in the filter, or over all plans. The paper does not specify "
            "this.",
            show_default="cells, if all plans name theirs",
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the weights to the project's fabula.toml.")] = False,  # noqa: FBT002 - typer's form of a flag
) -> None:
    """Learn the weights that SNAP gives to coherence, connectivity and personality, from scored plans."""
    terminal = terminal_of(common)
    places = [Path(path) for path in dict.fromkeys(paths or [common.folder or "."])]
    if paths and common.folder and not write:
        raise UsageError("If you specify paths, -C is only for --write. Add --write, or leave -C out.")
    target = _target(common, places) if write else None
    learned = learn(scored_plans(places), over)
    weights = [round(weight.value, _DIGITS) for weight in learned.weights.values()]
    terminal.say(_rendered(learned))
    if target is None:
        terminal.say(f"\nIn fabula.toml:\n\n[config]\nweights = {weights}")
        terminal.advise("\nTo write them to the project at -C, use `--write`.")
    else:
        target.save_settings({"config": {"weights": weights}})
        terminal.say(f"\nweights = {weights} is written to {near(target.settings_file)}.")
        terminal.advise(
            f"Next: run `fabula update {near(target.folder)}` to see which plans these weights would choose."
        )
    terminal.document(_data(learned, weights, places, target))


def _target(common: ProjectOptions, places: Sequence[Path]) -> ProjectFolder:
    """The project that gets the weights: `-C`, else the only one that was learned from, else the one here."""
    alone = places[0] if len(places) == 1 and places[0].is_dir() else Path()
    project = ProjectFolder.open(Path(common.folder) if common.folder else alone)
    system = project.settings.system
    if system != _SYSTEM:
        raise UsageError(
            f'{near(project.folder)} uses {system}, which does not have these weights. Set `system = "{_SYSTEM}"` in '
            "its fabula.toml first, or choose another project with -C."
        )
    return project


def _rendered(learned: LearnedWeights) -> str:
    """The learned weights, as a person reads them."""
    cells = f" in {counted(learned.cells, 'cell')}" if learned.cells else ""
    within = (
        "in each cell, as in the filter" if learned.over == "cells" else "over all plans (the paper does not say which)"
    )
    rows = [("", "weight", "95 % interval", "share", "published", "share")]
    for (name, weight), published in zip(learned.weights.items(), PUBLISHED, strict=True):
        own, theirs = (f"{value / SCALE:.1%}" for value in (weight.value, published))
        rows.append((name, f"{weight.value:.4f}", _interval(weight), own, f"{published:.4f}", theirs))
    lines = [
        f"Weights of {counted(learned.plans, 'plan')}{cells}; scores scaled to 0..1 {within}:",
        "",
        table(rows, right=(1, 2, 3, 4, 5)),
        "",
        (
            f"The weights are scaled to add up to {SCALE:.4f}, like the published weights. Only their ratios affect "
            "the choice."
        ),
        f"One component explains {_share(learned.explained)} of the table (squared singular values); equal weights",
        f"explain {_share(learned.equal)}.",
        f"Intervals: {learned.explained.method}.",
    ]
    if learned.few:
        lines.append(
            "This is a small number of plans, so the intervals are wide or missing. Score more plans before you rely "
            "on the weights."
        )
    if learned.lone:
        lines.append(f"Left out: {counted(learned.lone, 'plan')} with no other plan in the cell to compare with.")
    return "\n".join(lines)


def _interval(number: Estimate, form: str = ".4f") -> str:
    return "none" if number.low is None or number.high is None else f"{number.low:{form}} to {number.high:{form}}"


def _share(number: Estimate) -> str:
    return f"{number.value:.1%} ({_interval(number, '.1%')})"


def _data(
    learned: LearnedWeights, weights: Sequence[float], places: Sequence[Path], target: ProjectFolder | None
) -> dict[str, Any]:
    published = dict(zip(learned.weights, PUBLISHED, strict=True))
    return {
        "sources": [str(place) for place in places],
        "over": learned.over,
        "plans": learned.plans,
        "cells": learned.cells or None,
        "left_out": learned.lone,
        "scale": round(SCALE, _DIGITS),
        "weights": {
            name: weight.as_data() | {"share": weight.value / SCALE, "published": published[name]}
            for name, weight in learned.weights.items()
        },
        "explained": learned.explained.as_data(),
        "equal_weights_explain": learned.equal.as_data(),
        "setting": f"weights = {list(weights)}",
        "written": str(target.settings_file) if target else None,
    }


def scored_plans(places: Sequence[Path]) -> tuple[ScoreRow, ...]:
    """Return the rows of tables (CSV, JSON lines) and of the scores in projects, including those of conversations.

    Cells from different paths are not merged.

    Raises:
        UsageError: a path is neither a table nor a project, a table cannot be read, or a project has no scored plans.
        ProjectError: a folder is not a project.
    """
    found = []
    for place in places:
        rows = _of_project(place) if place.is_dir() else _of_file(place)
        found += [replace(row, cell=f"{place}:{row.cell}" if row.cell else "") for row in rows]
    return tuple(found)


def _of_file(file: Path) -> tuple[ScoreRow, ...]:
    """The rows of one table."""
    if file.suffix.lower() == ".csv":
        rows = read_scores(read_text(file, _LARGEST, kind="scores (a CSV file)"), str(file))
    elif file.suffix.lower() == ".jsonl":
        rows = tuple(row_of(where, read(where)) for read, _, where in table_lines(file))
    else:
        raise UsageError(f"{file} is not a table of scores. Specify a .csv or .jsonl file, or a project folder.")
    if not rows:
        raise UsageError(f"{file} has no plans. Write one line for each scored plan.")
    return rows


def _of_project(folder: Path) -> list[ScoreRow]:
    """The rows of a project's current tables: edited files, or else the journal's."""
    project = ProjectFolder.open(folder)
    rows: list[ScoreRow] = []
    with project.journal as journal:
        places = journal.artefacts.places()
        for path in journal.artefacts.paths():
            if not f"/{path}".endswith(tuple(f"/{one}" for one in _ARTEFACTS)):
                continue
            file = project.folder / places[path] if path in places else None
            rows += _of_cell(path, file, journal.artefacts.newest(path) or "")
        known = {project.folder / file for file in places.values()}
    for file in sorted((project.folder / "plan").glob(_FILES)):
        if file not in known:
            rows += _of_cell(file.stem, file, "")
    if not rows:
        raise UsageError(
            f"{near(folder)} has no scored plans. The plans of a cell are scored only if the planner proposed at "
            "least two different plans. Write with plan_filter = true and candidates = 3."
        )
    return rows


def _of_cell(path: str, file: Path | None, kept: str) -> list[ScoreRow]:
    """An agent's rows in a cell. They are compared with each other, whatever the table calls the cell.

    `path` is the path of the scores, or the stem of their file: both agents of a cell share it.
    """
    there = file is not None and file.is_file()
    text, name = (read_text(file, MAX_FILE), near(file)) if file and there else (kept, path)
    cell, agent, _ = _OF_AGENT.split(path)
    return [replace(row, cell=cell, agent=agent) for row in read_scores(text, str(name))]
