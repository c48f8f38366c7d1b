"""The report as sections of a page: every digression with the turns after it, and all numbers."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from fabula.base.html import Html, joined, paragraph, quotation
from fabula.measure.report.page import Section, report_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.measure.report import Report


def sections_of(report: Report) -> Iterator[Section]:
    """The numbers, then the digressions of each dialogue."""
    yield report_section(report)
    for item, digressions in groupby(report.details["digressions"], key=lambda one: str(one["item"])):
        yield Section(item, joined(*map(_digression, digressions)))


def _digression(one: Mapping[str, Any]) -> Html:
    verdicts = [f"{name}: {_verdict(one[name])}" for name in ("back", "back by words") if name in one]
    if "obeyed" in one:
        verdicts.append("obeyed" if one["obeyed"] else "not obeyed")
    turns = [*one["before"], one["said"], *one["after"]]
    return joined(
        paragraph(f"{one['number']}. {one['kind']} ({'; '.join(verdicts)}): {': '.join(one['said'])}"),
        quotation("\n\n".join(f"{who}: {text}" for who, text in turns)),
    )


def _verdict(back: object) -> str:
    if isinstance(back, str):
        return f"not scored, {back}"
    return f"turn {back}" if back else "no"
