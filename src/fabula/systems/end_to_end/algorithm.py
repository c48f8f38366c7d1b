"""The end-to-end baseline of Agents' Room (section 5, E2E): the brief in, the story out, one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.craft.length import asked_range
from fabula.craft.prose import Prose, write_prose
from fabula.models.base import Sampling
from fabula.story import Story
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.end_to_end.config import Config

_STORY_WORDS: Final = 1207  # where none are asked for: the mean length of this baseline's stories in Table 2
_LABELS: Final = ("Creative Writing Task", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task; with `revisions` one more for each, in improved mode more for the length.

    Raises:
        ReplyError: the writer gives nothing of use.
        UsageError: the setting `words` is no range.
    """
    scratchpad = Scratchpad.of(brief)
    if run.aids("writer") or not config.ours.revisions:
        y = await run.keep("story", _make("story", brief, config, scratchpad=scratchpad), folder="story")
        return Story.of(brief).add("Story", y)
    y = await run.keep("draft", _make("story", brief, config, scratchpad=scratchpad), folder="plan")
    for n in range(1, config.ours.revisions + 1):
        last = n == config.ours.revisions
        make = _make("revise", brief, config, scratchpad=scratchpad, draft=y)
        y = await run.keep("story" if last else f"draft-{n + 1}", make, folder="story" if last else "plan")
    return Story.of(brief).add("Story", y)


def _make(prompt: str, brief: Brief, config: Config, **fields: Any) -> Callable[[Run], Awaitable[str]]:
    """What asks the writer for the story by a prompt; in improved mode of the length asked for."""
    paper, ours = config.paper, config.ours
    want = asked_range(brief, ours.words) if ours.length_control else None

    async def make(run: Run) -> str:
        if ours.tidy or run.aids("writer"):
            prose = Prose(last=True, want=want, labels=_LABELS, usual=_STORY_WORDS)
            limit = paper.max_tokens or None
            return await write_prose(run, "writer", prompt, prose, limit, before=[brief.text], fields=fields)
        sampling = Sampling(max_tokens=paper.max_tokens or None)
        return await run.ask("writer", prompt, sampling=sampling, expect=_STORY_WORDS, words=None, **fields)

    return make
