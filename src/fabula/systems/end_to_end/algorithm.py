"""The end-to-end baseline of Agents' Room (section 5, E2E): the brief in, the story out, one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.length import read_range
from fabula.craft.whole import material, task
from fabula.models.base import Sampling
from fabula.story import Brief, Story, count_words

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.systems.end_to_end.config import Config


USUAL_WORDS: Final = 1207  # where none are asked for: the mean length of this baseline's stories in Table 2
_WORDS_A_TOKEN: Final = 0.75


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call: the writing task, and whatever material the author gives for it, is the prompt; the reply is the story.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        ReplyError: the writer gives no text.
    """
    s, limit = task(brief, await material(run)), config.paper.max_tokens or None
    expect = words_of_one_reply(brief, run, limit)

    async def make(own: Run) -> str:
        own = own.tries("story")
        y = await own.ask("writer", "story", sampling=Sampling(max_tokens=limit), expect=expect, scratchpad=s)
        if not count_words(y):
            raise own.exhausted("story", f"The role 'writer' gave no text at {own.at}.", "writer", y)
        return y

    return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))


def words_of_one_reply(brief: Brief, run: Run, limit: int | None) -> int:
    """About how many words the reply will have: those the brief asks for, as far as one reply can hold them."""
    asked, most = read_range(brief.text), int((limit or run.room("writer").reply_budget) * _WORDS_A_TOKEN)
    if asked is not None and asked.target > most:
        run.note(
            f"The brief asks for {asked.target:,} words. This is one reply, which holds about {most:,}: the story will "
            "be shorter, or break off. Without `--preset faithful` a long story is written in chapters.",
            "notice",
        )
    return min(asked.target if asked else USUAL_WORDS, most)
