"""An author's plan or personas in the place of what the planning agents say; ours, in both presets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fabula.craft.personas import given_personas, labelled
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.plan import Plan, ScenePlan
    from fabula.story.scratchpad import Scratchpad


_ORDER: Final = ("Central Conflict", "Character Descriptions", "Setting", "Key Plot Points")
_OF_PERSONAS: Final = {"Objective": "Central Conflict"}


async def with_given_notes(plan: Plan | None, s: Scratchpad, run: Run) -> Scratchpad:
    """The scratchpad with an author's plan and personas as notes; what neither says is left to the agents.

    Raises:
        PlanError: the personas have problems.
    """
    start = await given_personas(run)
    notes = {_OF_PERSONAS.get(label, label): text for label, text in labelled(start)} if start else {}
    notes |= {label: text for label, text in _notes(plan).items() if text} if plan else {}
    for label, text in sorted(notes.items(), key=lambda note: _ORDER.index(note[0])):
        s = s.add(label, text, "planning")
    return s


def _notes(plan: Plan) -> dict[str, str]:
    """A plan as the texts of the planning agents, by label."""
    people = "\n".join(f"- {character.introduction()}" for character in plan.characters)
    points = "\n".join([*_of_all(plan), *map(_scene, plan.scenes)])
    return dict(zip(_ORDER, (plan.conflict, people, plan.setting, points), strict=True))


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
