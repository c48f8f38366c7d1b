"""A chosen draft, ours: several drafts unlike each other, a reader who chooses one, and that one revised as a whole.

One model that revises its own story cannot leave the idea that it began with. Here the tokens of its last revisions
go into other ideas, and somebody who has written none of them chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.craft.whole import beginnings, choose_one, keep_story, material, task, whole, words_in_one_reply
from fabula.engine.making import DRAFTS
from fabula.story import Brief, Story, count_words

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.systems.chosen_draft.config import Config


WRITER, READER = "writer", "reader"


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call for each draft, one for the choice between them, and one for each revision.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        UsageError: the story is too long to be one reply, or the setting `words` is not a range.
        ReplyError: a role gives nothing of use.
    """
    want = words_in_one_reply(brief, config.words, "A chosen draft")
    s, drafts = task(brief, await material(run)), list[str]()
    for n in range(1, max(config.drafts, 1) + 1):
        more = {"others": beginnings(drafts)}
        make = whole(WRITER, "draft", s, want, loose=config.revisions > 0, more=more)
        drafts.append(await run.scope(DRAFTS).keep(f"draft-{n}", make, folder=DRAFTS))
    text = await choose_one(run, READER, drafts, s)
    for n in range(1, config.revisions + 1):
        about = {"draft": text, "has": count_words(text), "n": n, "rounds": config.revisions}
        make = whole(WRITER, "revise", s, want, loose=n < config.revisions, more=about)
        text = await run.scope(DRAFTS).keep(f"version-{n}", make, folder=DRAFTS)
    return await keep_story(brief, run, text)
