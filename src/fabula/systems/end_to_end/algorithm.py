"""The end-to-end baseline of Agents' Room (section 5, E2E): the brief in, the story out, one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.length import asked_range
from fabula.craft.prose import Prose, write_prose
from fabula.models.base import Sampling
from fabula.story import Story
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.end_to_end.config import Config

_STORY_WORDS: Final = 1207  # where none are asked for: the mean length of this baseline's stories in Table 2
_LABELS: Final = ("Creative Writing Task", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task; in improved mode more where the story is not of the length asked for.

    Raises:
        ReplyError: the writer gives nothing of use.
        UsageError: the setting `words` is no range.
    """
    paper, ours = config.paper, config.ours
    want = asked_range(brief, ours.words) if ours.length_control else None
    fields = {"scratchpad": Scratchpad.of(brief)}

    async def make(run: Run) -> str:
        if ours.tidy or run.aids("writer"):
            prose = Prose(last=True, want=want, labels=_LABELS, usual=_STORY_WORDS)
            limit = paper.max_tokens or None
            return await write_prose(run, "writer", "story", prose, limit, before=[brief.text], fields=fields)
        sampling = Sampling(max_tokens=paper.max_tokens or None)
        return await run.ask("writer", "story", sampling=sampling, expect=_STORY_WORDS, words=None, **fields)

    return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))
