"""How a dry run finds exactly what a real run would ask again, without a system knowing of it.

A dry run walks the same code as a real one. A call that would be asked is answered with the newest reply that its path
has had; what hangs on that reply is *stale*. Two rules carry this on:

1. Within a line of work, every call after a stale reply is stale too. Work that is done `side_by_side` is not one
   line: each branch has its own, and what comes after all of them is stale if one of them is. `branches` may wait for
   each other; then only who waits for a stale one is stale.
2. Between artefacts, the text carries it. What `Run.keep` returns of a stale artefact ends each paragraph with `MARK`,
   a private-use character; of a value that was read out of it (`Run.keep_as`), every string that is prose does. A
   later prompt that shows any of it differs from the recorded one, so that its call is not found in the journal.

What one branch gives another while both go on, such as an agent's memory, goes through `Run.passed_on`, which marks it.

Marks are put in and taken out here and in `Run`, nowhere else: readers are given texts without them.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from fabula.base.characters import DRY_RUN_MARK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator

T = TypeVar("T")

MARK: Final = DRY_RUN_MARK
_PARAGRAPH_END: Final = re.compile(r"(?<=\S)(?=\s*?(?:\n[ \t]*\n|\Z))")
_stale_in: ContextVar[object] = ContextVar("stale_in", default=None)


def is_stale(owner: object) -> bool:
    """Whether the present line of work has seen a stale reply of the run that `owner` stands for."""
    return _stale_in.get() is owner


def set_stale(owner: object) -> None:
    """From here on every call in this line of work is stale."""
    _stale_in.set(owner)


@contextmanager
def own_line() -> Iterator[None]:
    """A line that begins as the present one stands; what becomes stale inside leaves what is outside as it was."""
    token = _stale_in.set(_stale_in.get())
    try:
        yield
    finally:
        _stale_in.reset(token)


class Branch(Generic[T]):
    """A piece of work on a line of its own. Awaiting it gives what it made; who awaits what is stale is stale."""

    def __init__(self, task: asyncio.Task[tuple[T, object]]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, Any, T]:
        result, owner = yield from self._task.__await__()
        if owner is not None:
            _stale_in.set(owner)
        return result


@asynccontextmanager
async def branches() -> AsyncIterator[Callable[[Coroutine[Any, Any, T]], Branch[T]]]:
    """A way to begin pieces of work on lines of their own, which may wait for each other; all are over at the end.

    The first error ends the others and is raised as it is.
    """

    async def followed(piece: Coroutine[Any, Any, T]) -> tuple[T, object]:
        return await piece, _stale_in.get()

    try:
        async with asyncio.TaskGroup() as group:
            yield lambda piece: Branch(group.create_task(followed(piece)))
    except ExceptionGroup as several:
        raise _first(several) from several


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What several pieces of independent work give, in their order, done at the same time.

    In a dry run none makes another stale; all of them together make stale what follows. The first error ends the
    others and is raised as it is.
    """
    async with branches() as begin:
        begun = [begin(piece) for piece in work]
    return [await one for one in begun]


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """What a piece of work gives, on a line of its own that makes nothing else stale.

    For work whose outcome steers what follows by what it tells of a model, and not by what it tells of a text.
    """
    with own_line():
        return await work


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner


def unmarked(text: str) -> str:
    """`text` without marks."""
    return text.replace(MARK, "")


def marked(value: T) -> T:
    """`value` with a mark at the end of every paragraph of prose in it: a text, or data with texts inside.

    Names find each other by being equal, so they stay as they are: a string of one word, and every string that some
    field called `name` of the same value holds. Dataclasses, pydantic models, tuples, lists, sets and the values of
    mappings are gone through; anything else comes back as it is.
    """
    if isinstance(value, str):
        return _marked_text(value)  # type: ignore[return-value] # a text for a text
    names = set(_names(value))
    return _marked(value, names)  # type: ignore[no-any-return] # data of the same type


def _marked_text(text: str) -> str:
    return _PARAGRAPH_END.sub(MARK, text) if text.strip() else text


def _marked(value: Any, names: set[str]) -> Any:  # noqa: ANN401, PLR0911 - any value
    if isinstance(value, str):
        return value if value in names or len(value.split()) <= 1 else _marked_text(value)
    if isinstance(value, tuple):
        parts = [_marked(part, names) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, (list, set, frozenset)):
        return type(value)(_marked(part, names) for part in value)
    if isinstance(value, dict):
        return {key: _marked(part, names) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _marked(getattr(value, f.name), names) for f in fields(value) if f.init}
        return replace(value, **changed)
    if hasattr(value, "model_copy"):  # a pydantic model
        return value.model_copy(
            update={name: _marked(getattr(value, name), names) for name in type(value).model_fields}
        )
    return value


def _names(value: Any) -> Iterator[str]:  # noqa: ANN401 - any value
    """Every string in a field called `name`."""
    if isinstance(value, (tuple, list, set, frozenset)):
        parts: Iterable[Any] = value
    elif isinstance(value, dict):
        parts = value.values()
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif hasattr(value, "model_copy"):
        parts = [getattr(value, name) for name in type(value).model_fields]
    else:
        return
    if isinstance(name := getattr(value, "name", None), str):
        yield name
    for part in parts:
        yield from _names(part)
