"""The report on a judge as pictures and as a page: strengths, pairs, and verdicts with their reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabula.base.html import Html, bullets, details, figure, html_table, joined, paragraph, quotation
from fabula.measure.report.page import Section, differences_table, how_list, page
from fabula.measure.report.pictures import intervals_svg, matrix_svg
from fabula.stats.estimate import Estimate, estimate_cells

if TYPE_CHECKING:
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report, Row


def questions_of(report: Report) -> tuple[str, ...]:
    """The questions of a report, "overall" first."""
    asked = [str(question) for question in report.details["questions"]]
    return tuple(sorted(asked, key=lambda question: question != "overall"))


def rows_on(report: Report, question: str, *, what: str = "", baseline: bool = False) -> list[Row]:
    """The rows of one question, either of baselines or of the others, limited to the measure `what` if given."""
    return [
        row
        for row in report.rows
        if row.what.partition("/")[2] == question
        and row.baseline == baseline
        and (not what or row.what.partition("/")[0] == what)
    ]


def strengths_picture(report: Report, question: str) -> str:
    """An SVG of the strengths on one question, each with its interval, the strongest first."""
    rows = [(row.of, row.scored) for row in rows_on(report, question, what="strength")]
    levels = {scored.level for _, scored in rows if isinstance(scored, Estimate)}
    level = f", with {100 * levels.pop():g} % intervals by prompt" if len(levels) == 1 else ""
    return intervals_svg(rows, title=f"{question.capitalize()}: log strength, centred at 0{level}")


def wins_picture(report: Report, question: str) -> str:
    """An SVG of the matrix of wins: how often the row beat the column. Darker cells mean larger shares."""
    wins = report.details["wins"][question]
    names = report.details["names"]
    places = [names.index(row.of) for row in rows_on(report, question, what="strength")]
    shares: list[list[float | None]] = []
    for i in places:
        games = [wins[i][j] + wins[j][i] for j in places]
        shares.append([wins[i][j] / n if n and i != j else None for j, n in zip(places, games, strict=True)])
    return matrix_svg(
        [names[i] for i in places],
        shares,
        title=f"{question.capitalize()}: wins of the row against the column",
        shown=[[f"{wins[i][j]:g}" for j in places] for i in places],
    )


def page_of(report: Report) -> str:
    """The whole report as one HTML file."""
    asked = questions_of(report)
    counted = f"{len(report.ratings):,} verdicts of {report.how['judge']} on {len(report.details['names'])} systems."
    lead = "A strength shows how often a system's stories are preferred, not how much better they are."
    sections = [
        Section("Limits of these results", joined(_notes(report), details("How it was made", how_list(report.how)))),
        *(Section(question.capitalize(), _question(report, question)) for question in asked),
        Section("Verdicts", _verdicts(report)),
    ]
    return page("Stories side by side", sections, lead=f"{counted} {lead}")


def _notes(report: Report) -> Html:
    return bullets(report.notes or ["Nothing stood out."])


def _question(report: Report, question: str) -> Html:
    apart = rows_on(report, question, what="difference")
    rows = [row for row in rows_on(report, question) if not (row.what.startswith("strength") or row.is_difference)]
    rows += rows_on(report, question, baseline=True)
    cells = [(_called(row), *estimate_cells(row.scored)) for row in rows]
    return joined(
        figure(strengths_picture(report, question)),
        figure(wins_picture(report, question)),
        html_table(("measure", "value", "interval", "n"), cells, right=(1, 3)),
        differences_table(apart),
    )


def _called(row: Row) -> str:
    what = row.what.partition("/")[0]
    if row.baseline:
        return f"baseline {row.of}: chooses as the judge does"
    return f"{row.of}: {'share of wins' if what == 'wins' else what}"


def _verdicts(report: Report) -> Html:
    """All pairs, each behind a line with the winner; inside are both orders with the reasons."""
    pairs: dict[tuple[str, tuple[str, ...]], list[Rating]] = defaultdict(list)
    for rating in report.ratings:
        pairs[rating.prompt, tuple(sorted(rating.items))].append(rating)
    return joined(*(_pair(prompt, items, ratings) for (prompt, items), ratings in sorted(pairs.items())))


def _pair(prompt: str, items: Sequence[str], ratings: Sequence[Rating]) -> Html:
    asked = list(dict.fromkeys(rating.question for rating in ratings))
    last = asked[-1]
    said = ", ".join(str(rating.answer or "not scored") for rating in ratings if rating.question == last)
    where = f"{prompt}: " if prompt else ""
    orders: dict[tuple[str, tuple[str, ...]], list[Rating]] = defaultdict(list)
    for rating in ratings:
        orders[rating.rater, rating.items].append(rating)
    return details(
        f"{where}{' against '.join(items)}: {last} {said}",
        joined(*(_order(rater, shown, group) for (rater, shown), group in orders.items())),
    )


def _order(rater: str, shown: Sequence[str], ratings: Sequence[Rating]) -> Html:
    """The verdicts of one rater on two stories shown in one order, and the reasons."""
    cells = [
        (rating.question, str(rating.answer or "not scored"), rating.shown or rating.unscored) for rating in ratings
    ]
    reasons = [quotation(rating.reason) for rating in ratings if rating.reason]
    return joined(
        paragraph(f"{rater}, A being {shown[0]} and B {shown[-1]}:"),
        html_table(("question", "better", "as it was said"), cells),
        *(reasons or [paragraph("No reasons were given.", faint=True)]),
    )
