"""A plan of the author's, in the terms of the hierarchy: then only the dialogues are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.engine.replies.labelled import first_clause
from fabula.story import one_line
from fabula.systems.dramatron.levels import logline_of
from fabula.systems.dramatron.parsing import place_key
from fabula.systems.dramatron.records import Beat, Figure, Script

if TYPE_CHECKING:
    from fabula.story import Brief
    from fabula.story.plan import Character, Plan


def script_of(plan: Plan, brief: Brief) -> Script:
    """Title, logline, characters, scenes and places of `plan`; no calls."""
    figures = tuple(Figure(character.name, described(character)) for character in plan.characters)
    beats: list[Beat] = []
    places: dict[str, str] = {}
    for scene in plan.scenes:
        name, description = place_of(scene.place)
        key = place_key(name)
        places.setdefault(key, description)
        happens = " ".join(sentence(event.text) for event in scene.outline)
        beats.append(Beat(key, scene.element, happens, scene.present, scene.importance))
    return Script(plan.title or brief.title, logline_of(brief), figures, tuple(beats), places)


def place_of(place: str) -> tuple[str, str]:
    """A plan's place as a name, its first clause, and the rest as description."""
    told = one_line(place)
    if not told:
        return "Somewhere", ""
    name, description = first_clause(told)
    return name, description[:1].upper() + description[1:]


def described(character: Character, here: str = "") -> str:
    """One line about a character; `here` is what they want in a scene."""
    who = ", ".join(filter(None, ("a group" * character.group, character.role, character.gender, character.age)))
    tells = (
        character.setup,
        character.speech and f"Way of speaking: {character.speech}",
        character.goal and f"Wants: {character.goal}",
        here and f"Wants here: {here}",
    )
    told = " ".join(sentence(text) for text in tells if text)
    return " ".join(filter(None, (character.name, f"({who})" if who else "", f"- {told}" if told else "")))


def sentence(text: str) -> str:
    """`text` on one line, with an end."""
    told = one_line(text)
    return told if told.endswith((".", "!", "?", "\u2026", '"', "\u201d")) else f"{told}."
