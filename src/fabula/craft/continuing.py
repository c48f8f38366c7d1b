"""A part of the story goes on after its end, in systems that have no way of their own to continue it; ours.

Who wrote the part writes what follows, and is shown the task, the plan, the parts before it and its text, as far as
there is room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.craft.length import WordRange
from fabula.craft.packing import first_of, last_of
from fabula.craft.prose import Prose, write_prose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.engine.making import Continuation
    from fabula.engine.run import Run

_SEAM: Final = 200  # tokens of the part's end, for who shortens what follows it
_BRIEF, _PLAN, _BEFORE, _TEXT = 0.15, 0.15, 0.15, 0.2  # shares of the window
_SHORT: Final = 700  # tokens of each, for small models


def continuer(brief: str) -> Callable[[Run, Continuation], Awaitable[str]]:
    """What continues parts of a story that was asked for by `brief` (`RunContext.go_on`)."""

    async def go_on(run: Run, continuation: Continuation) -> str:
        return await continued(run, continuation, brief)

    return go_on


async def continued(run: Run, continuation: Continuation, brief: str) -> str:
    """What follows a part of the story; one call, more where it comes out too short or too long.

    Raises:
        ReplyError: the role gives no usable prose.
    """
    role, text = continuation.role, continuation.text
    room = {share: run.prompt_tokens(role, _SHORT, share) for share in (_BRIEF, _PLAN, _BEFORE, _TEXT)}
    plan = "\n\n".join(continuation.plan.values())
    fields: dict[str, Any] = {
        "brief": first_of(brief, room[_BRIEF]),
        "plan": first_of(plan, room[_PLAN]),
        "before": last_of("\n\n".join(continuation.before), room[_BEFORE]),
        "text": last_of(text, room[_TEXT]),
        "follows": last_of(text, _SEAM),
        "last": continuation.last,
    }
    words = continuation.words
    prose = Prose(
        last=continuation.last,
        want=WordRange.about(words),
        labels=(),
        usual=words,
        previous=text,
        extend="continue_longer",
        shorten="continue_shorter",
    )
    return await write_prose(run, role, "continue", prose, before=[fields["before"], text], fields=fields)
