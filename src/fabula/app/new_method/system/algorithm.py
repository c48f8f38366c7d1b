"""The algorithm of example-name: an outline, and then one part of the story after the other.

This file is the paper and nothing else: read `write` beside its Algorithm 1. What you add stands in `improved.py`.
All that a system may touch is `run`: it asks (`ask`, `ask_for`, `choose`), keeps texts that the author can edit
(`keep`), and draws (`rng`). It records every call, so that a run that is killed goes on where it stopped, and an edit
has only that written again which depends on it. So ask for nothing behind its back, and take no turn by the clock or
by chance of your own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabula.plugin import Sampling, Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.plugin import Brief, Run

    from .config import Config, Paper

USUAL_WORDS = 300
"""Words of a part where nobody asks for a length; an estimate reckons with it."""


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """An outline, then its parts in order; each writer sees the outline and all that was told before."""
    # A role is asked inside `keep`: the text becomes a file (plan/outline.md), and an author's edit of it goes before.
    outline = await run.keep("outline", partial(outline_of, brief, config.paper), folder="plan")

    story = Story.of(brief)
    for number in range(1, config.paper.parts + 1):
        told = [scene.text for scene in story.scenes]
        make = partial(_part, brief, config.paper, outline, told, number)
        text = await run.keep(f"part-{number}", make, folder="story")
        story = story.add(f"Part {number}", text)
    return story


async def outline_of(brief: Brief, paper: Paper, run: Run) -> str:
    """What happens in each part (prompt outline.jinja), by the role `planner`."""
    sampling = Sampling(temperature=paper.temperature)
    return await run.ask("planner", "outline", sampling=sampling, brief=brief.titled, parts=paper.parts)


async def _part(brief: Brief, paper: Paper, outline: str, told: Sequence[str], number: int, run: Run) -> str:
    """One part (prompt part.jinja), by the role `writer`."""
    return await run.ask(
        "writer",
        "part",
        sampling=Sampling(temperature=paper.temperature),
        expect=USUAL_WORDS,
        brief=brief.titled,
        outline=outline,
        told=told,
        number=number,
        parts=paper.parts,
    )
