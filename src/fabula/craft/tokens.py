"""Tokenisers by name. A number that counts tokens says which of these it counted.

| name | tokens |
|---|---|
| whitespace | what stands between white space, with its punctuation: `"Yes,"` |
| words | words, with inner apostrophes and hyphens, and every punctuation mark by itself |
| (both) | in Chinese and Japanese, which put no space between words: every character and every mark |
| rouge | runs of a-z and 0-9 in small letters: those of the package rouge-score |
| rouge-stems | the same, those of more than three letters as Porter stems: rouge-score with `use_stemmer` |
| spacy | those of spaCy's blank English pipeline (extra `fabula[spacy]`); HANNA's measures count them |
"""

# ruff: noqa: RUF001 - the patterns look for typographic apostrophes

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import UnknownNameError
from fabula.base.extras import extra
from fabula.craft.stems import stem
from fabula.story.words import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tokeniser: TypeAlias = Callable[[str], list[str]]

_WORDS: Final = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")
_ROUGE: Final = re.compile(r"[a-z0-9]+")
_OPENING: Final = re.compile(r"[^\W_]+(?:-\w+)*")
_LONGEST_WHOLE: Final = 3  # rouge-score leaves words of up to three letters alone


def between_spaces(text: str) -> list[str]:
    """What stands between white space; in Chinese and Japanese, every character and every mark."""
    return apart(text).split()


def words_and_marks(text: str) -> list[str]:
    """Words, and every punctuation mark by itself; in Chinese and Japanese, every character."""
    return _WORDS.findall(apart(text))


def rouge_tokens(text: str) -> list[str]:
    """Runs of a-z and 0-9 in small letters; letters beyond these part words, as in rouge-score."""
    return _ROUGE.findall(text.lower())


def rouge_stems(text: str) -> list[str]:
    """`rouge_tokens`, those of more than three letters as their stems; rouge-score drops none of them."""
    return [stem(token) if len(token) > _LONGEST_WHOLE else token for token in rouge_tokens(text)]


def spacy_tokens(text: str) -> list[str]:
    """Tokens of spaCy's blank English pipeline; a line end is one.

    Raises:
        UsageError: spaCy is not installed.
    """
    return [token.text for token in _spacy()(text)]


@cache
def _spacy() -> Any:  # noqa: ANN401 - an extra has no types that we may import
    return extra("spacy", "spacy", "The tokeniser 'spacy'").blank("en").tokenizer


TOKENISERS: Final[Mapping[str, Tokeniser]] = MappingProxyType(
    {
        "whitespace": between_spaces,
        "words": words_and_marks,
        "rouge": rouge_tokens,
        "rouge-stems": rouge_stems,
        "spacy": spacy_tokens,
    }
)


def tokeniser(name: str) -> Tokeniser:
    """The tokeniser of that name.

    Raises:
        UnknownNameError: there is none; the nearest is named.
    """
    found = TOKENISERS.get(name)
    if found is None:
        raise UnknownNameError("tokeniser", name, TOKENISERS)
    return found


def opening_word(sentence: str) -> str:
    """The first word of a sentence in small letters, up to an apostrophe ("I'm" gives "i"); "" where there is none."""
    found = _OPENING.search(sentence)
    return found[0].lower() if found else ""
