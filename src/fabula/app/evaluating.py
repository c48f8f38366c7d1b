"""Running an evaluator in a folder that keeps its calls, verdicts and report, for the command line and notebooks.

DIR/.fabula/journal.db   every call; nothing is paid for twice
DIR/<evaluator>.json     the report: numbers with their intervals
DIR/<evaluator>.csv      the same numbers, one per line
DIR/ratings.jsonl        every verdict of every evaluator that ran here
DIR/earlier/             replaced reports and their verdicts, by time
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.item_files import notices
from fabula.app.writing import Options, PreparedMethod, recorded_run
from fabula.base.errors import UsageError
from fabula.base.extras import require
from fabula.base.files import held, make_folder, read_text, remove_leftovers, write_atomically
from fabula.engine.journal import Journal
from fabula.engine.run import Run
from fabula.measure.ratings import Rating, read_ratings, write_ratings
from fabula.measure.report import Report, csv_of
from fabula.measure.report.page import page, report_section

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.models.budget import Budget
    from fabula.project.settings import Settings


RATINGS: Final = "ratings.jsonl"
EARLIER: Final = "earlier"
"""The folder of replaced reports: NAME-TIME.json and NAME-TIME.ratings.jsonl."""
_MOST_BYTES: Final = 50_000_000
_A_PAIR: Final = 2


@dataclass(frozen=True)
class Evaluation:
    """A report, and the budget with the cost of this run by role."""

    report: Report
    budget: Budget


@dataclass(frozen=True)
class EvaluationTask:
    """What is measured, how, and where the results are kept.

    Attributes:
        config: the evaluator's own `Config`.
        folder: the folder for journal, report and ratings; `None` keeps nothing (for evaluators that call no model).
    """

    evaluator: Evaluator
    items: Sequence[Item]
    config: Any
    folder: Path | None = None


async def evaluate_in(task: EvaluationTask, settings: Settings, options: Options) -> Evaluation:
    """The report of the evaluator; recorded calls are replayed.

    Raises:
        FabulaError: an error of any kind; all finished calls are kept, and the same command continues from there.
    """
    prepared = PreparedMethod(settings, options, task.evaluator)
    if task.evaluator.roles and len(task.items) > _A_PAIR:  # of fewer there is no interval; after the calls is too late
        require("scipy", "measure", "An interval over several stories")
    with journal_in(task.folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                report = await task.evaluator.evaluate(task.items, Run(context), task.config)
        if data := notices(item.source for item in task.items):
            report = replace(report, how={**report.how, "data": "; ".join(data)})
        if task.folder is not None:
            _write(task.folder, report)
    return Evaluation(report, context.budget)


async def dry_run_evaluation(task: EvaluationTask, settings: Settings, options: Options) -> DryRun:
    """The calls and cost of `evaluate_in` now. It calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options, task.evaluator)
    with journal_to_read(task.folder) as journal:
        async with prepared.opened(journal, dry=True) as context:
            await task.evaluator.evaluate(task.items, Run(context), task.config)
    context.dry_run.shortfalls = list(dict.fromkeys(context.shortfalls))
    return context.dry_run


def write_page(folder: Path, evaluator: Evaluator, report: Report) -> Path:
    """The file of a report's page, which is written to `folder`."""
    file = folder / f"{report.evaluator}.html"
    title = f"{evaluator.name[:1].upper()}{evaluator.name[1:]}"
    write_atomically(file, page(title, [report_section(report)], lead=str(evaluator.paper["summary"])))
    return file


@contextmanager
def journal_in(folder: Path | None) -> Iterator[Journal]:
    """The open journal of an output folder, locked for this process; without a folder, a journal in memory.

    Raises:
        ProjectError: another process is working in the folder.
        JournalError: the journal cannot be used.
    """
    if folder is None:
        with Journal() as journal:
            yield journal
        return
    record = folder / ".fabula"
    with held(record, f"The folder {folder}"):
        remove_leftovers((folder, record))
        with Journal(record / "journal.db") as journal:
            yield journal


def journal_to_read(folder: Path | None) -> Journal:
    """The journal of an output folder, for reading only; empty if there is none."""
    file = None if folder is None else folder / ".fabula" / "journal.db"
    return Journal(file if file is not None and file.exists() else None)


def _verdict(rating: Rating) -> tuple[object, ...]:
    """What identifies a verdict: two ratings with the same value are the same verdict."""
    return rating.evaluator, rating.rater, rating.items, rating.question, rating.call


def _write(folder: Path, report: Report) -> None:
    """Write the report, and add its ratings to the existing ones; a repeated verdict replaces the old one."""
    file = folder / RATINGS
    data = json.dumps(report.as_data(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    _keep_earlier(folder, report.evaluator, data)
    new: dict[tuple[object, ...], list[Rating]] = defaultdict(list)
    for rating in report.ratings:
        new[_verdict(rating)].append(rating)
    ratings: list[Rating] = []
    given = set(new)
    for old in read_ratings(file) if file.exists() else ():
        ratings += new.pop(_verdict(old), []) if _verdict(old) in given else [old]
    ratings += [rating for more in new.values() for rating in more]
    if ratings:
        write_atomically(file, write_ratings(ratings))
    write_atomically(folder / f"{report.evaluator}.json", data)
    write_atomically(folder / f"{report.evaluator}.csv", csv_of([report]))


def _keep_earlier(folder: Path, evaluator: str, new: str) -> None:
    """Keep a report that another one replaces, with its verdicts."""
    file = folder / f"{evaluator}.json"
    try:
        old = read_text(file, _MOST_BYTES, links=False)
        verdicts = read_ratings(folder / RATINGS) if (folder / RATINGS).is_file() else ()
    except UsageError:
        return  # there is none, or none that could be shown
    if old == new:
        return
    changed = file.stat().st_mtime
    place = folder / EARLIER / f"{evaluator}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(changed))}.json"
    make_folder(place.parent)
    own = [rating for rating in verdicts if rating.evaluator == evaluator]
    if own:
        write_atomically(place.with_suffix(f".{RATINGS}"), write_ratings(own))
    write_atomically(place, old)
    os.utime(place, (changed, changed))
