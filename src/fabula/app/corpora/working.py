"""Having workers make the missing rows, one for each story; finished calls are never made again."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count, islice
from math import ceil
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from fabula.app.corpora.rows import StoryRows, packed
from fabula.app.evaluating import journal_in
from fabula.app.workers.files import Files, Handing, files_in, put
from fabula.app.workers.pool import Pool
from fabula.app.workers.spread import Spread, check_nobody_plays
from fabula.app.workers.work import SharedWork
from fabula.app.writing import Options, PreparedMethod, Supplied, recorded_run
from fabula.base.errors import FabulaError
from fabula.base.files import held
from fabula.engine.events import CallFinished, Event, RunFinished, RunStarted, TextArrived
from fabula.engine.journal import Journal
from fabula.engine.lines import with_code
from fabula.models.budget import Budget
from fabula.models.servers import Part
from fabula.project.packed import JOURNAL

if TYPE_CHECKING:
    from fabula.app.corpora.stories import Corpus
    from fabula.app.workers.worker import Desk
    from fabula.engine.methods import Method
    from fabula.engine.roles import Cast
    from fabula.engine.run import RunContext
    from fabula.measure.items import Item
    from fabula.project.settings import Settings


_BLOCKS: Final = ".fabula/blocks"
_ORDERED: Final = 200  # stories that are looked at together
_AHEAD: Final = 2  # blocks that a worker has at once, so that it has work while one ends
Row: TypeAlias = tuple[Any, bytes]
"""A story's result as JSON data, with additional bytes."""


class RowMaker(Protocol):
    """What is made of each story. It is sent to workers, so it contains only plain data."""

    @property
    def size(self) -> int:
        """The number of stories in a block."""

    @property
    def method(self) -> Method:
        """The method whose roles are called; a method without roles calls no model."""

    @property
    def of(self) -> str:
        """Everything that affects a row, except the story, the settings and the method's prompts."""

    def usable(self, items: Iterator[Item]) -> Iterator[Item]:
        """The stories that get a row."""

    def place(self, item: Item) -> str:
        """The place where the calls for a story are recorded."""

    async def rows(self, items: Sequence[Item], context: RunContext) -> Sequence[Row]:
        """A row for each story.

        Raises:
            FabulaError: an error of any kind; finished calls are kept.
        """


@dataclass(frozen=True)
class CorpusTask:
    """What is made of which stories, and where.

    Attributes:
        settings: the settings with the models to call.
        folder: the folder for rows and calls.
        part: which of several shards this is; each shard has its own stories.
    """

    corpus: Corpus
    maker: RowMaker
    settings: Settings
    folder: Path
    part: Part = field(default_factory=Part)

    def usable(self) -> Iterator[tuple[bytes, Item]]:
        """The stories of this part that get a row, each with the key of its row."""
        maker, settings = self.maker, self.settings
        prompts = PreparedMethod(settings, Options(), maker.method).prompts.digest if maker.method.roles else ""
        what = with_code(maker.of, settings.model_dump_json(), prompts)
        mine = islice(maker.usable(iter(self.corpus)), self.part.number - 1, None, self.part.of)
        for item in mine:
            yield sha256(f"{what}\0{item!r}".encode("utf-8", "replace")).digest(), item

    def sample(self) -> list[Item]:
        """The first stories, from which the cost is estimated."""
        return [item for _, item in islice(self.usable(), self.maker.size)]


@dataclass(eq=False, kw_only=True)
class BlockWork(SharedWork):
    """What a worker does for a corpus."""

    maker: RowMaker
    settings: Settings
    frozen: bool
    _cast: Cast = field(init=False, repr=False)
    _supplied: Supplied = field(init=False, repr=False)

    async def begin(self, desk: Desk) -> None:
        """Open what the blocks share."""
        await super().begin(desk)
        prepared = self._prepared()
        self._cast = prepared.cast()
        self._supplied = Supplied(self._cast, Budget(whole=self._whole), prepared.prompts)

    async def do(self, job: tuple[str, Sequence[Item], Files]) -> tuple[list[Row] | FabulaError, Files]:
        """The rows of a block or the error that stopped it, and its files if they must be handed back."""
        name, items, files = job
        folder, journal = None, Journal()
        with ExitStack() as stack:
            handing = None
            if self.maker.method.roles:
                folder = self.folder / _BLOCKS / name if self.here else self._node.put(name, files)
                handing = None if self.here else Handing(self._desk, folder)
                journal = stack.enter_context(journal_in(folder))
            else:
                stack.enter_context(journal)
            try:
                result: list[Row] | FabulaError = await self._rows(items, journal, handing)
            except FabulaError as error:
                result = sendable(error)
        if handing is None or folder is None:
            return result, {}
        handing.stop()
        return result, await asyncio.to_thread(files_in, folder)

    async def _rows(self, items: Sequence[Item], journal: Journal, handing: Handing | None) -> list[Row]:
        def hear(event: Event) -> None:
            if not isinstance(event, TextArrived | RunStarted | RunFinished):
                self._desk.say(event)
            if handing is not None and isinstance(event, CallFinished) and not event.replayed:
                handing.soon()

        prepared = self._prepared(hear)
        async with prepared.opened(journal, supplied=self._supplied) as context:
            with recorded_run(prepared, context):
                rows = await self.maker.rows(items, context)
        return [(packed(data), more) for data, more in rows]

    def _prepared(self, *listeners: Any) -> PreparedMethod:  # noqa: ANN401 - whatever hears events
        turns = self._desk if self.maker.method.roles else None
        options = Options(listeners=listeners, environ=self.environ, frozen=self.frozen, turns=turns)
        return PreparedMethod(self.settings, options, self.maker.method)

    async def end(self, *, over: bool) -> None:
        """Close the models, too."""
        await self._cast.close()
        await super().end(over=over)


def sendable(error: FabulaError) -> FabulaError:
    """The error, or one with the same message if it cannot be sent to another process."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except (pickle.PickleError, TypeError, AttributeError, ValueError):  # as the class of the error has it
        return FabulaError(str(error))
    return error if str(again) == str(error) else FabulaError(str(error))


async def work_through(task: CorpusTask, options: Options, spread: Spread) -> int:
    """Have workers make the missing rows, and return how many stories have a row now.

    Raises:
        FabulaError: an error of any kind; finished work is kept, and the same command continues from there.
    """
    method, budget, error = task.maker.method, options.whole or Budget(), list[FabulaError]()
    if method.roles:
        check_nobody_plays(method.name, task.settings)
    with ExitStack() as stack:
        journal = stack.enter_context(journal_in(task.folder)) if method.roles else None
        if journal is None:
            stack.enter_context(held(task.folder / ".fabula", f"The folder {task.folder}"))
        rows = stack.enter_context(StoryRows(task.folder))
        blocks = _Blocks(task, rows, journal, spread.here)
        blocks.take_left()

        def over(block: Block, result: tuple[list[tuple[bytes, bytes]] | FabulaError, Files]) -> None:
            made, files = result
            blocks.over(block, files)
            if isinstance(made, FabulaError):
                error.append(made)
            else:
                rows.add((key, *row) for key, row in zip(block.keys, made, strict=True))

        def lost(_: Block, why: str) -> tuple[FabulaError, Files]:
            return FabulaError(f"The worker for a block of stories was lost three times: {why}"), {}

        def said(event: Event) -> None:
            options.emit(event)

        most = await _at_once(task)
        workers = spread.count(most)
        pool = Pool(
            spread.hire,
            workers,
            max(most, _AHEAD * workers),
            BlockWork(
                maker=task.maker,
                settings=task.settings,
                folder=task.folder.resolve(),
                environ=spread.environ(options.environ, [task.settings]),
                caps=(budget.tokens, budget.usd, (budget.spent_tokens, budget.spent_usd)),
                frozen=options.frozen,
                here=spread.here,
            ),
            task.part,
            given=blocks.given,
            over=over,
            lost=lost,
            kept=blocks.kept,
            said=said,
            spent=budget.charge,
            stops=lambda: bool(error),
            waits=spread.waits,
        )
        options.emit(RunStarted(method.name, method.roles))
        problem = "stopped"
        try:
            await pool.do(blocks)
            problem = str(error[0]) if error else ""
        finally:
            options.emit(RunFinished(method.name, problem))
        if error:
            raise error[0]
        rmtree(task.folder / _BLOCKS, ignore_errors=True)
        return len(rows)


async def _at_once(task: CorpusTask) -> int:
    """How many blocks to work on at once so that their stories keep all servers busy."""
    if not task.maker.method.roles:
        return 1
    cast = PreparedMethod(task.settings, Options(), task.maker.method).cast()
    try:
        parts = [cast.assignment(role).performer for role in task.maker.method.roles]
        return ceil(_AHEAD * max((part.capabilities.parallel for part in parts), default=1) / task.maker.size)
    finally:
        await cast.close()


@dataclass(eq=False)
class Block:
    """Stories that form one job, and the keys of their rows."""

    name: str
    items: list[Item]
    keys: list[bytes]


@dataclass(eq=False)
class _Blocks:
    """The blocks that are not finished, and what the driver does with each of them."""

    task: CorpusTask
    rows: StoryRows
    journal: Journal | None
    here: bool
    _paid: bool = field(default=False, init=False)
    _names: Iterator[int] = field(default_factory=lambda: count(1), init=False)

    def __iter__(self) -> Iterator[Block]:
        self.rows.order((), anew=True)
        missing = self._missing()
        while some := list(islice(missing, self.task.maker.size)):
            yield Block(str(next(self._names)), [item for _, item in some], [key for key, _ in some])

    def _missing(self) -> Iterator[tuple[bytes, Item]]:
        """The stories without a row, each with its key; the order of all stories is recorded at the same time."""
        stories = self.task.usable()
        while some := list(islice(stories, _ORDERED)):
            self.rows.order([key for key, _ in some])
            yield from ((key, item) for key, item in some if key not in self.rows)

    def take_left(self) -> None:
        """Collect the unfinished blocks of an earlier session."""
        for folder in sorted((self.task.folder / _BLOCKS).glob("*")):
            self._take(folder)
        self._paid = self.journal is not None and bool(self.journal.calls.find(most=1))

    def given(self, block: Block) -> tuple[str, Sequence[Item], Files]:
        """What a worker gets for a block: its recorded calls."""
        folder = self.task.folder / _BLOCKS / block.name
        if self._paid and not folder.exists():
            with journal_in(folder) as own:
                own.take_calls(self.task.folder / JOURNAL, [self.task.maker.place(item) for item in block.items])
        return block.name, block.items, {} if self.here else files_in(folder)

    def kept(self, block: Block, files: Files) -> None:
        """Keep what is finished of a block on another machine."""
        put(self.task.folder / _BLOCKS / block.name, files)

    def over(self, block: Block, files: Files) -> None:
        """Finish a block: its calls are added to the journal."""
        folder = self.task.folder / _BLOCKS / block.name
        if files:
            put(folder, files)
        self._take(folder)

    def _take(self, folder: Path) -> None:
        file = folder / JOURNAL
        if self.journal is not None and file.is_file():
            with held(file.parent, f"The block in {folder}"):
                self.journal.take_calls(file)
        rmtree(folder, ignore_errors=True)
