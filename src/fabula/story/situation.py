"""What one character may know of a scene: itself, when and where it is, and whom it sees there.

Roles that know all are shown `Plan.people`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UnknownNameError
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.story.plan import Character, Event, Plan, ScenePlan


@dataclass(frozen=True, slots=True)
class Situation:
    """A scene as one of its characters knows it; the prompt `_own_situation` shows it.

    Attributes:
        character: its own sheet as of the scene, with what it hides and what it knows of the others, but without its
            role in the story and what it is wrong about.
        wants: what it wants in this scene.
        date: when it is, in words; empty where the plan does not say.
        place: where it is.
        others: who is there and sees and hears the same, each on a line with what anybody notices and knows.
        unaware: who is there too, but neither sees nor hears it; lines as in `others`.
    """

    character: Character
    wants: str = ""
    date: str = ""
    place: str = ""
    others: tuple[str, ...] = ()
    unaware: tuple[str, ...] = ()


def situation_of(plan: Plan, scene: ScenePlan, name: str, events: Sequence[Event] | None = None) -> Situation:
    """What the character of that name may know when `events` of a scene (all of them by default) happen.

    Whom it meets are those who witness one of the events that it witnesses itself, or are there at it without seeing
    or hearing it: who comes only after it has left is not among them.

    Raises:
        UnknownNameError: nobody of that name is in the scene.
    """
    people = {person.name: (person, wants) for person, wants in plan.people(scene)}
    if name not in people:
        raise UnknownNameError("character", name, people)
    witnessed = [event for event in (events or scene.outline) if name in scene.witnesses(event)]
    met = {other for event in witnessed for other in scene.witnesses(event)} - {name}
    near = {other for event in witnessed for other in scene.unaware(event)} - met
    known = known_to_all(plan, scene)
    lines = {other: person.seen(known=other in known) for other, (person, _) in people.items()}
    others, unaware = (tuple(line for other, line in lines.items() if other in some) for some in (met, near))
    character, wants = people[name]
    return Situation(character.own, wants, scene.when, place_of(scene, witnessed), others, unaware)


def known_to_all(plan: Plan, scene: ScenePlan) -> frozenset[str]:
    """Names of whose situation at the time of a scene everybody may know.

    That is everybody's in a plan that says apart what people hide; for scenes of other years, in a plan that says it
    apart there too.
    """
    told_apart = any(character.secret for character in plan.characters)
    apart_then = any(one.secret for other in plan.scenes for one in other.characters)
    return frozenset(one.name for one in scene.characters if (apart_then if one.then else told_apart))


def named_in_short(place: str) -> str:
    """The first clause of a place, which names it."""
    return one_line(re.split(r"[,;:]", place, maxsplit=1)[0])


def place_of(scene: ScenePlan, events: Sequence[Event]) -> str:
    """Where events of a scene happen: the places that are their own, in order, else the scene's."""
    return ", then ".join(dict.fromkeys(event.place or scene.place for event in events)) or scene.place
