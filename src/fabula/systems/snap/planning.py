"""The plan of a cell: some candidates (section 4.3), and the best of them (section 4.4)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fabula.base.errors import ReplyError
from fabula.craft.conversation.talk import Step, plan_text
from fabula.engine.dry_run import STALE
from fabula.engine.replies import ReplyProblem
from fabula.engine.replies.dialogue import read_plan
from fabula.models.base import Sampling
from fabula.story.sentences import sentences
from fabula.systems.snap.filtering import Filter
from fabula.systems.snap.people import clipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.conversation.talk import Parties
    from fabula.engine.run import Run
    from fabula.systems.snap.algorithm import Config

_ALL = 60
_FIRST = "#1. "


async def plan_of(
    run: Run,
    parties: Parties,
    segment: str,
    personas: Mapping[str, str],
    config: Config,
    *,
    present: Sequence[str],
    memory: str,
) -> tuple[Step, ...]:
    """The plan of a cell, kept as `plan/cell-N-plan.md`; `candidates` calls, and those of the filter.

    Raises:
        ReplyError: no plan could be read (only without `lenient`).
    """
    shown = clipped(segment, config)

    async def make(own: Run) -> str:
        fields = {
            "player": parties.player,
            "people": list(present),
            "player_persona": personas[parties.player],
            "personas": [personas[name] for name in present],
            "memory": memory,
            "segment": shown,
            "instruction_first": config.instruction_first,
            "lead": _FIRST if config.lead else "",
        }
        sampling = Sampling(temperature=config.plan_temperature, max_tokens=config.plan_tokens)
        texts = await _drawn(own, config, sampling, fields)
        plans = list(_readable(texts, config))
        if not plans and not config.lenient:
            raise ReplyError(
                f"No plan could be read at {own.at} in {len(texts)} replies. Run with another --seed.", reply=texts[-1]
            )
        choice = Filter(own, config, shown, "\n".join(personas[name] for name in present))
        best = await choice.best(plans) if plans else ()
        if config.lenient and not choice.fits(best):
            own.note("No plan was like its segment; the segment's own sentences stand in.")
            best = steps_of(segment, config.most_steps or _ALL)
        return plan_text(best)

    text = await run.keep("plan", make, folder="plan")
    return tuple(Step(title, detail) for title, detail in read_plan(text.replace(STALE, ""), _ALL))


async def _drawn(run: Run, config: Config, sampling: Sampling, fields: Mapping[str, Any]) -> list[str]:
    """The candidates' texts."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run.scope("candidate", number).ask("planner", "plan", sampling=sampling, **fields))
            for number in range(1, config.candidates + 1)
        ]
    return [task.result() for task in tasks]


def _readable(texts: Sequence[str], config: Config) -> list[tuple[Step, ...]]:
    """The candidates that can be read, without doubles."""
    found: dict[tuple[Step, ...], None] = {}
    for text in texts:
        try:
            steps = tuple(Step(title, detail) for title, detail in read_plan(text, config.most_steps or _ALL))
        except ReplyProblem:
            continue
        found.setdefault(steps)
    return list(found)


def steps_of(segment: str, most: int) -> tuple[Step, ...]:
    """A plan that is the segment itself: its sentences, in at most `most` equal parts of two or more."""
    told = sentences(" ".join(segment.split())) or [segment.strip()]
    size = max(2, -(-len(told) // most))
    return tuple(Step(" ".join(told[n : n + size])) for n in range(0, len(told), size))
