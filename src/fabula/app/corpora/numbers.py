"""What evaluators find in each story of a corpus, and the reports on all of its stories.

STORIES has a line for each story. The reports contain only the numbers of systems, and are made from arrays.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final, overload

import numpy as np

from fabula.app.corpora.rows import StoryRows
from fabula.app.item_files import notices, sources_of
from fabula.base.files import write_atomically
from fabula.craft.measuring import difference_rows, mean_rows, prompt_of, unscored_note
from fabula.engine.run import Run, RunContext, side_by_side
from fabula.evaluators import find
from fabula.evaluators.surface.repetition import StoriesOfSystem, between, trigrams
from fabula.measure.items import Item
from fabula.measure.ratings import write_ratings
from fabula.measure.report import COLUMNS, Report, Row, csv_of, csv_pieces
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.story import Story

if TYPE_CHECKING:
    from fabula.app.corpora.working import CorpusTask
    from fabula.app.corpora.working import Row as StoryRow
    from fabula.engine.methods import Method


STORIES: Final = "stories.jsonl"
RATINGS: Final = "ratings.jsonl"
_SURFACE: Final = "surface"
_COUNTING, _ASKING = 200, 20  # stories in a block, where nobody is asked, and where models are
_FILES: Final = 64
_SHIFT: Final = np.uint64(58)  # of a code, so that each file has those that begin with its number
_CODE: Final = np.dtype([("code", "<u8"), ("system", "<u4"), ("prompt", "<u4")])
_HELD: Final = 500_000  # codes that are held before they are written


@dataclass(frozen=True)
class Found:
    """What evaluators find in each story; evaluators that compare stories are not run here.

    Attributes:
        configs: the settings of the evaluators, by name; at most one of them calls models.
    """

    configs: Mapping[str, Any]

    @property
    def method(self) -> Method:
        """The method whose roles are called."""
        return find(next(iter(self.configs)))

    @property
    def size(self) -> int:
        """The number of stories in a block."""
        return _ASKING if self.method.roles else _COUNTING

    @property
    def of(self) -> str:
        """Everything other than the stories that affects the result."""
        return repr(dict(self.configs))

    def usable(self, items: Iterator[Item]) -> Iterator[Item]:
        """The stories to measure: all of them."""
        return items

    def place(self, item: Item) -> str:
        """The place where evaluators record their calls."""
        return item.id

    async def rows(self, items: Sequence[Item], context: RunContext) -> list[StoryRow]:
        """What was found in each story: numbers and, from evaluators with models, also details, notes and verdicts."""
        if self.method.roles:
            apart = await side_by_side(self._reports([item], context) for item in items)
        else:
            apart = [await self._reports(items, context)]
        beside = trigrams(items, self.configs[_SURFACE]) if _SURFACE in self.configs else [np.zeros(0)] * len(items)
        numbers: dict[str, dict[str, dict[str, Any]]] = {item.id: {} for item in items}
        rows: dict[str, dict[str, Any]] = {}
        for report in chain.from_iterable(apart):
            for row in report.rows:
                if row.of in numbers and not row.baseline:
                    numbers[row.of].setdefault(report.evaluator, {})[row.what] = row.scored.as_data()
        for item in items:
            rows[item.id] = {"id": item.id, "system": item.system, "prompt": item.prompt, "words": item.story.words}
            rows[item.id] |= {"source": item.source, "numbers": numbers[item.id]}
        if self.method.roles:
            for item, (report,) in zip(items, apart, strict=True):
                said = {"notes": list(report.notes), "ratings": write_ratings(report.ratings)}
                rows[item.id] |= said | {"found": dict(report.details["stories"][0])}
        for report in apart[0]:
            rows[items[0].id].setdefault("how", {})[report.evaluator] = dict(report.how)
        return [(rows[item.id], codes.tobytes()) for item, codes in zip(items, beside, strict=True)]

    async def _reports(self, items: Sequence[Item], context: RunContext) -> list[Report]:
        return [await find(name).evaluate(items, Run(context), config) for name, config in self.configs.items()]


class Column(Sequence["Scored"]):
    """One number for each story, in arrays."""

    def __init__(self) -> None:
        self._values, self._counts, self._whys = array("d"), array("q"), array("H")
        self._reasons, self._method = {"": 0, "it was not measured": 1}, ""

    def add(self, place: int, data: Mapping[str, Any]) -> None:
        """Add the number of the story at a position; earlier stories without a number stay without one."""
        self.fill(place)
        why = "" if data["value"] is not None else str(data["unscored"])
        if len(self._reasons) >= 1 << 16:
            why = why and "another reason"
        self._values.append(math.nan if why else data["value"])
        self._counts.append(data["n"])
        self._whys.append(self._reasons.setdefault(why, len(self._reasons)))
        self._method = self._method or data.get("method", "")

    def fill(self, length: int) -> None:
        """Record that the stories up to a position have no number."""
        missing = length - len(self)
        self._values.extend([math.nan] * missing)
        self._counts.extend([0] * missing)
        self._whys.extend([1] * missing)

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, place: int) -> Scored: ...
    @overload
    def __getitem__(self, place: slice) -> list[Scored]: ...
    def __getitem__(self, place: int | slice) -> Scored | list[Scored]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if why := self._whys[place]:
            return Unscored(list(self._reasons)[why], self._counts[place])
        return Estimate(self._values[place], self._counts[place], method=self._method)


@dataclass(frozen=True)
class CorpusNumbers:
    """What was found in all stories: their number, by source, and a report of each evaluator."""

    sources: Counter[str]
    reports: Sequence[Report]

    def to_dict(self, task: CorpusTask) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {
            "folder": str(task.folder),
            "stories": self.sources.total(),
            "data": [asdict(source) for source in sources_of(self.sources.elements())],
            "left_out": task.corpus.left_out,
            "reports": {report.evaluator: report.as_data() for report in self.reports},
        }


def write_numbers(task: CorpusTask, found: Found, csv: Path | None = None) -> CorpusNumbers:
    """Write what was found in each story and in all stories, from the rows.

    Args:
        task: the task whose rows are complete.
        found: what the rows contain.
        csv: a file with every number, one per line.

    Raises:
        ProjectError: a file cannot be written.
    """
    with ExitStack() as stack:
        gathered = _Gathered(task, found, stack.enter_context(StoryRows(task.folder)), _Codes(task.folder, stack))
        write_atomically(task.folder / STORIES, gathered.lines(), sync=False)
        reports = gathered.reports()
        for report in reports:
            shown = json.dumps(report.as_data(), indent=2, ensure_ascii=False) + "\n"
            write_atomically(task.folder / f"{report.evaluator}.json", shown)
            write_atomically(task.folder / f"{report.evaluator}.csv", csv_of([report]))
        if task.maker.method.roles:
            write_atomically(task.folder / RATINGS, (data["ratings"] for data, _ in gathered.rows), sync=False)
        if csv is not None:
            lines = chain(gathered.numbers(), (line for report in reports for line in report.lines()))
            write_atomically(csv, csv_pieces(lines, COLUMNS), sync=False)
    return CorpusNumbers(Counter(item.source for item in gathered.stories), reports)


@dataclass(eq=False)
class _Gathered:
    """The numbers of all stories, in arrays.

    Attributes:
        stories: the names and systems of the stories, without their texts.
    """

    task: CorpusTask
    found: Found
    rows: StoryRows
    codes: _Codes
    stories: list[Item] = field(default_factory=list)
    columns: dict[str, dict[str, Column]] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The line of each story; its numbers are collected at the same time."""
        for data, codes in self.rows:
            self._gather(data, codes)
            shown = {name: value for name, value in data.items() if name not in {"how", "ratings", "source"}}
            yield json.dumps(shown, ensure_ascii=False) + "\n"

    def _gather(self, data: dict[str, Any], codes: bytes) -> None:
        place = len(self.stories)
        item = Item(data["id"], _NO_STORY, data["system"], data["prompt"], source=data["source"])
        self.stories.append(item)
        self.how = {**data.get("how", {}), **self.how}
        for evaluator, numbers in data["numbers"].items():
            columns = self.columns.setdefault(evaluator, {})
            for what, scored in numbers.items():
                columns.setdefault(what, Column()).add(place, scored)
        if _SURFACE in data["numbers"]:
            self.codes.add(item, np.frombuffer(codes, np.uint64))

    def numbers(self) -> Iterator[dict[str, Any]]:
        """The numbers of each story, and why other stories have none, as lines of a table."""
        for data, _ in self.rows:
            for name, numbers in data["numbers"].items():
                rows = tuple(_row(data["id"], what, one) for what, one in numbers.items())
                yield from Report(name, rows=rows).lines()
        yield from Report("", rows=tuple(Row("", "story", Unscored(why)) for why in self.task.corpus.left_out)).lines()

    def reports(self) -> list[Report]:
        """The reports on all stories: for each system, and between systems."""
        found = []
        data = notices(item.source for item in self.stories)
        for name, columns in self.columns.items():
            for column in columns.values():
                column.fill(len(self.stories))
            limits = getattr(find(name).algorithm, "limits", _no_limits)
            most = max(high - low for low, high in map(limits, columns))
            rows = mean_rows(self.stories, columns, limits)
            shared, notes = self.codes.rows(self.found.configs[_SURFACE]) if name == _SURFACE else ([], ())
            apart, said = difference_rows(self.stories, columns, most)
            how = {**self.how.get(name, {}), **({"data": "; ".join(data)} if data else {})}
            notes = (*unscored_note(columns), *notes, *said)
            found.append(Report(name, how, (*rows, *shared, *apart), (), notes, {"stories": len(self.stories)}))
        return found


_NO_STORY: Final = Story()


def _no_limits(what: str) -> tuple[float, float]:
    del what
    return 0.0, math.inf


def _row(of: str, what: str, data: Mapping[str, Any]) -> Row:
    if data["value"] is None:
        return Row(of, what, Unscored(data["unscored"], data["n"]))
    names = ("value", "n", "low", "high", "method", "level", "p")
    return Row(of, what, Estimate(**{name: data[name] for name in names if name in data}))


class _Codes:
    """The trigrams of all stories, in files that are read one at a time: equal trigrams are in the same file."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._files: list[IO[bytes]] = []
        self._held: list[Any] = []
        self._count = 0
        self._systems: dict[str, StoriesOfSystem] = {}
        self._numbers: dict[str, int] = {}

    def add(self, item: Item, codes: Any) -> None:  # noqa: ANN401 - an array
        """The trigrams of a story."""
        of = self._systems.setdefault(item.system, StoriesOfSystem())
        records = np.empty(len(codes), _CODE)
        records["code"], records["system"] = codes, self._numbers.setdefault(item.system, len(self._numbers))
        records["prompt"] = of.number(prompt_of(item), len(codes))
        self._held.append(records)
        self._count += len(codes)
        if self._count > _HELD:
            self._write()

    def _write(self) -> None:
        if not self._files:
            place = self._stack.enter_context(TemporaryDirectory(dir=self._folder / ".fabula"))
            self._files = [
                self._stack.enter_context(open(f"{place}/{number}", "w+b"))  # noqa: PTH123, SIM115 - the stack closes it
                for number in range(_FILES)
            ]
        records = np.concatenate(self._held)
        of = records["code"] >> _SHIFT
        order = np.argsort(of, kind="stable")
        borders = np.searchsorted(of[order], np.arange(_FILES + 1))
        for number, file in enumerate(self._files):
            file.write(records[order[borders[number] : borders[number + 1]]].tobytes())
        self._held, self._count = [], 0

    def rows(self, config: Any) -> tuple[list[Row], tuple[str, ...]]:  # noqa: ANN401 - of the surface measures
        """The repetition between the stories of each system, and a note that readers must know."""
        if self._files:
            self._write()
        parts = (self._read(file) for file in self._files) if self._files else iter([np.concatenate(self._held)])
        for records in parts:
            for number, of in enumerate(self._systems.values()):
                own = records[records["system"] == number]
                of.add(own["code"], own["prompt"].astype(np.int64))
        known = any(self._systems)
        named = {name or ("no system named" if known else "all"): of for name, of in self._systems.items()}
        return between(named, config)

    @staticmethod
    def _read(file: IO[bytes]) -> Any:  # noqa: ANN401 - an array
        file.seek(0)
        return np.fromfile(file, _CODE)
