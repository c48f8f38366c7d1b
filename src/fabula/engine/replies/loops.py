"""Runaway repetition in prose: where it begins, and which sentences the text already has.

A word is *repeated* if it belongs to a run of four words that occurs earlier in the text. Fluent prose has few repeated
words (names, idioms). A loop consists mostly of them, even if each round changes a word or two. The work is linear in
the length of the text.
"""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from fabula.story.sentences import Span, spans
from fabula.story.speech import unclosed
from fabula.story.words import CHARACTERS, SIGNS

_LETTERS: Final = rf"(?:[^\W_{CHARACTERS}]|[{SIGNS}])+"
# Two Chinese or Japanese characters make about one word.
_WORD: Final = re.compile(rf"[{CHARACTERS}]{{1,2}}|(?=[^\W_]){_LETTERS}(?:['’]{_LETTERS})*")
_GRAM: Final = 4
_WINDOW: Final = 32  # words looked at together
_LOOP_SHARE: Final = 0.72  # of repeated words in a window
_AHEAD: Final = 150  # words; a loop goes on, while a passage that stands twice is followed by new ones
_AHEAD_SHARE: Final = 0.5
_SMALL_LOOP: Final = 12  # words; fewer are none
_REPEAT_WORDS: Final = 12  # a repeated sentence of this length is dropped by itself; shorter ones may be a refrain
_REPEAT_SHARE: Final = 0.9
_CHARACTERS: Final = re.compile(r"(\S{1,12}?)\1{11,}")
_CHARACTER_LOOP: Final = 48


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's place in the text, its words in lower case, and how many of them are repeated."""

    span: Span
    words: tuple[str, ...]
    repeated: int

    @property
    def is_repeat(self) -> bool:
        """Whether the sentence repeats earlier words, exactly or nearly."""
        return len(self.words) >= _REPEAT_WORDS and self.repeated >= _REPEAT_SHARE * len(self.words)


def words_of(text: str) -> list[str]:
    """The words of `text` in lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))


def read_sentences(text: str, places: Sequence[Span] | None = None) -> list[Sentence]:
    """The sentences of `text`, at `places` if they are known, with the number of their repeated words."""
    placed = [(span, tuple(words_of(text[span[0] : span[1]]))) for span in (spans(text) if places is None else places)]
    marks = _repeated_marks([words for _, words in placed])
    found, at = [], 0
    for span, words in placed:
        found.append(Sentence(span, words, sum(marks[at : at + len(words)])))
        at += len(words)
    return found


def _repeated_marks(sentences: list[tuple[str, ...]]) -> list[bool]:
    """For each word of the text: whether it is repeated. A whole sentence of two words or more said before is."""
    marks: list[bool] = []
    grams: set[tuple[str, ...]] = set()
    whole: set[tuple[str, ...]] = set()
    words: list[str] = []
    for sentence in sentences:
        start = len(words)
        words.extend(sentence)
        marks.extend([sentence in whole and len(sentence) > 1] * len(sentence))
        whole.add(sentence)
        for at in range(max(start - _GRAM + 1, 0), len(words) - _GRAM + 1):
            gram = tuple(words[at : at + _GRAM])
            if gram in grams:
                marks[at : at + _GRAM] = [True] * _GRAM
            grams.add(gram)
    return marks


def loop_start(text: str, sentences: list[Sentence]) -> int | None:
    """The start of the sentence where a loop begins in `text`, which has these `sentences`, or `None`."""
    starts = (_character_loop(text, sentences), _repeating_loop(text, sentences))
    return min((start for start in starts if start is not None), default=None)


def _character_loop(text: str, sentences: list[Sentence]) -> int | None:
    """A few characters over and over, without white space."""
    for found in _CHARACTERS.finditer(text):
        if len(found.group()) >= _CHARACTER_LOOP and any(c.isalnum() for c in found.group(1)):
            at = found.start()
            return next((one.span[0] for one in reversed(sentences) if one.span[0] <= at), at)
    return None


def _repeating_loop(text: str, sentences: list[Sentence]) -> int | None:
    """The first window of words of which nearly all are repeated, or the text's end if it is."""
    marks = _repeated_marks([s.words for s in sentences])
    sums = [0, *accumulate(marks)]
    size = min(_WINDOW, max(len(marks) // 2, 1))
    for end in range(size, len(marks) + 1):
        if sums[end] - sums[end - size] >= _LOOP_SHARE * size and size >= _SMALL_LOOP:
            ahead = min(end - size + _AHEAD, len(marks))
            if sums[ahead] - sums[end - size] >= _AHEAD_SHARE * (ahead - end + size):
                return _begin(text, sentences, marks, end - size)
    return None


def _begin(text: str, sentences: list[Sentence], marks: list[bool], window: int) -> int:
    """Start of the first sentence from the window's first repeated word on, or of repeated ones before it."""
    first = window + marks[window:].index(True)
    at = count = 0
    for number, sentence in enumerate(sentences):
        count += len(sentence.words)
        if count > first:
            at = number
            break
    if (
        not _mostly_repeated(sentences[at])
        and at + 1 < len(sentences)
        and not unclosed(text[slice(*sentences[at].span)])
    ):
        at += 1
    while at and _mostly_repeated(sentences[at - 1]):
        at -= 1
    return sentences[at].span[0]


def _mostly_repeated(sentence: Sentence) -> bool:
    return bool(sentence.words) and sentence.repeated >= _LOOP_SHARE * len(sentence.words)
