"""Slips in writing a name, as people and models make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

_VOWELS: Final = "aeiou"
_NEAR: Final = {
    "s": "z", "z": "s", "c": "k", "k": "c", "v": "w", "w": "v", "n": "m", "m": "n", "t": "d", "d": "t", "b": "p",
    "p": "b", "y": "i", "g": "j", "j": "g", "l": "r", "r": "l", "f": "v", "h": "k", "q": "k",
}  # fmt: skip
_SHORTEST: Final = 4


def misspelt(name: str, known: set[str], rng: random.Random) -> str:
    """A slip in `name` that is no word of the text; empty for names of fewer than four letters, or if there is none.

    One letter is changed for one that is near it, doubled, left out, or changes places with the next one. The plural is
    never made, nor is a letter left out or added at the end.
    """
    if len(name) < _SHORTEST:
        return ""
    options = sorted(set(_slips(name)) - known - {name, name + "s"})
    return rng.choice(options) if options else ""


def _slips(name: str) -> list[str]:
    made = []
    for at in range(1, len(name)):
        head, letter, tail = name[:at], name[at], name[at + 1 :]
        if letter in _VOWELS:
            made += [head + other + tail for other in _VOWELS if other != letter]
        elif letter in _NEAR:
            made.append(head + _NEAR[letter] + tail)
        if tail:
            made += [head + tail, head + tail[0] + letter + tail[1:]]
            made += [head + letter + letter + tail] if letter not in (head[-1], tail[0]) else []
    return made
