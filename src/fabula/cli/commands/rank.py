"""`fabula eval rank`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabula.app.ranking import Ranked, ranked_by
from fabula.app.ranking import as_stories as all_as_stories
from fabula.base.errors import UsageError
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled, refuse
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.verdict_tables import ranking_tables
from fabula.evaluators import find
from fabula.evaluators.pairwise.algorithm import pairs_of


@bundled
def rank(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR|FILE]...",
            help="Stories: DIR/SYSTEM/PROMPT.md, files, projects; - reads stdin.",
            show_default=False,
        ),
    ] = None,
    ratings: Annotated[
        str, typer.Option(metavar="FILE", help="Rank by the verdicts of a ratings file; nobody is asked.")
    ] = "",
    *,
    as_stories: Annotated[
        bool,
        typer.Option("--as-stories", help="Rank the stories, as answers to one prompt, and not those who wrote them."),
    ] = False,
) -> None:
    """Rank systems or stories by side-by-side verdicts, with intervals."""
    terminal = terminal_of(common)
    if not (stories or ratings):
        raise UsageError("There is nothing to rank. Give stories, or verdicts with --ratings FILE.")
    if ratings:
        refuse("--ratings has the verdicts, and nobody is asked", judges, limits, but=("out", "set_", "preset"))
    if not stories:
        refuse("no stories are given to draw from", selecting)
    evaluating = Evaluating(terminal, find("pairwise"), judges, limits)
    given = stories_of(terminal, stories, selecting.selection(judges.seed)) if stories else ()
    if as_stories:
        given = all_as_stories(given)
    if ratings:
        report = ranked_by(Path(ratings), given, evaluating.config)
    else:
        pairs_of(given)  # what is wrong with the stories is said before anything is made
        report = evaluating.run(given)
    found = Ranked.in_(Path(judges.out), Path(ratings).stem if ratings else report.evaluator, report, evaluating.bill)
    terminal.say(ranking_tables(report) + "\n" * bool(report.notes))
    for note in report.notes:
        terminal.say(terminal.wrapped(f"Note: {note}"))
    evaluating.show_bill()
    terminal.advise(f"\nThe report, with every verdict and its reasons: {near(found.files[0])}")
    terminal.document(found.to_dict())
