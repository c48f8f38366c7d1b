"""What is left of a run beside its story: a record of every step, the world of every chapter, and counts.

A step's record holds what section 1.5 of our specification names but the calls, which stand in the journal under the
step's path.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.events import RECORD
from fabula.story.world import Moment
from fabula.story.world.file import write_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story.world.flat import Commit
    from fabula.systems.magnet.state import State
    from fabula.systems.magnet.stepping import Proposal

_COUNTED: Final = {
    "forced": "actions that no critic took",
    "absent": "absences",
    "uncriticised": "actions without a readable critique",
    "refused": "refused keys",
    "conflicts": "keys written twice in a step",
    "near": "keys much like an earlier one",
    "goal_failed": "goals that were not found",
    "mended": "paragraphs told again for continuity",
}


@dataclass
class Records:
    """Counts of what did not go smoothly, and the records of the steps since the last chapter."""

    counts: Counter[str] = field(default_factory=Counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    hash: str = ""

    def step(
        self, t: int, goal: int, proposals: Sequence[Proposal], chosen: Sequence[Proposal], made: Commit | None
    ) -> dict[str, Any]:
        """The record of a step, to which its paragraph and what became of the goal are added later."""
        record: dict[str, Any] = {"step": t, "goal": goal, "world_before": self.hash}
        record["proposals"] = [
            {"character": p.character, "attempts": [asdict(a) for a in p.attempts], "final": p.action,
             "forced": p.forced, "goal_reached": p.goal_reached}
            for p in proposals
        ]  # fmt: skip
        record["order"] = [p.character for p in chosen]
        self.counts["forced"] += sum(p.forced for p in proposals)
        self.counts["refused"] += sum(len(p.refused) for p in proposals)
        if made is not None:
            done = asdict(made)
            record |= {"commits": done["rows"], "conflicts": made.conflicts, "near": made.near}
            record["refused"] = [asdict(one) for p in chosen for one in p.refused]
            record["world_after"] = self.hash = made.hash
            self.counts["refused"] += len(made.refused)
            self.counts["conflicts"] += len(made.conflicts)
            self.counts["near"] += len({new for new, _ in made.near})
        self.steps.append(record)
        return record

    async def keep(self, run: Run, chapter: int, state: State) -> None:
        """Keep a chapter's steps and its part of the world, in files beside the story."""
        steps, self.steps = self.steps, []
        text = json.dumps(steps, ensure_ascii=False, indent=1)
        await _kept(run, "steps", chapter, text)
        world = state.world
        world.put_scene(chapter, f"Chapter {chapter}")
        first = Moment.end(chapter - 1) if chapter > 1 else None
        facts = world.index.told(first, Moment.end(chapter))
        await _kept(run, "world", chapter, write_world(world, facts))

    def told(self, steps: int) -> str:
        """The counts in a sentence; empty if everything went smoothly."""
        found = [f"{self.counts[name]} {what}" for name, what in _COUNTED.items() if self.counts[name]]
        return f"In {steps} steps: {', '.join(found)}." if found else ""


async def _kept(run: Run, what: str, chapter: int, text: str) -> None:
    """Keep a file that has another name than the chapter, which people call by name."""

    async def make(_: Run) -> str:
        return text

    await run.scope(what).keep(f"{what}-{chapter}", make, folder=what, suffix=RECORD)
