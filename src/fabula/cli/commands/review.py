"""`fabula eval review`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli.bill import say_dry_run
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import terminal_of
from fabula.cli.options import Judges, Limits, Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.engine.methods import settings_of as method_settings
from fabula.evaluators import find
from fabula.evaluators.editorial.agreement import accepted, annotations_of, decoys_of, named, sheet_of
from fabula.evaluators.editorial.page import sections_of as editorial_sections
from fabula.evaluators.editorial.report import ALL
from fabula.evaluators.rubric.agreement import decided
from fabula.evaluators.rubric.page import levels_of
from fabula.evaluators.rubric.page import sections_of as rubric_sections
from fabula.measure.ratings import read_ratings, write_ratings
from fabula.measure.report import Report
from fabula.measure.report.page import page, report_section
from fabula.stats.estimate import Estimate, figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item
    from fabula.measure.report import Row
    from fabula.stats.estimate import Scored

_PEOPLE = "Beside people"
_PAGE = "review.html"


@dataclass(frozen=True, slots=True)
class Beside:
    """What people say of the same."""

    sheet: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Write the editor's comments as a file to be answered.", rich_help_panel=_PEOPLE
        ),
    ] = ""
    people: Annotated[
        str,
        typer.Option(metavar="FILE", help="People's answers: say how far they agree.", rich_help_panel=_PEOPLE),
    ] = ""


@bundled
def review(
    common: Output,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    beside: Beside,
    stories: Annotated[
        list[str], typer.Argument(metavar="STORY...", help="Story files, folders or sets (.jsonl); - reads stdin.")
    ],
    with_: Annotated[
        Literal["editorial", "rubric", "both"] | None,
        typer.Option(
            "--with", help="Comments with quotations, scores of 100, or both.", show_default="editorial; several: both"
        ),
    ] = None,
) -> None:
    """Have an editor comment on stories, and a judge score them beside each other, on three levels."""
    terminal = terminal_of(common)
    items = stories_of(terminal, stories, selecting.selection(judges.seed))
    people = read_ratings(Path(beside.people)) if beside.people else ()
    wanted = with_ or ("both" if len(items) > 1 else "editorial")
    names = ["editorial", "rubric"] if wanted == "both" else [wanted]
    _check(names, beside)
    asked = {name: Evaluating(terminal, find(name), settings_of(judges, name, names), limits) for name in names}
    for evaluating in asked.values():
        evaluating.check(items)
    if limits.dry_run:
        say_dry_run(terminal, *(evaluating.expected(items) for evaluating in asked.values()))
        return
    found = {name: evaluating.run(items) for name, evaluating in asked.items()}
    agreement = _agreement(found, people, items) if beside.people else None
    for name, report in found.items():
        _SAY[name](terminal, report)
        asked[name].show_bill()
    if agreement:
        _say_agreement(terminal, agreement)
    file = Path(judges.out) / _PAGE
    write_atomically(file, _page(found, agreement))
    if beside.sheet:
        _write_sheet(terminal, Path(beside.sheet), found["editorial"])
    terminal.advise(f"\nEvery comment and reason: {near(file)}; ratings.jsonl lies beside it.")
    shown = {name: {**report.as_data(), **asked[name].bill.as_data()} for name, report in found.items()}
    terminal.document({**shown, "page": str(file)} | ({"agreement": agreement.as_data()} if agreement else {}))


def _check(names: Sequence[str], beside: Beside) -> None:
    if beside.sheet and "editorial" not in names:
        raise UsageError("--sheet writes the editor's comments. Give it with --with editorial or both.")
    if beside.sheet and Path(beside.sheet).exists():
        raise UsageError(f"{beside.sheet} is there already, and may hold answers. Give another name.")


def settings_of(judges: Judges, name: str, names: Sequence[str]) -> Judges:
    """The options for one evaluator: where several run, each takes the settings that it knows of.

    A setting that none of them knows goes to all, so that it is named as unknown.
    """
    known = {one: {setting.name for setting in method_settings(find(one).config())} for one in names}

    def its(setting: str) -> bool:
        field = setting.partition("=")[0].strip().replace("-", "_")
        return field in known[name] or not any(field in theirs for theirs in known.values())

    return replace(judges, set_=[setting for setting in judges.set_ or () if its(setting)])


# terminal -------------------------------------------------------------------------------------------------------------


def _say_editorial(terminal: Terminal, report: Report) -> None:
    """Comments of each story and system by level; of a lone story every comment; baselines; notes."""
    names = [shown["id"] for shown in report.details["stories"]]
    systems = [row.of for row in report.rows if row.what == ALL and row.of not in names]
    columns = [*report.details["levels"], ALL, "words"]
    known = {(row.of, row.what): row.scored for row in report.rows}
    rows = [("comments", *columns)]
    rows += [(name, *(_short(known[name, what]) for what in columns)) for name in (*names, *systems)]
    terminal.say(table(rows))
    if len(names) == 1:
        for one in annotations_of(report):
            terminal.say(terminal.wrapped(f'\n{named(one)}, {one.category}: {one.comment}\n  "{one.quote}"'))
    _say_rest(terminal, report, [row for row in report.rows if row.of == "all"])


def _say_rubric(terminal: Terminal, report: Report) -> None:
    """Scores of each system by level and category; the place's effect; baselines; notes."""
    known = {(row.of, row.what): row.scored for row in report.rows}
    names = report.details["names"]
    for level in levels_of(report):
        mine = [name for name in report.details["questions"] if name.partition("/")[0] == level]
        rows = [(level, *(name.partition("/")[2] for name in mine))]
        rows += [(name, *(_short(known[name, what]) for what in mine)) for name in names]
        terminal.say("\n" + table(rows))
    _say_rest(terminal, report, [row for row in report.rows if row.of not in names])


_SAY = {"editorial": _say_editorial, "rubric": _say_rubric}


def _say_rest(terminal: Terminal, report: Report, rows: Sequence[Row]) -> None:
    rows = [row for row in rows if not row.is_difference]
    if apart := differences_table(report.rows):
        terminal.say("\n" + apart)
    if rows:
        shown = [(f"{row.of} (baseline)" if row.baseline else row.of, row.what, str(row.scored)) for row in rows]
        terminal.say("\n" + table([("of", "measure", "value"), *shown]))
    for note in report.notes:
        terminal.say(terminal.wrapped(f"\n{note}"))
    terminal.say("")


def _short(scored: Scored) -> str:
    if not isinstance(scored, Estimate):
        return "not scored"
    if scored.low is None or scored.high is None:
        return figures(scored.value)
    return f"{figures(scored.value)} [{figures(scored.low)}, {figures(scored.high)}]"


# people ---------------------------------------------------------------------------------------------------------------


def _agreement(found: Mapping[str, Report], people: Sequence[Any], items: Sequence[Item]) -> Report:
    """How far people agree with what was found."""
    rows: list[Row] = []
    notes: list[str] = []
    if "editorial" in found:
        more, shown = accepted(found["editorial"], people)
        rows, notes = [*rows, *more], [*notes, *shown]
    if "rubric" in found:
        more, shown = decided(found["rubric"], people, {item.id: item.story.words for item in items})
        rows, notes = [*rows, *more], [*notes, *shown]
    how = {"raters": ", ".join(sorted({rating.rater for rating in people if rating.answer is not None}))}
    return Report("agreement", how, tuple(rows), notes=tuple(notes))


def _say_agreement(terminal: Terminal, report: Report) -> None:
    terminal.say("Beside people")
    _say_rest(terminal, report, report.rows)


def _write_sheet(terminal: Terminal, file: Path, report: Report) -> None:
    lines = sheet_of(report)
    write_atomically(file, write_ratings(lines))
    lures = ", decoys among them" if decoys_of(annotations_of(report)) else ""
    terminal.advise(
        f"{near(file)}: {counted(len(lines), 'comment')} to answer{lures}. In each line write yes or no as `answer`, "
        "a name as `rater`, and take `unscored` out; then give it with --people."
    )


def _page(found: Mapping[str, Report], agreement: Report | None) -> str:
    sections = []
    if agreement:
        sections.append(report_section(agreement))
    if "editorial" in found:
        sections += editorial_sections(found["editorial"])
    if "rubric" in found:
        sections += rubric_sections(found["rubric"])
    return page("Review", sections, lead="Comments of an editor: fewer are better. Scores of a judge: of 100.")
