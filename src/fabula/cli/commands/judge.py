"""`fabula eval judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabula.app.judging import Judged, two_stories
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import named_stories, say_licences, sets_of
from fabula.cli.terminal import table
from fabula.evaluators import find


@bundled
def judge(
    common: Output,
    judges: Judges,
    limits: Limits,
    one: Annotated[
        str, typer.Argument(metavar="A", help="A story: its file or project; - reads stdin.", show_default=False)
    ],
    other: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
) -> None:
    """Have a judge compare two stories, side by side, in both orders."""
    terminal = terminal_of(common)
    evaluating = Evaluating(terminal, find("pairwise"), judges, limits)
    first, second = named_stories((one, other))
    stories = two_stories(first, second, sets_of(terminal))
    say_licences(terminal, stories)
    judged = Judged(*stories, evaluating.run(stories), evaluating.bill)
    terminal.say(table(judged.table))
    for where, reason in judged.reasons:
        terminal.say(f"\n{where}\n\n{terminal.wrapped(reason)}")
    for note in judged.report.notes:
        if "could not be had" in note or "log-probabilities" in note:
            terminal.say(f"\nNote: {note}")
    evaluating.show_bill()
    kept = near(Path(judges.out))
    terminal.advise(f"One pair says little. The verdicts are in {kept}; rank more stories with `fabula eval rank DIR`.")
    terminal.document(judged.to_dict())
