"""`fabula lab meta`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fabula.app.verdict_files import PASSED, compared, meta_report, side_of
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.base.html import bullets, figure, joined
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near
from fabula.cli.stories import stories_of
from fabula.cli.terminal import table
from fabula.evaluators.pairwise.config import MARGIN
from fabula.measure.ratings import Rating, read_ratings
from fabula.measure.report import Report, csv_of
from fabula.measure.report.page import Section, page, report_section
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.meta import PEOPLE, MetaResult
from fabula.stats.verdicts import JUDGE
from fabula.verbs.base import as_data
from fabula.verbs.meta import JudgeOnQuestion

_MAIN = ("pairs: accuracy", "stories: accuracy", "stories: spearman", "systems: spearman")
_ACCURACY = ("pairs: accuracy", "stories: accuracy")


@dataclass(frozen=True, slots=True)
class Comparing:
    """What to compare, and how."""

    stories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="The stories, which fabula uses for length and type-token ratio. Repeatable."
        ),
    ] = None
    question: Annotated[str, typer.Option(metavar="NAME", help="One question only.")] = ""
    rater: Annotated[str, typer.Option(metavar="NAME", help="One rater of VERDICTS only.")] = ""
    evaluator: Annotated[str, typer.Option(metavar="NAME", help="One evaluator of VERDICTS only.")] = ""
    margin: Annotated[
        float,
        typer.Option(min=0, max=0.999, help="Minimum lead for a weighted choice, as in `fabula evaluate pairwise`."),
    ] = MARGIN
    html: Annotated[str, typer.Option(metavar="FILE", help="Write the whole comparison to an HTML page.")] = ""
    csv: Annotated[str, typer.Option("--csv", metavar="FILE", help="Write every number as a line of CSV.")] = ""
    seed: Annotated[int, typer.Option(help="Seed of the random baseline.")] = 1


@bundled
def meta(
    common: Output,
    comparing: Comparing,
    verdicts: Annotated[str, typer.Argument(metavar="VERDICTS", help="The judge's ratings.jsonl.", show_default=False)],
    human: Annotated[str, typer.Argument(metavar="HUMAN", help="People's ratings.jsonl.", show_default=False)],
) -> None:
    """Show how well a judge agrees with people, compared with trivial baselines."""
    terminal = terminal_of(common)
    judge = side_of(_chosen(read_ratings(Path(verdicts)), comparing, verdicts), verdicts, comparing.margin)
    people = side_of(read_ratings(Path(human)), human, comparing.margin)
    texts = {item.id: item.story.text for item in stories_of(terminal, comparing.stories)} if comparing.stories else {}
    found = compared(judge, people, texts, wanted=comparing.question, seed=comparing.seed)
    report = meta_report(found, judge, people, margin=comparing.margin, seed=comparing.seed)
    if comparing.html:
        _write(Path(comparing.html), found, report)
    if comparing.csv:
        write_atomically(Path(comparing.csv), csv_of([report]))
    printed = [name for name in found if PASSED not in found or name.startswith(PASSED)]
    for name in printed:
        terminal.say(f"{name}\n\n{_table(found[name])}\n\n{found[name].sentence}\n")
    if len(printed) < len(found):
        terminal.say(
            f"To see each of the {len(found) - len(printed)} tests, use --question NAME, --json or --html FILE.\n"
        )
    terminal.say("\n".join(report.notes))
    if comparing.html:
        terminal.say(f"\n{near(Path(comparing.html))}")
    else:
        terminal.advise(
            "To get all numbers (Kendall, Pearson, legacy definitions, n, methods), use --json, --csv FILE or --html "
            "FILE."
        )
    terminal.document(
        report.as_data() | {"questions": {name: as_data(JudgeOnQuestion.of(result)) for name, result in found.items()}}
    )


def _chosen(ratings: tuple[Rating, ...], comparing: Comparing, name: str) -> list[Rating]:
    """The judge's ratings that match the options.

    Raises:
        UsageError: no rating matches.
    """
    kept = [
        rating
        for rating in ratings
        if comparing.rater in ("", rating.rater) and comparing.evaluator in ("", rating.evaluator)
    ]
    if not kept:
        raters = ", ".join(sorted({f"{r.rater} ({r.evaluator or 'no evaluator'})" for r in ratings})) or "nobody"
        raise UsageError(f"No rating in {name} matches the options. The file has ratings by {raters}.")
    return kept


def _write(file: Path, found: dict[str, MetaResult], report: Report) -> None:
    sentences = bullets(f"{name}: {result.sentence}" for name, result in found.items())
    numbers = report_section(report)
    pictures = [figure(_picture(name, result)) for name, result in found.items()]
    sections = [
        Section("In short", joined(sentences)),
        Section("Compared with the baselines", joined(*pictures)),
        Section("All numbers", numbers.body),
    ]
    write_atomically(file, page("A judge compared with people", sections))


def _picture(name: str, result: MetaResult) -> str:
    """An SVG of the accuracy of the judge and each baseline, highest first, with intervals."""
    measures = [what for what in _ACCURACY if any((f.of, f.what) == (JUDGE, what) for f in result.findings)]
    rows = [(f.of, f.scored) for f in result.findings if f.what in measures[:1]]
    rows.sort(key=lambda row: -row[1].value if isinstance(row[1], Estimate) else 1.0)
    what = measures[0].replace(": ", ", ") if measures else "accuracy"
    return intervals_svg(rows, title=f"{name}: {what}, with 95 % intervals (0.5 is chance)")


def _table(result: MetaResult) -> str:
    """The main measures of the judge and the baselines, a row each, and how well people agree with each other."""
    known = {(f.of, f.what): f.scored for f in result.findings}
    columns = [what for what in _MAIN if (JUDGE, what) in known]
    names = list(dict.fromkeys(f.of for f in result.findings if f.of != PEOPLE))
    rows = [("", *columns)]
    rows += [(name, *(_short(known.get((name, what))) for what in columns)) for name in names]
    lines = [table(rows)]
    rest = [(f.what, str(f.scored)) for f in result.findings if f.of == PEOPLE or f.what.endswith("kappa")]
    named = [("judge's kappa" if what.endswith(": kappa") else f"people: {what}", shown) for what, shown in rest]
    return "\n\n".join([*lines, table(named)])


def _short(scored: Estimate | Unscored | None) -> str:
    return str(scored) if isinstance(scored, Estimate) else "-"
