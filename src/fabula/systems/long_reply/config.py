"""Settings of the long reply."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of the long reply; there is no paper, so both presets are the same.

    Attributes:
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        tokens: prompt and reply tokens that the story may take; the model is told for how much work there is room. 0
            leaves that to the model.
    """

    words: str = ""
    tokens: int = 0
