"""Example sets: few-shot prefixes as data files, written by us from works in the public domain."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabula.base.remembering import remembered
from fabula.systems.dramatron.hierarchy import (
    CharacterEntry,
    SceneEntry,
    SceneInput,
    characters_in,
    characters_text,
    scenes_text,
)

FOLDER: Final = Path(__file__).parent / "examples"


@dataclass(frozen=True, slots=True)
class ExampleWork:
    """One work, through all levels; `scene` and `dialogue` are those of one of its scenes."""

    title: str
    logline: str
    characters: tuple[CharacterEntry, ...]
    scenes: tuple[SceneEntry, ...]
    places: tuple[tuple[str, str], ...]
    scene: SceneInput
    dialogue: str

    @property
    def characters_text(self) -> str:
        """Its characters as the level writes them."""
        return characters_text(self.characters)

    @property
    def scenes_text(self) -> str:
        """Its scenes as the level writes them."""
        return scenes_text(self.scenes)


@remembered(8, 100)
def example_set(name: str) -> tuple[ExampleWork, ...]:
    """The examples of a set: "classical", "three-step", or "none"."""
    if name == "none":
        return ()
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return tuple(_example(table) for table in data["examples"])


def _example(table: dict[str, Any]) -> ExampleWork:
    characters = tuple(CharacterEntry(**entry) for entry in table["characters"])
    scenes = tuple(SceneEntry(**entry) for entry in table["scenes"])
    places = tuple((entry["name"], entry["description"]) for entry in table["places"])
    at = table["dialogue"]["scene"] - 1
    shown = SceneInput(
        place=scenes[at].place,
        description=dict(places)[scenes[at].place],
        characters=tuple(c.description for c in characters_in(scenes[at].beat, characters)),
        element=scenes[at].element,
        summary=table["logline"],
        previous=tuple(scene.beat for scene in scenes[max(at - 1, 0) : at]),
        beat=scenes[at].beat,
    )
    return ExampleWork(
        table["title"], table["logline"], characters, scenes, places, shown, table["dialogue"]["text"].strip()
    )
