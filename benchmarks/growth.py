"""How prompts of Character Simulation grow with the number of scenes: the improved preset is to keep them bounded.

No model is asked: a script answers with texts as long as a good model's, and what counts is what it would have read.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from benchmarks.theatre import SCHEMA, Company, plan_of, played
from fabula.models.budget import prompt_tokens
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.methods import Preset
    from fabula.models.base import Request

TITLE: Final = "prompt tokens of Character Simulation as stories get longer"
_LARGEST, _PERCENT, _CLOSE = 8000.0, 100.0, 10.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """Stories of so many scenes each, from the shortest to the longest; `rounds` draws of plans and replies."""

    scenes: tuple[int, ...] = (5, 20, 80)
    rounds: int = 3
    people: int = 8
    presets: tuple[Preset, ...] = ("improved", "faithful")


@dataclass(frozen=True, slots=True)
class Read:
    """What the calls of one story read: all prompt tokens, and those of the largest prompt."""

    scenes: int
    calls: int
    total: int
    largest: int

    @classmethod
    def of(cls, scenes: int, asked: Sequence[Request]) -> Read:
        """That of the requests of a story with so many scenes."""
        tokens = [prompt_tokens(request) for request in asked]
        return cls(scenes, len(tokens), sum(tokens), max(tokens))


def bench(sizes: Sizes | None = None) -> Table:
    """Both presets; only the improved one has targets."""
    sizes = sizes or Sizes()
    rows: list[Row] = []
    for preset in sizes.presets:
        found = {n: [read(n, sizes.people, preset, seed) for seed in range(sizes.rounds)] for n in sizes.scenes}
        most, close = (_LARGEST, _CLOSE) if preset == "improved" else (None, None)
        for n, stories in found.items():
            rows += [
                Row(f"{preset}, {n} scenes: largest prompt", _values(stories, "largest"), "tokens", "story", most=most),
                Row(f"{preset}, {n} scenes: prompt tokens a scene", _each(stories), "tokens", "story"),
                Row(f"{preset}, {n} scenes: calls", _values(stories, "calls"), "", "story"),
            ]
        short, long_ = sizes.scenes[-2:]
        more = tuple(_PERCENT * (b / a - 1) for a, b in zip(_each(found[short]), _each(found[long_]), strict=True))
        rows.append(Row(f"{preset}: tokens a scene, {long_} scenes above {short}", more, "%", "pair", most=close))
    notes = (
        (
            "Tokens are fabula's estimates. Plans, replies and who plays are drawn by seed; turns have about 60 words, "
            "memories 80, commands 15, scenes 400. Every scene is played to its bound of turns."
        ),
        "Linear growth means that a scene costs about as much in a long story as in a short one.",
    )
    return Table("growth", TITLE, tuple(rows), notes)


def _values(stories: Sequence[Read], what: str) -> tuple[float, ...]:
    return tuple(float(getattr(story, what)) for story in stories)


def _each(stories: Sequence[Read]) -> tuple[float, ...]:
    """Prompt tokens a scene."""
    return tuple(story.total / story.scenes for story in stories)


def read(scenes: int, people: int, preset: Preset, seed: int) -> Read:
    """What a story of so many scenes reads."""
    plan = plan_of(scenes, people, random.Random(seed))  # noqa: S311 - plans, not secrets
    model = ScriptedModel(Company(seed).answer, capabilities=SCHEMA)
    asyncio.run(played(plan, model, preset))
    return Read.of(scenes, model.asked)
