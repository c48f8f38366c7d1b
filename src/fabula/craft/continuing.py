"""Continuing a part of the story after its end, for systems without their own way to do so; ours.

Who wrote the part writes what follows, and is shown the task, the plan, its text and the parts before it; of those that
there is no room for, accounts or excerpts (`fabula.craft.accounts`), or the notes that a book keeps
(`fabula.craft.so_far`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fabula.craft import SO_FAR
from fabula.craft.accounts import Accounts, Earlier
from fabula.craft.length import WordRange, words_to_follow
from fabula.craft.packing import chosen, end_of, first_of, last_of, note_assumed_window, whole_at_end
from fabula.craft.prose import Prose, write_prose
from fabula.craft.so_far import read_so_far
from fabula.engine.run import Run, has_author_text
from fabula.story.export.prose import title_of

if TYPE_CHECKING:
    from fabula.engine.making import Continuation


_SEAM: Final = 200  # tokens of the part's end, for who shortens what follows it
_BRIEF, _PLAN, _BEFORE, _TEXT = 0.15, 0.15, 0.15, 0.2  # shares of the window
_SHORT: Final = 700  # tokens of each, for small models
_MOST_NOTES: Final = 3_000  # tokens of the notes on a book


def continuer(brief: str, *, unfinished: bool = False) -> Callable[[Run, Continuation], Awaitable[str]]:
    """What continues parts of a story that was asked for by `brief` (`RunContext.go_on`).

    The last part of an `unfinished` one goes on without an end.
    """

    async def go_on(run: Run, continuation: Continuation) -> str:
        return await continued(run, replace(continuation, last=continuation.last and not unfinished), brief)

    return go_on


async def continued(run: Run, continuation: Continuation, brief: str) -> str:
    """What follows a part of the story; one call, more where it comes out too short or too long.

    Raises:
        ReplyError: the role gives no usable prose.
    """
    role, text, texts = continuation.role, continuation.text, [*continuation.before.values()]
    note_assumed_window(run, role)
    room = {share: run.room(role).prompt_tokens(_SHORT, share) for share in (_BRIEF, _PLAN, _BEFORE, _TEXT)}
    whole, story = whole_at_end(texts, room[_BEFORE]), Run(run.context)  # accounts are those of the whole story
    parts = [
        Earlier(path, title_of(one) or f"Part {n}", one, stands=has_author_text(story, path))
        for n, (path, one) in enumerate(continuation.before.items(), 1)
    ]
    goes_on = f"what follows “{title_of(text) or continuation.path}”"
    notes = [read_so_far(one) for of, one in run.context.told.values() if of == SO_FAR][-1:]
    noted = [
        line for state in notes for line in state.shown(text, state.chapter + 2, min(room[_BEFORE], _MOST_NOTES)).lines
    ]
    parts = parts[notes[0].chapter if notes else 0 :]
    fields: dict[str, Any] = {
        "brief": first_of(brief, room[_BRIEF]),
        "plan": chosen([("", one) for one in continuation.plan.values()], room[_PLAN], last_of(text, room[_TEXT])),
        "told": [
            *noted,
            *await Accounts(brief).told(story, role, parts, next_one=goes_on, whole=min(whole, len(parts))),
        ],
        "before": end_of(texts, room[_BEFORE]),
        "text": last_of(text, room[_TEXT]),
        "follows": last_of(text, _SEAM),
        "last": continuation.last,
    }
    words = words_to_follow(run, text)
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
