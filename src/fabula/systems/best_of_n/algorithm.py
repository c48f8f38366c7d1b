"""Best of n, ours: one model writes the story several times, and a judge keeps the better of two, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.raters import mark_for
from fabula.craft.spending import rounds
from fabula.craft.whole import keep_story, material, task, whole, words_in_one_reply
from fabula.engine.making import DRAFTS
from fabula.engine.replies import SIDES
from fabula.engine.run import Run, side_by_side

if TYPE_CHECKING:
    from fabula.story import Brief, Story
    from fabula.story.scratchpad import Scratchpad
    from fabula.systems.best_of_n.config import Config


WRITER, JUDGE = "writer", "judge"
_POINTS: Final = {"A": 1, "B": -1}


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Write drafts with one call each. From the second draft, two more calls compare it with the best one so far.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        UsageError: the story is too long to be one reply, or the setting `words` is not a range.
        ReplyError: a role gives nothing of use.
    """
    want = words_in_one_reply(brief, config.words, "Each draft")
    s, best = task(brief, await material(run)), ""
    async for n in rounds(run, config, config.drafts, f"{DRAFTS}/draft-{{}}", "compare/{}"):
        text = await run.scope(DRAFTS).keep(f"draft-{n}", whole(WRITER, "draft", s, want), folder=DRAFTS, reads=())
        best = text if not best or await is_better(text, best, s, run.scope("compare", n)) else best
    return await keep_story(brief, run, best)


async def is_better(one: str, other: str, s: Scratchpad, run: Run) -> bool:
    """Whether a judge prefers `one`, shown both stories in both orders; where the orders disagree it is not."""
    straight, turned = await side_by_side(
        run.scope(order).choose(
            SIDES, JUDGE, "compare", scratchpad=s, first=first, second=second, mark=mark_for(first, second)
        )
        for order, (first, second) in enumerate([(one, other), (other, one)], 1)
    )
    return _POINTS.get(straight, 0) > _POINTS.get(turned, 0)
