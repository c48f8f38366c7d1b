"""The answer to a request for a turn, and its usage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from fabula.engine.events import CallFinished, Event
from fabula.models.base import NOTHING_USED, Usage

if TYPE_CHECKING:
    from fabula.craft.conversation import Turn, Where


T = TypeVar("T")


@dataclass
class Meter:
    """The usage of the calls of one request; calls from the journal use nothing."""

    usage: Usage = NOTHING_USED


_METER: Final[ContextVar[Meter | None]] = ContextVar("fabula_meter", default=None)


def measure(event: Event) -> None:
    """Count a call for the request in whose task it is made; a listener of the run."""
    meter = _METER.get()
    if meter is not None and isinstance(event, CallFinished) and not event.replayed:
        meter.usage += event.usage


async def measured(meter: Meter, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work` within so many seconds; `meter` counts its calls."""
    _METER.set(meter)
    async with asyncio.timeout(seconds):
        return await work


@dataclass(frozen=True, slots=True)
class ChatOutcome:
    """The outcome of a request.

    Attributes:
        text: the answer.
        conversation: the name of the conversation.
        where: the progress of the conversation.
        turn: the turn that was made; `None` if the story is over.
    """

    text: str
    conversation: str
    where: Where
    turn: Turn | None = None

    @property
    def about(self) -> dict[str, object]:
        """The contents of the field `fabula` of a reply, in addition to OpenAI's fields."""
        where, turn = self.where, self.turn
        who = turn.line.name if turn is not None and turn.line is not None else ""
        about = {"session": self.conversation, "who": who, "present": list(where.present), "cell": where.cell}
        about |= {"cells": where.cells, "step": where.step, "steps": where.steps}
        ends = (turn.ends_cell, turn.ends_story) if turn is not None else (False, True)
        return about | dict(zip(("ends_cell", "ends_story"), ends, strict=True))


OnPiece: TypeAlias = "Callable[[str], None] | None"
