"""The pages next to an experiment's report: each run's story and calls, and every verdict."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fabula.app.experiment.cell import story_of
from fabula.base.files import make_folder, write_atomically
from fabula.base.html import Html, bullets, details, html_table, joined, link, paragraph, quotation, text
from fabula.base.version import __version__
from fabula.engine.journal import Call, Journal
from fabula.measure.report.page import Section, page
from fabula.project.packed import JOURNAL, STORY, PackedRecord
from fabula.stats.estimate import estimate_cells
from fabula.story import Story, plain, slug

if TYPE_CHECKING:
    from fabula.app.experiment.results import Results, RunResult
    from fabula.engine.events import CallFinished
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Row


FOLDER: Final = "report"
STATES: Final = {"done": "done", "failed": "failed", "unfinished": "not finished"}
_RUNS, _TOKENS = 100, 300_000  # of a page, whichever comes first
_LINES: Final = 500  # verdicts or calls of a page
_KNOWN: Final = "pages.json"
_KINDS: Final = ("runs-", "verdicts-", "calls-")
_FILES: Final = ("story.md", "brief.md", "fabula.toml")


@dataclass(frozen=True)
class Pieces:
    """Decides which page shows what.

    Attributes:
        results: the results of the experiment.
    """

    results: Results
    _rows: dict[str, list[tuple[str, Row]]] = field(default_factory=lambda: defaultdict(list), init=False)

    def __post_init__(self) -> None:
        names = {run.trial.id for run in self.results.runs}
        for label, report in self.results.reports.items():
            for row in report.rows:
                if row.of in names:
                    self._rows[row.of].append((label, row))

    @cached_property
    def runs(self) -> list[list[RunResult]]:
        """The runs of each page, in the order of the experiment."""
        found: list[list[RunResult]] = []
        tokens = 0
        for run in self.results.runs:
            tokens += run.tokens
            if not found or len(found[-1]) == _RUNS or (tokens > _TOKENS and found[-1]):
                found.append([])
                tokens = run.tokens
            found[-1].append(run)
        return found

    @cached_property
    def number(self) -> dict[str, int]:
        """The page number of each run, from 1."""
        return {run.trial.id: number for number, runs in enumerate(self.runs, 1) for run in runs}

    @cached_property
    def verdicts(self) -> dict[str, list[tuple[str, int]]]:
        """The verdicts on each run: the evaluator, and the verdict's number there, from 0."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for label, report in self.results.reports.items():
            for number, rating in enumerate(report.ratings):
                for item in rating.items:
                    found[item].append((label, number))
        return found

    @cached_property
    def _call_pages(self) -> dict[str, dict[str, str]]:
        """The page of each call of a judge, by evaluator and path; for repeated paths, that of the first call."""
        found: dict[str, dict[str, str]] = {}
        for label, calls in self.results.judging.items():
            own = found.setdefault(label, {})
            for number, call in enumerate(calls):
                own.setdefault(call.path, f"{_name('calls', label, number // _LINES + 1)}#{call_anchor(call.path)}")
        return found

    def run_page(self, run: str) -> str:
        """The page that shows a run, relative to the folder of the pages."""
        return f"{_name('runs', '', self.number[run])}#{run_anchor(run)}"

    def rating_page(self, label: str, number: int) -> str:
        """The page that shows a verdict, relative to the folder of the pages."""
        return f"{_name('verdicts', label, number // _LINES + 1)}#verdict-{number}"

    def pages_of(self, kind: str, label: str, many: int) -> list[str]:
        """The pages of an evaluator's verdicts or calls."""
        return [_name(kind, label, number + 1) for number in range(-(-many // _LINES))]

    def rows_of(self, run: str) -> list[tuple[str, Row]]:
        """What evaluators say about the story of a run."""
        return self._rows.get(run, [])

    def write(self) -> Path:
        """Write the pages that are missing or out of date, remove old ones, and return the folder.

        Raises:
            ProjectError: a page cannot be written.
        """
        folder = self.results.experiment.folder / FOLDER
        make_folder(folder)
        before = _known(folder)
        now: dict[str, str] = {}
        for name, state, made in self._all():
            now[name] = sha256(f"{__version__} {state}".encode("utf-8", "replace")).hexdigest()
            if before.get(name) != now[name] or not (folder / name).is_file():
                write_atomically(folder / name, made())
        for name in before.keys() - now.keys():
            (folder / name).unlink(missing_ok=True)
        if before != now:
            write_atomically(folder / _KNOWN, json.dumps(now))
        return folder

    def _all(self) -> Iterator[tuple[str, str, Callable[[], str]]]:
        """The pages: their names, a key for the state that each shows, and the function that makes each."""
        for number, runs in enumerate(self.runs, 1):
            state = repr([(r.trial.id, r.outcome, r.words, r.usage, r.changed, self.rows_of(r.trial.id)) for r in runs])
            said = repr([self.verdicts.get(run.trial.id) for run in runs])
            yield _name("runs", "", number), state + said, partial(self._run_page, runs)
        for label, report in self.results.reports.items():
            for first in range(0, len(report.ratings), _LINES):
                ratings = report.ratings[first : first + _LINES]
                name = _name("verdicts", label, first // _LINES + 1)
                yield name, repr(ratings), partial(self._verdict_page, label, ratings, first)
        for label, calls in self.results.judging.items():
            for first in range(0, len(calls), _LINES):
                some = calls[first : first + _LINES]
                yield _name("calls", label, first // _LINES + 1), repr(some), partial(_call_page, label, some)

    # pages ----------------------------------------------------------------------------------------------------------

    def _run_page(self, runs: Sequence[RunResult]) -> str:
        sections = [Section(run.trial.id, self._run(run), run_anchor(run.trial.id)) for run in runs]
        return page(f"{self.results.experiment.title}: runs", sections, lead=_BACK)

    def _run(self, run: RunResult) -> Html:
        name = run.trial.id
        here = [one for one in _FILES if (run.folder / one).is_file()]
        files = [link(f"../{quote(f'runs/{name}/{one}')}", one) for one in here]
        files.append(link(f"../{quote(f'runs/{name}')}", "the project folder"))
        calls, story = read_run(run)
        return joined(
            paragraph(f"{STATES[run.outcome.state]}, {run.words:,} words, {run.tokens:,} tokens"),
            paragraph(f"{run.outcome.kind}: {run.outcome.error}") if run.outcome.error else "",
            paragraph(f"Changed by hand: {', '.join(run.changed)}.") if run.changed else "",
            Html(f"<p>{' · '.join(files)}</p>"),
            details("Story", quotation(story)) if story else "",
            self._numbers(name),
            self._said(name),
            details(f"Transcript ({len(calls)})", joined(*map(_asked, calls))) if calls else "",
        )

    def _numbers(self, run: str) -> Html:
        rows = [(label, row.what, *estimate_cells(row.scored)) for label, row in self.rows_of(run)]
        head = ("evaluator", "measure", "value", "interval", "n")
        return details(f"Numbers ({len(rows)})", html_table(head, rows, right=(2, 4))) if rows else Html("")

    def _said(self, run: str) -> Html:
        said = []
        for label, number in self.verdicts.get(run, ()):
            rating = self.results.reports[label].ratings[number]
            said.append(link(self.rating_page(label, number), f"{label}, {rating.question}: {_answer(rating)}"))
        return details(f"Verdicts ({len(said)})", bullets(said)) if said else Html("")

    def _verdict_page(self, label: str, ratings: Sequence[Rating], first: int) -> str:
        rows = [self._verdict(label, rating, first + n) for n, rating in enumerate(ratings)]
        head = ["stories, as shown", "question", "verdict", "as given", "call"]
        title = f"{self.results.experiment.title}: verdicts of {label}"
        return page(title, [Section(f"From {first + 1} to {first + len(rows)}", html_table(head, rows))], lead=_BACK)

    def _verdict(self, label: str, rating: Rating, number: int) -> list[str]:
        items = [link(self.run_page(one), one) if one in self.number else text(one) for one in rating.items]
        where = self._call_pages.get(label, {}).get(rating.call)
        return [
            Html(f'<span id="verdict-{number}">{joined(*items)}</span>'),
            rating.question,
            _answer(rating),
            details(rating.shown or "why", quotation(rating.reason)) if rating.reason else rating.shown,
            link(where, rating.call) if where else rating.call,
        ]


_BACK: Final = Html('<a href="../report.html">The report</a>')


def run_anchor(run: str) -> str:
    """The anchor of a run on its page."""
    return f"run-{run.replace('/', '--')}"


def call_anchor(path: str) -> str:
    """The anchor of a call on its page."""
    return f"call-{'.'.join(slug(part) for part in path.split('/'))}"


def dollars(cost: float | None) -> str:
    """A cost as text, also if it is unknown."""
    return "price unknown" if cost is None else f"{cost:,.4f}"


def _name(kind: str, label: str, number: int) -> str:
    return f"{'-'.join(part for part in (kind, label and slug(label)) if part)}-{number:03}.html"


def _answer(rating: Rating) -> str:
    return str(rating.answer) if rating.answer is not None else f"none: {rating.unscored}"


def read_run(run: RunResult) -> tuple[list[Call], str]:
    """The calls of a run with their prompts, and its story."""
    file, done = run.folder / JOURNAL, run.outcome.state == "done"
    if not file.is_file():
        return [], plain(story_of(run.folder).text) if done else ""
    packed = done and PackedRecord.is_in(run.folder)  # one look into the journal gives both
    with Journal(file) as journal:
        calls = journal.calls.find(prompts=True)
        shown = journal.artefacts.newest(STORY) if packed else None
    if not done:
        return calls, ""
    return calls, plain((Story.parse(shown or "") if packed else story_of(run.folder)).text)


def _asked(call: Call) -> Html:
    """A call: its usage, the prompt and the reply."""
    usage = call.reply.usage
    took = f"{usage.prompt:,} tokens read ({usage.cached:,} cached), {usage.reply:,} written, {usage.seconds:,.1f} s"
    said = [joined(paragraph(speaker, faint=True), quotation(words)) for speaker, words in call.messages]
    body = joined(
        paragraph(f"{call.performer}: {took}, {dollars(usage.cost)} US dollars", faint=True),
        details("Prompt", joined(*said)) if said else "",
        quotation(call.text),
    )
    return details(f"{call.role}: {call.path}", body)


def _call_page(label: str, calls: Sequence[CallFinished]) -> str:
    met: set[str] = set()
    rows = []
    for call in calls:
        usage = call.usage
        shown: str = call.path
        if call.path not in met:
            met.add(call.path)
            shown = Html(f'<span id="{call_anchor(call.path)}">{text(call.path)}</span>')
        numbers = (f"{usage.prompt:,}", f"{usage.cached:,}", f"{usage.reply:,}", f"{usage.seconds:,.1f}")
        rows.append([shown, call.role, call.performer, *numbers, dollars(usage.cost)])
    head = ["call", "role", "by", "prompt tokens", "cached", "reply tokens", "seconds", "US dollars"]
    table = html_table(head, rows, right=range(3, len(head)))
    hint = paragraph(f"To see prompts and replies: fabula show --prompts -C evaluation/{label}", faint=True)
    return page(f"Calls of {label}", [Section("Calls", joined(hint, table))], lead=_BACK)


def _known(folder: Path) -> Mapping[str, str]:
    """The existing pages, each with the key of its state."""
    with suppress(ValueError, OSError):
        data = json.loads((folder / _KNOWN).read_text(encoding="utf-8"))
        if isinstance(data, dict):
            return {str(name): str(state) for name, state in data.items() if _is_page(str(name))}
    return {}


def _is_page(name: str) -> bool:
    """Whether a name is that of a page in this folder, and not a path to another folder."""
    return name.startswith(_KINDS) and name.endswith(".html") and not set(name) & set("/\\:")
