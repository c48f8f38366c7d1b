"""The files of an experiment's report."""

from __future__ import annotations

import io
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fabula.app.experiment.grid import ALWAYS, Contender
from fabula.app.experiment.pieces import FOLDER, STATES, Pieces, read_run
from fabula.app.experiment.published import HEAD, NOTE, RIGHT, beside_papers
from fabula.app.experiment.tables import COLUMNS, NEARNESS, as_csv, as_data, as_parquet, complete, lines, paper_tables
from fabula.app.experiment.terms import cost_rows, quality_against_cost
from fabula.base.extras import package
from fabula.base.files import make_folder, write_atomically
from fabula.base.html import Html, bullets, details, figure, html_table, joined, link, paragraph, text
from fabula.base.version import __version__
from fabula.measure.report.formats import latex_of, markdown_of
from fabula.measure.report.page import Section, differences_table, how_list, page, rows_table
from fabula.measure.report.pictures import intervals_svg
from fabula.stats.estimate import Estimate, Scored, estimate_cells
from fabula.story import slug

if TYPE_CHECKING:
    from pandas import DataFrame

    from fabula.app.bills import Bill
    from fabula.app.experiment.results import Results, RunResult
    from fabula.engine.journal import Call
    from fabula.measure.report import Report, Row
    from fabula.models.base import Usage


ReportFormat: TypeAlias = Literal["parquet", "eval"]
_INDENTED: Final = 1000  # runs of which the JSON may be read by people


@dataclass(frozen=True)
class Experimented:
    """An experiment that was run, even if it is not complete.

    Attributes:
        results: runs and reports.
        files: the files of the report, by format.
        bill: the cost of the calls made now.
    """

    results: Results
    files: Mapping[str, Path]
    bill: Bill

    @property
    def complete(self) -> bool:
        """Whether every run is over and every evaluator has measured."""
        return complete(self.results)

    @property
    def stopped(self) -> str:
        """Why it stopped early; empty if it did not."""
        return self.results.stopped

    def lines(self) -> list[dict[str, Any]]:
        """Every number as a dictionary, all with the same keys, for data frames of pandas and polars."""
        return lines(self.results)

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame, one per row.

        Raises:
            UsageError: pandas is not installed; `lines` works without it.
        """
        frame: DataFrame = package("pandas", "A data frame").DataFrame(self.lines(), columns=list(COLUMNS))
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The result as `fabula lab experiment --json` prints it."""
        files = {"files": {kind: str(file) for kind, file in self.files.items()}}
        return as_data(self.results) | files | self.bill.as_data()

    def _repr_html_(self) -> str:
        shown = []
        for table in paper_tables(self.results):
            right = range(table.names, len(table.head))
            shown.append(joined(paragraph(table.caption), html_table(table.head, table.rows, right)))
        return joined(*shown)


def write_report(results: Results, also: Sequence[ReportFormat] = ()) -> dict[str, Path]:
    """Write the report as HTML with its pages, JSON, CSV, Markdown, LaTeX and more; the files by format.

    Raises:
        UsageError: a package that a format needs is not installed; the other formats are written.
        ProjectError: a file cannot be written.
    """
    folder = results.experiment.folder
    pieces = Pieces(results)
    pieces.write()
    tables = list(paper_tables(results))
    indent = 2 if len(results.runs) <= _INDENTED else None
    data = json.dumps(as_data(results), indent=indent, ensure_ascii=False, allow_nan=False)
    texts = {
        "html": as_page(results, pieces),
        "json": data + "\n",
        "csv": as_csv(results),
        "md": markdown_of(tables),
        "tex": latex_of(tables),
    }
    files = {kind: folder / f"report.{kind}" for kind in texts}
    for kind, shown in texts.items():
        write_atomically(files[kind], shown)
    if "eval" in also:
        files["eval"] = write_logs(results, pieces)
    if "parquet" in also:
        files["parquet"] = folder / "report.parquet"
        write_atomically(files["parquet"], as_parquet(results))
    return files


# logs that inspect view opens -----------------------------------------------------------------------------------------
# An experiment as logs that `inspect view` opens: a file for each contender, a sample for each run.
#
# The format is Inspect's own (a ZIP of JSON files, version 2), which its viewer reads. Inspect itself is not needed.


_LOGS: Final = "eval"
_VERSION: Final = 2
_STORED: Final = (1980, 1, 1, 0, 0, 0)  # the same log has the same bytes


def write_logs(results: Results, pieces: Pieces) -> Path:
    """Write a log for each contender, and return the folder that contains them.

    Raises:
        ProjectError: a log cannot be written.
    """
    folder = results.experiment.folder / _LOGS
    make_folder(folder)
    for contender in results.experiment.contenders:
        made = io.BytesIO()
        with ZipFile(made, "w", ZIP_DEFLATED) as log:
            _write_log(log, results, pieces, contender)
        write_atomically(folder / f"{slug(contender.label)}.eval", made.getvalue())
    return folder


def _write_log(log: ZipFile, results: Results, pieces: Pieces, contender: Contender) -> None:
    runs = [run for run in results.of(contender) if run.outcome.state != "unfinished"]
    seeds = sorted({run.trial.seed for run in results.runs})
    ended = sorted(run.outcome.ended for run in runs if run.outcome.ended)
    first, last = (ended[0], ended[-1]) if ended else ("1970-01-01T00:00:00+00:00",) * 2
    head = {"version": _VERSION, "eval": _spec(results, contender, first), "plan": _plan(contender)}
    _put(log, "_journal/start.json", head)
    summaries = []
    for run in runs:
        sample = _sample(run, seeds.index(run.trial.seed) + 1, pieces, results)
        _put(log, f"samples/{run.trial.brief_id}_epoch_{sample['epoch']}.json", sample)
        kept = ("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "role_usage")
        said = {"message_count": len(sample["messages"]), "completed": True}
        if "error" in sample:
            said["error"] = sample["error"]["message"]
        summaries.append({name: sample[name] for name in kept} | said)
    _put(log, "summaries.json", summaries)
    status = "success" if complete(results) else "cancelled"
    stats = {"started_at": first, "completed_at": last, "model_usage": _usage_by_model(summaries)}
    figures = {"results": _results(results, contender, runs), "stats": stats}
    _put(log, "header.json", {**head, "status": status, **figures})


def _put(log: ZipFile, name: str, data: object) -> None:
    shown = json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    log.writestr(ZipInfo(name, _STORED), shown, ZIP_DEFLATED)


def _spec(results: Results, contender: Contender, created: str) -> dict[str, Any]:
    title, settings = results.experiment.title, contender.settings
    briefs = list(dict.fromkeys(run.trial.brief_id for run in results.of(contender)))
    return {
        "eval_id": _id(title, contender.label),
        "run_id": _id(title),
        "task_id": _id(title, "task"),
        "created": created,
        "task": title,
        "task_version": 0,
        "task_args": {"contender": contender.label, "system": settings.system, "preset": settings.preset},
        "dataset": {"name": "briefs", "samples": len(briefs), "sample_ids": briefs},
        "model": settings.model,
        "config": {"epochs": len({run.trial.seed for run in results.of(contender)}) or 1},
        "packages": {"fabula": __version__},
    }


def _plan(contender: Contender) -> dict[str, Any]:
    params = {"preset": contender.settings.preset, **contender.settings.config}
    return {"name": "plan", "steps": [{"solver": contender.settings.system, "params": params}], "config": {}}


def _sample(run: RunResult, epoch: int, pieces: Pieces, results: Results) -> dict[str, Any]:
    """A run: the brief and its story as a conversation, every call as an event, its numbers as scores."""
    trial, model = run.trial, run.trial.contender.settings.model
    calls, story = read_run(run)
    about = {"run": trial.id, "seed": trial.seed, "words": run.words, "verdicts": _verdicts(run, pieces, results)}
    messages = [{"role": "user", "content": trial.brief.text}, {"role": "assistant", "content": story, "model": model}]
    sample: dict[str, Any] = {
        "id": trial.brief_id,
        "epoch": epoch,
        "input": trial.brief.text,
        "target": "",
        "messages": messages if story else messages[:1],
        "output": _output(model, story),
        "scores": _scores(run, pieces),
        "metadata": about,
        "store": {},
        "events": list(_events(calls)),
        "model_usage": {name: _usage(usage) for name, usage in _by_performer(calls).items()},
        "role_usage": {},
        "attachments": {},
    }
    if run.outcome.error:
        message = f"{run.outcome.kind}: {run.outcome.error}"
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
    return sample


def _output(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "source": "generate", "model": model}
    return {"model": model, "choices": [{"message": message, "stop_reason": "stop"}], "completion": text}


def _events(calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(calls):
        yield {
            "uuid": f"call-{number}",
            "event": "model",
            "timestamp": call.at,
            "working_start": 0,
            "model": call.performer,
            "role": call.role,
            "input": [{"role": speaker, "content": text} for speaker, text in call.messages],
            "tools": [],
            "tool_choice": "none",
            "config": {},
            "output": _output(call.performer, call.text) | {"usage": _usage(call.reply.usage)},
            "metadata": {"path": call.path},
        }


def _scores(run: RunResult, pieces: Pieces) -> dict[str, Any]:
    return {
        f"{label}/{row.what}": {"value": row.scored.value, "explanation": row.scored.method}
        for label, row in pieces.rows_of(run.trial.id)
        if isinstance(row.scored, Estimate)
    }


def _verdicts(run: RunResult, pieces: Pieces, results: Results) -> list[dict[str, Any]]:
    said = [results.reports[label].ratings[number] for label, number in pieces.verdicts.get(run.trial.id, ())]
    return [
        {"question": one.question, "stories": list(one.items), "answer": one.answer, "reason": one.reason}
        for one in said
    ]


def _results(results: Results, contender: Contender, runs: Sequence[RunResult]) -> dict[str, Any]:
    """What each evaluator found about the contender, with intervals next to the numbers."""
    rows = [("", row) for row in results.rows(contender)]
    for label, report in results.reports.items():
        rows += [(label, row) for row in results.measured(report) if row.of == contender.label]
    scores = []
    for label, row in rows:
        found = row.scored
        if isinstance(found, Estimate):
            about = {"low": found.low, "high": found.high, "n": found.n, "level": found.level, "method": found.method}
            metric = {"name": "mean", "value": found.value, "params": {}, "metadata": about}
            name = f"{label}/{row.what}" if label else row.what
            scores.append({"name": name, "scorer": label or "cost", "params": {}, "metrics": {"mean": metric}})
    done = sum(run.outcome.state == "done" for run in runs)
    return {"total_samples": len(results.of(contender)), "completed_samples": done, "scores": scores}


def _by_performer(calls: Sequence[Call]) -> dict[str, Usage]:
    found: dict[str, list[Usage]] = defaultdict(list)
    for call in calls:
        found[call.performer].append(call.reply.usage)
    return {name: sum(some[1:], some[0]) for name, some in found.items()}


def _usage(usage: Usage) -> dict[str, Any]:
    shown = {"input_tokens": usage.prompt, "output_tokens": usage.reply, "total_tokens": usage.prompt + usage.reply}
    return shown | {"input_tokens_cache_read": usage.cached}


def _usage_by_model(summaries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for summary in summaries:
        for name, usage in summary["model_usage"].items():
            for what, number in usage.items():
                found[name][what] += number
    return found


def _id(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:22]


# the page: differences first, then quality and cost of each system, with links to runs --------------------------------


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
