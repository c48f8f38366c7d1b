"""Finding words of the prompt in a reply."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from fabula.engine.replies.loops import words_of

_GRAM: Final = 5
_PARAGRAPH_WORDS: Final = 8
_PARAGRAPH_SHARE: Final = 0.85
_SENTENCE_WORDS: Final = 12
_SENTENCE_SHARE: Final = 0.85
_PAIR_WORDS: Final = 10
_PAIR_SHARE: Final = 0.9
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”")
_TASK: Final = re.compile(r"\b(?:write (?:a|an|the|me)|the story (?:should|must|is to|has to))\b", re.IGNORECASE)


def covered(words: Sequence[str], texts: Sequence[str], size: int = _GRAM) -> list[bool]:
    """For each of `words`, whether it is in a run of `size` words that also occurs in one of `texts`."""
    return marks(words, grams(texts, size), size)


def grams(texts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """All runs of `size` words in the texts."""
    found: set[tuple[str, ...]] = set()
    for words in map(words_of, texts):
        found.update(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
    return found


def marks(words: Sequence[str], known: Collection[tuple[str, ...]], size: int) -> list[bool]:
    """For each of `words`, whether it is in a run of `size` words that is known."""
    found = [False] * len(words)
    for at in range(len(words) - size + 1):
        if tuple(words[at : at + size]) in known:
            found[at : at + size] = [True] * size
    return found


class Echoes:
    """Runs of five words from given texts.

    Quotations in a writing task are left out, because a brief may ask for a sentence to be in the story.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._grams = grams([_QUOTED.sub(" \n ", text) if _TASK.search(text) else text for text in texts], _GRAM)

    def share(self, words: Sequence[str]) -> float:
        """Share of `words` that are in runs of five words from the given texts, 0 to 1."""
        if len(words) < _GRAM or not self._grams:
            return 0.0
        return sum(marks(words, self._grams, _GRAM)) / len(words)

    def paragraph(self, text: str) -> bool:
        """Whether a paragraph repeats a given text."""
        words = words_of(text)
        return len(words) >= _PARAGRAPH_WORDS and self.share(words) >= _PARAGRAPH_SHARE

    def sentence(self, text: str) -> bool:
        """Whether a long sentence is in a given text word for word."""
        words = words_of(text)
        return len(words) >= _SENTENCE_WORDS and self.share(words) >= _SENTENCE_SHARE

    def pair(self, text: str) -> bool:
        """Whether two short consecutive sentences also follow each other in a given text."""
        words = words_of(text)
        return len(words) >= _PAIR_WORDS and self.share(words) >= _PAIR_SHARE
