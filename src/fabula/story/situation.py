"""A character's knowledge of a scene: their own sheet, the time and place, and the people they see there.

Roles that know everything get `Plan.people` instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UnknownNameError
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.story.plan import Character, Event, Plan, ScenePlan


@dataclass(frozen=True, slots=True)
class Situation:
    """A scene as one of its characters knows it; the prompt `_own_situation` presents it to the model.

    Attributes:
        character: the character's sheet at the time of the scene, with their secrets and their knowledge of the others,
            but without their role in the story and their mistaken beliefs.
        wants: the character's goal in the scene.
        date: the date of the scene in words; empty if the plan does not give it.
        place: the place of the scene.
        others: the characters who see and hear the same events, each on a line with what everyone notices and knows.
        unaware: the characters who are there but neither see nor hear these events, in the form of `others`.
    """

    character: Character
    wants: str = ""
    date: str = ""
    place: str = ""
    others: tuple[str, ...] = ()
    unaware: tuple[str, ...] = ()


def situation_of(plan: Plan, scene: ScenePlan, name: str, events: Sequence[Event] | None = None) -> Situation:
    """A character's possible knowledge when the `events` of a scene (by default, all of them) happen.

    The character meets everyone who witnesses the same event, or who is there without seeing or hearing it. They do not
    meet anyone who comes only after they have left.

    Raises:
        UnknownNameError: the scene has no character with that name.
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
    """The names of the characters whose situation at the time of a scene everyone may know.

    These are all characters if the plan states separately what people hide; for scenes in other years, the plan must
    state this there too.
    """
    told_apart = any(character.secret for character in plan.characters)
    apart_then = any(one.secret for other in plan.scenes for one in other.characters)
    return frozenset(one.name for one in scene.characters if (apart_then if one.then else told_apart))


def named_in_short(place: str) -> str:
    """The first clause of a place, which is its name."""
    return one_line(re.split(r"[,;:]", place, maxsplit=1)[0])


def place_of(scene: ScenePlan, events: Sequence[Event]) -> str:
    """The place where events of a scene happen: the events' own places in order, or the scene's place."""
    return ", then ".join(dict.fromkeys(event.place or scene.place for event in events)) or scene.place
