"""A whole report as one HTML file: self-contained, with all text escaped, for light and dark screens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fabula.base.html import Html, bullets, details, html_table, joined, text
from fabula.measure.report import DIFFERENCE, Report, Row
from fabula.stats.estimate import Estimate, estimate_cells

_LEAST_P: Final = 0.001
# No script runs but the page's own, and nothing is fetched, whatever a later change lets through.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_TABLES: Final = Path(__file__).with_name("tables.js")
_STYLE: Final = """
:root { color-scheme: light dark;
  --ink: #1d1d1f; --paper: #fdfdfc; --faint: #6a6a70; --line: #dcdce0; --block: #f3f3f1 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #17181a; --faint: #a2a2aa; --line: #3a3b40; --block: #222326 }
}
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  padding: 1.5rem; max-width: 62rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2 } h2 { font-size: 1.2rem; margin-top: 2.5rem } h3 { font-size: 1rem }
.lead { color: var(--faint); max-width: 44rem }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem } a { color: inherit }
.wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600; white-space: nowrap } .figure { text-align: right; white-space: nowrap }
td { overflow-wrap: normal } .leaderboard td:first-child { min-width: 12rem } .faint { color: var(--faint) }
:target > h2 { border-left: .25rem solid var(--faint); padding-left: .5rem } [hidden] { display: none }
.filters { display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0 .3rem }
input, select, button { font: inherit; color: inherit; background: var(--block); border: 1px solid var(--line);
  border-radius: .3rem; padding: .15rem .4rem; max-width: 100% }
th button { font-weight: inherit; border: 0; background: none; padding: 0; cursor: pointer }
th[aria-sort=ascending] button::after { content: " \25b4" } th[aria-sort=descending] button::after { content: " \25be" }
details { margin: .3rem 0; padding-left: .2rem } summary { cursor: pointer }
details > :not(summary) { margin-left: 1rem }
blockquote { margin: .5rem 0; padding: .4rem .8rem; background: var(--block); border-left: 3px solid var(--line);
  white-space: pre-wrap; max-height: 30rem; overflow-y: auto }
figure { margin: 1rem 0; overflow-x: auto } svg { max-width: 100%; height: auto }
@media print {
  @page { margin: 1.5cm }
  :root { --ink: #000; --paper: #fff; --faint: #444; --line: #bbb; --block: #f3f3f1 }
  body { max-width: none; padding: 0; font-size: 10pt }
  table { width: 100%; font-size: 8pt } th { white-space: normal } th, td { padding-right: .5rem }
  thead { display: table-header-group } tr, figure { break-inside: avoid }
  td, .figure { overflow-wrap: anywhere }
  .wide, figure { overflow: visible } nav, .filters { display: none }
  h1, h2, h3, summary { break-after: avoid }
  details > * { display: block } details::details-content { content-visibility: visible }
  blockquote { max-height: none }
}
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page; `anchor` is the target for links to the section, by default its number."""

    heading: str
    body: Html
    anchor: str = ""


def report_section(report: Report) -> Section:
    """The section for a report: differences, numbers with intervals, n and methods, notes, and settings."""
    unscored = sum(bool(rating.unscored) for rating in report.ratings)
    missing = f"{unscored} of {len(report.ratings)} verdicts are missing." if unscored else ""
    body = joined(
        differences_table(report.rows),
        rows_table([row for row in report.rows if not row.is_difference]),
        bullets([*report.notes, *([missing] if missing else [])]),
        details("How this was made", how_list(report.how)) if report.how else "",
    )
    return Section(report.evaluator, body)


def rows_table(rows: Sequence[Row]) -> Html:
    """A table of numbers with intervals, n and methods."""
    levels = {row.scored.level for row in rows if isinstance(row.scored, Estimate)}
    level = f"{100 * levels.pop():g} % interval" if len(levels) == 1 else "interval"
    head = ("of", "measure", "value", level, "n", "made by")
    return html_table(head, [_cells(row) for row in rows], right=(2, 4))


def differences_table(rows: Iterable[Row], heading: str = "Differences between systems") -> Html:
    """A table of the differences between systems, with simultaneous intervals; empty if there are no differences."""
    found = [row for row in rows if row.is_difference]
    if not found:
        return Html("")
    head = ("difference", "measure", "value", "95 % interval, all at once", "n", "p, corrected")
    table = html_table(head, [difference_cells(row) for row in found], right=(2, 4, 5))
    return joined(Html(f"<h3>{text(heading)}</h3>"), table)


def difference_cells(row: Row) -> tuple[str, ...]:
    """The cells for a difference: its systems, measure, value, interval, n, and corrected p-value."""
    scored = row.scored
    p = scored.p if isinstance(scored, Estimate) else None
    chance = "" if p is None else "< .001" if p < _LEAST_P else f"{p:.3f}"
    return row.of, row.what.removeprefix(DIFFERENCE), *estimate_cells(scored), chance


def _cells(row: Row) -> tuple[str, ...]:
    what = f"{row.what} (baseline)" if row.baseline else row.what
    made = row.scored.method if isinstance(row.scored, Estimate) else ""
    return (row.of, what, *estimate_cells(row.scored), made)


def how_list(how: Mapping[str, object]) -> Html:
    """A list of settings and their values."""
    return bullets(f"{name}: {value}" for name, value in how.items())


def page(title: str, sections: Sequence[Section], *, lead: str = "", tables: bool = False) -> str:
    """A whole page with its sections in order, and with links to them if there are several.

    With `tables`, the page has a script that sorts and filters the tables of the class `leaderboard`.
    """
    anchors = [part.anchor or f"s{number}" for number, part in enumerate(sections, 1)]
    links = "".join(
        f'<li><a href="#{text(anchor)}">{text(part.heading)}</a></li>'
        for anchor, part in zip(anchors, sections, strict=True)
    )
    parts = "\n".join(
        f'<section id="{text(anchor)}"><h2>{text(part.heading)}</h2>\n{part.body}\n</section>'
        for anchor, part in zip(anchors, sections, strict=True)
    )
    above = f'<p class="lead">{text(lead)}</p>' if lead else ""
    ways = f"<nav><ul>{links}</ul></nav>" if len(sections) > 1 else ""
    code = _TABLES.read_text(encoding="utf-8") if tables else ""
    policy = f"{_POLICY}; script-src 'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" if code else _POLICY
    script = f"<script>{code}</script>\n" if code else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{text(title)}</h1>\n{above}\n{ways}\n{parts}\n</main>\n{script}</body>\n</html>\n"
    )
