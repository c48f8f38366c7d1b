"""The stage: act after act, the sub-acts of an act side by side, players where they like (sections 2.3 and 2.8)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from fabula.engine.dry_run import STALE
from fabula.engine.staleness import side_by_side
from fabula.story import slug
from fabula.systems.ibsen.directing import Scene
from fabula.systems.ibsen.log import transcript, turns_of
from fabula.systems.ibsen.playing import Players
from fabula.systems.ibsen.remembering import Actor, Play, introduced
from fabula.systems.ibsen.staging import script_for, stages

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.ibsen.algorithm import Config
    from fabula.systems.ibsen.script import SubAct


@dataclass(frozen=True, slots=True)
class Performance:
    """What was played: the script, every sub-act with its turns in order, and the actors as they stand at the end."""

    play: Play
    actors: Mapping[str, Actor]
    scenes: tuple[Scene, ...]


async def perform(brief: Brief, run: Run, config: Config) -> Performance:
    """Play the whole script.

    Raises:
        PlanError: the author's script or plan has problems.
        ReplyError: a role gave nothing that can be read; the run goes on from there.
    """
    script = await script_for(run, brief, config)
    run.check_cast("actor", script.names)
    play = Play(script, config, stages(script, brief, config))
    work = [introduced(sheet, play, run.scope("cast", slug(sheet.name))) for sheet in script.actors]
    actors = {actor.name: actor for actor in await side_by_side(work)}
    players = Players(play)
    scenes: list[Scene] = []
    hour = 0.0
    for group in script.groups:
        act = _Act([_scene(sub, play, actors, run, hour) for sub in group], players, run)
        scenes += await act.played()
        hour = max([hour, *(scene.hour for scene in act.scenes)])
    return Performance(play, actors, tuple(scenes))


def _scene(sub: SubAct, play: Play, actors: Mapping[str, Actor], run: Run, hour: float) -> Scene:
    return Scene(sub, play, [actors[name] for name in sub.actors], run, hour)


@dataclass
class _Act:
    """The sub-acts of one act, which are played in step: every director has a turn, then the clock moves on.

    Each sub-act's log is an artefact of its own. Its making waits until all of them are being made or were given by a
    person; then they are played together.
    """

    scenes: list[Scene]
    players: Players
    run: Run
    live: list[Scene] = field(default_factory=list)
    settled: int = 0
    all_settled: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def played(self) -> list[Scene]:
        """The sub-acts that had objectives, as they stand when all of them are over."""
        staged = [scene for scene in self.scenes if scene.active]
        if not staged:  # corridors alone
            return []
        work: list[Coroutine[Any, Any, None]] = [self._kept(scene, len(staged)) for scene in staged]
        await side_by_side([*work, self._in_step()])
        return staged

    async def _kept(self, scene: Scene, of: int) -> None:
        """The sub-act's log as an artefact; where the text is a person's, everybody there lives through it."""
        before = [(actor, actor.copy()) for actor in scene.cast]
        made = False

        async def make(own: Run) -> str:
            nonlocal made
            made, scene.run = True, own
            self.live.append(scene)
            self._settle(of)
            await self.over.wait()
            return transcript(scene.turns, scene.goals)

        place, name = self.run.scope("role-play"), slug(scene.act.title)
        text = await place.keep(name, make, folder="role-play")
        if not made:
            self._settle(of)
        elif transcript(scene.turns, scene.goals) == text.replace(STALE, ""):
            if STALE in text:
                scene.mark(text)
            return
        for actor, as_before in before:
            actor.become(as_before)
        await scene.live_through(turns_of(text), place.within(name))

    def _settle(self, of: int) -> None:
        self.settled += 1
        if self.settled == of:
            self.all_settled.set()

    async def _in_step(self) -> None:
        """Play the sub-acts that nobody has given, all in step, until none of them is active."""
        await self.all_settled.wait()
        self.live.sort(key=self.scenes.index)
        await side_by_side([scene.open(scene.run) for scene in self.live])
        here = self.players.enter(self.scenes, self.live)
        for number in count(1):
            active = [scene for scene in self.live if scene.active]
            if not active:
                break
            await here.act(number, self.run)
            await side_by_side([scene.step(number) for scene in active])
        self.over.set()
