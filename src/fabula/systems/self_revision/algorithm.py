"""Self-revision, ours: one model drafts the whole story and gives it again and again, each time revised as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.spending import rounds
from fabula.craft.whole import keep_story, material, task, whole, words_in_one_reply
from fabula.engine.making import DRAFTS
from fabula.story import Brief, Story, count_words

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.systems.self_revision.config import Config


WRITER: Final = "writer"


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call for the draft, and one for each revision of the whole.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        UsageError: the story is too long to be one reply, or the setting `words` is not a range.
        ReplyError: the writer gives nothing of use.
    """
    want = words_in_one_reply(brief, config.words, "A story of self-revision")
    s, text = task(brief, await material(run)), ""
    usual = config.revisions + 1
    async for n in rounds(run, config, usual, f"{DRAFTS}/version-{{}}"):
        about = {"draft": text, "has": count_words(text), "n": n - 1, "rounds": 0 if config.amount else usual - 1}
        loose = not config.amount and n < usual
        prompt, more = ("revise", about) if text else ("draft", {})
        make = whole(WRITER, prompt, s, want, loose=loose, more=more)
        text = await run.scope(DRAFTS).keep(f"version-{n}", make, folder=DRAFTS)
    return await keep_story(brief, run, text)
