"""An author's plan in the place of what the planning agents say; ours, in both presets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.story.plan import Plan, ScenePlan
    from fabula.story.scratchpad import Scratchpad


def with_notes_of(plan: Plan | None, s: Scratchpad) -> Scratchpad:
    """The scratchpad with an author's plan as notes; what the plan says nothing of is left to the agents."""
    for label, text in _notes(plan).items() if plan else ():
        s = s.add(label, text, "planning") if text else s
    return s


def _notes(plan: Plan) -> dict[str, str]:
    """A plan as the texts of the planning agents, by label."""
    return {
        "Central Conflict": plan.conflict,
        "Character Descriptions": "\n".join(f"- {character.introduction()}" for character in plan.characters),
        "Setting": plan.setting,
        "Key Plot Points": "\n".join([*_of_all(plan), *map(_scene, plan.scenes)]),
    }


def _of_all(plan: Plan) -> Iterator[str]:
    """What holds for all scenes."""
    said = (
        ("Told", "; ".join(one_line(one) for one in (plan.manner, plan.form) if one.strip())),
        ("The task demands", " ".join(map(one_line, plan.demands))),
        ("What is set up, and where it pays off", " ".join(map(one_line, plan.payoffs))),
    )
    return (f"- {name}: {text}" for name, text in said if text)


def _scene(scene: ScenePlan) -> str:
    """A scene on one line: its part of the arc, where and when it happens, before whom, and what."""
    present = ", ".join(scene.present)
    said = (one_line(scene.place), one_line(scene.when), present and f"there: {present}")
    events = []
    for event in scene.outline:
        away = ", ".join(scene.absent(event))
        events.append(one_line(event.text) + (f" ({away}: not there, or out of hearing)" if away else ""))
    where = "; ".join(filter(None, said))
    return f"- {scene.element.title()}: {scene.name}{f' ({where})' if where else ''}. {' '.join(events)}"
