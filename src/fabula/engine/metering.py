"""The usage of the calls in a part of a run; recorded calls count as when they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fabula.engine.events import CallFinished, Event
from fabula.engine.journal import CallFilter
from fabula.models.base import Usage

if TYPE_CHECKING:
    from fabula.engine.run import Run


@contextmanager
def metered(run: Run, paths: Sequence[str]) -> Iterator[list[Usage]]:
    """A list that holds the usage of each call inside once the context ends; `paths` are the places of those calls.

    A text that is used again, or that the author has since replaced, counts with its usage when it was made.
    """
    context, took = run.context, list[Usage]()
    heard, planned = context.listeners, len(context.dry_run.planned)

    def hear(event: Event) -> None:
        if isinstance(event, CallFinished):
            took.append(event.usage)

    context.listeners = (*heard, hear)
    try:
        yield took
    finally:
        context.listeners = heard
    took += [Usage(call.prompt, reply=call.reply, cost=call.cost) for call in context.dry_run.planned[planned:]]
    if not took:
        found = (context.journal.calls.find(CallFilter(under=run.scope(path).at)) for path in paths)
        took += [call.reply.usage for calls in found for call in calls]
