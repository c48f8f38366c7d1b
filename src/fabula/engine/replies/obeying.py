"""Whether a reply says a word that it was asked to say."""

from __future__ import annotations

import re


def says(text: str, word: str) -> bool:
    """Whether `word` (or a run of words) stands in a text as a word of its own, whatever its capitals."""
    wanted = " ".join(word.split())
    alone = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
    return bool(wanted) and alone.search(" ".join(text.split())) is not None
