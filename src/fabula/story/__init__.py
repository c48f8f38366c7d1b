"""Stories: brief, text, plan, world state, cards, and the formats for reading and writing them."""

from __future__ import annotations

from fabula.base.characters import readable
from fabula.story.story import (
    MAX_BRIEF_BYTES,
    SLUG_LENGTH,
    Brief,
    Scene,
    Story,
    one_line,
    plain,
    slug,
    without_marks,
)
from fabula.story.words import count_words

__all__ = [
    "MAX_BRIEF_BYTES",
    "SLUG_LENGTH",
    "Brief",
    "Scene",
    "Story",
    "count_words",
    "one_line",
    "plain",
    "readable",
    "slug",
    "without_marks",
]
