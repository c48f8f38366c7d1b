"""An author's plan as what the planning agents would have written (labels of appendix B.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.systems.agents_room.agents import PLANNING

if TYPE_CHECKING:
    from fabula.story.plan import Plan, ScenePlan
    from fabula.story.scratchpad import Scratchpad


def with_plan(scratchpad: Scratchpad, plan: Plan) -> Scratchpad:
    """The scratchpad after planning, with the plan's conflict, characters, setting and scenes as the agents' notes.

    A note that the plan has nothing for is left to its agent.
    """
    notes = {
        "conflict": plan.conflict,
        "characters": "\n".join(f"- {character.introduction()}" for character in plan.characters),
        "setting": plan.setting,
        "plot": "\n".join(_told(scene) for scene in plan.scenes),
    }
    for agent in PLANNING:
        if notes[agent.name]:
            scratchpad = scratchpad.add(agent.label, notes[agent.name], agent.kind)
    return scratchpad


def _told(scene: ScenePlan) -> str:
    """A scene as key plot points, under the part of the arc it belongs to."""
    events = " ".join(event.text for event in scene.outline)
    return f"- {scene.element.capitalize()}: {scene.name}{f' ({scene.place})' if scene.place else ''}. {events}"
