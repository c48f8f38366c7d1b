"""What a timestep leaves beside the story: its proposals, a record of it, the chapter's part of the world, and counts.

A step's record holds what happened but not the calls, which stand in the journal under the step's path.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.events import RECORD
from fabula.story.world import Moment
from fabula.story.world.file import write_world
from fabula.story.world.flat import fields_of
from fabula.systems.magnet.shapes import Course
from fabula.systems.magnet.state import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.run import Run
    from fabula.story.world import WorldState
    from fabula.story.world.flat import Commit, Refused, Write

_COUNTED: Final = {
    "forced": "actions that no critic took",
    "absent": "absences",
    "uncriticised": "actions without a readable critique",
    "refused": "refused keys",
    "conflicts": "keys written twice in a step",
    "near": "keys much like an earlier one",
    "goal_failed": "goals that were not found",
    "rewritten": "paragraphs written again because they did not agree with the world or the actions",
    "untold": "actions that were not told, and so have not happened",
    "yielded": "variables set by what a paragraph says",
    "amended": "variables set after an edit",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action, and what its critic wanted otherwise; `feedback` is empty where it was taken."""

    action: str
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class ProposedAction:
    """actions[c] of Algorithm 1, line 6: the action that a character proposes, and what its critic made of it.

    Attributes:
        world_updates: what it changes once it is selected.
        forced: the critic never took it.
        refused: updates that cannot be taken.
        attempts: all actions of the step, the last one too.
        lone: the critic gave nothing that can be read.
        unseen_by: characters who can neither see nor hear it (ours).
    """

    character: str
    action: str
    world_updates: tuple[Write, ...] = ()
    goal_reached: bool = False
    forced: bool = False
    refused: tuple[Refused, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lone: bool = False
    unseen_by: tuple[str, ...] = ()

    @property
    def changes(self) -> str:
        """Its updates as prompts show them."""
        return "; ".join(map(shown, self.world_updates))


@dataclass(frozen=True, slots=True)
class Selected:
    """The narrator's choice: actions in the order in which they happen, the paragraph where it came with the choice.

    `world_updates` and `goal_reached` are the narrator's own, where there is no critic to name them; `course` says how
    the story goes on (ours).
    """

    order: tuple[ProposedAction, ...]
    paragraph: str = ""
    world_updates: tuple[Write, ...] = ()
    goal_reached: bool = False
    course: Course = field(default_factory=Course)


@dataclass
class Records:
    """Counts of what did not go smoothly, and the records of the steps since the last chapter."""

    counts: Counter[str] = field(default_factory=Counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    hash: str = ""

    def step(
        self,
        t: int,
        goal: int,
        actions: Sequence[ProposedAction],
        selected: Sequence[ProposedAction],
        made: Commit | None,
        story: Sequence[str],
    ) -> None:
        """Record a step: all its actions, those that were selected, what they changed, and its paragraphs."""
        record: dict[str, Any] = {"step": t, "goal": goal, "world_before": self.hash}
        record["proposals"] = [
            {"character": p.character, "attempts": [fields_of(a) for a in p.attempts], "final": p.action,
             "forced": p.forced, "goal_reached": p.goal_reached}
            for p in actions
        ]  # fmt: skip
        record["order"] = [p.character for p in selected]
        self.counts["uncriticised"] += sum(p.lone for p in actions)
        self.counts["forced"] += sum(p.forced for p in actions)
        self.counts["refused"] += sum(len(p.refused) for p in actions)
        if made is not None:
            record |= {"commits": [fields_of(row) for row in made.rows], "conflicts": made.conflicts, "near": made.near}
            record["refused"] = [fields_of(one) for p in selected for one in p.refused]
            record["world_after"] = self.hash = made.hash
            self.counts["refused"] += len(made.refused)
            self.counts["conflicts"] += len(made.conflicts)
            self.counts["near"] += len({new for new, _ in made.near})
        record["paragraphs"] = list(story)
        self.steps.append(record)

    def goal(self, status: str, goal: str, paragraph: str) -> None:
        """Add to the last step's record what became of the goal, and the transition paragraph."""
        self.steps[-1]["event"] = {"status": status, "goal": goal, "paragraph": paragraph}

    async def keep_steps(self, run: Run, chapter: int) -> None:
        """Keep a chapter's steps in a file beside the story."""
        steps, self.steps = self.steps, []
        await _kept(run, "steps", chapter, lambda: json.dumps(steps, ensure_ascii=False, indent=1))

    async def keep_world(self, run: Run, chapter: int, world: WorldState) -> None:
        """Keep a chapter's part of the world in a file beside the story."""
        world.put_scene(chapter, f"Chapter {chapter}")
        first = Moment.end(chapter - 1) if chapter > 1 else None
        await _kept(run, "world", chapter, lambda: write_world(world, world.index.told(first, Moment.end(chapter))))

    def summary(self, steps: int) -> str:
        """The counts in a sentence; empty if everything went smoothly."""
        found = [f"{self.counts[name]} {what}" for name, what in _COUNTED.items() if self.counts[name]]
        return f"In {steps} steps: {', '.join(found)}." if found else ""


async def _kept(run: Run, what: str, chapter: int, compute: Callable[[], str]) -> None:
    """Keep a file that has another name than the chapter, which people call by name."""
    name = f"{what}-{chapter}"

    async def make(_: Run) -> str:
        return compute()

    await run.scope(what).keep(name, make, folder=what, suffix=RECORD)
