"""What a line of work has read: what an artefact that is made on it has been made of.

A run is a line of work. Whatever it reads, an artefact or a reply, is folded into one digest, the line's `state`, in
the order in which it is read. So two runs that come to an artefact with the same state have read the same, and what was
made there before can be given again (`Run.keep`). Work that is done `side_by_side` is not one line: each branch begins
as the line stands and has its own; who waits for a branch has read what it has read.

In a dry run a line may have read what nobody can know before it is made; from there on it is not `known`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator

T = TypeVar("T")

_PACKAGE: Final = Path(__file__).parents[1]
_SOURCES: Final = (".py", ".jinja", ".toml")


@dataclass(frozen=True, slots=True)
class WorkLine:
    """What was read so far, in the run that `owner` stands for; `known` says whether a dry run knows all of it."""

    owner: object
    state: str = ""
    known: bool = True


@dataclass(slots=True)
class Frame:
    """What is asked and found while an artefact is made.

    Attributes:
        calls: keys of the calls, in order.
        shortfalls: what the author asked for and did not get, in sentences.
        notices: what the author should know of how it goes, in sentences.
        lengths: the least and most words asked, by the place where they were asked.
        whole: no other artefact was made inside, so that nothing but this text comes of it.
    """

    calls: list[str] = field(default_factory=list)
    shortfalls: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True


_line: ContextVar[WorkLine | None] = ContextVar("line", default=None)
_frame: ContextVar[Frame | None] = ContextVar("frame", default=None)


def line_of(owner: object) -> WorkLine:
    """The present line of work of the run that `owner` stands for."""
    line = _line.get()
    return line if line is not None and line.owner is owner else WorkLine(owner)


def has_read(owner: object, *what: str, known: bool = True) -> None:
    """The present line has read something: names and contents, or digests of them."""
    line = line_of(owner)
    _line.set(WorkLine(owner, digest(line.state, *what), line.known and known))


def lose(owner: object) -> None:
    """What the present line reads from here on is not known before it is made."""
    _line.set(replace(line_of(owner), known=False))


@contextmanager
def own_line(line: WorkLine | None = None) -> Iterator[None]:
    """A line that begins as the present one, or `line`; what is read inside is not read by what is outside."""
    token = _line.set(line or _line.get())
    try:
        yield
    finally:
        _line.reset(token)


def frame_now() -> Frame | None:
    """What is asked and found of the artefact that is being made here; `None` outside of all."""
    return _frame.get()


@contextmanager
def framed() -> Iterator[Frame]:
    """The making of an artefact."""
    frame = Frame()
    token = _frame.set(frame)
    try:
        yield frame
    finally:
        _frame.reset(token)


class WorkBranch(Generic[T]):
    """A piece of work on a line of its own. Who awaits what it made has read what it has read."""

    def __init__(self, task: asyncio.Task[tuple[T, WorkLine | None]]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, Any, T]:
        result, line = yield from self._task.__await__()
        if line is not None and line != _line.get():
            mine = line_of(line.owner)
            _line.set(WorkLine(line.owner, digest(mine.state, line.state), mine.known and line.known))
        return result


@asynccontextmanager
async def branches() -> AsyncIterator[Callable[[Coroutine[Any, Any, T]], WorkBranch[T]]]:
    """A way to begin pieces of work on lines of their own, which may wait for each other; all are over at the end.

    The first error ends the others and is raised as it is.
    """

    async def followed(piece: Coroutine[Any, Any, T]) -> tuple[T, WorkLine | None]:
        return await piece, _line.get()

    try:
        async with asyncio.TaskGroup() as group:
            yield lambda piece: WorkBranch(group.create_task(followed(piece)))
    except ExceptionGroup as several:
        raise _first(several) from several


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What several pieces of independent work give, in their order, done at the same time.

    None has read what another reads; what follows has read all. The first error ends the others and is raised as it is.
    """
    async with branches() as begin:
        begun = [begin(piece) for piece in work]
    return [await one for one in begun]


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """What a piece of work gives, which nothing that follows counts as read.

    For work whose outcome steers what follows by what it tells of a model, and not by what it tells of a text.
    """
    with own_line():
        return await work


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner


def digest(*parts: str) -> str:
    """A digest of texts."""
    whole = sha256()
    for part in parts:
        whole.update(f"{len(part)}\0{part}".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def with_code(*parts: str) -> str:
    """A digest of texts and of fabula's own code: what a run is made of beside a person's decisions."""
    return digest(_code(), *parts)


@cache
def _code() -> str:
    """Size and time of every file of fabula: another version may go other ways."""
    files = sorted(file for file in _PACKAGE.rglob("*") if file.suffix in _SOURCES)
    found = ((file.relative_to(_PACKAGE), file.stat()) for file in files)
    return "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)
