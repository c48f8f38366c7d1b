"""Settings of the chosen outline."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a chosen outline; there is no paper, so both presets are the same.

    Attributes:
        words: replaces the brief's word range ("18000-22000", "~20000"); empty keeps it.
        outlines: how many are written, each unlike those before it; 1 omits the choice.
        chapters: how many the story has; 0 follows the brief, or else makes one for about 2,500 words.
        revisions: how often each chapter is revised with the whole story in view.
    """

    words: str = ""
    outlines: int = 3
    chapters: int = 0
    revisions: int = 1
