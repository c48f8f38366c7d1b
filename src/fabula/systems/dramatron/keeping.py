"""Artefacts that are made side by side and kept in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import FabulaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fabula.engine.run import Run


@dataclass(frozen=True)
class Part:
    """An artefact that does not wait for its neighbours: its name, how it is made, and how it is continued."""

    name: str
    make: Callable[[Run], Awaitable[str]]
    more: Callable[[Run, str], Awaitable[str]]


class _Row:
    """Who has had their turn; a part whose neighbour failed is not kept, but what it asked stays in the journal."""

    def __init__(self, length: int) -> None:
        self._done = [asyncio.Event() for _ in range(length)]
        self.failed: dict[int, FabulaError] = {}

    async def turn(self, number: int) -> None:
        """Wait until all before `number` are kept.

        Raises:
            FabulaError: of the first that failed before.
        """
        for event in self._done[:number]:
            await event.wait()
        before = [at for at in self.failed if at < number]
        if before:
            raise self.failed[min(before)]

    def leave(self, number: int) -> None:
        self._done[number].set()


async def keep_side_by_side(run: Run, parts: Sequence[Part], *, folder: str) -> list[str]:
    """The texts of `parts`, all made at once, kept (and so numbered) one after the other.

    Where one fails, those that are being asked are still heard and recorded, since they are paid for.

    Raises:
        FabulaError: of the first part in order that failed.
    """
    row, texts = _Row(len(parts)), [""] * len(parts)

    async def keep(number: int, part: Part) -> None:
        async def make(own: Run) -> str:
            text = await part.make(own)
            await row.turn(number)
            return text

        async def more(own: Run, base: str) -> str:
            text = await part.more(own, base)
            await row.turn(number)
            return text

        try:
            path = "/".join((*run.path, part.name))
            override = run.context.override(path)
            if override is not None and override[1] != "continued":
                await row.turn(number)  # the author's own text would be kept at once, and so out of order
            texts[number] = await run.keep(part.name, make, folder=folder, more=more)
        except FabulaError as error:
            row.failed[number] = error
        finally:
            row.leave(number)

    async with asyncio.TaskGroup() as group:
        for number, part in enumerate(parts):
            group.create_task(keep(number, part))
    if row.failed:
        raise row.failed[min(row.failed)]
    return texts
