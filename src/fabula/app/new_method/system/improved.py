"""Your additions to the paper of example-name: each part gets its share of the words that the brief asks for.

`--preset improved`, the default, runs this file; `--preset faithful` runs `algorithm.py`. This file calls the paper's
functions for all that is the same. Its prompts are in `prompts/improved`; it uses the paper's prompts for the rest.
Without this file there is one preset.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabula.plugin import Prose, Story, WordRange, asked_range, write_prose

from .algorithm import USUAL_WORDS, outline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.plugin import Brief, Run

    from .config import Config


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Write as the paper does, with parts as long as the brief wants them and without greetings or headings."""
    outline = await run.keep("outline", partial(outline_of, brief, config.paper), folder="plan")

    story = Story.of(brief)
    for number in range(1, config.paper.parts + 1):
        told = [scene.text for scene in story.scenes]
        make = partial(_part, brief, config, outline, told, number)
        text = await run.keep(f"part-{number}", make, folder="story")
        story = story.add(f"Part {number}", text)
    return story


async def _part(brief: Brief, config: Config, outline: str, told: Sequence[str], number: int, run: Run) -> str:
    """One part (prompt improved/part.jinja); the writer is asked to continue a short part or shorten a long one."""
    parts = config.paper.parts
    whole = asked_range(brief)
    share = whole and WordRange.about(max(whole.target // parts, 1))
    prose = Prose(last=number == parts, want=share, labels=(), usual=USUAL_WORDS)
    fields = {"brief": brief.titled, "outline": outline, "told": told, "number": number, "parts": parts}
    before = (outline, *told)
    temperature = config.paper.temperature
    return await write_prose(run, "writer", "part", prose, before=before, fields=fields, temperature=temperature)
