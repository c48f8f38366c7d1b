"""Shared code of evaluators with a judge: verdicts as ratings, what fits its window, and how texts are marked off."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeVar

from fabula.base.errors import ContextLengthError, RefusalError, ReplyError, UsageError
from fabula.engine.roles import is_person
from fabula.measure.ratings import RaterKind, Rating
from fabula.models.budget import estimate_tokens

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.models.base import Sampling


T = TypeVar("T")

NO_ANSWER: Final = (RefusalError, ContextLengthError)
"""How a judge fails to answer one call; its verdict is missing and counted, and the others stand."""
_MARK_LETTERS: Final = 8
_INSTRUCTION_TOKENS: Final = 900  # of a judge's prompt without the texts, with room for a schema
_REPLY_TOKENS: Final = 2000  # kept free for a reply that has no limit of its own


def kind_of(performer: str) -> RaterKind:
    """What kind of rater a recorded performer is."""
    if is_person(performer):
        return "person"
    return "program" if performer.startswith("program:") else "model"


def rating_of(
    items: Sequence[Item],
    by: str,
    *,
    evaluator: str,
    rubric: str,
    question: str,
    answer: str | float | None,
    call: str,
    shown: str | None = None,
    unscored: str = "",
    reason: str = "",
) -> Rating:
    """The verdict of the performer `by` on one item, or on several in the order in which they were shown.

    Args:
        items: what was judged, all of one prompt.
        by: identity of the performer.
        evaluator: who asked.
        rubric: version of the questions.
        question: what was asked.
        answer: what the verdict means; `None` where there is none.
        call: path of the call.
        shown: the answer as it was given; by default the number as text.
        unscored: why there is no answer.
        reason: what the judge wrote.
    """
    if shown is None:
        shown = "" if answer is None else answer if isinstance(answer, str) else f"{answer:g}"
    return Rating(
        rater=by or "judge",
        kind=kind_of(by),
        items=tuple(item.id for item in items),
        systems=tuple(item.system for item in items) if all(item.system for item in items) else (),
        prompt=items[0].prompt,
        question=question,
        shown=shown,
        answer=answer,
        unscored=unscored,
        reason=reason,
        rubric=rubric,
        evaluator=evaluator,
        call=call,
    )


def too_long(run: Run, role: str, what: str, texts: Sequence[str], max_tokens: int | None) -> str:
    """Why `texts` and a reply do not fit the window of the role together; empty where they do."""
    window = run.room(role).window
    needed = sum(map(estimate_tokens, texts)) + (max_tokens or _REPLY_TOKENS) + _INSTRUCTION_TOKENS
    if window is None or needed <= window:
        return ""
    return (
        f"{what} and a reply need about {needed:,} tokens, but the {role} has room for {window:,}. Use one with more "
        "room, or leave this level out with --set levels=chapter,sentence."
    )


async def reply_or_why(
    at: Run,
    shape: type[T],
    role: str,
    prompt: str,
    sampling: Sampling,
    /,
    **fields: object,
) -> tuple[T | None, str]:
    """A typed reply, or why there is none: it cannot be read, the judge declines, or has no room.

    Asked as `Run.ask_for` asks.

    Raises:
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    try:
        return await at.ask_for(shape, role, prompt, sampling=sampling, **fields), ""
    except (ReplyError, *NO_ANSWER) as error:
        return None, str(error)


def mark_for(*texts: str) -> str:
    """A mark that stands in none of the texts, and is the same whatever their order."""
    digest = sha256("\0".join(sorted(texts)).encode("utf-8", "replace")).hexdigest()
    while any(digest[:_MARK_LETTERS] in text for text in texts):
        digest = sha256(digest.encode()).hexdigest()
    return digest[:_MARK_LETTERS]


def source_of(item: Item) -> str:
    """The narrative that a dialogue was plays: the item's own, else its reference, else its brief.

    Raises:
        UsageError: there is none.
    """
    text = item.narrative or (item.reference.text if item.reference else item.brief.text if item.brief else "")
    if not text.strip():
        raise UsageError(
            f"The dialogue {item.id} has no narrative, which its rating needs. Give it with "
            "`fabula evaluate snap-ratings --narrative FILE`; or give a project, or JSON lines with a `narrative`."
        )
    return text
