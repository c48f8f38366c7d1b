"""The algorithm of example-name: an outline, and then one part of the story after the other.

Read `write` beside the paper's Algorithm 1. All that a system may touch is `run`: it asks (`ask`, `ask_for`, `choose`),
keeps texts that the author can edit (`keep`), and draws (`rng`). It records every call, so that a run that is killed
goes on where it stopped, and an edit has only that written again which depends on it. So ask for nothing behind its
back, and take no turn by the clock or by chance of your own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fabula.craft.length import WordRange, asked_range
from fabula.craft.prose import Prose, write_prose
from fabula.models.base import Sampling
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.run import Run
    from fabula.story import Brief

    from .config import Config

_PART_WORDS = 300  # where the brief asks for no length; an estimate reckons with it


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """An outline, then its parts in order; each writer sees the outline and all that was told before."""
    # A role is asked inside `keep`: the text becomes a file (plan/outline.md), and an author's edit of it goes before.
    outline = await run.keep("outline", partial(_outline, brief, config), folder="plan")

    story = Story.of(brief)
    for number in range(1, config.paper.parts + 1):
        told = tuple(scene.text for scene in story.scenes)
        fields = {"brief": brief.titled, "outline": outline, "told": told, "number": number}
        text = await run.keep(f"part-{number}", partial(_part, brief, fields, config), folder="story")
        story = story.add(f"Part {number}", text)
    return story


async def _outline(brief: Brief, config: Config, run: Run) -> str:
    """What happens in each part (prompt outline.jinja), by the role `planner`."""
    paper = config.paper
    sampling = Sampling(temperature=paper.temperature)
    return await run.ask("planner", "outline", sampling=sampling, brief=brief.titled, parts=paper.parts)


async def _part(brief: Brief, given: Mapping[str, Any], config: Config, run: Run) -> str:
    """One part (prompt part.jinja), by the role `writer`."""
    paper, fields = config.paper, {**given, "parts": config.paper.parts}
    if not config.ours.length_control:
        sampling = Sampling(temperature=paper.temperature)
        return await run.ask("writer", "part", sampling=sampling, expect=_PART_WORDS, words=None, **fields)
    whole = asked_range(brief)
    share = whole and WordRange.about(max(whole.target // paper.parts, 1))
    prose = Prose(last=given["number"] == paper.parts, want=share, labels=(), usual=_PART_WORDS)
    before = (given["outline"], *given["told"])
    return await write_prose(run, "writer", "part", prose, before=before, fields=fields, temperature=paper.temperature)
