"""What one character may know of a scene: itself, when and where it is, and whom it sees there.

The same for roles that know all is `Plan.people` with the prompt `_situation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.story.plan import Character, Event, Plan, ScenePlan


@dataclass(frozen=True, slots=True)
class Situation:
    """A scene as one of its characters knows it; the prompt `_own_situation` shows it.

    Attributes:
        character: its own sheet as of the scene, with what it hides and what it knows of the others.
        wants: what it wants in this scene.
        date: when it is, in words; empty where the plan does not say.
        place: where it is.
        others: whom it meets there, each on a line with what anybody notices.
    """

    character: Character
    wants: str = ""
    date: str = ""
    place: str = ""
    others: tuple[str, ...] = ()


def situation_of(plan: Plan, scene: ScenePlan, name: str, events: Sequence[Event] | None = None) -> Situation:
    """What the character of that name may know when `events` of a scene (all of them by default) happen.

    Whom it meets are those who witness one of the events that it witnesses itself: who comes only after it has left, or
    talks where it hears nothing, is not among them.

    Raises:
        UnknownNameError: nobody of that name is in the scene.
    """
    people = {person.name: (person, wants) for person, wants in plan.people(scene)}
    if name not in people:
        raise UnknownNameError("character", name, people)
    witnessed = [here for event in (events or scene.outline) if name in (here := scene.witnesses(event))]
    met = {other for here in witnessed for other in here if other != name}
    others = tuple(person.outward for other, (person, _) in people.items() if other in met)
    character, wants = people[name]
    return Situation(character, wants, scene.when, scene.place, others)
