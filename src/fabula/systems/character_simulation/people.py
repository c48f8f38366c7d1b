"""Characters as a scene shows them: the sheet, and what they want there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.story.plan import Character, ScenePlan


@dataclass(frozen=True, slots=True)
class InScene:
    """A character's sheet and its goal in one scene (`wants`)."""

    name: str
    role: str
    gender: str
    age: str
    setup: str
    speech: str
    goal: str
    group: bool
    wants: str


def in_scene(scene: ScenePlan, characters: Iterable[Character]) -> tuple[InScene, ...]:
    """Who is present, in the scene's order."""
    sheets = {character.name: character for character in characters}
    return tuple(
        InScene(c.name, c.role, c.gender, c.age, c.setup, c.speech, c.goal, c.group, presence.goal)
        for presence in scene.characters
        for c in (sheets[presence.name],)
    )
