"""The report as sections of a page: scores with intervals, every test of every story, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from fabula.base.html import Html, details, figure, html_table, joined, quotation, text
from fabula.measure.report.page import Section, report_section
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import Estimate, Scored

if TYPE_CHECKING:
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report


def sections_of(report: Report) -> Iterator[Section]:
    """A picture of the scores, the tests of each story, and all numbers."""
    names = [story["id"] for story in report.details["stories"]]
    scores = [(name, report.row(name, "score").scored) for name in names]
    total = len(report.details["tests"])
    yield Section("Tests passed", figure(intervals_svg(scores, title=f"Tests passed, of {total}")))
    for name in names:
        yield Section(name, _story(report, name))
    yield report_section(report)


def _story(report: Report, name: str) -> Html:
    """A table of the story's tests, each with its answers."""
    own = sorted((rating for rating in report.ratings if name in rating.items), key=lambda rating: rating.question)
    ratings = {question: list(found) for question, found in groupby(own, key=lambda rating: rating.question)}
    means = {row.what: row.scored for row in report.rows if row.of == name}
    rows = [
        (
            test["dimension"],
            joined(text(test["name"]), _answers(ratings.get(test["id"], []), test["question"])),
            _passed(means[f"passed/{test['id']}"]),
            _mean(means.get(f"mean/{test['id']}")),
        )
        for test in report.details["tests"]
    ]
    return html_table(("dimension", "test", "passed", "mean"), rows, right=(3,))


def _answers(ratings: Iterable[Rating], question: str) -> Html:
    """The judge's answers, folded behind the question."""
    said = [
        joined(text(f"{' beside '.join(one.items)}: {one.shown or one.unscored}"), quotation(one.reason))
        for one in ratings
    ]
    return details(question, joined(*said))


def _passed(scored: Scored) -> str:
    """Whether the test is passed, in a word, or that there is no outcome."""
    if not isinstance(scored, Estimate):
        return "no outcome"
    return "yes" if scored.value else "no"


def _mean(scored: Scored | None) -> str:
    """The mean with its sign; empty if there is none."""
    return f"{scored.value:+z.1f}" if isinstance(scored, Estimate) else ""
