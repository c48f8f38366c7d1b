"""Functions that count words, in scripts with and without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from fabula.base.remembering import remembered

# Each of these is a word: Chinese characters and Japanese syllables, as both languages count lengths.
CHARACTERS: Final = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff"
)
# Thai, Lao, Burmese and Khmer have no blanks between words either; their words have about five letters and signs.
UNSPACED: Final = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eca\u0edc-\u0edf\u1000-\u103f\u1780-\u17d3"
_LETTERS_A_WORD: Final = 5
# Signs of letters, such as vowels of Hindi and marks of Arabic: parts of a word, though no letters of their own.
SIGNS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962"
    "\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c"
    "\u0b3e-\u0b4d\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c4d\u0c81-\u0c83\u0cbc\u0cbe-\u0ccd\u0d00-\u0d03\u0d3e-"
    "\u0d4d\u0d82\u0d83\u0dca-\u0ddf\u200c\u200d"
)
_WORD_CHARACTER: Final = re.compile(r"\w")
BLANKLESS: Final = re.compile(rf"[{CHARACTERS}{UNSPACED}]")
_NO_BLANK: Final = re.compile(
    rf"[{CHARACTERS}\u3000-\u3003\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\u201c\u201d\u2018\u2019\u2014\u2026]"
)
_BETWEEN: Final = re.compile(rf"[{CHARACTERS}{UNSPACED}\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]+")
_EASTERN_MARKS: Final = "\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
# Marks that Latin texts have too count only next to a character.
_CHARACTERS: Final = re.compile(rf"[{CHARACTERS}{_EASTERN_MARKS}\u2014\u2018\u2019\u201c\u201d\u2026]+")
_OWN_CHARACTER: Final = re.compile(rf"[{CHARACTERS}{_EASTERN_MARKS}]")
_LETTERS: Final = re.compile(rf"[{UNSPACED}]+")


@remembered(1024, 20_000)  # the parts of a story are counted again and again
def count_words(text: str) -> int:
    """The number of words: pieces between white space that contain a letter or digit (a lone dash is not a word).

    In Chinese and Japanese, each character and each punctuation mark counts as a word, as is customary there. In Thai,
    Lao, Burmese and Khmer, every five consecutive letters count as a word.
    """
    blankless = 0
    if not text.isascii() and BLANKLESS.search(text):
        blankless = sum(len(run[0]) for run in _CHARACTERS.finditer(text) if _OWN_CHARACTER.search(run[0]))
        blankless += sum(ceil(len(run[0]) / _LETTERS_A_WORD) for run in _LETTERS.finditer(text))
        text = _BETWEEN.sub(" ", text)
    # One pattern over the whole text takes quadratic time on a long run of dashes, which looping models do write.
    pieces = text.split()
    odd = [piece for piece in pieces if not piece[0].isalnum()]  # few: a list is three times faster than a generator
    return blankless + len(pieces) - sum(1 for piece in odd if not _WORD_CHARACTER.search(piece))


def apart(text: str) -> str:
    """`text` with a space on both sides of everything that counts as a word in Chinese or Japanese (`count_words`)."""
    if text.isascii() or not BLANKLESS.search(text):
        return text
    return _CHARACTERS.sub(lambda run: f" {' '.join(run[0])} " if _OWN_CHARACTER.search(run[0]) else run[0], text)


def ngrams(tokens: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """The n-grams of a text, in order and with repetitions; empty if the text is shorter than n.

    Raises:
        ValueError: n is less than 1.
    """
    if n < 1:
        raise ValueError(f"An n-gram has at least one token, not {n}.")
    return zip(*(tokens[start:] for start in range(n)), strict=False)


def joined(text: str, more: str) -> str:
    """`text` and `more` in one paragraph, separated by a space if their script has spaces between sentences."""
    blank = "" if _NO_BLANK.match(text[-1:]) and _NO_BLANK.match(more[:1]) else " "
    return f"{text}{blank}{more}" if text and more else text or more
