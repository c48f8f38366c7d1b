"""An experiment's results as a page: differences first, then quality and cost of each system, with links to runs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fabula.app.experiment.grid import ALWAYS
from fabula.app.experiment.pieces import FOLDER, STATES, Pieces
from fabula.app.experiment.published import HEAD, NOTE, RIGHT, beside_papers
from fabula.app.experiment.tables import NEARNESS, complete
from fabula.app.experiment.terms import cost_rows, quality_against_cost
from fabula.base.html import Html, bullets, details, figure, html_table, joined, link, paragraph, text
from fabula.base.version import __version__
from fabula.measure.report.page import Section, differences_table, how_list, page, rows_table
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import Estimate, estimate_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.app.experiment.results import Results
    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored

_PICTURES: Final = 12
_MOST_RUNS: Final = 40_000  # of which a table stands in the page; more are found on their pages alone
_NAMED: Final = 20  # runs in a sentence


def as_page(results: Results, pieces: Pieces | None = None) -> str:
    """The page. Links to the pages next to it, to stories and to folders are relative to the experiment's folder."""
    pieces = pieces or Pieces(results)
    sections = list(_differences(results))
    sections.append(Section("Systems", _systems(results)))
    sections += [Section("Costs", terms)] if (terms := _terms(results)) else []
    sections += [Section(m.label, _evaluation(results, pieces, m.label)) for m in results.experiment.measures]
    if printed := beside_papers(results):
        table = html_table(HEAD, [line.cells for line in printed], right=RIGHT)
        sections.append(Section("Compared with published values", joined(paragraph(NOTE), table)))
    sections.append(Section("Runs", _runs(results, pieces), "runs"))
    return page(results.experiment.title, sections, lead=_lead(results), tables=True)


def _lead(results: Results) -> str:
    experiment = results.experiment
    briefs = len({trial.brief_id for trial in experiment.trials})
    seeds = len({trial.seed for trial in experiment.trials})
    presets = ", ".join(dict.fromkeys(contender.settings.preset for contender in experiment.contenders))
    shown = (
        f"{len(experiment.contenders)} contenders (system, preset, model) on {briefs} briefs with {seeds} seeds: "
        f"{len(results.of_state('done'))} of {len(results.runs)} stories. Presets: {presets}. fabula {__version__}."
    )
    return shown if complete(results) else f"Not complete. {shown}"


def _differences(results: Results) -> Iterator[Section]:
    """What reports say about every two systems, paired by brief."""
    ordered = sorted(results.reports.items(), key=lambda one: one[0] == ALWAYS)  # what judges say stands first
    shown = [table for label, report in ordered if (table := differences_table(results.named(report.rows), label))]
    if shown:
        note = "Each difference is paired by brief, and its interval is corrected for the number of differences."
        yield Section("Differences between systems", joined(paragraph(note, faint=True), *shown))


# systems --------------------------------------------------------------------------------------------------------------


def _systems(results: Results) -> Html:
    notes = []
    if results.stopped:
        notes.append(f"Stopped early: {results.stopped}")
    if unfinished := len(results.of_state("unfinished")):
        notes.append(f"{unfinished} runs are not finished. Stories are measured when all runs have ended.")
    if failed := len(results.of_state("failed")):
        notes.append(
            f"{failed} runs failed. Their stories are missing below, so systems may be compared on different briefs."
        )
    changed = [run for run in results.runs if run.changed]
    notes += [
        f"{run.trial.id} was changed by a person ({', '.join(run.changed)}), so its story is not only the "
        "system's work."
        for run in changed[:_NAMED]
    ]
    if len(changed) > _NAMED:
        notes.append(f"{len(changed) - _NAMED} more runs were changed by a person, as their pages show.")
    notes += [f"Briefs: {notice}." for notice in results.experiment.data]
    notes.append("Words, calls, tokens, time and cost are means over finished stories, with 95 % intervals by brief.")
    notes.append("Model time is the total duration of all calls; concurrent calls take less time than this.")
    return joined(Html(f'<div class="leaderboard">{_board(results)}</div>'), bullets(notes))


def _board(results: Results) -> Html:
    """A line for each contender: the first measure of every evaluator, then length and costs."""
    first = {label: _first(results, report) for label, report in results.reports.items() if label != ALWAYS}
    shown = {f"{label}: {rows[0].what}": {row.of: row for row in rows} for label, rows in first.items() if rows}
    head = ["contender", "system", "preset", "model", "stories", *shown]
    best = next(iter(shown.values()), {})
    rows = []
    for contender in sorted(results.experiment.contenders, key=lambda one: _rank(best.get(one.label))):
        runs, measures = results.of(contender), results.rows(contender)
        settings = contender.settings
        done = sum(run.outcome.state == "done" for run in runs)
        name = contender.label + (" (added baseline)" if contender.baseline else "")
        cells: list[str] = [name, settings.system, settings.preset, settings.model, f"{done} of {len(runs)}"]
        cells += [_number(of[contender.label]) if contender.label in of else "" for of in shown.values()]
        cells += [_number(row) for row in measures]
        rows.append(cells)
        if len(head) < len(cells):
            head += [f"{row.what} per story" for row in measures]
    return html_table(head, rows, right=range(4, len(head)))


def _rank(row: Row | None) -> float:
    """The key for sorting with the highest number first; entries without a number come last."""
    return -row.scored.value if row is not None and isinstance(row.scored, Estimate) else math.inf


def _first(results: Results, report: Report) -> list[Row]:
    """The first measure of a report by contender, for the story as a whole if there is one."""
    rows = [row for row in results.measured(report) if not row.baseline]
    whats = sorted(dict.fromkeys(row.what for row in rows), key=lambda what: not what.endswith("/overall"))
    return [row for row in rows if row.what == whats[0]]


def _terms(results: Results) -> Html:
    """What the contenders used, how near matched ones came, and quality relative to cost."""
    rows = results.named(cost_rows(results))
    near = [(row.of, row.what, *estimate_cells(row.scored)) for row in rows if not row.is_difference]
    found = joined(differences_table(rows))
    if near:
        found = joined(found, html_table(NEARNESS, near, right=(2, 4)))
    for label, report in results.reports.items():
        against = [
            (of, f"{label}: {what}", *estimate_cells(quality)[:2], *estimate_cells(tokens))
            for of, what, quality, tokens in quality_against_cost(results, report)
        ]
        if against:
            head = ("contender", "quality", "value", "95 % interval", "tokens per story", "95 % interval", "n")
            found = joined(found, html_table(head, against, right=(2, 4, 6)))
    return found


def _number(row: Row) -> Html:
    """A number with its interval and n."""
    value, interval, n = estimate_cells(row.scored)
    shown = f"{value} [{interval}]" if interval and isinstance(row.scored, Estimate) else value
    return joined(text(shown), Html(f'<span class="faint">n {text(n)}</span>'))


# evaluators -----------------------------------------------------------------------------------------------------------


def _evaluation(results: Results, pieces: Pieces, label: str) -> Html:
    report = results.reports.get(label)
    if report is None:
        return paragraph(results.failures.get(label, "Not measured yet."))
    ids = set(pieces.number)
    others = [row for row in report.rows if row.of not in ids and not row.is_difference]
    calls = results.judging.get(label, ())
    return joined(
        _by_contender(results, report),
        _pictures(results, report),
        bullets(report.notes),
        details(f"Every number except those of single stories ({len(others)})", rows_table(others)) if others else "",
        details("How this was made", how_list(report.how)) if report.how else "",
        _pages_of(f"Every verdict ({len(report.ratings)})", pieces.pages_of("verdicts", label, len(report.ratings))),
        _pages_of(f"Calls of the judge ({len(calls)})", pieces.pages_of("calls", label, len(calls))),
        paragraph(
            f"The folder evaluation/{label} contains the report as JSON, the verdicts, and the journal of all calls."
        ),
        link(quote(f"evaluation/{label}"), "Open the folder"),
    )


def _pages_of(what: str, names: Sequence[str]) -> Html:
    if not names:
        return Html("")
    links = [link(quote(f"{FOLDER}/{name}"), str(number)) for number, name in enumerate(names, 1)]
    return Html(f"<p>{text(what)}: {' '.join(links)}</p>")


def _by_contender(results: Results, report: Report) -> Html:
    rows = results.measured(report)
    if not rows:
        return paragraph("This report has no numbers for single systems. All numbers are listed below.")
    labels = results.experiment.labels
    whats = list(dict.fromkeys((row.what, row.baseline) for row in rows))
    known = {(row.of, row.what, row.baseline): row for row in rows}
    table = [
        [f"{what} (baseline)" if baseline else what]
        + [_number(known[label, what, baseline]) if (label, what, baseline) in known else "" for label in labels]
        for what, baseline in whats
    ]
    return html_table(["measure", *labels], table, right=range(1, len(labels) + 1))


def _pictures(results: Results, report: Report) -> Html:
    """A picture of the first measure of each report: contenders with their intervals."""
    measures: dict[str, list[tuple[str, Scored]]] = {}
    for row in results.measured(report):
        if not row.baseline:
            measures.setdefault(row.what, []).append((row.of, row.scored))
    drawn = [figure(intervals_svg(rows, title=what)) for what, rows in list(measures.items())[:_PICTURES]]
    return details("Pictures", joined(*drawn)) if drawn else Html("")


# runs -----------------------------------------------------------------------------------------------------------------


def _runs(results: Results, pieces: Pieces) -> Html:
    """The table of runs, which the page's script builds from their numbers, and links to all pages that show them."""
    first = [runs[0].trial.id for runs in pieces.runs]
    listed = bullets(link(quote(f"{FOLDER}/runs-{n:03}.html"), f"from {name}") for n, name in enumerate(first, 1))
    note = paragraph("The page of a run shows its story, transcript, numbers and verdicts.")
    if len(results.runs) > _MOST_RUNS:
        return joined(note, listed)
    data = f'<script type="application/json" id="runs-data">{_data(results, pieces)}</script>'
    here = '<div id="runs-here"></div>'
    return joined(note, Html(here), details(f"Pages of runs ({len(pieces.runs)})", listed), Html(data))


def _data(results: Results, pieces: Pieces) -> str:
    """The numbers of all runs as JSON that cannot close the element around it."""
    contenders = {contender.label: n for n, contender in enumerate(results.experiment.contenders)}
    briefs = {name: n for n, name in enumerate(dict.fromkeys(run.trial.brief_id for run in results.runs))}
    states = list(STATES)
    rows = []
    for run in results.runs:
        trial, usage = run.trial, run.usage
        row = [contenders[trial.contender.label], briefs[trial.brief_id], trial.seed]
        row += [states.index(run.outcome.state), run.words, run.record.calls, run.tokens]
        rows.append([*row, round(usage.seconds, 1), usage.cost, pieces.number[trial.id]])
    head = ["run", "ended", "words", "calls", "tokens", "model seconds", "US dollars"]
    data = {"folder": FOLDER, "head": head, "contenders": list(contenders), "briefs": list(briefs), "runs": rows}
    shown = json.dumps(data | {"states": list(STATES.values())}, separators=(",", ":"), allow_nan=False)
    return shown.replace("<", "\\u003c")
