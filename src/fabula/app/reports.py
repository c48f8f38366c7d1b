"""Reports that evaluators left in folders, and experiments with all their verdicts, read from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from fabula.app.evaluating import EARLIER, RATINGS, journal_to_read
from fabula.base.characters import readable
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import inside, read_text
from fabula.base.kept import of_file
from fabula.engine.journal import Call, CallFilter
from fabula.measure.ratings import Rating, parse_ratings
from fabula.measure.report import FORMAT, Report, Row
from fabula.project.packed import PackedRecord, packed_story
from fabula.stats.estimate import Estimate, Unscored

FOLDERS: Final = ("evaluation", "reports")
"""The folder of reports in a project."""
_MOST_BYTES: Final = 5_000_000  # of a report: what is read of it takes many times as much
_MOST_RATINGS: Final = 20_000_000  # bytes of single verdicts, which are read line by line
_MOST_LINES: Final = 50_000  # of these
_MOST_PARTS: Final = 400_000  # of a report: lists, tables, and what stands in them
_MOST: Final = 500  # files that are looked at
_MOST_ROWS: Final = 20_000  # numbers of a report
_MOST_CHARACTERS: Final = 20_000  # of a text in it
_DEEPEST: Final = 40  # tables within tables
_LARGEST: Final = 1e100  # a number that is measured is below it
_TEXTS: Final = ("rater", "question", "answer", "shown", "prompt", "unscored", "reason", "call")
_EXPERIMENT: Final = "experiment.toml"
_RESULTS: Final = "report.json"
_HEAD: Final = ("evaluator", "how", "notes")


@dataclass(frozen=True)
class FoundReport:
    """A report on disk. Its contents are read only when needed: a list of reports only needs the evaluators.

    Attributes:
        name: its path in the folder of reports, without the suffix.
        file: its file.
        evaluator: the evaluator that made it.
    """

    name: str
    file: Path
    evaluator: str

    @cached_property
    def report(self) -> Report:
        """The report, without the single verdicts and details.

        Raises:
            UsageError: its numbers cannot be shown, or the file has been replaced.
        """
        report = of_file(self.file, "report", lambda: read_report(read_text(self.file, _MOST_BYTES, links=False)))
        if report is None:
            raise UsageError(
                f"{self.file} is not a report that can be shown. Run the evaluator again, or remove the file."
            )
        return report

    @property
    def changed(self) -> float:
        """The time when it was written, in seconds since 1970."""
        return self.file.stat().st_mtime

    @property
    def is_earlier(self) -> bool:
        """Whether a newer report replaced it."""
        return self.file.parent.name == EARLIER

    @cached_property
    def verdicts(self) -> tuple[Rating, ...]:
        """The single verdicts behind the report.

        Raises:
            UsageError: the verdicts cannot be read.
        """
        file = self.file.with_suffix(f".{RATINGS}") if self.is_earlier else self.file.with_name(RATINGS)
        ratings = of_file(file, "ratings", lambda: _ratings(file)) if file.is_file() else ()
        own = tuple(rating for rating in ratings if rating.evaluator == self.evaluator)
        return own or tuple(rating for rating in ratings if not rating.evaluator)

    def calls_behind(self, path: str) -> list[Call]:
        """The calls that a verdict came from, oldest first, by the path in the verdict's `call`.

        Raises:
            UnknownNameError: no call is recorded at this path.
            JournalError: the record cannot be used.
        """
        with journal_to_read(self.file.parent.parent if self.is_earlier else self.file.parent) as journal:
            found = journal.calls.find(CallFilter(under=path), prompts=True) if path else []
        if not found:
            raise UnknownNameError("call of this report", path[:200], {rating.call for rating in self.verdicts} - {""})
        return found


def _ratings(file: Path) -> tuple[Rating, ...]:
    """The ratings in a file, without invisible characters.

    If a reply answers several questions, the file gives its reason in the first rating only; here each rating has it.
    """
    text = read_text(file, _MOST_RATINGS, links=False)
    if text.count("\n") > _MOST_LINES:
        raise UsageError(
            f"{file} has more than {_MOST_LINES:,} lines, too many for a page. Move the ratings of some "
            "evaluators or stories to another file."
        )
    ratings = [_clean_rating(one) for one in parse_ratings(text, str(file))]
    reasons = {(one.rater, one.call): one.reason for one in reversed(ratings) if one.call and one.reason}
    return tuple(one if one.reason else replace(one, reason=reasons.get((one.rater, one.call), "")) for one in ratings)


def _clean_rating(rating: Rating) -> Rating:
    texts: dict[str, Any] = {name: _cleaned(getattr(rating, name)) for name in _TEXTS}
    texts |= {name: tuple(map(_shortened, getattr(rating, name))) for name in ("items", "systems", "flags")}
    try:
        return replace(rating, **texts)
    except ValueError:  # two names that are one when they are read
        return rating


def reports_in(folder: Path) -> list[FoundReport]:
    """The reports in a project or an experiment, newest first; other files are ignored."""
    found = []
    for file in _candidates(folder):
        with suppress(OSError):  # it was removed just now
            if evaluator := _head(file)[0]:
                found.append(FoundReport(file.relative_to(folder).with_suffix("").as_posix(), file, evaluator))
    return sorted(found, key=lambda one: -one.changed)


def too_large_in(folder: Path) -> list[str]:
    """Why files that may be reports of a project are not read, one sentence per file."""
    found = []
    for file in _candidates(folder):
        with suppress(OSError):
            found += [problem] if (problem := _head(file)[1]) else []
    return found


def report_named(folder: Path, name: str) -> FoundReport:
    """The report of this name in `reports_in`.

    Raises:
        UnknownNameError: there is no report of this name.
    """
    found = {one.name: one for one in reports_in(folder)}
    if name not in found:
        raise UnknownNameError("report", name[:200], found)
    return found[name]


def read_report(text: str) -> Report | None:
    """The report in a JSON document, without its details, which no page shows; `None` if it is not a report.

    The report may come from someone else. Invisible characters are removed from its texts, very long texts are cut with
    the number of characters left out, and values that are not valid measurements are marked as missing.
    """
    if (read := _document(text)) is None:
        return None
    try:
        rows, left_out = _cleaned(read.rows[:_MOST_ROWS]), len(read.rows) - _MOST_ROWS
    except ValueError:
        return None
    more = [f"The file contains {left_out:,} more numbers, which are not shown."] if left_out > 0 else []
    return Report(read.evaluator, read.how, tuple(map(_row, rows)), notes=(*read.notes, *more))


@dataclass(frozen=True)
class VerdictPair:
    """All verdicts on the same stories and question, in every order in which the stories were shown."""

    question: str
    items: tuple[str, ...]
    verdicts: tuple[Rating, ...]

    @property
    def agree(self) -> bool:
        """Whether all verdicts with an answer have the same answer."""
        return len({rating.answer for rating in self.verdicts if rating.answer is not None}) <= 1


def pairs_of(verdicts: Sequence[Rating]) -> list[VerdictPair]:
    """Verdicts that belong together, in the order of the first verdict of each group."""
    found: dict[tuple[str, tuple[str, ...]], list[Rating]] = {}
    for rating in verdicts:
        found.setdefault((rating.question, tuple(sorted(rating.items))), []).append(rating)
    return [VerdictPair(question, items, tuple(ratings)) for (question, items), ratings in found.items()]


# experiments ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExperimentFolder:
    """An experiment on disk, as described by its own report.

    Attributes:
        folder: its folder.
        data: the contents of its `report.json`, with the types in which they are shown.
    """

    folder: Path
    data: dict[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        """The title that its author gave it."""
        return self.data["experiment"] or self.folder.name

    @property
    def briefs(self) -> list[str]:
        """The briefs by name, in order."""
        return list(self.data["briefs"])

    @property
    def contenders(self) -> list[str]:
        """The contenders, in order."""
        return [one["contender"] for one in self.data["contenders"]]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Every run: its name, contender, brief, seed, state, error, words, calls and cost."""
        return list(self.data["runs"])

    @property
    def run_names(self) -> set[str]:
        """The names of all runs."""
        return {run["run"] for run in self.runs}

    def cell(self, brief: str, contender: str) -> list[dict[str, Any]]:
        """The runs of one contender on one brief."""
        return [run for run in self.runs if (run["brief"], run["contender"]) == (brief, contender)]

    def run(self, name: str) -> dict[str, Any]:
        """The run of this name.

        Raises:
            UnknownNameError: there is no run of this name.
        """
        found = {run["run"]: run for run in self.runs}
        if name not in found:
            raise UnknownNameError("run", name[:200], found)
        return found[name]

    def story(self, name: str) -> str:
        """The story of a run, as Markdown; empty if there is none.

        Raises:
            UnknownNameError: there is no such run.
            UsageError: the story cannot be read, or its path leads out of the experiment.
        """
        self.run(name)
        file = inside(self.folder, f"runs/{name}/story.md")
        if file.is_file():
            return read_text(file, _MOST_BYTES)
        return (packed_story(file.parent) or "") if PackedRecord.is_in(file.parent) else ""

    @property
    def reports(self) -> list[FoundReport]:
        """The reports of its evaluators."""
        return sorted(reports_in(self.folder), key=lambda one: one.name)

    def report(self, name: str) -> FoundReport:
        """The report of this name.

        Raises:
            UnknownNameError: there is no report of this name.
        """
        return report_named(self.folder, name)

    def verdicts_on(self, run: str) -> dict[str, list[VerdictPair]]:
        """The verdicts on the story of a run, by report."""
        found = {one.name: [pair for pair in pairs_of(one.verdicts) if run in pair.items] for one in self.reports}
        return {name: pairs for name, pairs in found.items() if pairs}


def experiment_in(folder: Path) -> ExperimentFolder:
    """The experiment in a folder.

    Raises:
        UsageError: there is no experiment, or its report cannot be read.
    """
    file = folder / _RESULTS
    if not is_experiment(folder) or not file.is_file():
        raise UsageError(f"{folder} has no experiment results yet. Create them with `fabula lab experiment FILE`.")
    return ExperimentFolder(folder, of_file(file, "experiment", lambda: _results(file)))


def _results(file: Path) -> dict[str, Any]:
    text, data = read_text(file, _MOST_BYTES), None
    with suppress(ValueError, RecursionError):
        data = _cleaned(json.loads(text)) if sum(map(text.count, ",[{")) <= _MOST_PARTS else None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{file} is not the report of an experiment. Run `fabula lab experiment` again.")
    return _experiment(data)


def _experiment(data: dict[str, Any]) -> dict[str, Any]:
    """The contents of an experiment's report, with the types in which they are shown, whoever wrote it."""
    return {
        "experiment": str(data.get("experiment") or ""),
        "briefs": [str(brief) for brief in _list(data.get("briefs"))],
        "contenders": [
            _with_types(one, ("contender", "system", "preset", "model"), ("done", "failed"))
            | {"baseline": bool(one.get("baseline")), "total": _total(one.get("total"))}
            for one in _tables(data.get("contenders"))
        ],
        "runs": [
            _with_types(one, ("run", "contender", "brief", "seed", "state", "error"), ("words", "calls"))
            for one in _tables(data.get("runs"))
        ],
        "complete": bool(data.get("complete")),
        "stopped": str(data.get("stopped") or ""),
    }


def _with_types(table: dict[str, Any], texts: Sequence[str], counts: Sequence[str]) -> dict[str, Any]:
    """Fields of a table, converted to texts and counts."""
    shown = {name: "" if table.get(name) is None else str(table[name]) for name in texts}
    return shown | {name: int(_number(table.get(name)) or 0) for name in counts}


def _total(value: object) -> dict[str, Any]:
    table = value if isinstance(value, dict) else {}
    return {"calls": int(_number(table.get("calls")) or 0), "cost": _number(table.get("cost"))}


def _tables(value: object) -> list[dict[str, Any]]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_experiment(folder: Path) -> bool:
    """Whether a folder is an experiment's; a folder without read permission is not."""
    try:
        return (folder / _EXPERIMENT).is_file() and (folder / "runs").is_dir()
    except OSError:
        return False


# reading --------------------------------------------------------------------------------------------------------------


def _candidates(folder: Path) -> Iterator[Path]:
    """Files that may be reports, in the folders of reports and one level below; earlier reports are newest first."""
    found = (
        file
        for name in FOLDERS
        for pattern in ("*.json", "*/*.json")
        for file in sorted((folder / name).glob(pattern), key=_place_in_order)
    )
    for file in islice(found, _MOST):
        if not file.is_symlink() and not file.parent.is_symlink() and file.is_file():
            yield file


def _place_in_order(file: Path) -> tuple[bool, int, str]:
    earlier = file.parent.name == EARLIER
    return earlier, -file.lstat().st_mtime_ns if earlier else 0, str(file)


def _head(file: Path) -> tuple[str, str]:
    """The evaluator of the report in a file, or why the file is too large to read; both are empty for other files."""

    def read() -> tuple[str, str]:
        if file.stat().st_size > _MOST_BYTES:
            return "", f"{file.name} has more than {_MOST_BYTES:,} bytes, too many for a page. Open it elsewhere."
        try:
            text = read_text(file, _MOST_BYTES, links=False)
        except UsageError:
            return "", ""
        if sum(map(text.count, ",[{")) > _MOST_PARTS:
            return "", f"{file.name} has more than {_MOST_PARTS:,} parts, too many for a page. Open it elsewhere."
        found = _document(text)
        return ("", "") if found is None else (found.evaluator, "")

    return of_file(file, "head", read)


@dataclass(frozen=True)
class _Document:
    """A report without its details, with its rows unchanged from the file."""

    evaluator: str
    rows: list[Any]
    how: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _document(text: str) -> _Document | None:
    """The report in a JSON document, with unchecked rows; `None` if it is not a report."""
    try:
        data: Any = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            return None
        head = {name: _cleaned(data[name]) for name in _HEAD if name in data}
        return _reader().validate_python(head | {"rows": data.get("rows")})
    except (ValueError, RecursionError):  # a pydantic `ValidationError` is a `ValueError`
        return None


def _reader() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def _cleaned(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """A JSON value in which every text can be shown.

    Raises:
        ValueError: tables are nested too deeply.
    """
    if isinstance(value, str):
        return _shortened(value)
    if depth > _DEEPEST:
        raise ValueError
    if isinstance(value, list):
        return [_cleaned(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {_shortened(name): _cleaned(one, depth + 1) for name, one in value.items()}
    return value


def _shortened(text: str) -> str:
    clean = readable(text)
    if len(clean) <= _MOST_CHARACTERS:
        return clean
    return f"{clean[:_MOST_CHARACTERS]} ... ({len(clean) - _MOST_CHARACTERS:,} more characters are in the file)"


def _row(data: Any) -> Row:  # noqa: ANN401 - JSON
    """A row read from the format of `Row.as_data`."""
    data = data if isinstance(data, dict) else {}
    of, what = (str(data.get(name) or "unnamed") for name in ("of", "what"))
    baseline = bool(data.get("baseline"))
    value, n = _number(data.get("value")), _number(data.get("n"))
    count = int(n) if n is not None and n >= 0 else 0
    if value is None:
        why = "no number" if data.get("value") is None else "the value in the file is not a valid measurement"
        return Row(of, what, Unscored(str(data.get("unscored") or why), count), baseline)
    low, high, p = (_number(data.get(name)) for name in ("low", "high", "p"))
    if low is None or high is None or low > high:
        low = high = None
    level = _number(data.get("level")) or 0.95
    return Row(of, what, Estimate(value, count, low, high, str(data.get("method", "")), level, p), baseline)


def _number(value: object) -> float | None:
    """The value if it can be a measurement; `None` otherwise."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _LARGEST:
        return None
    return float(value)
