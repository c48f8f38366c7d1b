"""Example sets: few-shot prefixes as data files, written by us from works in the public domain."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fabula.systems.dramatron.matching import matched
from fabula.systems.dramatron.records import Beat, Block, Figure, beats_text, figures_text

FOLDER: Final = Path(__file__).parent / "examples"
_USUAL: Final = "classical"


@dataclass(frozen=True, slots=True)
class Example:
    """One work, through all levels; `block` and `dialogue` are those of one of its scenes."""

    title: str
    logline: str
    figures: tuple[Figure, ...]
    beats: tuple[Beat, ...]
    places: tuple[tuple[str, str], ...]
    block: Block
    dialogue: str

    @property
    def figures_text(self) -> str:
        """Its characters as the level writes them."""
        return figures_text(self.figures)

    @property
    def beats_text(self) -> str:
        """Its scenes as the level writes them."""
        return beats_text(self.beats)


@cache
def example_set(name: str) -> tuple[Example, ...]:
    """The examples of a set: "classical", "three-step", or "none"."""
    if name == "none":
        return ()
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return tuple(_example(table) for table in data["examples"])


def sketch() -> Example:
    """What a dry run takes for a plan that nobody has made yet."""
    return example_set(_USUAL)[0]


def _example(table: dict[str, object]) -> Example:
    figures = tuple(Figure(**entry) for entry in _entries(table["characters"]))
    beats = tuple(Beat(entry["place"], entry["element"], entry["beat"]) for entry in _entries(table["scenes"]))
    places = tuple((entry["name"], entry["description"]) for entry in _entries(table["places"]))
    shown = _shown(table["dialogue"])
    at = int(str(shown["scene"])) - 1
    beat, before = beats[at], beats[max(at - 1, 0) : at]
    logline = str(table["logline"])
    block = Block(
        place=beat.place,
        description=dict(places)[beat.place],
        characters=tuple(f.description for f in matched(figures, beat.text, "words")),
        element=beat.element,
        summary=logline,
        previous=tuple(b.text for b in before),
        beat=beat.text,
    )
    return Example(str(table["title"]), logline, figures, beats, places, block, str(shown["text"]).strip())


def _entries(value: object) -> list[dict[str, str]]:
    return [dict(entry) for entry in value] if isinstance(value, list) else []


def _shown(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}
