"""Settings of the chosen draft."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a chosen draft; there is no paper, so both presets are the same.

    Attributes:
        words: replaces the brief's word range ("1300-1350", "~950"); empty keeps it.
        drafts: how many are written, each unlike those before it.
        revisions: how often the chosen draft is revised as a whole.
    """

    words: str = ""
    drafts: int = 3
    revisions: int = 2
