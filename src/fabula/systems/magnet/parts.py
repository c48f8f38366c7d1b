"""Chapters and scenes as a person has them: kept as files that can be edited, with the timesteps that made them; ours.

Where a text stands that no step made, its steps are gone through from what was kept, at no call, and what the author
made otherwise changes W (one call), so that a paragraph in the middle reaches all that follows.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from fabula.base.errors import ReplyError
from fabula.craft.packing import paragraphs
from fabula.engine.events import RECORD
from fabula.models.base import Sampling
from fabula.story.world import Moment
from fabula.story.world.file import write_world
from fabula.systems.magnet.records import SectionRecord, TimestepRecord, WorldProgress
from fabula.systems.magnet.shapes import Changes

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.world.flat import Write


async def keep_part(
    now: WorldProgress, run: Run, kind: str, timesteps: Callable[[Run], Awaitable[list[TimestepRecord]]]
) -> str:
    """The text of the next chapter or scene (`kind`), after which `now` stands behind it."""
    now.part, now.begin = now.part + 1, len(now.story)
    before, time = now.begin, now.world.time

    async def make(own: Run) -> SectionRecord:
        steps = await timesteps(own)
        return SectionRecord("\n\n".join(now.story[before:]), tuple(steps))

    async def again(own: Run, part: SectionRecord) -> SectionRecord:
        for step in part.steps:
            now.retrace(step)
        told, text = now.story[before:], paragraphs(part.text)
        return replace(part, edited=told != text, amended=await _amended(now, own, told, text))

    part = await run.keep(f"{kind}-{now.part}", make, folder="story", again=again, shape=SectionRecord)
    for step in part.steps:
        now.retrace(step)
    now.stands(part)
    now.world.amend(Moment(now.part, max(len(now.story) - before, 1) + 1), part.amended, time)
    now.counts["amended"] += len(part.amended)
    now.world.put_scene(now.part, f"{kind.capitalize()} {now.part}")
    steps = map(asdict, part.steps)
    await _kept(run, "steps", now.part, lambda: json.dumps([*steps], ensure_ascii=False, indent=1))
    await _kept(run, "world", now.part, lambda: _world_of(now))
    return part.text


async def _amended(now: WorldProgress, run: Run, told: Sequence[str], text: Sequence[str]) -> tuple[Write, ...]:
    """What an author's text of a part, of which the steps made `told`, changes in W; one call, or none."""
    paper, role = now.config.paper, "critic" if now.config.paper.critic else "narrator"
    if run.context.unless_made_up(lambda: told == text, instead=False) or not paper.world_updates:
        return ()
    parts = SequenceMatcher(a=told, b=text, autojunk=False).get_opcodes()
    try:
        made = await run.ask_for(
            Changes,
            role,
            "reread",
            sampling=Sampling(temperature=paper.critic_temperature),
            old=[one for kind, a, b, _, _ in parts if kind != "equal" for one in told[a:b]],
            new=[one for kind, _, _, a, b in parts if kind != "equal" for one in text[a:b]],
            world=now.variables(),
            goal=now.goal,
        )
    except ReplyError as error:
        run.note(f"What was changed there could not be read: {error}")
        return ()
    writes, refused = now.world.writes_of(made.world_updates, "edit")
    now.counts["refused"] += len(refused)
    return writes


def _world_of(now: WorldProgress) -> str:
    """A part's share of the world."""
    world = now.world.world
    first = Moment.end(now.part - 1) if now.part > 1 else None
    return write_world(world, world.index.told(first, Moment.end(now.part)))


async def _kept(run: Run, what: str, part: int, compute: Callable[[], str]) -> None:
    """Keep a file that has another name than the part, which people call by name."""
    name = f"{what}-{part}"

    async def make(_: Run) -> str:
        return compute()

    await run.scope(what).keep(name, make, folder=what, suffix=RECORD)
