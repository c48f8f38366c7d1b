"""`fabula rank`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.verdict_tables import ranking_tables
from fabula.evaluators import find
from fabula.evaluators.pairwise.algorithm import pairs_of
from fabula.evaluators.pairwise.page import page_of, questions_of, strengths_picture
from fabula.evaluators.pairwise.report import ranked
from fabula.measure.ratings import read_ratings
from fabula.measure.report import csv_of
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.items import Item
    from fabula.measure.report import Report


@bundled
def rank(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR|FILE]...", help="Stories: DIR/SYSTEM/PROMPT.md, files, projects.", show_default=False
        ),
    ] = None,
    ratings: Annotated[
        str, typer.Option(metavar="FILE", help="Rank by the verdicts of a ratings file; nobody is asked.")
    ] = "",
) -> None:
    """Rank systems or stories by side-by-side verdicts, with intervals."""
    terminal = terminal_of(common)
    if not (stories or ratings):
        raise UsageError("There is nothing to rank. Give stories, or verdicts with --ratings FILE.")
    evaluating = Evaluating(terminal, find("pairwise"), judges, limits)
    given = stories_of(terminal, stories, selecting.selection(judges.seed)) if stories else ()
    if ratings and limits.dry_run:
        raise UsageError("--ratings asks nobody, so there is nothing to say of it. Leave --dry-run out.")
    if ratings:
        report = _by_ratings(evaluating, Path(ratings), given)
    else:
        pairs_of(given)  # what is wrong with the stories is said before anything is made
        report = evaluating.run(given)
    files = _write(report, Path(judges.out), Path(ratings).stem if ratings else report.evaluator)
    terminal.say(ranking_tables(report) + "\n" * bool(report.notes))
    for note in report.notes:
        terminal.say(terminal.wrapped(f"Note: {note}"))
    evaluating.show_bill()
    terminal.advise(f"\nThe report, with every verdict and its reasons: {near(files[0])}")
    terminal.document({"report": report.as_data(), "files": [str(file) for file in files], **evaluating.data()})


def _by_ratings(evaluating: Evaluating, file: Path, items: Sequence[Item]) -> Report:
    """The ranking by verdicts that are there; stories only give their texts, for length and the like."""
    return ranked(
        read_ratings(file),
        {item.id: item.story.text for item in items},
        evaluating.config.ours,
        {"from": file.name},
    )


def _write(report: Report, folder: Path, name: str) -> list[Path]:
    """Write the page, the numbers and a picture for each question; the page first."""
    make_folder(folder)
    shown = {f"{name}.html": page_of(report), f"{name}.csv": csv_of([report])}
    shown |= {f"{name}-{slug(question)}.svg": strengths_picture(report, question) for question in questions_of(report)}
    for file, content in shown.items():
        write_atomically(folder / file, content)
    return [folder / file for file in shown]
