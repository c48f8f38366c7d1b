"""Lines of work, which record what has been read before an artefact is made.

A run is a line of work. Every artefact or reply that it reads is added to one digest, the line's `state`, in the order
of reading. Two runs that reach an artefact with the same state have therefore read the same, and the earlier result can
be used again (`Run.keep`). Work done `side_by_side` is not one line: each branch begins with the present state and
continues on its own line, and work that waits for a branch has read everything that the branch has read.

In a dry run, a line may read something that is not known until it is made; from then on the line is not `known`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

_PACKAGE: Final = Path(__file__).parents[1]
_SOURCES: Final = (".py", ".jinja", ".toml")


@dataclass(frozen=True, slots=True)
class WorkLine:
    """What the run of `owner` has read so far; `known` says whether a dry run knows all of it."""

    owner: object
    state: str = ""
    known: bool = True


@dataclass(slots=True)
class Frame:
    """The calls and findings while an artefact is made.

    Attributes:
        calls: the keys of the calls, in order.
        shortfalls: what the author asked for and did not get, in sentences.
        notices: what the author should know about the work, in sentences.
        lengths: the fewest and the most words asked for, by the place where they were asked for.
        whole: whether no other artefact was made inside, so that this text is the only result.
    """

    calls: list[str] = field(default_factory=list)
    shortfalls: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True


_line: ContextVar[WorkLine | None] = ContextVar("line", default=None)
_frame: ContextVar[Frame | None] = ContextVar("frame", default=None)


def line_of(owner: object) -> WorkLine:
    """The present line of work of the run of `owner`."""
    line = _line.get()
    return line if line is not None and line.owner is owner else WorkLine(owner)


def has_read(owner: object, *what: str, known: bool = True) -> None:
    """Record that the present line has read something: names and contents, or digests of them."""
    line = line_of(owner)
    _line.set(WorkLine(owner, digest(line.state, *what), line.known and known))


def lose(owner: object) -> None:
    """Record that the present line now reads something that is not known until it is made."""
    _line.set(replace(line_of(owner), known=False))


@contextmanager
def own_line(line: WorkLine | None = None) -> Iterator[None]:
    """A separate line that begins as a copy of the present one, or of `line`; reading inside does not count outside."""
    token = _line.set(line or _line.get())
    try:
        yield
    finally:
        _line.reset(token)


def frame_now() -> Frame | None:
    """The frame of the artefact that is being made here, or `None`."""
    return _frame.get()


@contextmanager
def framed() -> Iterator[Frame]:
    """A new frame, for the making of an artefact."""
    frame = Frame()
    token = _frame.set(frame)
    try:
        yield frame
    finally:
        _frame.reset(token)


class WorkBranch(Generic[T]):
    """A piece of work on its own line. The line that awaits its result has read everything that the piece has read."""

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
    """A function that starts work on separate lines, which may wait for each other; all work is done at the end.

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
    """The results of independent pieces of work, in order, done at the same time.

    No piece counts as having read what another reads, but the work that follows has read it all. The first error ends
    the other pieces and is raised as it is.
    """
    async with branches() as begin:
        begun = [begin(piece) for piece in work]
    return [await one for one in begun]


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """The result of a piece of work, which does not count as read by the work that follows.

    Use this if the result affects later work by what it shows about a model, not by what it says about a text.
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
    """A digest of texts and of fabula's own code: everything that a run uses except a person's decisions."""
    return digest(_code(), *parts)


@cache
def _code() -> str:
    """Size and time of every file of fabula: another version may go other ways."""
    files = sorted(file for file in _PACKAGE.rglob("*") if file.suffix in _SOURCES)
    found = ((file.relative_to(_PACKAGE), file.stat()) for file in files)
    return "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)
