"""`fabula lab snap`: the weights of SNAP's planning filter, learned."""

from __future__ import annotations

import re
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
from fabula.systems.snap.learning import SCALE, learn
from fabula.systems.snap.scores import read_scores, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.stats.estimate import Estimate
    from fabula.systems.snap.learning import LearnedWeights
    from fabula.systems.snap.scores import ScoreRow

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
        typer.Argument(metavar="[PATH]...", help="Tables of scores (CSV, JSONL) or projects.", show_default="here"),
    ] = None,
    over: Annotated[
        Literal["cells", "all"] | None,
        typer.Option(
            help="Min-max among the plans of a cell, as the filter does it, or among all; the paper does not say.",
            show_default="cells, where all plans name theirs",
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Put the weights into the project's fabula.toml.")] = False,  # noqa: FBT002 - typer's form of a flag
) -> None:
    """Learn SNAP's weights of coherence, connectivity and personality from plans that were scored."""
    terminal = terminal_of(common)
    places = [Path(path) for path in dict.fromkeys(paths or [common.folder or "."])]
    if paths and common.folder and not write:
        raise UsageError("Beside paths, -C names the project for --write. Give --write, or leave -C out.")
    target = _target(common, places) if write else None
    learned = learn(scored_plans(places), over)
    weights = [round(weight.value, _DIGITS) for weight in learned.weights.values()]
    terminal.say(_rendered(learned))
    if target is None:
        terminal.say(f"\nIn fabula.toml:\n\n[config]\nweights = {weights}")
        terminal.advise("\n`--write` puts them into the project that -C names.")
    else:
        target.save_settings({"config": {"weights": weights}})
        terminal.say(f"\nweights = {weights} is written to {near(target.settings_file)}.")
        terminal.advise(f"Next: `fabula update {near(target.folder)}` says which plans these would choose.")
    terminal.document(_data(learned, weights, places, target))


def _target(common: ProjectOptions, places: Sequence[Path]) -> ProjectFolder:
    """The project that the weights are for: `-C`, else the only one that was learned from, else the one here."""
    alone = places[0] if len(places) == 1 and places[0].is_dir() else Path()
    project = ProjectFolder.open(Path(common.folder) if common.folder else alone)
    system = project.settings.system
    if system != _SYSTEM:
        raise UsageError(
            f'{near(project.folder)} is written by {system}, which has no such weights. Say `system = "{_SYSTEM}"` in '
            f"its fabula.toml first, or name another project with -C."
        )
    return project


def _rendered(learned: LearnedWeights) -> str:
    """What was learned, as a person reads it."""
    cells = f" in {counted(learned.cells, 'cell')}" if learned.cells else ""
    within = (
        "in each cell, as the filter does it"
        if learned.over == "cells"
        else "over all plans (the paper does not say over which)"
    )
    rows = [("", "weight", "95 % interval", "share", "published", "share")]
    for (name, weight), published in zip(learned.weights.items(), PUBLISHED, strict=True):
        own, theirs = (f"{value / SCALE:.1%}" for value in (weight.value, published))
        rows.append((name, f"{weight.value:.4f}", _interval(weight), own, f"{published:.4f}", theirs))
    lines = [
        f"Weights of {counted(learned.plans, 'plan')}{cells}; scores brought to 0..1 {within}:",
        "",
        table(rows, right=(1, 2, 3, 4, 5)),
        "",
        f"Scaled to add up to {SCALE:.4f}, as the published ones do; for the choice only their ratios count.",
        f"One component explains {_share(learned.explained)} of the table (squared singular values); equal weights",
        f"explain {_share(learned.equal)}.",
        f"Intervals: {learned.explained.method}.",
    ]
    if learned.few:
        lines.append(
            "These are few: the intervals are wide, or missing. Score more plans before you rely on the weights."
        )
    if learned.lone:
        lines.append(f"Left out: {counted(learned.lone, 'plan')} whose cell has no other to compare with.")
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
    """The rows of tables (CSV, JSON lines) and of projects' own scores, those of conversations too.

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


def _of_file(file: Path) -> tuple[ScoreRow, ...]:
    """The rows of one table."""
    if file.suffix.lower() == ".csv":
        rows = read_scores(read_text(file, _LARGEST), str(file))
    elif file.suffix.lower() == ".jsonl":
        rows = tuple(row_of(where, read(where)) for read, _, where in table_lines(file))
    else:
        raise UsageError(f"{file} is no table of scores. Give a .csv or .jsonl file, or a project folder.")
    if not rows:
        raise UsageError(f"{file} has no plans. Give one line for each plan that was scored.")
    return rows


def _of_project(folder: Path) -> list[ScoreRow]:
    """The rows of a project's tables as they stand now: edited files, else what the journal has."""
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
            f"{near(folder)} has no scored plans. A cell's plans are scored where the planner gave two or more that "
            "differ: write or talk with plan_filter = true and candidates = 3."
        )
    return rows


def _of_cell(path: str, file: Path | None, kept: str) -> list[ScoreRow]:
    """An agent's rows in a cell; they are compared with each other, whatever the table calls the cell.

    `path` is that of the scores, or the stem of their file: both agents of a cell are of one cell.
    """
    there = file is not None and file.is_file()
    text, name = (read_text(file, MAX_FILE), near(file)) if file and there else (kept, path)
    cell, agent, _ = _OF_AGENT.split(path)
    return [replace(row, cell=cell, agent=agent) for row in read_scores(text, str(name))]
