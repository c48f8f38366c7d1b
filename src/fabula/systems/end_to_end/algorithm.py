"""The end-to-end baseline of Agents' Room (section 5): the brief in, the story out, one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.craft.length import parse_range, read_range
from fabula.craft.prose import Prose, write_prose
from fabula.models.base import Sampling
from fabula.story import Story
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief

USUAL_WORDS = 1207  # for estimates: the mean length of this baseline's stories in Table 2


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        max_tokens: target length of the reply (section 5).
        tidy: chatter, loops and half sentences are taken out of the reply.
        length_control: the brief's word range is met.
        words: a word range that stands for the brief's; empty reads it from the brief.
    """

    max_tokens: int = 4096
    tidy: bool = False
    length_control: bool = False
    words: str = ""

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: a tidy reply of the length asked for."""
        return cls(tidy=True, length_control=True)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task; in improved mode more where the story is too short."""

    async def make(run: Run) -> str:
        scratchpad = Scratchpad.of(brief)
        if not config.tidy:
            sampling = Sampling(max_tokens=config.max_tokens)
            return await run.ask(
                "writer", "story", sampling=sampling, expect=USUAL_WORDS, scratchpad=scratchpad, words=None
            )
        want = None
        if config.length_control:
            want = parse_range(config.words) if config.words else read_range(brief.text)
        prose = Prose(last=True, want=want, labels=("Creative Writing Task", "Story"), usual=USUAL_WORDS)
        fields = {"scratchpad": scratchpad}
        return await write_prose(run, "writer", "story", prose, config.max_tokens, before=[brief.text], fields=fields)

    return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))
