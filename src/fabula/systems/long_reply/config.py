"""Settings of the long reply."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of the long reply; there is no paper, so both presets are the same.

    Attributes:
        words: replaces the brief's word range ("1300-1350", "~950"); empty keeps it.
        tokens: prompt and reply tokens that the story may take, of which the model is told; 0 leaves that to the model.
    """

    words: str = ""
    tokens: int = 0
