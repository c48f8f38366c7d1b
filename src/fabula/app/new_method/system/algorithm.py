"""The algorithm of example-name: an outline, followed by the parts of the story one after another.

This file is the paper and nothing else: read `write` next to its Algorithm 1. Your additions are in `improved.py`.
A system uses only `run`: it calls models (`ask`, `ask_for`, `choose`), keeps texts that the author can edit (`keep`),
and draws random numbers (`rng`). It records every call, so that a run that is killed continues where it stopped, and
after an edit only the texts that depend on it are written again. So call no model in any other way, and base no
decision on the clock or on other random numbers.
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
"""The number of words per part if the brief does not specify a length; an estimate uses this number."""


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """An outline, then its parts in order; each writer sees the outline and all earlier parts."""
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
    """The events of each part (prompt outline.jinja), planned by the role `planner`."""
    sampling = Sampling(temperature=paper.temperature)
    return await run.ask("planner", "outline", sampling=sampling, brief=brief.titled, parts=paper.parts)


async def _part(brief: Brief, paper: Paper, outline: str, told: Sequence[str], number: int, run: Run) -> str:
    """One part (prompt part.jinja), written by the role `writer`."""
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
