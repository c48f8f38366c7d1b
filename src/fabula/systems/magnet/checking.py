"""Improved mode: the detectors of continuity errors look at a paragraph before it joins the story.

Reading the whole story at every step would make a long one's cost grow with the square of its length. So the story is
kept as sentences, filed by their words, and a paragraph is checked against those sentences alone that may say
something else about the same: at most `_MOST` of them, however long the story is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import DamerauLevenshtein

from fabula.continuity import NumberedScene, candidates
from fabula.continuity.book import Book, singular
from fabula.continuity.lexicon import COLOURS, FUNCTION, SIDES, TITLES
from fabula.continuity.numbers import VALUES
from fabula.craft.packing import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity import Candidate
    from fabula.continuity.book import Line

_DETECTORS: Final = ("name", "number", "colour", "side", "title")  # those with a strict rule
_MOST: Final = 40  # sentences that a paragraph is held against
_FIRST, _LAST = 2, 3  # sentences for each word: the first ones that hold it, and the last ones
_NAMED: Final = 10  # sentences that hold a name which a new word may be a slip for
_STORY, _NEW = 1, 2  # the scenes that the detectors see
_SHORTEST: Final = 4  # letters of a name that is looked at
_SLIP: Final = 2  # letters by which a slip differs
_OBJECTIONS: Final = 3


@dataclass
class Continuity:
    """What the story says, found again by its words."""

    _story: list[str] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _facts: dict[str, list[int]] = field(default_factory=dict)
    _names: dict[str, list[int]] = field(default_factory=dict)
    _small: Counter[str] = field(default_factory=Counter)

    def objections(self, story: Sequence[str], text: str, names: Sequence[str]) -> tuple[str, ...]:
        """What is wrong with `text`, one sentence each; nothing where it agrees with the `story` before it.

        `names` are those of the characters, which are no slips for each other.
        """
        self._follow(story)
        lines = self._related(text)
        if not lines and not self._lines:
            return ()
        scenes = [NumberedScene(_STORY, "", "\n\n".join(lines)), NumberedScene(_NEW, "", text)]
        known = {word for name in names for word in words(name)}
        found = [
            one
            for one in candidates(scenes, detectors=_DETECTORS, tight=True)
            if one.after.scene == _NEW and not {value.casefold() for value in one.values} <= known
        ]
        return tuple(_note(one) for one in found[:_OBJECTIONS])

    def _follow(self, story: Sequence[str]) -> None:
        """Read what joined the story since the last time; all of it anew where a person changed it."""
        if list(story[: len(self._story)]) != self._story:
            for filed in (self._story, self._lines, self._facts, self._names, self._small):
                filed.clear()
        for paragraph in story[len(self._story) :]:
            self._story.append(paragraph)
            for line in _read(paragraph):
                self._file(line)

    def _file(self, line: Line) -> None:
        number = len(self._lines)
        self._lines.append(line.text)
        for base in {singular(word.text) for word in line.words} if _states(line) else ():
            self._facts.setdefault(base, []).append(number)
        for at, word in enumerate(line.words):
            if not word.capital:
                self._small[word.text] += 1
            elif at and not word.gap and len(word.text) >= _SHORTEST:  # a word that begins a sentence may be any
                self._names.setdefault(word.text, []).append(number)

    def _related(self, text: str) -> list[str]:
        """The sentences that may contradict `text`, in the order of the story."""
        found = Counter[int]()
        for line in _read(text):
            if _states(line):
                for word in {singular(w.text) for w in line.words if w.text not in FUNCTION}:
                    lines = self._facts.get(word, [])
                    for number in {*lines[:_FIRST], *lines[-_LAST:]}:
                        found[number] += 1
            for number in self._slips(line):
                found[number] += _MOST
        best = sorted(found, key=lambda number: (-found[number], -number))[:_MOST]
        return [self._lines[number] for number in sorted(best)]

    def _slips(self, line: Line) -> Iterator[int]:
        """Sentences with a name that a new capitalised word of `line` may be a slip for."""
        for word in line.words:
            if not word.capital or len(word.text) < _SHORTEST or self._small[word.text]:
                continue
            own = self._names.get(word.text, [])
            for name, lines in self._names.items():
                if len(lines) > 2 * len(own) and _alike(name, word.text):
                    yield from (*lines[-_NAMED:], *own)


def _alike(name: str, other: str) -> bool:
    """Whether one may be a slip in writing the other."""
    if name == other or abs(len(name) - len(other)) > _SLIP:
        return False
    return DamerauLevenshtein.distance(name, other, score_cutoff=_SLIP) <= _SLIP


def _read(text: str) -> list[Line]:
    return Book.of([NumberedScene(1, "", text)]).lines


def _states(line: Line) -> bool:
    """Whether a sentence says something that a strict rule can hold against another: a number, colour, side, title."""
    return any(w.text in _VALUES or w.text[:1].isdigit() for w in line.words)


_VALUES: Final = frozenset((*VALUES, *COLOURS, *SIDES, *TITLES))


def _note(one: Candidate) -> str:
    """A candidate as a note to the narrator."""
    if one.detector == "name":
        return f"It writes {one.values[1]} where the story writes {one.values[0]}."
    before, after = one.before.quote, one.after.quote
    return f'Earlier it says "{before}", and it says "{after}" ({one.subject}: {one.values[0]}, not {one.values[1]}).'
