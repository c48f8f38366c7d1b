"""The editor's report as sections of a page: counts with intervals, and every comment next to its quotation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from fabula.base.html import Html, details, figure, html_table, joined, paragraph
from fabula.evaluators.editorial.agreement import annotations_of, named
from fabula.evaluators.editorial.report import ALL
from fabula.measure.report.page import Section, report_section
from fabula.measure.report.pictures import intervals_svg

if TYPE_CHECKING:
    from fabula.measure.report import Report


def sections_of(report: Report) -> Iterator[Section]:
    """A picture of each level's counts, the comments on each story, and all numbers."""
    names = [story["id"] for story in report.details["stories"]]
    pictures = [
        figure(intervals_svg([(name, report.row(name, level).scored) for name in names], title=f"Comments: {level}"))
        for level in report.details["levels"]
    ]
    yield Section("Comments of the editor", joined(*pictures))
    for name in names:
        yield Section(name, _story(report, name))
    yield report_section(report)


def _story(report: Report, name: str) -> Html:
    own = [annotation for annotation in annotations_of(report) if annotation.item == name]
    parts = [paragraph(f"{ALL}: {report.row(name, ALL).scored}")]
    for place, found in groupby(own, key=named):
        rows = [(one.category, one.comment, one.quote) for one in found]
        table = html_table(("category", "comment", "quotation"), rows)
        parts.append(details(f"{place}: {len(rows)}", table))
    return joined(*parts)
