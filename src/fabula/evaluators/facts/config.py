"""Settings of the reading of facts. The paper reads none off a finished story, so all of them are ours."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    Attributes:
        scene_words: length at which a story without scenes is cut.
        temperature: of the reader.
    """

    scene_words: int = 2000
    temperature: float = 0.0
