"""`fabula judge`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.base.errors import UsageError
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import stories_of
from fabula.cli.verdict_tables import better, pair_by_question, verdict_table
from fabula.evaluators import find

if TYPE_CHECKING:
    from typing import Any

    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@bundled
def judge(
    common: Output,
    judges: Judges,
    limits: Limits,
    one: Annotated[str, typer.Argument(metavar="A", help="A story: its file or project.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
) -> None:
    """Have a judge compare two stories, side by side, in both orders."""
    terminal = terminal_of(common)
    evaluating = Evaluating(terminal, find("pairwise"), judges, limits)
    first, second = two_stories(terminal, one, other)
    report = evaluating.run((first, second))
    terminal.say(verdict_table(report, first.id, second.id))
    _reasons(terminal, report)
    for note in report.notes:
        if "could not be had" in note or "log-probabilities" in note:
            terminal.say(f"\nNote: {note}")
    evaluating.show_bill()
    kept = near(Path(judges.out))
    terminal.advise(f"One pair says little. The verdicts are in {kept}; rank more stories with `fabula rank DIR`.")
    terminal.document({"report": report.as_data(), "verdicts": _verdicts(report), **evaluating.bill.as_data()})


def two_stories(terminal: Terminal, one: str, other: str) -> tuple[Item, Item]:
    """The two stories as if they answered one prompt, since it was asked to compare them."""
    for name in (one, other):
        if (count := len(stories_of(terminal, [name]))) > 1:
            raise UsageError(f"{name} holds {count} stories. Judge two stories, or rank many with `fabula rank`.")
    if Path(one).resolve() == Path(other).resolve():
        raise UsageError(f"Both stories are {one}. Give two stories.")
    first, second = stories_of(terminal, [one, other])
    prompt = first.prompt if first.prompt == second.prompt else ""
    systems = (first.system, second.system) if first.system != second.system else ("", "")
    return replace(first, prompt=prompt, system=systems[0]), replace(second, prompt=prompt, system=systems[1])


def _reasons(terminal: Terminal, report: Report) -> None:
    for rating in report.ratings:
        if rating.reason:
            terminal.say(f"\nA being {rating.items[0]}, B {rating.items[1]}:\n\n{terminal.wrapped(rating.reason)}")


def _verdicts(report: Report) -> list[dict[str, Any]]:
    return [
        {"question": question, "better": better(pair) if pair else None}
        for question, pair in pair_by_question(report).items()
    ]
