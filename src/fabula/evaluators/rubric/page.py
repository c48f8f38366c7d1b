"""The rubric's report as sections of a page: scores with intervals, and the judge's reasons on each text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabula.base.html import Html, details, figure, html_table, joined
from fabula.evaluators.rubric.report import OVERALL, question
from fabula.measure.report.page import Section, report_section
from fabula.measure.report.pictures import intervals_svg

if TYPE_CHECKING:
    from fabula.measure.report import Report


def levels_of(report: Report) -> list[str]:
    """The levels that were scored."""
    return list(dict.fromkeys(name.partition("/")[0] for name in report.details["questions"]))


def sections_of(report: Report) -> Iterator[Section]:
    """A picture of each level's overall scores, the judge's reasons, and all numbers."""
    names = report.details["names"]
    pictures = []
    for level in levels_of(report):
        rows = [(name, report.row(name, question(level, OVERALL)).scored) for name in names]
        pictures.append(figure(intervals_svg(rows, title=f"Overall score of 100: {level}")))
    yield Section("Scores by rubric", joined(*pictures))
    yield Section("What the judge said", joined(*(_said(report, level) for level in levels_of(report))))
    yield report_section(report)


def _said(report: Report, level: str) -> Html:
    mine = [rating for rating in report.ratings if rating.question in (level, question(level, OVERALL))]
    rows = [(" ".join(r.items), r.shown or "not scored", r.reason or r.unscored, r.call) for r in mine]
    table = html_table(("text", "overall", "reason", "call"), rows, right=(1,))
    return details(f"{level}: {len(mine)} verdicts", table)
