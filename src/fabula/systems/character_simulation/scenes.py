"""All scenes of a plan played in story time. A unit waits for the units before it that share a character with it.

That is as much as story time orders: what two units without a common character do cannot touch each other, because
agents learn of turns by witnessing them alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from fabula.engine.dry_run import STALE
from fabula.story import SLUG_LENGTH, slug
from fabula.systems.character_simulation.agents import Troupe, Turn, transcript, turns_of
from fabula.systems.character_simulation.ordering import chronological_outline
from fabula.systems.character_simulation.playing import Stage, lived_through, role_play

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.story.plan import Plan, Unit
    from fabula.systems.character_simulation.algorithm import Config


_ROOM: Final = 6  # characters of an artefact's name that a part's number may take


@dataclass(frozen=True, slots=True)
class Played:
    """A unit, what was played of it, and its characters as they stand after it."""

    unit: Unit
    turns: tuple[Turn, ...]
    troupe: Troupe


def played_scenes(
    plan: Plan, units: Sequence[Unit], troupe: Troupe, run: Run, config: Config, group: asyncio.TaskGroup
) -> Mapping[str, Sequence[asyncio.Task[Played]]]:
    """Tasks that play `units`, given in story time; by scene name, each scene's units in story time."""
    last: dict[str, asyncio.Task[Played]] = {}
    by_scene: dict[str, list[asyncio.Task[Played]]] = {scene.name: [] for scene in plan.scenes}
    for unit, name in zip(units, _labels(plan, units), strict=True):
        before = {name: last[name] for name in unit.scene.present if name in last}
        task = group.create_task(_in_turn(unit, name, troupe, before, run, config))
        last |= dict.fromkeys(unit.scene.present, task)
        by_scene[unit.scene.name].append(task)
    return by_scene


def _labels(plan: Plan, units: Sequence[Unit]) -> Iterable[str]:
    """Names of the units' artefacts: the scene's, and from its second part on a number behind it; no two are alike."""
    taken = {slug(scene.name) for scene in plan.scenes}
    for unit in units:
        name = slug(unit.scene.name)
        if unit.part > 1:
            base = name[: SLUG_LENGTH - _ROOM].rstrip("-")
            name = next(label for n in count(unit.part) if (label := f"{base}-{n}") not in taken)
            taken.add(name)
        yield name


async def _in_turn(
    unit: Unit, name: str, troupe: Troupe, before: Mapping[str, asyncio.Task[Played]], run: Run, config: Config
) -> Played:
    """The unit played by its characters as the units `before` left them; its outline is made meanwhile."""
    outlining = asyncio.ensure_future(chronological_outline(unit, run.scope("outline", name), config))
    try:
        agents = [(await task).troupe.agents[who] for who, task in before.items()]
        outline = await outlining
    finally:
        outlining.cancel()  # where another unit failed; nothing for a finished one
    here = troupe.with_(agents).only(unit.scene.present)
    return await _kept(Stage(unit, outline, run.scope("role-play"), config), name, here)


async def _kept(stage: Stage, name: str, troupe: Troupe) -> Played:
    """The unit's role-play as an artefact; where its text is a person's, its characters live through what it says."""
    result: list[tuple[tuple[Turn, ...], Troupe]] = []

    async def make(run: Run) -> str:
        result.append(await role_play(stage.at(run), troupe))
        return transcript(result[0][0])

    text = await stage.run.keep(name, make, folder="role-play")
    if result and transcript(result[0][0]) == text.replace(STALE, ""):
        turns, after = result[0]
        if STALE in text:  # a dry run: what follows from these turns would be asked anew
            turns, after = turns_of(text), after.marked(STALE)
    else:
        turns = turns_of(text)
        after = await lived_through(turns, stage.at(stage.run.within(name)), troupe)
    return Played(stage.unit, turns, after if stage.config.carry_unseen else after.forgetful())
