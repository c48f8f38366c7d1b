"""An experiment's results as one HTML file, in which every number leads to the calls behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fabula.app.experiment.published import HEAD, NOTE, RIGHT, beside_papers
from fabula.app.experiment.tables import complete
from fabula.app.experiment.terms import cost_rows, quality_against_cost
from fabula.base.html import Html, bullets, details, figure, html_table, joined, paragraph, quotation, text
from fabula.base.version import __version__
from fabula.measure.report.page import Section, differences_table, page, report_section
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import estimate_cells
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.experiment.grid import Contender
    from fabula.app.experiment.results import Results, RunResult
    from fabula.engine.events import CallFinished
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report, Row
    from fabula.stats.estimate import Scored

_PICTURES: Final = 12
_STATES: Final = {"done": "done", "failed": "failed", "unfinished": "not finished"}


def as_page(results: Results) -> str:
    """The page. It is whole in itself; links to stories and folders are relative to the experiment's folder."""
    sections = [Section("Systems", _systems(results))]
    sections += [Section("Costs", terms)] if (terms := _terms(results)) else []
    sections += [Section(m.label, _evaluation(results, m.label)) for m in results.experiment.measures]
    if printed := beside_papers(results):
        table = html_table(HEAD, [line.cells for line in printed], right=RIGHT)
        sections.append(Section("Beside what was published", joined(paragraph(NOTE), table)))
    sections.append(Section("Runs", _runs(results)))
    return page(results.experiment.title, sections, lead=_lead(results))


def _lead(results: Results) -> str:
    experiment = results.experiment
    briefs = len({trial.brief_id for trial in experiment.trials})
    seeds = len({trial.seed for trial in experiment.trials})
    presets = ", ".join(dict.fromkeys(contender.settings.preset for contender in experiment.contenders))
    shown = (
        f"{len(experiment.contenders)} contenders (system, preset, model) on {briefs} briefs with {seeds} seeds: "
        f"{len(results.of_state('done'))} of {len(results.runs)} stories. Presets: {presets}. fabula {__version__}. "
        "Every number leads to the runs and calls behind it."
    )
    return shown if complete(results) else f"Not complete. {shown}"


# systems --------------------------------------------------------------------------------------------------------------


def _systems(results: Results) -> Html:
    notes = []
    if results.stopped:
        notes.append(f"Stopped before its end: {results.stopped}")
    if unfinished := len(results.of_state("unfinished")):
        notes.append(f"{unfinished} runs are not finished; nothing is measured before they are.")
    if failed := len(results.of_state("failed")):
        notes.append(
            f"{failed} runs failed. Their stories are missing below, so systems may be compared on unlike briefs."
        )
    notes += [
        f"{run.trial.id} was changed by hand ({', '.join(run.changed)}): its story is not the system's alone."
        for run in results.runs
        if run.changed
    ]
    notes += [f"Briefs: {notice}." for notice in results.experiment.data]
    notes.append("Words, calls, tokens, time and cost are means over finished stories, with 95 % intervals by brief.")
    notes.append("Model time is the sum of all calls' seconds; calls side by side take less time than that.")
    return joined(bullets(notes), _costs(results))


def _costs(results: Results) -> Html:
    head: list[str] = ["contender", "system", "preset", "model", "stories"]
    rows = []
    for contender in results.experiment.contenders:
        runs, measures = results.of(contender), results.rows(contender)
        settings = contender.settings
        done = sum(run.outcome.state == "done" for run in runs)
        name = contender.label + (" (added baseline)" if contender.baseline else "")
        cells: list[str] = [name, settings.system, settings.preset, settings.model]
        cells.append(_link(f"#{_anchor(contender)}", f"{done} of {len(runs)}"))
        cells += [_number(row, f"#{_anchor(contender)}") for row in measures]
        rows.append(cells)
        if len(head) < len(cells):
            head += [f"{row.what} per story" for row in measures]
    return html_table(head, rows, right=range(4, len(head)))


def _terms(results: Results) -> Html:
    """What the contenders took beside each other, how near matched ones came, and quality against that."""
    rows = cost_rows(results)
    near = [(row.of, row.what, *estimate_cells(row.scored)) for row in rows if not row.is_difference]
    found = joined(differences_table(rows))
    if near:
        found = joined(found, html_table(("contender", "share", "value", "95 % interval", "n"), near, right=(2, 4)))
    for label, report in results.reports.items():
        against = [
            (of, f"{label}: {what}", *estimate_cells(quality)[:2], *estimate_cells(tokens))
            for of, what, quality, tokens in quality_against_cost(results, report)
        ]
        if against:
            head = ("contender", "quality", "value", "95 % interval", "tokens per story", "95 % interval", "n")
            found = joined(found, html_table(head, against, right=(2, 4, 6)))
    return found


def _number(row: Row, target: str) -> Html:
    """A number with its interval and n, leading to what is behind it."""
    value, interval, n = estimate_cells(row.scored)
    shown = f"{value} [{interval}]" if interval and not interval.isalpha() else value
    return joined(_link(target, shown) if target else text(shown), Html(f'<span class="faint">n {text(n)}</span>'))


# evaluators -----------------------------------------------------------------------------------------------------------


def _evaluation(results: Results, label: str) -> Html:
    report = results.reports.get(label)
    if report is None:
        return paragraph(results.failures.get(label, "Not measured yet."))
    return joined(
        _by_contender(results, report),
        _pictures(results, report),
        details(f"Every number, and how it was made ({len(report.rows)})", report_section(report).body),
        _verdicts(results, label, report.ratings),
        _calls(results.judging.get(label, ()), label),
        paragraph(f"In evaluation/{label}: the report as JSON, the verdicts, and the journal of all calls."),
        _link(_file("evaluation", label), "Open the folder"),
    )


def _by_contender(results: Results, report: Report) -> Html:
    rows = results.measured(report)
    if not rows:
        return paragraph("It says nothing of single systems; see every number below.")
    anchors = {contender.label: f"#{_anchor(contender)}" for contender in results.experiment.contenders}
    labels = results.experiment.labels  # stories that were there have no runs to lead to
    whats = list(dict.fromkeys((row.what, row.baseline) for row in rows))
    known = {(row.of, row.what, row.baseline): row for row in rows}
    table = [
        [f"{what} (baseline)" if baseline else what]
        + [
            _number(known[label, what, baseline], anchors.get(label, "")) if (label, what, baseline) in known else ""
            for label in labels
        ]
        for what, baseline in whats
    ]
    return html_table(["measure", *labels], table, right=range(1, len(labels) + 1))


def _pictures(results: Results, report: Report) -> Html:
    """A picture of each of the first measures: contenders with their intervals."""
    measures: dict[str, list[tuple[str, Scored]]] = {}
    for row in results.measured(report):
        if not row.baseline:
            measures.setdefault(row.what, []).append((row.of, row.scored))
    drawn = [figure(intervals_svg(rows, title=what)) for what, rows in list(measures.items())[:_PICTURES]]
    return details("Pictures", joined(*drawn)) if drawn else Html("")


def _verdicts(results: Results, label: str, ratings: Sequence[Rating]) -> Html:
    """The single verdicts, each with its reason and a way to its call and stories."""
    if not ratings:
        return Html("")
    known = {run.trial.id for run in results.runs}
    rows = [
        [
            joined(*(_link(f"#{_run_anchor(item)}", item) if item in known else text(item) for item in rating.items)),
            rating.question,
            str(rating.answer) if rating.answer is not None else f"none: {rating.unscored}",
            details(rating.shown or "why", quotation(rating.reason)) if rating.reason else rating.shown,
            _link(f"#{_call_anchor(label, rating.call)}", rating.call) if rating.call else "",
        ]
        for rating in ratings
    ]
    head = ["stories, as shown", "question", "verdict", "as given", "call"]
    return details(f"Every verdict ({len(ratings)})", html_table(head, rows))


# runs -----------------------------------------------------------------------------------------------------------------


def _runs(results: Results) -> Html:
    return joined(*(_of_contender(results, contender) for contender in results.experiment.contenders))


def _of_contender(results: Results, contender: Contender) -> Html:
    runs = results.of(contender)
    head = ["run", "ended", "words", "calls", "tokens", "model seconds", "US dollars"]
    rows = [
        [
            _link(f"#{_run_anchor(run.trial.id)}", run.trial.id),
            _STATES[run.outcome.state],
            f"{run.words:,}",
            f"{run.record.calls:,}",
            f"{run.tokens:,}",
            f"{run.usage.seconds:,.1f}",
            _dollars(run.usage.cost),
        ]
        for run in runs
    ]
    heading = Html(f'<h3 id="{_anchor(contender)}">{text(contender.label)}</h3>')
    return joined(heading, html_table(head, rows, right=range(2, len(head))), *(_run(run) for run in runs))


def _run(run: RunResult) -> Html:
    name = run.trial.id
    links = [_link(_file("runs", name, file), file) for file in ("story.md", "brief.md", "fabula.toml")]
    links.append(_link(_file("runs", name), "the project folder"))
    error = paragraph(f"{run.outcome.kind}: {run.outcome.error}") if run.outcome.error else Html("")
    shown = paragraph(f"Prompts and replies: fabula show --prompts -C runs/{name}", faint=True)
    body = joined(error, bullets(links), shown, _calls(run.calls, name))
    return Html(f'<div id="{_run_anchor(name)}">{details(f"{name}: {_STATES[run.outcome.state]}", body)}</div>')


def _calls(calls: Sequence[CallFinished], where: str) -> Html:
    """The calls of a journal; the first of a path can be linked to."""
    if not calls:
        return Html("")
    met: set[str] = set()
    rows = [
        [
            _call(call.path, where, met),
            call.role,
            call.performer,
            f"{call.usage.prompt:,}",
            f"{call.usage.cached:,}",
            f"{call.usage.reply:,}",
            f"{call.usage.seconds:,.1f}",
            _dollars(call.usage.cost),
        ]
        for call in calls
    ]
    head = ["call", "role", "by", "prompt tokens", "cached", "reply tokens", "seconds", "US dollars"]
    return details(f"Calls ({len(calls)})", html_table(head, rows, right=range(3, len(head))))


def _call(path: str, where: str, met: set[str]) -> Html:
    if path in met:
        return text(path)
    met.add(path)
    return Html(f'<span id="{_call_anchor(where, path)}">{text(path)}</span>')


# links ----------------------------------------------------------------------------------------------------------------


def _link(target: str, shown: str) -> Html:
    return Html(f'<a href="{text(target)}">{text(shown)}</a>')


def _file(*parts: str) -> str:
    return quote("/".join(parts))


def _anchor(contender: Contender) -> str:
    return f"contender-{contender.label}"


def _run_anchor(run: str) -> str:
    return f"run-{run.replace('/', '--')}"


def _call_anchor(where: str, path: str) -> str:
    return f"call-{where.replace('/', '--')}--{'.'.join(slug(part) for part in path.split('/'))}"


def _dollars(cost: float | None) -> str:
    return "price unknown" if cost is None else f"{cost:,.4f}"
