"""Finding by rule what a small model copies or lists instead of telling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.story import count_words
from fabula.story.sentences import spans
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

_COPIED: Final = 8
"""Words in a row that a sentence shares with an earlier one only if it is copied."""
_BEGINNING: Final = 5
"""Words with which no two sentences begin that are not going in circles."""
_LISTED: Final = 0.25  # share of a text's words
_ITEM: Final = re.compile(r"[ \t]{0,8}(?:[-*\u2022]|\d{1,3}[.)])[ \t]{1,8}")
_HEADING: Final = re.compile(r"\*\*[^*\n]{1,80}\*\*(?:[ \t]{0,8}\([^)\n]{0,80}\))?:?")
_FEW_WORDS: Final = 4  # of a sentence that may stand twice


def without_copies(text: str, earlier: Sequence[str]) -> str:
    """A text without the sentences that share eight words in a row with earlier texts, or with itself further up.

    Nor with those that begin with the same five words as one before them: so texts of small models go in circles.
    """
    seen = {gram for other in earlier for gram in ngrams(_words(other), _COPIED)}
    whole = {_words(other[start:end]) for other in earlier for start, end in spans(other)}
    begun = {words[:_BEGINNING] for words in whole if len(words) >= _BEGINNING}
    kept: list[str] = []
    at = 0
    for start, end in spans(text):
        words = _words(text[start:end])
        grams = set(ngrams(words, _COPIED))
        if not (grams & seen or words[:_BEGINNING] in begun or (words in whole and len(words) >= _FEW_WORDS)):
            kept.append(text[at:end] if kept else text[start:end])
        seen |= grams
        whole.add(words)
        begun |= {words[:_BEGINNING]} if len(words) >= _BEGINNING else set()
        at = end
    return "".join(kept).strip()


def is_list(text: str) -> bool:
    """Whether a good part of a text is a list, and not told in sentences."""
    listed = sum(count_words(line) for line in text.split("\n") if _ITEM.match(line))
    return listed > _LISTED * max(count_words(text), 1)


def told_in_sentences(text: str) -> str:
    """A list as the sentences that its items are, without marks and headings."""
    kept = (line for line in text.split("\n") if not _HEADING.fullmatch(line.strip()))
    return "\n".join(_ITEM.sub("", line).replace("**", "") for line in kept).strip()


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))
