"""How close runs come to the critical path of their calls, with models that take seconds to answer.

No second of that is waited for: an event loop skips to the next thing that is due. Its clock is the CPU time of this
process plus what was skipped, so fabula's own work counts as it would beside a real model.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import selectors
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from benchmarks.theatre import SCHEMA, Company, plan_of, played, prose
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.limits import Limited
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, slug
from fabula.story.plan import Unit
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.methods import Preset
    from fabula.models.base import Request
    from fabula.story.plan import Plan

TITLE: Final = "wall time above the critical path"
_MOST: Final = 1.05
_MOST_PLAYED: Final = 1.1
_ENDS: Final = 0.15  # that a director ends a scene, at each turn
_SPEED: Final = 50.0  # tokens a second of a hosted model
_TYPICAL, _SPREAD, _LONGEST = 350.0, 0.5, 1500.0  # reply tokens: median, sigma of their logarithm, and a bound


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock shows the CPU time used plus all waits skipped."""

    def __init__(self) -> None:
        self.skipped = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        """Seconds on that clock."""
        return time.process_time() + self.skipped


class _Skipping(selectors.DefaultSelector):
    """A selector that counts a wait as done, unless something has really happened."""

    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; else the clock goes on by `timeout`. Without one, only a real event can come."""
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self._loop.skipped += max(0.0, timeout)
        return ready


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is scheduled: `stories` at once under a limit of `parallel` calls, with `rounds` draws of latencies.

    Beside them, a story of Character Simulation with so many `scenes` and `people`.
    """

    stories: int = 20
    parallel: int = 8
    rounds: int = 20
    presets: tuple[Preset, ...] = ("faithful", "improved")
    scenes: int = 12
    people: int = 8


@dataclass
class Latencies:
    """Draws how long each call takes, and keeps what it drew: seconds, by story."""

    seed: int
    drawn: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def answer(self, request: Request) -> str:
        """A reply after its latency, which is fixed by the seed and the call's path."""
        draw = random.Random(f"{self.seed}/{request.path}")  # noqa: S311 - latencies, not secrets
        tokens = min(_LONGEST, _TYPICAL * draw.lognormvariate(0, _SPREAD))
        latency = draw.uniform(0.3, 1.2) + tokens / _SPEED
        self.drawn[request.path.partition("/")[0]].append(latency)
        await asyncio.sleep(latency)
        return prose(draw, int(tokens * 0.75))

    def critical(self, parallel: int) -> float:
        """A bound that no schedule beats: the longest story's chain, or all work shared among the places."""
        chains = [sum(chain) for chain in self.drawn.values()]
        return max(*chains, sum(chains) / parallel) if len(chains) > 1 else chains[0]

    def planned(self, parallel: int) -> float:
        """Seconds of a schedule by somebody who knows all latencies: the story with most work left goes first."""
        left = {story: (sum(chain), list(chain)) for story, chain in self.drawn.items()}
        waiting: dict[str, tuple[float, list[float]]] = {}
        running: list[tuple[float, str]] = []
        now = 0.0
        while left or running:
            for story in sorted(left, key=lambda name: -left[name][0])[: parallel - len(running)]:
                rest, chain = left.pop(story)
                heapq.heappush(running, (now + chain[0], story))
                if chain[1:]:
                    waiting[story] = (rest - chain[0], chain[1:])
            now, done = heapq.heappop(running)
            if done in waiting:
                left[done] = waiting.pop(done)
        return now


@dataclass(frozen=True, slots=True)
class Outcome:
    """One round: seconds in all, the critical path, a planner's time, and the number of calls."""

    wall: float
    critical: float
    planned: float
    calls: int

    @property
    def ratio(self) -> float:
        """Wall time as a multiple of the critical path."""
        return self.wall / self.critical


def bench(sizes: Sizes | None = None) -> Table:
    """One story alone and many at once, in both presets."""
    sizes = sizes or Sizes()
    rows: list[Row] = []
    calls: dict[str, int] = {}
    for preset in sizes.presets:
        for stories in (1, sizes.stories):
            found = [scheduled(stories, sizes.parallel, preset, seed) for seed in range(sizes.rounds)]
            what = "one story" if stories == 1 else f"{stories} stories at once, {sizes.parallel} calls at once"
            ratios = tuple(outcome.ratio for outcome in found)
            rows.append(Row(f"{what}, {preset}: wall / critical path", ratios, "", "draw", most=_MOST))
            if stories > 1:
                foresight = tuple(outcome.planned / outcome.critical for outcome in found)
                rows.append(Row(f"{what}, {preset}: a planner with foresight / critical path", foresight, "", "draw"))
            calls[f"{what}, {preset}"] = found[0].calls
        shows = [show(sizes, preset, seed) for seed in range(sizes.rounds)]
        what = f"Character Simulation, {sizes.scenes} scenes, {preset}"
        ratios = tuple(outcome.ratio for outcome in shows)
        rows.append(Row(f"{what}: wall / critical path", ratios, "", "draw", most=_MOST_PLAYED))
        apart = tuple(outcome.planned / outcome.wall for outcome in shows)
        rows.append(Row(f"{what}: one call after another / wall", apart, "", "draw"))
        calls[what] = shows[0].calls
    notes = (
        (
            f"Latencies: 0.3 to 1.2 s to the first token and {_SPEED:g} tokens a second, replies log-normal around "
            f"{_TYPICAL:g} tokens; each draw is another seed. Nothing is waited for: the clock is this process's CPU "
            "time plus the waits skipped, so our own work is in the wall time."
        ),
        (
            "The critical path is the longest story's chain of calls, or all calls' seconds divided by the limit if "
            "that is more: a bound, which the best schedule may not reach either. A planner with foresight knows "
            "every latency beforehand and serves the story with most work left; calls are really served in order of "
            "arrival."
        ),
        (
            "Character Simulation: outlines wait for nothing, a unit for the units before it that share a character, "
            "a turn for its memory and its state side by side, a rewrite for its scene and the rewrite before. The "
            "critical path follows these alone, or is all calls' seconds divided by the limit if that is more."
        ),
        "Calls: " + "; ".join(f"{what}: {number}" for what, number in calls.items()) + ".",
    )
    return Table("schedule", TITLE, tuple(rows), notes)


def show(sizes: Sizes, preset: Preset, seed: int) -> Outcome:
    """One story of Character Simulation; `planned` is what it would take with one call after another."""
    plan = plan_of(sizes.scenes, sizes.people, random.Random(seed))  # noqa: S311 - plans, not secrets
    taken: dict[str, float] = {}
    company = Company(seed, likely=_ENDS)

    async def answer(request: Request) -> str:
        text = company.answer(request)
        draw = random.Random(f"latency/{seed}/{request.path}")  # noqa: S311 - latencies, not secrets
        taken[request.path] = draw.uniform(0.3, 1.2) + len(text.split()) / 0.75 / _SPEED
        await asyncio.sleep(taken[request.path])
        return text

    async def timed() -> float:
        loop, model = asyncio.get_running_loop(), ScriptedModel(answer, name="slow", capabilities=SCHEMA)
        begun = loop.time()
        await played(plan, Limited(model, parallel=sizes.parallel), preset)
        return loop.time() - begun

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        wall = runner.run(timed())
    total = sum(taken.values())
    return Outcome(wall, max(chain(plan, taken, preset), total / sizes.parallel), total, len(taken))


def chain(plan: Plan, taken: Mapping[str, float], preset: Preset) -> float:
    """Seconds of a play's longest chain of calls, each of which needs the one before it; `taken` by path.

    In the paper's program scenes are played whole, in ours unit by unit.
    """
    order = plan.chronology() or plan.names
    if preset == "faithful":
        units = tuple(Unit(plan.scene(name), plan.scene(name).outline) for name in order)
    else:
        units = plan.units(order)
    done: dict[str, float] = {}  # when each character is free
    scenes: dict[str, float] = {}  # when each scene is played
    for unit in units:
        name = slug(unit.scene.name) + (f"-{unit.part}" if unit.part > 1 else "")
        outlined = taken[f"outline/{name}/chronological_outline"]
        ready = max(outlined, *(done.get(who, 0.0) for who in unit.scene.present))
        over = ready + sum(_turns(f"role-play/{name}/", taken).values())
        done |= dict.fromkeys(unit.scene.present, over)
        scenes[unit.scene.name] = max(over, scenes.get(unit.scene.name, 0.0))
    told = 0.0
    for scene in plan.scenes:
        told = max(told, scenes[scene.name]) + sum(
            seconds for path, seconds in taken.items() if path.startswith(f"{slug(scene.name)}/")
        )
    return told


def _turns(under: str, taken: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each turn played below a path: its calls one after another, but memory and state side by side."""
    turns: dict[str, float] = defaultdict(float)
    for path, seconds in taken.items():
        if path.startswith(under) and not path.endswith(("/memory", "/state")):
            turns[path.split("/")[3]] += seconds
    for turn in turns:
        turns[turn] += max(taken.get(f"{under}turn/{turn}/{what}", 0.0) for what in ("memory", "state"))
    return turns


def scheduled(stories: int, parallel: int, preset: Preset, seed: int) -> Outcome:
    """That many stories side by side, with latencies of that seed."""
    latencies = Latencies(seed)
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        wall = runner.run(_write_all(stories, parallel, preset, latencies))
    critical, planned = latencies.critical(parallel), latencies.planned(parallel)
    return Outcome(wall, critical, planned, sum(len(chain) for chain in latencies.drawn.values()))


async def _write_all(stories: int, parallel: int, preset: Preset, latencies: Latencies) -> float:
    system, loop = find("agents-room"), asyncio.get_running_loop()
    config, brief = system.config(preset, _settings(preset)), Brief.parse("Write a story about a lamp.")
    model = Limited(ScriptedModel(latencies.answer, name="slow"), parallel=parallel)
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(system.prompt_folders(preset)), Cast.of(model))
        await system.write(brief, Run(context).scope("warm-up"), config)  # compiles the templates
        latencies.drawn.clear()
        begun = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in range(stories):
                group.create_task(system.write(brief, Run(context).scope(f"story-{number}"), config))
        return loop.time() - begun


def _settings(preset: Preset) -> Mapping[str, object]:
    """Each agent is to be one call, and nobody reads the whole at the end."""
    return {"final_reading": False} if preset == "improved" else {}
