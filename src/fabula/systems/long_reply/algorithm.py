"""One long reply, ours: the model plans, drafts and revises in writing, and its reply ends with the story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.whole import material, task, words_in_one_reply
from fabula.engine.replies import clean_prose, read_ending
from fabula.engine.run import in_voice
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import Story, count_words

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.long_reply.config import Config

WRITER: Final = "writer"
HEADING: Final = "STORY"
_TRIES: Final = 3
_WORDS_A_TOKEN: Final = 0.75
_USUAL: Final = 1200  # words of a story where none are asked for
_LONG_REPLY: Final = 8192  # tokens that models of today write at least in one reply, where it is not known
_USED: Final = 0.8  # of the room, for estimates
_LEAST_WORK: Final = 100  # words


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call, and at most two more where a reply has no story in it.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        UsageError: the story is too long to be one reply, or the setting `words` is not a range.
        ReplyError: no reply had a story.
    """
    want = words_in_one_reply(brief, config.words, "A long reply's story")
    s = task(brief, await material(run))
    story, left = want.target if want else _USUAL, 0
    if config.tokens:  # room for the story there always is
        least = round((story + _LEAST_WORK) / _WORDS_A_TOKEN)
        left = max(config.tokens - estimate_tokens(s.entries[0].text), least)
        left = min(left, run.room(WRITER).model.capabilities.reply or _LONG_REPLY)
    work = max(round(left * _WORDS_A_TOKEN) - story, _LEAST_WORK) if left else 0

    async def make(own: Run) -> str:
        own, fault = in_voice(own).tries("work"), ""
        for draw in range(_TRIES):
            reply = await own.again(draw, fault).reply(
                WRITER,
                "work",
                sampling=Sampling(max_tokens=left or None),
                expect=round(_USED * (story + work)),
                scratchpad=s,
                length=want,
                work=work,
                heading=HEADING,
            )
            below = read_ending(reply.text, HEADING)
            broken_off = reply.finish == "length" and below == reply.text
            found = clean_prose(below, labels=("Story",), last=True, finish=reply.finish, aids=own.room(WRITER).aids)
            for piece in found.dropped:
                own.removed(piece.kind, piece.text)
            if count_words(found.text) and not broken_off:
                return found.text
            fault = "It broke off before the story." if broken_off else "There was no story below the heading."
        problem = f"No reply of the role 'writer' at {own.at} had a story. {fault}"
        raise own.exhausted("work", problem, WRITER, reply.text)

    return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))
