"""`fabula eval ttcw`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fabula.app.measuring import with_references
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli.evaluation import Evaluating
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled, refuse
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.data.ttcw import published_tests
from fabula.evaluators import find
from fabula.evaluators.ttcw.making import MAKING
from fabula.evaluators.ttcw.page import as_page, counts_of, mean_text, passed_text
from fabula.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.terminal import Terminal
    from fabula.measure.report import Report
    from fabula.stats.estimate import Scored

_TESTS, _MAKING = "Tests", "What tests are put to"


@dataclass(frozen=True, slots=True)
class Tests:
    """Which tests, and beside what."""

    reference: Annotated[
        str,
        typer.Option(
            metavar="FILE|DIR",
            help="A story to compare with; a folder or set of them is matched by prompt, else by name.",
            rich_help_panel=_TESTS,
        ),
    ] = ""
    method: Annotated[
        Literal["auto", "plain", "reference", "hybrid"] | None,
        typer.Option(help="Yes or no, five labels beside the reference, or both.", rich_help_panel=_TESTS),
    ] = None
    tests: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="The published tests; --preset faithful finds them in --data.", rich_help_panel=MORE
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Makings:
    """What is made instead of measured."""

    plot_of: Annotated[
        str, typer.Option(metavar="REF", help="Print the plot of a reference.", rich_help_panel=MORE)
    ] = ""
    candidate_from: Annotated[
        str, typer.Option(metavar="PLOT", help="Print a story written from a plot.", rich_help_panel=MORE)
    ] = ""
    words: Annotated[
        str,
        typer.Option(metavar="N|A-B|~N", help="With --candidate-from: its length in words.", rich_help_panel=MORE),
    ] = ""


@bundled
def ttcw(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    tests: Tests,
    makings: Makings,
    stories: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STORY]...", help="Story files, folders or sets (.jsonl); - reads stdin."),
    ] = None,
) -> None:
    """Put a story to the 14 tests of creative writing, alone or beside a reference."""
    terminal = terminal_of(common)
    _check(stories or [], tests, makings)
    if makings.plot_of or makings.candidate_from:
        refuse("one story is given, or one plot", selecting)
        _make(terminal, makings, judges, limits)
        return
    said = any(one.partition("=")[0].strip().endswith("tests") for one in judges.set_ or ()) or tests.tests
    if judges.preset == "faithful" and selecting.data and not said:
        tests = replace(tests, tests=str(published_tests(Path(selecting.data)) or ""))
    judges = replace(judges, set_=[*(judges.set_ or ()), *_settings(tests)])
    evaluating = Evaluating(terminal, find("ttcw"), judges, limits)
    items = stories_of(terminal, stories or (), selecting.selection(judges.seed))
    if tests.reference:
        items = with_references(items, stories_of(terminal, [tests.reference]), tests.reference, each=True)
    report = evaluating.run(items)
    page = _write_page(judges, report)
    _say(terminal, report)
    evaluating.show_bill()
    terminal.advise(f"Every answer: {near(page)}, and ratings.jsonl beside it.")
    if len(items) == 1 and report.how["method"] == "plain" and not tests.method:
        terminal.advise("Next: compare it with a story you think highly of: --reference FILE.")
    terminal.document({**report.as_data(), "page": str(page), **evaluating.bill.as_data()})


def _check(stories: Sequence[str], tests: Tests, makings: Makings) -> None:
    wanted = [bool(stories), bool(makings.plot_of), bool(makings.candidate_from)]
    if sum(wanted) != 1:
        raise UsageError("Give stories to test, or --plot-of REF, or --candidate-from PLOT: one of the three.")
    if makings.words and not makings.candidate_from:
        raise UsageError("--words is the length of a candidate. Give it with --candidate-from PLOT.")
    if not stories and (tests.reference or tests.method or tests.tests):
        raise UsageError("--reference, --method and --tests are for stories that are tested. Leave them out here.")


def _settings(tests: Tests) -> list[str]:
    """The options that stand for fields of the evaluator's `Config`."""
    given = {"method": tests.method, "tests": tests.tests}
    return [f"{name}={value}" for name, value in given.items() if value]


def _make(terminal: Terminal, makings: Makings, judges: Judges, limits: Limits) -> None:
    """Print a plot or a candidate; the bill goes to stderr, so that the text can be sent into a file."""
    what = "plot" if makings.plot_of else "candidate"
    said = [f"what={what}", *([f"words={makings.words}"] if makings.words else [])]
    evaluating = Evaluating(terminal, MAKING, replace(judges, set_=[*(judges.set_ or ()), *said]), limits)
    report = evaluating.run(stories_of(terminal, [makings.plot_of or makings.candidate_from]))
    texts = report.details["texts"]
    terminal.say("\n\n".join(texts.values()))
    after = "write from it with --candidate-from" if what == "plot" else "put it to the tests beside its reference"
    terminal.advise(f"Next: send the {what} into a file, and {after}.")
    terminal.document({what: texts, **evaluating.bill.as_data()})


def _write_page(judges: Judges, report: Report) -> Path:
    file = Path(judges.out) / f"{report.evaluator}.html"
    write_atomically(file, as_page(report))
    return file


def _say(terminal: Terminal, report: Report) -> None:
    """Scores and dimensions of each story; the single tests of a lone one; systems, sides and baselines; notes."""
    names = [shown["id"] for shown in report.details["stories"]]
    terminal.say(table(_score_rows(report, names), right=()))
    if len(names) == 1:
        terminal.say("\n" + table(_test_rows(report, names[0]), right=(2,)))
    others = [row for row in report.rows if row.of == "all" or (row.what == "score" and row.of not in names)]
    if others:
        rows = [("of", "measure", "value"), *((row.of, row.what, str(row.scored)) for row in others)]
        terminal.say("\n" + table(rows))
    if apart := differences_table(report.rows):
        terminal.say("\n" + apart)
    for note in report.notes:
        terminal.say(terminal.wrapped(f"\n{note}"))


def _score_rows(report: Report, names: Sequence[str]) -> list[tuple[str, ...]]:
    counts = {name: counts_of(report, name) for name in names}
    head = ("story", *counts[names[0]])
    return [head, *((name, *(_count(what, scored) for what, scored in of.items())) for name, of in counts.items())]


def _count(what: str, scored: Scored) -> str:
    if not isinstance(scored, Estimate):
        return "not scored"
    shown = f"{scored.value:g}/{scored.n}"
    return f"{shown} [{scored.low:z.1f}, {scored.high:z.1f}]" if what == "score" and scored.low is not None else shown


def _test_rows(report: Report, name: str) -> list[tuple[str, ...]]:
    found = {row.what: row.scored for row in report.rows if row.of == name}
    rows: list[tuple[str, ...]] = [("test", "passed", "mean")]
    for test in report.details["tests"]:
        mean = mean_text(found.get(f"mean/{test['id']}"))
        rows.append((test["id"], passed_text(found[f"passed/{test['id']}"]), mean))
    return rows if any(row[2] for row in rows[1:]) else [row[:2] for row in rows]
