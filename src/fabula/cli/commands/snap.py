"""`fabula lab snap`: `fit`, and the survey: `form`, `answers`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.item_files import table_lines
from fabula.base.errors import UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli.opening import read_given, terminal_of
from fabula.cli.options import Common, Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.craft.narratives import check_people
from fabula.evaluators.snap_ratings.survey import Shown, survey_form, survey_ratings
from fabula.measure.ratings import read_ratings, write_ratings
from fabula.project.folder import MAX_FILE, Project
from fabula.stats.estimate import estimate_cells
from fabula.stats.intervals import mean_of
from fabula.story import Story
from fabula.systems.snap.config import PUBLISHED
from fabula.systems.snap.learning import SCALE, learn
from fabula.systems.snap.scores import read_scores, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Estimate
    from fabula.systems.snap.learning import Learned
    from fabula.systems.snap.scores import Row

_HELP: Final = "Learn the weights of SNAP's planning filter, and ask people about its dialogues."
_SYSTEM: Final = "snap"
_DIGITS: Final = 4
snap = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)
_ARTEFACTS: Final = ("plan/scores", "player-plan/scores")
_FILES: Final = "*plan-scores.csv"
_OF_AGENT: Final = re.compile(r"[/-](plan|player-plan)[/-]scores\Z")
_LARGEST: Final = 50_000_000


@snap.command("fit")
@bundled
def _fit(
    common: Common,
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
    """Learn the weights of coherence, connectivity and personality from plans that were scored."""
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


@snap.command("form")
@bundled
def _form(
    common: Output,
    story: Annotated[
        str, typer.Argument(metavar="STORY", help="The story that is played (a text file; - reads stdin).")
    ],
    player: Annotated[str, typer.Option("--as", metavar="NAME", help="The character that people play.")],
    partner: Annotated[str, typer.Option("--with", metavar="NAME", help="The character they talk with.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The form.")] = "survey.yaml",
) -> None:
    """Write the paper's survey as a form for people who have talked with two characters, A and B."""
    terminal = terminal_of(common)
    text = Story.parse(read_given(story, MAX_FILE)).text
    check_people((player, partner), text)
    target = Path(out)
    if target.exists():
        raise UsageError(f"{target} exists. Give --out another name.")
    write_atomically(target, survey_form(text, player, partner))
    terminal.say(f"{near(target)} is the form. Give each person a copy.")
    terminal.advise(
        f"Next: `fabula lab snap answers {near(target)} --a SYSTEM --b SYSTEM --prompt NAME` reads filled-in ones."
    )
    terminal.document({"form": str(target)})


@snap.command("answers")
@bundled
def _answers(
    common: Output,
    forms: Annotated[list[str], typer.Argument(metavar="FORM...", help="Filled-in forms.")],
    a: Annotated[str, typer.Option("--a", metavar="SYSTEM", help="Who A was in these forms.")],
    b: Annotated[str, typer.Option("--b", metavar="SYSTEM", help="Who B was.")],
    prompt: Annotated[str, typer.Option(metavar="NAME", help="The story that was played.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Ratings; those in it already stay.")
    ] = "people.jsonl",
) -> None:
    """Read filled-in surveys as ratings, for `fabula lab meta`; means of each system with their intervals."""
    terminal = terminal_of(common)
    if a.strip() == b.strip():
        raise UsageError(f"A and B are both {a!r}. Say which system each of them was.")
    shown = (Shown(f"{a}/{prompt}", a), Shown(f"{b}/{prompt}", b))
    target = Path(out)
    ratings = list(read_ratings(target)) if target.exists() else []
    for form in forms:
        found = survey_ratings(read_text(Path(form), MAX_FILE), shown, prompt, form)
        if any((known.rater, known.prompt) == (found[0].rater, prompt) for known in ratings):
            raise UsageError(
                f"{form}: {found[0].rater!r} has answered about {prompt!r} already. Leave one of the two out."
            )
        ratings += found
    write_atomically(target, write_ratings(ratings))
    rows = list(means_of([one for one in ratings if one.prompt == prompt]))
    terminal.say(table([("system", "question", "mean", "95 % interval", "n"), *rows], right=(2, 4)))
    terminal.say(f"\n{counted(len(forms), 'form')} read; {near(target)} holds {counted(len(ratings), 'rating')}.")
    terminal.advise("Next: `fabula lab meta` puts them beside a judge's.")
    terminal.document({"ratings": str(target), "forms": len(forms), "means": [list(row) for row in rows]})


def means_of(ratings: Sequence[Rating]) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of a table: each system's mean on each question, as Table 4 has them, and who liked it better."""
    questions = dict.fromkeys((one.systems[0], one.question) for one in ratings if len(one.items) == 1)
    for system, question in questions:
        answers = [
            float(one.answer)
            for one in ratings
            if (one.systems, one.question) == ((system,), question) and isinstance(one.answer, int | float)
        ]
        yield (system, question, *estimate_cells(mean_of(answers)))
    for system in dict.fromkeys(system for system, _ in questions):
        liked = [
            one.answer for one in ratings if len(one.items) > 1 and one.answer is not None and system in one.systems
        ]
        own = sum(str(answer).partition("/")[0] == system for answer in liked)
        yield (system, "preferred", f"{own} of {len(liked)}", "", str(len(liked)))


def _target(common: Common, places: Sequence[Path]) -> Project:
    """The project that the weights are for: `-C`, else the only one that was learned from, else the one here."""
    alone = places[0] if len(places) == 1 and places[0].is_dir() else Path()
    project = Project.open(Path(common.folder) if common.folder else alone)
    system = project.settings.system
    if system != _SYSTEM:
        raise UsageError(
            f'{near(project.folder)} is written by {system}, which has no such weights. Say `system = "{_SYSTEM}"` in '
            f"its fabula.toml first, or name another project with -C."
        )
    return project


def _rendered(learned: Learned) -> str:
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


def _data(learned: Learned, weights: Sequence[float], places: Sequence[Path], target: Project | None) -> dict[str, Any]:
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


def scored_plans(places: Sequence[Path]) -> tuple[Row, ...]:
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


def _of_file(file: Path) -> tuple[Row, ...]:
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


def _of_project(folder: Path) -> list[Row]:
    """The rows of a project's tables as they stand now: edited files, else what the journal has."""
    project = Project.open(folder)
    rows: list[Row] = []
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


def _of_cell(path: str, file: Path | None, kept: str) -> list[Row]:
    """An agent's rows in a cell; they are compared with each other, whatever the table calls the cell.

    `path` is that of the scores, or the stem of their file: both agents of a cell are of one cell.
    """
    there = file is not None and file.is_file()
    text, name = (read_text(file, MAX_FILE), near(file)) if file and there else (kept, path)
    cell, agent, _ = _OF_AGENT.split(path)
    return [replace(row, cell=cell, agent=agent) for row in read_scores(text, str(name))]
