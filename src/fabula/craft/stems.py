"""Porter's stemmer with the changes that nltk made to it, which is what ROUGE with stems means in practice.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The changes: irregular forms, short words in
-ies and -ied, -y after a consonant, -alli, -bli, -fulli, -logi, and words of a vowel and a consonant. The tests hold it
against nltk's.
"""

from __future__ import annotations

from typing import Final

from fabula.base.remembering import remembered

_IRREGULAR: Final = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_PLURALS: Final = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_RESTORED: Final = {"at": "ate", "bl": "ble", "iz": "ize"}
_SECOND: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_THIRD: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_FOURTH_ALL: Final = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_FOURTH: Final = tuple(_FOURTH_ALL.split())
_SHORTEST: Final = 3  # words of fewer letters are left alone
_SHORT_IE: Final = 4  # "dies" and "died" keep their e


@remembered(65_536, 60)
def stem(word: str) -> str:
    """The stem of a word in small letters: "relational" and "relate" both give "relat"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < _SHORTEST:
        return word
    for step in (_plural, _past, _last_y, _second, _third, _fourth, _last_e):
        word = step(word)
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _kinds(text: str) -> str:
    """One "c" or "v" for each letter; y is a vowel after a consonant."""
    kinds = ""
    for letter in text:
        kinds += "v" if letter in "aeiou" or (letter == "y" and kinds[-1:] == "c") else "c"
    return kinds


def _measure(text: str) -> int:
    """Porter's m: how often a consonant follows a vowel."""
    return _kinds(text).count("vc")


def _short(text: str) -> bool:
    """Whether it ends as "hop" does, or is a vowel and a consonant."""
    kinds = _kinds(text)
    return (kinds.endswith("cvc") and text[-1] not in "wxy") or kinds == "vc"


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """The first rule whose suffix fits is the only one tried; it needs a measure above 0."""
    for suffix, new in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + new if _measure(rest) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == _SHORT_IE:
        return word[:-1]
    for suffix, new in _PLURALS:
        if word.endswith(suffix):
            return word[: -len(suffix)] + new
    return word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == _SHORT_IE else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and "v" in _kinds(word[: -len(suffix)]):
            return _restored(word[: -len(suffix)])
    return word


def _restored(word: str) -> str:
    """What -ed or -ing was taken from, with its e back or its double consonant single."""
    if word[-2:] in _RESTORED:
        return word[:-2] + _RESTORED[word[-2:]]
    if word[-1:] == word[-2:-1] and _kinds(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _last_y(word: str) -> str:
    rest = word[:-1]
    return rest + "i" if word.endswith("y") and len(rest) > 1 and _kinds(rest)[-1] == "c" else word


def _second(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        return _second(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replaced(word, _SECOND)


def _third(word: str) -> str:
    return _replaced(word, _THIRD)


def _fourth(word: str) -> str:
    for suffix in _FOURTH:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            goes = _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st")
            return rest if goes else word
    return word


def _last_e(word: str) -> str:
    rest = word[:-1]
    if word.endswith("e") and (_measure(rest) > 1 or (_measure(rest) == 1 and not _short(rest))):
        return rest
    return word
